"""The forecast of a plan: its expected matches and cost."""

from __future__ import annotations

import math
from dataclasses import dataclass

from cepkit.tables import number

MANY = 1e9
"""Matches or partial matches over a stream: minutes to hours of work."""

MANY_ALIVE = 1e6
"""Partial matches in one window; an engine that runs event by event has them all in memory."""

CAVEAT = "for events that come evenly and conditions that hold independently, before NOT"
SAMPLED = "by a sample of joins, before NOT"


@dataclass(frozen=True, slots=True)
class Forecast:
    """The expected numbers of a plan over the stream of its statistics.

    If joins were sampled, the numbers include bursts and dependent conditions. If not, they assume
    that events arrive independently at constant rates and that conditions hold independently of
    each other; real streams differ from that by factors. Matches that a NOT removes still count. A
    number that no float holds is infinity.

    Attributes:
        matches: The expected number of matches.
        low: The lower end of the 95 % interval of `matches`; it covers the sampling error only,
            not the assumptions above.
        high: The upper end.
        candidates: The candidates of all steps together.
        partial_matches: The partial matches of all steps together, including the matches.
        alive: The partial matches of the largest step in one window.
        sampled: Whether `matches` comes from sampled joins.
    """

    matches: float
    low: float
    high: float
    candidates: float
    partial_matches: float
    alive: float
    sampled: bool = False

    @property
    def warning(self) -> str | None:
        """The reason why the plan may take too much time or memory, and hints; None without one."""
        too_many = []
        if self.matches > MANY:
            too_many.append(f"{_text(self.matches)} matches")
        if self.partial_matches > MANY and self.partial_matches > 1.5 * self.matches:
            too_many.append(f"{_text(self.partial_matches)} partial matches")
        if self.alive > MANY_ALIVE:
            too_many.append(f"{_text(self.alive)} partial matches alive in one window")
        if not too_many:
            return None
        hints = ["shorten WITHIN", "add conditions", "PARTITION BY a key", "bound KL, as in {1,3}"]
        if self.matches > MANY:
            hints.append("count() or limit= instead of all matches")
        return f"{', '.join(too_many)} are expected; {', '.join(hints)}"

    def lines(self) -> list[str]:
        """Return the forecast as lines of text, the warning last."""
        matches = f"expected matches: {_text(self.matches)}"
        if self.low < self.high:
            matches += f" ({_text(self.low)} to {_text(self.high)} from the sample only)"
        lines = [f"{matches}, {SAMPLED if self.sampled else CAVEAT}"]
        if self.warning:
            lines.append(f"warning: {self.warning}")
        return lines


def around(log_matches: float, relative_error: float) -> tuple[float, float]:
    """Return the 95 % interval of a number.

    Args:
        relative_error: The standard error of the logarithm.
    """
    if math.isinf(log_matches) or not relative_error:
        return _exp(log_matches), _exp(log_matches)
    half = 1.959963984540054 * relative_error
    return _exp(log_matches - half), _exp(log_matches + half)


def _text(value: float) -> str:
    return number(value) if math.isfinite(value) else "more than 1e+308"


def _exp(logarithm: float) -> float:
    return math.exp(logarithm) if logarithm < 709 else math.inf
