"""Mechanisms that change their plan during a run: migration by generations.

A mechanism stores partial matches in the states of its plan, which mean nothing to another plan. So
a new plan gets its own machine. A generation owns the matches whose first event lies in its
stretch; it is fed until one window after the stretch, because its matches may last that long, and
then finished. Only its own matches count: none is lost and none is found twice, even if switches
follow each other within a window and more than two generations live. With NOT a new machine is also
fed the window before its stretch, whose events may break a match. Cost: every switch doubles the
work for one window, which penalises hasty replanning.
Source: *Efficient Adaptive Detection of Complex Event Patterns* (US 11,693,862 B2); overlapping
generations, and the support of NOT, are ours.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from cepkit.adaptation.decisions import DECISIONS, Decision
from cepkit.adaptation.loop import Adaptation
from cepkit.automata.machine import Machine
from cepkit.automata.mechanisms.contract import Follows, Mechanism
from cepkit.automata.recording import MOST_STEPS, Recording
from cepkit.automata.simulation import EACH_EVENT, follow, machine_for, new_machine, recording_of
from cepkit.budget import Work, WorkBoundError
from cepkit.costs.partial_matches import PARTIAL_MATCHES
from cepkit.errors import LimitError, PlanError
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.policies import TimeWindow
from cepkit.pattern.query import Query
from cepkit.plan.checks import as_plan
from cepkit.plan.nodes import Plan
from cepkit.plan.printer import one_line
from cepkit.printing import time_text
from cepkit.statistics.measuring.online import OnlineStatistics
from cepkit.statistics.model import Statistics
from cepkit.stream.columns import EventColumns
from cepkit.tracing import AdaptedTrace, Generation
from cepkit.tracing.clauses import Clauses
from cepkit.tracing.operations import Evaluate, Operation

CHECK_EVENTS = 20
"""Events from one check of the decision function to the next."""
_WINDOWS = 10
"""The statistics of a check cover this many windows for each of the adaptation's `history`."""


def of_mechanism(adapt: str | Decision | Adaptation, follows: Follows) -> Adaptation:
    """Return how a mechanism follows a stream: by partial matches, because it stores these.

    Raises:
        PlanError: There is no such decision function.
    """
    if isinstance(adapt, Adaptation):
        return adapt
    planner = "zstream" if follows == "a tree" else "greedy"
    decision = DECISIONS.pick(adapt)
    return Adaptation(decision, planner, PARTIAL_MATCHES, PARTIAL_MATCHES)


def simulate_adapted(
    mechanism: Mechanism,
    columns: EventColumns,
    query: Query,
    known: Statistics,
    adaptation: Adaptation,
    *,
    every: int = CHECK_EVENTS,
    work: Work | None = None,
) -> AdaptedTrace:
    """Run a mechanism over a stream, under plans that follow it.

    Args:
        known: The statistics of the whole stream. Conditions that instances never evaluate keep its
            selectivities; all others follow the evaluations.
        every: Events from one check to the next.
        work: What all machines together may do; None for any work.

    Raises:
        PlanError: The mechanism follows no plan, or not one of those that the planner makes.
        LimitError: The stream has more events, or they cause more operations, than a trace can
            hold.
    """
    if mechanism.follows == "nothing":
        raise PlanError(
            f"'{mechanism.name}' does not follow a plan, so that it cannot adapt",
            hint="the mechanisms 'chain-nfa' and 'evaluation-tree' follow one",
        )
    if len(columns) >= MOST_STEPS:
        raise LimitError(
            f"{len(columns):,} events with adapt=",
            expected=f"fewer than {MOST_STEPS:,}",
            hint="simulate(..., limit=1000) takes the first thousand; detect follows any stream",
        )
    work = work or Work()
    run = _Run(mechanism, columns, query, adaptation, work)
    run.begin(known, every)
    try:
        for number, event in enumerate(run.events):
            # A stretch begins between two different times.
            if number - run.checked >= every and event.ts > run.events[number - 1].ts:
                run.check(number)
            work.budget += EACH_EVENT
            run.feed(number)
    except WorkBoundError:
        raise run.refusal() from None
    work.budget = sys.maxsize
    return run.finish()


class _Run:
    """The state of a run.

    Attributes:
        events: The stream.
        checked: The event of the last check.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        columns: EventColumns,
        query: Query,
        adaptation: Adaptation,
        work: Work,
    ) -> None:
        self._mechanism, self._columns, self._query = mechanism, columns, query
        self._adaptation, self._work = adaptation, work
        self._negated = any(branch.negated for branch in normal_form(query))
        limit = query.window.microseconds if isinstance(query.window, TimeWindow) else None
        self._window = limit
        _, self.events = machine_for(mechanism, columns, query, as_plan(None, query))
        self._tries = _Tries(query)
        self.checked = 0
        self._checks = self._fires = 0
        self._lives: list[_Life] = []

    def begin(self, known: Statistics, every: int) -> None:
        """Plan the first generation, by the events of the first stretch."""
        times = [event.ts for event in self.events]
        window = times[-1] - times[0] if self._window is None and times else self._window
        back = _WINDOWS * self._adaptation.history * max(1, window or 0)
        self._online = OnlineStatistics(self._query, known, back)
        early = OnlineStatistics(self._query, known, back)
        ahead = [e for e in self.events if e.number < every or e.ts <= times[0] + back]
        for event in ahead:
            early.add(event.ts, event.type)
        first = early.now(ahead[-1].ts) if ahead else known
        self._in_force = self._adaptation.start(self._query, first)
        self._add(0, "")

    def check(self, number: int) -> None:
        """Run the decision function; if it leads to another plan, begin a new generation."""
        self.checked = number
        self._checks += 1
        now = self._online.now(self.events[number - 1].ts)
        self._in_force = self._adaptation.step(self._query, self._in_force, now)
        self._fires += self._in_force.fired is not None
        if self._in_force.switched:
            self._lives[-1].end = self.events[number].ts
            self._add(number, self._in_force.fired or "")

    def feed(self, number: int) -> None:
        """Feed an event to all generations that may need it."""
        event = self.events[number]
        self._online.add(event.ts, event.type)
        for life in self._lives:
            over = life.end is not None and self._window is not None
            if over and not life.finished and event.ts > (life.end or 0) + (self._window or 0):
                life.finish()
            elif life.finished:
                life.recording.keep(())
            else:
                step = life.machine.feed(event)
                life.recording.keep(step)
                if life.end is None:
                    self._tries.count(self._online, event.ts, step)
            life.check_whole()

    def finish(self) -> AdaptedTrace:
        """Return the results of all generations."""
        generations = []
        for life in self._lives:
            if life.finished:
                life.recording.keep(())
            else:
                life.finish()
            life.check_whole()
            generations.append(self._generation(life))
        return AdaptedTrace(tuple(generations), self._checks, self._fires)

    def refusal(self) -> LimitError:
        """Return the error of a run that does more than it may."""
        return self._lives[-1].recording.refusal()

    def _add(self, number: int, why: str) -> None:
        """Add a generation whose stretch begins at an event."""
        plan = follow(self._mechanism, self._in_force.plan, self._query)
        machine = new_machine(self._mechanism, self._columns, self._query, plan)
        machine.journal.work = self._work
        begin = self.events[number].ts if number else None
        recording = recording_of(machine, self._query, len(self.events), MOST_STEPS + 1)
        life = _Life(begin, plan, why, machine, recording)
        self._lives.append(life)
        fed_since = number
        if self._negated and number:
            # Events before the stretch may break its matches.
            least = None if self._window is None else self.events[number].ts - self._window
            fed_since = next(i for i, e in enumerate(self.events) if least is None or e.ts >= least)
        for event in self.events[:number]:
            life.recording.keep(machine.feed(event) if event.number >= fed_since else ())
            life.check_whole()

    def _generation(self, life: _Life) -> Generation:
        own = []
        for place, match in enumerate(life.recording.matches):
            first = min(self.events[event].ts for event in match.members)
            late = life.end is not None and first >= life.end
            if not late and (life.begin is None or first >= life.begin):
                own.append(place)
        text = one_line(life.plan)
        shown = text
        if life.begin is not None or life.end is not None:
            since = "" if life.begin is None else f" from {time_text(life.begin)}"
            until = "" if life.end is None else f" until {time_text(life.end)}"
            shown = f"{text}, owns what begins{since}{until}"
        trace = life.recording.trace(
            self._mechanism.name, self._mechanism.diagram, self._columns, shown
        )
        return Generation(life.begin, life.end, text, life.why, trace, tuple(own))


class _Tries:
    """Counts the conditions between variables that a mechanism tried, and those that held.

    A pair with several conditions holds if all of them hold. Conditions after one that fails are
    not tried and do not count.
    """

    def __init__(self, query: Query) -> None:
        self._about = {
            number: condition.variables
            for condition, number in Clauses.of(query).conditions.items()
            if len(condition.variables) > 1 and not condition.has_set_functions
        }
        self._sizes = Counter(self._about.values())

    def count(self, online: OnlineStatistics, ts: int, step: Iterable[Operation]) -> None:
        """Count the conditions that a step tried."""
        for operation in step:
            if isinstance(operation, Evaluate):
                results: dict[frozenset[str], list[bool]] = {}
                for checked in operation.checked:
                    if (about := self._about.get(checked.clause)) is not None:
                        results.setdefault(about, []).append(checked.held)
                for about, held in results.items():
                    if not all(held) or len(held) == self._sizes[about]:
                        online.tried(ts, about, held=all(held))


@dataclass(slots=True)
class _Life:
    """A live generation."""

    begin: int | None
    plan: Plan
    why: str
    machine: Machine
    recording: Recording
    end: int | None = None
    finished: bool = False

    def finish(self) -> None:
        """Stop feeding: report the matches that are certain, drop the rest."""
        self.recording.keep(self.machine.finish())
        self.finished = True

    def check_whole(self) -> None:
        """Check that the trace is complete.

        Raises:
            LimitError: The trace is not complete.
        """
        if not self.recording.whole:
            raise LimitError(
                "the trace would be too large",
                hint="simulate(..., limit=1000) takes the first thousand events",
            )
