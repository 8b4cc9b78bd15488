"""A player in a page, read as a reader does: by what is to be seen, and by its keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page


class Reading:
    """The player with this number in a page; selectors see through shadow roots."""

    def __init__(self, page: Page, number: int = 0) -> None:
        self.page = page
        self.host = page.locator(".cepkit-player").nth(number)
        self.frame = self.host.locator(".player")

    def wait(self) -> Reading:
        self.frame.wait_for()
        return self

    def focus(self) -> None:
        self.frame.focus()

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def click(self, action: str) -> None:
        self.host.locator(f'[data-action="{action}"]').click()

    def card(self, number: int = 0) -> Locator:
        return self.host.locator(".card").nth(number)

    @property
    def step(self) -> int:
        return int(self.host.get_attribute("data-step"))

    @property
    def sentence(self) -> str:
        return self.host.locator(".sentence").inner_text()

    def counter(self, name: str, card: int = 0) -> int:
        text = self.card(card).locator(f'dd[data-counter="{name}"]').inner_text()
        return int(text.replace(",", ""))

    def tokens(self, card: int = 0) -> list[str]:
        """What each token is, as its tooltip says."""
        titles = self.card(card).locator(".token > title")
        return [title.strip() for title in titles.all_text_contents()]

    def alive(self, card: int = 0) -> int:
        """How many instances there are, by the numbers at the nodes."""
        tallies = self.card(card).locator(".node:not(.final) .tally").all_text_contents()
        return sum(int(text.split("(")[0].replace(",", "")) for text in tallies)

    def kept(self, card: int = 0) -> int:
        """How many events are listed in the buffer."""
        return self.card(card).locator(".stored .chip:not(.gone)").count()
