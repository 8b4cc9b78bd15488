"""The plans of an adaptive run: which was in force when, why, and its work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from cepkit.columnar.results.explanation import ExplainedStep, Explanation
from cepkit.columnar.slices.plans import Branches, SliceRun, SliceWork
from cepkit.costs.work import WORK
from cepkit.lazy import pd
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.policies import Strategy
from cepkit.pattern.query import Query
from cepkit.plan.nodes import Plan
from cepkit.planners.deciding import because
from cepkit.printing import Printed, html_lines, html_output, time_text
from cepkit.tables import count_text, html_table, number, text_table, whole

_HEAD = ("from", "events", "candidates", "plan", "why")


@dataclass(frozen=True, slots=True)
class PlanInForce:
    """A stretch of a stream that ran with one plan.

    Attributes:
        first: The time of its first event, in microseconds since 1970.
        slices: How many slices it is.
        events: How many events.
        plan: The plan, as a text.
        why: Why it took over, in words; for the first stretch the basis of its plan.
        candidates: Pairs of a partial match and an event that were examined.
        partial_matches: The partial matches that its steps kept, matches included.
    """

    first: int
    last: int
    slices: int
    events: int
    plan: str
    why: str
    candidates: int
    partial_matches: int


@dataclass(frozen=True, slots=True, repr=False)
class PlansInForce(Printed):
    """The stretches of a stream by the plan in force, in time order.

    Attributes:
        stretches: The stretches; empty for a stream without events, and for a run with one plan and
            no slices to plan.
        slices: The work of each slice.
    """

    stretches: tuple[PlanInForce, ...]
    slices: tuple[SliceRun, ...]

    @classmethod
    def of(cls, query: Query, plan: Plan, work: SliceWork) -> PlansInForce:
        """Return the plans of a run."""
        slices = sorted(work.slices, key=lambda run: (run.first, run.last))
        begins = [0] * bool(slices)
        begins += [i for i, (x, y) in enumerate(pairwise(slices), 1) if x.branches != y.branches]
        stretches = []
        for begin, end in pairwise([*begins, len(slices)]):
            runs = slices[begin:end]
            before = slices[begin - 1].branches if begin else plan.branches
            stretches.append(_stretch(query, plan, before, runs))
        return cls(tuple(stretches), tuple(slices))

    @property
    def switches(self) -> int:
        """The number of plan changes."""
        return max(0, len(self.stretches) - 1)

    def to_pandas(self) -> pd.DataFrame:
        """Return a row for each stretch."""
        names = PlanInForce.__slots__
        rows = [{name: getattr(s, name) for name in names} for s in self.stretches]
        frame = pd.DataFrame(rows, columns=names)
        for name in ("first", "last"):
            frame[name] = pd.to_datetime(frame[name], unit="us", utc=True)
        return frame

    def _rows(self) -> Iterator[tuple[str, ...]]:
        for s in self.stretches:
            at = time_text(s.first).replace("+00:00", "").replace("T", " ")
            yield at, whole(s.events), number(s.candidates), s.plan, s.why

    def _title(self) -> str:
        if not self.stretches:
            return "one plan for the whole stream"
        plans = len({s.plan for s in self.stretches})
        return (
            f"{count_text(plans, 'plan')} over {count_text(len(self.slices), 'slice')},"
            f" {count_text(self.switches, 'switch', 'switches')}"
        )

    def __str__(self) -> str:
        table = [text_table(_HEAD, self._rows(), left=5)] if self.stretches else []
        return "\n".join((self._title(), *table))

    def _repr_html_(self) -> str:
        if not self.stretches:
            return html_output(html_lines(self._title()))
        return html_output(html_table(_HEAD, self._rows(), self._title(), left=5))


def _stretch(query: Query, plan: Plan, before: Branches, runs: Sequence[SliceRun]) -> PlanInForce:
    first = runs[0]
    return PlanInForce(
        first.first,
        runs[-1].last,
        len(runs),
        sum(run.events for run in runs),
        " | ".join(map(str, first.branches)),
        first.why or _why(query, plan, before, first),
        sum(run.candidates for run in runs),
        sum(run.partial_matches for run in runs),
    )


def _why(query: Query, plan: Plan, before: Branches, run: SliceRun) -> str:
    if before == run.branches and run.rates and plan.statistics is not None:
        return "the plan of the whole stream"
    return why_planned(query, plan, before, run)


def why_planned(query: Query, plan: Plan, before: Branches, run: SliceRun) -> str:
    """Return why the plan of a slice differs from the one before it; "" if it does not.

    Args:
        plan: The plan of the whole stream, with its statistics.
    """
    if plan.statistics is None or not run.rates or before == run.branches:
        return ""
    # As when planning slices: bursts of the whole stream do not apply to its parts.
    statistics = replace(plan.statistics, joins={}).with_rates(run.rates)
    return "; ".join(
        because(branch, old, new, statistics, WORK)
        for branch, old, new in zip(normal_form(query), before, run.branches, strict=True)
        if old != new
    )


@dataclass(frozen=True, slots=True, repr=False)
class AdaptedExplanation(Printed):
    """The steps of several plans, each on the slices that it ran.

    Attributes:
        parts: The steps of each plan, in the order in which they came into force.
    """

    plans: PlansInForce
    parts: tuple[Explanation, ...]

    @property
    def steps(self) -> tuple[ExplainedStep, ...]:
        """The steps of all plans."""
        return tuple(step for part in self.parts for step in part.steps)

    def to_pandas(self) -> pd.DataFrame:
        """Return one row for each step of each plan."""
        frames = []
        for part in self.parts:
            frame = part.to_pandas()
            frame.insert(0, "plan", "; ".join(map(str, part.plan.branches)))
            frames.append(frame)
        return pd.concat(frames, ignore_index=True)

    def __str__(self) -> str:
        return "\n\n".join(map(str, (self.plans, *self.parts)))

    def _repr_html_(self) -> str:
        return "".join((self.plans._repr_html_(), *(part._repr_html_() for part in self.parts)))


def explanation_of(query: Query, plan: Plan, work: SliceWork) -> Explanation | AdaptedExplanation:
    """Return the work of a run: of its plan, or of the plans of its slices."""
    if work.counters.keys() == {plan.branches}:
        return Explanation.of(plan, work.counters[plan.branches], _in_order(query))
    parts = tuple(
        Explanation.of(Plan(branches, "slices"), counters)
        for branches, counters in work.counters.items()
    )
    return AdaptedExplanation(PlansInForce.of(query, plan, work), parts)


def _in_order(query: Query) -> str:
    """Return the line of an explanation that says what goes in the order of the stream."""
    if query.strategy is Strategy.SKIP_TILL_NEXT_MATCH:
        return (
            "candidates gathered side by side, matches found in the order of the stream: each match"
            " depends on those before it"
        )
    if query.after_match is not None:
        return "found side by side, chosen in the order of the stream: AFTER MATCH SKIP"
    return ""
