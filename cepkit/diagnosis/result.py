"""The answer to "why not?": what is shown in a notebook, in a terminal, and drawn."""

from __future__ import annotations

from dataclasses import dataclass, field

from cepkit.diagnosis.requirements import text_of
from cepkit.diagnosis.tables import Funnel, NearMisses, Requirements, Seen
from cepkit.diagnosis.words import counted
from cepkit.pattern.query import Query
from cepkit.printing import Printed, html_output, html_text

_SHOWN = 5
_HOLDING = 12


@dataclass(frozen=True, slots=True, repr=False)
class WhyNot(Printed):
    """Why some events, or any at all, are no match; prints as a text, has an HTML repr.

    Attributes:
        query: The pattern.
        found: Whether it is a match (of events that were named: whether they are one, or part of
            one); None where that could not be decided.
        reason: The answer in a sentence.
        events: The combination that `requirements` is about: the named events and, for other
            variables, those that complete them best. Empty where none were named.
        culprits: Events that are there and must not be (NOT).
        requirements: What came of each requirement of that combination.
        funnel: How many partial matches reached each step; empty where events were named.
        near_misses: The combinations that violate least.
        notes: What was bounded, sampled or not looked at.
    """

    query: Query
    found: bool | None
    reason: str
    events: tuple[Seen, ...] = ()
    culprits: tuple[Seen, ...] = ()
    requirements: Requirements = field(default_factory=lambda: Requirements(()))
    funnel: Funnel = field(default_factory=lambda: Funnel(()))
    near_misses: NearMisses = field(default_factory=lambda: NearMisses(()))
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts = [self.reason]
        if self.events:
            parts.append("\n".join(f"  {line}" for line in self._event_lines()))
        if len(self.requirements):
            parts.append(self._requirement_lines())
        if len(self.funnel):
            parts.append(str(self.funnel))
        # Of named events the nearest one is told above.
        if len(self.near_misses) > (1 if self.events else 0):
            parts.append("\n".join([f"{self.near_misses.title()}:", *self._miss_lines()]))
        if self.notes:
            parts.append("\n".join(f"note: {note}" for note in self.notes))
        return "\n\n".join(parts)

    def _repr_html_(self) -> str:
        parts = [f"<p><b>{html_text(self.reason)}</b></p>"]
        if self.events:
            items = "".join(f"<li>{html_text(line)}</li>" for line in self._event_lines())
            parts.append(f"<ul>{items}</ul>")
        if len(self.requirements):
            parts.append(self._failing_first()._repr_html_())
        if len(self.funnel):
            parts.append(self.funnel._repr_html_())
        if len(self.near_misses) > (1 if self.events else 0):
            parts.append(f"<p>{html_text(self.near_misses.title())}</p>")
            parts.append(self.near_misses._repr_html_())
        parts += [f"<p>note: {html_text(note)}</p>" for note in self.notes]
        return html_output(*parts)

    def _failing_first(self) -> Requirements:
        rank = {False: 0, None: 1, True: 2}
        return Requirements(tuple(sorted(self.requirements, key=lambda f: rank[f.holds])))

    def _requirement_lines(self) -> str:
        ordered = self._failing_first()
        failing = sum(f.holds is not True for f in ordered)
        shown = str(Requirements(ordered.rows[: failing + _HOLDING]))
        more = len(ordered) - failing - _HOLDING
        return shown if more <= 0 else f"{shown}\nand {more} more hold"

    def _event_lines(self) -> list[str]:
        lines = []
        for seen in self.events:
            values = "".join(f", {name} = {value}" for name, value in seen.values.items())
            found = "" if seen.given else "  (the nearest)" if not self.found else "  (found)"
            lines.append(f"{seen.variable} = {seen.name}: {seen.type}{values}{found}")
        return lines

    def _miss_lines(self) -> list[str]:
        lines = []
        for number, miss in enumerate(self.near_misses.rows[:_SHOWN], start=1):
            events = ", ".join(f"{s.variable} = {s.name}" for s in miss.events)
            lines.append(f"{number:>3}. {events}")
            # What fails in the named events alone was told above, of all of them.
            own = [f for f in miss.violated if not (self.events and f.given)]
            lines += [f"     {text_of(f.requirement)}: {f.told}" for f in own]
        more = len(self.near_misses) - _SHOWN
        if more > 0:
            lines.append(f"     and {counted(more, 'further one')} in .near_misses")
        return lines
