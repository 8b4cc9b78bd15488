"""Traces of mechanisms that changed their plan: one per plan, and the owners of matches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from cepkit.lazy import pd
from cepkit.printing import Printed, html_lines, html_output, time_text
from cepkit.stream.shapes import Number, ShapeError, Time, check_below, shown
from cepkit.tables import count_text, html_table, text_table, whole
from cepkit.tracing.mechanisms import MechanismTrace
from cepkit.tracing.records import TracedMatch
from cepkit.tracing.trace import Saved

_HEAD = ("from", "plan", "evaluations", "found", "own", "why")


@dataclass(frozen=True, slots=True)
class Generation:
    """A mechanism with its plan, and the stretch of the stream whose matches it reports.

    Attributes:
        begin: The first microsecond in which its matches begin; None: as early as may be.
        end: The first one after it; None: as late as may be.
        plan: Its plan as a text.
        why: Why it took over, in words; "" for the first.
        trace: Its trace, with a step for each event of the stream; steps of events that it was not
            fed are empty.
        own: The numbers of the trace's matches that it owns.
    """

    begin: Time | None
    end: Time | None
    plan: str
    why: str
    trace: MechanismTrace
    own: tuple[Number, ...]


@dataclass(frozen=True, slots=True, repr=False)
class AdaptedTrace(Printed, Saved):
    """A run of a mechanism that changed its plan: a generation for each plan.

    Attributes:
        generations: In the order in which they took over.
        checks: How often the decision function ran.
        fires: How often it requested a new plan.
    """

    schema: ClassVar[str] = "cepkit.adapted-trace/1"

    generations: tuple[Generation, ...]
    checks: int
    fires: int

    @property
    def traces(self) -> tuple[MechanismTrace, ...]:
        """The traces of all generations; they have the same events and can be played together."""
        return tuple(generation.trace for generation in self.generations)

    @property
    def matches(self) -> tuple[TracedMatch, ...]:
        """The matches, each from the generation that owns it, in order of completion."""
        own = [g.trace.matches[number] for g in self.generations for number in g.own]
        return tuple(sorted(own, key=lambda match: match.step))

    @property
    def switches(self) -> int:
        """The number of plan changes."""
        return len(self.generations) - 1

    @property
    def evaluations(self) -> int:
        """How often a take edge or a join was evaluated, by all generations."""
        return sum(trace.totals.counts.evaluations for trace in self.traces)

    def to_pandas(self) -> pd.DataFrame:
        """Return a row for each generation."""
        return pd.DataFrame(list(self._rows()), columns=_HEAD).assign(
            evaluations=[t.totals.counts.evaluations for t in self.traces],
            found=[len(t.matches) for t in self.traces],
            own=[len(g.own) for g in self.generations],
        )

    def _rows(self) -> Iterator[tuple[str, ...]]:
        for g in self.generations:
            begin = "the beginning" if g.begin is None else time_text(g.begin)
            evaluations = whole(g.trace.totals.counts.evaluations)
            yield begin, g.plan, evaluations, whole(len(g.trace.matches)), whole(len(g.own)), g.why

    def _title(self) -> str:
        return (
            f"{count_text(len(self.matches), 'match', 'matches')},"
            f" {count_text(self.switches, 'switch', 'switches')};"
            f" {count_text(self.checks, 'check')}, {count_text(self.fires, 'fire')};"
            f" {count_text(self.evaluations, 'evaluation')} by all generations"
        )

    def __str__(self) -> str:
        return "\n".join((self._title(), text_table(_HEAD, self._rows(), left=len(_HEAD))))

    def _repr_html_(self) -> str:
        table = html_table(_HEAD, self._rows(), left=len(_HEAD))
        return html_output(html_lines(self._title()), table)

    def encoded(self) -> dict[str, Any]:
        """Return the trace as JSON data; each generation has its complete trace."""
        data = Saved.encoded(self)  # no super(): dataclasses create classes with slots twice
        for generation, trace in zip(data["generations"], self.traces, strict=True):
            generation["trace"] = trace.encoded()
        return data

    def check(self) -> None:
        """Check that the generations of a decoded trace fit together.

        Raises:
            ShapeError: They do not.
        """
        if not self.generations:
            raise ShapeError("empty", "a generation or more", "generations")
        edges = [None, *(generation.end for generation in self.generations[:-1])]
        for number, (generation, begin) in enumerate(zip(self.generations, edges, strict=True)):
            place = f"generations[{number}]"
            if generation.begin != begin or (number and begin is None):
                raise ShapeError(
                    shown(generation.begin), "where the one before it ends", f"{place}.begin"
                )
            try:
                generation.trace.check()
            except ShapeError as error:
                raise error.within(f"{place}.trace") from None
            if different := self.traces[0].difference(generation.trace):
                raise ShapeError(f"one of other {different}", "the same", f"{place}.trace")
            for own in generation.own:
                check_below(own, len(generation.trace.matches), "matches", f"{place}.own")
