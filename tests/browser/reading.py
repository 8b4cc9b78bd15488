"""A player in a page, read and moved as users do: by its texts and its keys."""

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

    def counts(self, card: int = 0, piece: int = 0) -> dict[str, list[int]]:
        """For each START that is live its counts, as they are seen: of `2 + 1 = 3` the result."""
        rows = self._table(card, piece).locator(":scope > tbody > tr:not(.gone)")
        return {
            row.get_attribute("data-row"): [
                int(text.replace(",", "").split()[-1])
                for text in row.locator(":scope > .number").all_inner_texts()
            ]
            for row in rows.all()
        }

    def snapshot(self, start: str, card: int = 0, piece: int = 1) -> dict[str, int]:
        """The entries of a START's snapshot, as they are seen."""
        rows = self._row(start, card, piece).locator(".snapshot tr:not(.gone)").all()
        return {
            row.get_attribute("data-saved"): int(row.locator(".number").inner_text().split()[-1])
            for row in rows
        }

    def changed(self, card: int = 0, piece: int = 0) -> list[str]:
        """The texts of the counters that the step changed."""
        cells = self._table(card, piece).locator(".changed")
        return [" ".join(text.split()) for text in cells.all_inner_texts()]

    def total(self, card: int = 0) -> str:
        return self.card(card).locator(".total").inner_text()

    def _table(self, card: int, piece: int) -> Locator:
        return self.card(card).locator(f'[data-piece="{piece}"] .counts')

    def _row(self, start: str, card: int, piece: int) -> Locator:
        return self._table(card, piece).locator(f'tr[data-row="{start}"]')

    def tokens(self, card: int = 0) -> list[str]:
        """The text of each token's tooltip."""
        titles = self.card(card).locator(".token > title")
        return [title.strip() for title in titles.all_text_contents()]

    def alive(self, card: int = 0) -> int:
        """How many instances there are, by the numbers at the nodes."""
        tallies = self.card(card).locator(".node:not(.final) .tally").all_text_contents()
        return sum(int(text.split("(")[0].replace(",", "")) for text in tallies)

    def kept(self, card: int = 0) -> int:
        """How many events are listed in the buffer."""
        return self.card(card).locator(".stored .chip:not(.gone)").count()

    def contrast(self, place: str) -> float:
        """The contrast of the first such element's text against the papers behind it."""
        found: float = self.host.locator(place).first.evaluate(_CONTRAST)
        return found


_CONTRAST = """(element) => {
  const canvas = document.createElement('canvas').getContext('2d');
  // Papers may be translucent: they lie on each other.
  const rgb = (...colours) => {
    for (const colour of colours) { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); }
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (...colours) => {
    const [r, g, b] = rgb(...colours).map((v) => v / 255)
      .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const style = getComputedStyle(element);
  const svg = element instanceof SVGElement;
  const papers = svg ? [getComputedStyle(element.parentNode.querySelector('rect')).fill] : [];
  for (let at = element; at && at !== document && !svg; at = at.parentNode ?? at.host) {
    if (at instanceof Element) papers.unshift(getComputedStyle(at).backgroundColor);
  }
  const [a, b] = [light(...papers, svg ? style.fill : style.color), light(...papers)]
    .sort((x, y) => y - x);
  return (a + 0.05) / (b + 0.05);
}"""
