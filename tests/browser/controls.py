"""What can be used in a widget: a census of its controls, so that a test misses none."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Locator

_PLAYER = """frame => [...frame.querySelectorAll("button, select, input, .token, .plot")]
  .filter((e) => e.checkVisibility())
  .map((e) => e.dataset.action ?? e.dataset.zoom
    ?? (e.classList.length ? `.${[...e.classList][0]}` : e.ariaLabel))"""
_PLAYER_KEYS = "frame => [...frame.querySelectorAll('.keys dt')].map((e) => e.textContent)"
_APP = """app => [...app.querySelectorAll(
    "[data-do], [data-set], [data-keys], [data-copy], [role=option], summary")]
  .filter((e) => !e.disabled && e.checkVisibility())
  .map((e) => e.dataset.do ? `do ${e.dataset.do}` : e.dataset.set ? `set ${e.dataset.set}`
    : e.dataset.keys ? `keys ${e.dataset.keys}` : e.dataset.copy ? "copy" : e.role ?? "unfold")
  .map((name) => name.replace(/mark:.*|rate:.*|selectivity:.*/, (s) => s.split(":")[0]))"""


class Census:
    """The controls that were seen, and those that were used by mouse and by keyboard."""

    def __init__(self, frame: Locator, *, player: bool = False) -> None:
        self.frame = frame
        self._script = _PLAYER if player else _APP
        self._seen: set[str] = set()
        self._used: dict[str, set[str]] = {"mouse": set(), "keyboard": set()}

    def look(self) -> None:
        """Note what is there now."""
        self._seen.update(self.frame.evaluate(self._script))

    def used(self, way: str, *names: str) -> None:
        """Note that controls were used, by "mouse" or "keyboard"."""
        self.look()
        self._used[way].update(names)

    def left_out(self, way: str, *, without: set[str] | frozenset[str] = frozenset()) -> set[str]:
        """Return what was seen and not used in this way, but for what has no such way."""
        self.look()
        return self._seen - self._used[way] - without


def keys_of(frame: Locator) -> set[str]:
    """Return the keys that a player's help lists."""
    found: list[str] = frame.evaluate(_PLAYER_KEYS)
    return {key for line in found for key in line.replace(",", " ").split()}
