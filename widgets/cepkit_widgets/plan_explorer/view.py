"""The plan explorer as a notebook app."""

from __future__ import annotations

import threading
from dataclasses import replace
from time import perf_counter
from typing import Any, cast

import pandas as pd

from cepkit.arguments import check_range
from cepkit.errors import CepkitError, PlanError
from cepkit.pattern.builder import Pattern
from cepkit.pattern.query import Query
from cepkit.plan.nodes import BranchPlan, Plan
from cepkit.planners.compare import Measured
from cepkit.statistics.model import Statistics
from cepkit.stream.stream import Stream, check_stream
from cepkit_widgets.kit.app import App
from cepkit_widgets.kit.parts import STEPS, place_after
from cepkit_widgets.kit.work import Work
from cepkit_widgets.plan_explorer.outlook import Outlook, Side
from cepkit_widgets.plan_explorer.page import explorer_html
from cepkit_widgets.plan_explorer.state import Crossing, ExplorerState, quick_planners

_AT_ONCE = 8
"""Up to this many variables, cross-overs are found (in 0.5 s) before the app is shown."""
_LONGEST = 5.0
"""The search for cross-overs ends after this many seconds."""
_REST = 0.25
"""The search for cross-overs begins after this many seconds without a move."""


class PlanExplorer(App):
    """Plans that follow sliders: rates, selectivities, the window, alpha and the cost model.

    Attributes:
        error: The error of the last input; None if it was valid.

    Example:
        >>> import cepkit as ck
        >>> from cepkit_widgets import PlanExplorer
        >>> pattern = "PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x WITHIN 10 seconds"
        >>> rates = {"a": 10, "b": 10, "c": 0.1}
        >>> statistics = ck.Statistics.assumed(rates, {("a", "b"): 0.5})
        >>> explorer = PlanExplorer(pattern, statistics)
        >>> print(explorer)
        PlanExplorer: c → a → b by dp-order, as measured
        >>> explorer.move("rate:c", 100.0)
        >>> print(explorer)
        PlanExplorer: a → b → c by dp-order, rate:c=100
    """

    def __init__(
        self,
        pattern: Query | Pattern | str,
        statistics: Statistics,
        *,
        stream: Stream | None = None,
        events: int = 20_000,
    ) -> None:
        """Show the plans as measured.

        Args:
            pattern: The query, or its text.
            statistics: From `cepkit.profile`, or made by hand.
            stream: The stream from which *run both* takes its sample.
            events: How many events that sample has.
        """
        self.outlook: Outlook | None = None
        self._stream, self._events = stream, events
        self._running = False
        self._quick: tuple[str, ...] | None = None
        self._moves = 0
        self._moved, self._rested = threading.Event(), threading.Event()
        self._rested.set()

        def begin() -> None:
            check_range("events", events, 1)
            if stream is not None:
                check_stream(stream)
            state = ExplorerState.of(pattern, statistics)
            # The first time includes compiling.
            state.compare()
            comparison = state.compare()
            self._quick = quick_planners(comparison)
            self.outlook = Outlook(state, comparison)
            if state.variables <= _AT_ONCE:
                crossings = _crossings(self.outlook, lambda: False) or {}
                self.outlook = self.outlook.rested(comparison, crossings)
            else:
                self._follow_aside()

        super().__init__(begin)

    def body(self) -> str:
        """Return the HTML of the app."""
        if self.outlook is None:
            return ""
        sample = 0 if self._stream is None else self._events
        return explorer_html(self.outlook, self.width, sample=sample, running=self._running)

    @property
    def plan(self) -> Plan | None:
        """The current plan: the chosen planner's, or the cheapest."""
        return None if self.outlook is None else self.outlook.plan

    @property
    def statistics(self) -> Statistics | None:
        """The statistics with the values of the sliders."""
        return None if self.outlook is None else self.outlook.state.statistics

    @property
    def crossings(self) -> pd.DataFrame:
        """Where another plan becomes the best: parameter, value, above; computed between moves."""
        known = {} if self.outlook is None else self.outlook.crossings
        rows = [(c.parameter, c.value, c.above) for found in known.values() for c in found]
        return pd.DataFrame(rows, columns=["parameter", "value", "above"])

    def as_code(self, statistics: str = "statistics") -> str:
        """Return the cell that makes the shown plan.

        Args:
            statistics: The name of the variable with the statistics as measured.
        """
        outlook = self._known()
        return outlook.state.as_code(outlook.planner, statistics)

    def move(self, name: str, value: float) -> None:
        """Move a number, as its slider does.

        Args:
            name: As ``"rate:a"``, ``"selectivity:a,b"``, ``"window"`` (seconds, or events) or
                ``"alpha"``.
            value: The new value.

        Raises:
            ArgumentError: There is no such number, or the value is invalid.
        """
        with self.moving:
            self._to(self._known().state.at(name, value))
            self.refresh()

    def reset(self) -> None:
        """Put all numbers back to the measured ones."""
        with self.moving:
            self._to(self._known().state.reset())
            self.refresh()

    def wait(self, seconds: float = 30.0) -> bool:
        """Wait until cross-overs and slow planners are up to date; return whether they are."""
        return self._rested.wait(seconds)

    def run(self) -> pd.DataFrame:
        """Run the plans of both sides on the sample.

        Returns:
            A row for each: side, plan, planner, candidates, partial_matches, matches, seconds.

        Raises:
            PlanError: There is no stream.
        """
        outlook = self._known()
        measured = _measured(outlook, self._given().head(self._events))
        with self.moving:
            now = self._known()
            if now.state is outlook.state:
                self.outlook = replace(now, measured=measured)
        rows = []
        for side, plan in outlook.shown.items():
            what = measured[plan.branches]
            counts = (
                (what.candidates, what.partial_matches, what.matches, what.seconds)
                if isinstance(what, Measured)
                else (None,) * 4
            )
            rows.append((side, " | ".join(map(str, plan.branches)), plan.planner, *counts))
        names = ["side", "plan", "planner", "candidates", "partial_matches", "matches", "seconds"]
        return pd.DataFrame(rows, columns=names)

    def act(self, name: str, value: Any) -> None:
        """Handle an action of the user."""
        outlook = self._known()
        match name:
            case "cost":
                self._to(outlook.state.by(str(value)))
            case "reset":
                self._to(outlook.state.reset())
            case "choose":
                self.outlook = outlook.choose(str(value))
            case "step":
                self.outlook = outlook.choose(_stepped(outlook, str(value)))
            case "pinA" | "pinB":
                self.outlook = outlook.pin(cast("Side", name[-1]), str(value))
            case "unpin":
                self.outlook = outlook.unpin(cast("Side", value))
            case "run":
                self._start_run()
            case _:
                parameter = outlook.state.parameter(name)
                position = float(value) / STEPS
                parameter.check(position)
                self._to(outlook.state.at(name, parameter.at(position)))

    def _known(self) -> Outlook:
        if self.outlook is None:
            raise PlanError("there is nothing to explore", hint="the app says what is wrong")
        return self.outlook

    def _to(self, state: ExplorerState) -> None:
        outlook = self._known()
        self.outlook = outlook.moved_to(state, state.compare(self._quick))
        self._moves += 1
        self._moved.set()
        if self._rested.is_set():
            self._follow_aside()

    def _follow_aside(self) -> None:
        self._rested.clear()
        threading.Thread(target=self._follow, daemon=True).start()

    def _follow(self) -> None:
        """Find cross-overs and run slow planners whenever the user rests."""
        while True:
            while self._moved.wait(_REST):
                self._moved.clear()
            with self.moving:
                outlook, move = self._known(), self._moves
            try:
                comparison = (
                    outlook.comparison
                    if len(self._quick or ()) == len(outlook.comparison.rows)
                    else outlook.state.compare()
                )
                crossings = _crossings(
                    replace(outlook, comparison=comparison), lambda m=move: self._moves != m
                )
            except CepkitError:
                comparison, crossings = outlook.comparison, {}
            with self.moving:
                if self._moves != move:
                    continue
                # Plans that the user chose or pinned meanwhile stay.
                self.outlook = self._known().rested(comparison, crossings or {})
                self._rested.set()
                self.refresh()
                return

    def _given(self) -> Stream:
        if self._stream is None:
            raise PlanError(
                "run=True without a stream",
                hint="PlanExplorer(pattern, statistics, stream=stream)",
            )
        return self._stream

    def _start_run(self) -> None:
        self._given()
        if not self._running:
            self._running = True
            Work(self.run, self._ran)

    def _ran(self, _: Any, error: BaseException | None) -> None:
        with self.moving:
            self._running = False
            self.error = error if isinstance(error, Exception) else None
            self.refresh()

    def __repr__(self) -> str:
        if self.outlook is None:
            return f"PlanExplorer: {self.error}"
        plan = " | ".join(map(str, self.outlook.plan.branches))
        moved = ", ".join(f"{k}={v:.3g}" for k, v in self.outlook.state.moved.items())
        return f"PlanExplorer: {plan} by {self.outlook.planner}, {moved or 'as measured'}"


def _crossings(outlook: Outlook, outdated: Any) -> dict[str, tuple[Crossing, ...]] | None:
    """Return the cross-overs of all parameters; None if they are no longer wanted.

    If time runs out, those of some parameters are left out.
    """
    found: dict[str, tuple[Crossing, ...]] = {}
    begin = perf_counter()
    for parameter in outlook.state.parameters:
        if outdated():
            return None
        if perf_counter() - begin > _LONGEST:
            break
        found[parameter.name] = outlook.state.crossings(outlook.comparison, parameter.name)
    return found


def _stepped(outlook: Outlook, key: str) -> str:
    groups = outlook.comparison.by_plan
    names = [{row.plan.planner for row in group} for group in groups]
    at = next(i for i, group in enumerate(names) if outlook.planner in group)
    return groups[place_after(key, at, len(names))][0].plan.planner


def _measured(outlook: Outlook, part: Stream) -> dict[tuple[BranchPlan, ...], Measured | str]:
    from cepkit.columnar.results.measuring import run_plans

    rows = []
    for plan in {plan.branches: plan for plan in outlook.shown.values()}.values():
        like = outlook.comparison.rows[0]
        rows.append(replace(like, plan=plan, measured=None, not_run=""))
    ran = run_plans(replace(outlook.comparison, rows=tuple(rows)), part)
    return {row.plan.branches: row.measured or row.not_run for row in ran.rows}
