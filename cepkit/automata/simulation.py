"""Simulation: a mechanism over a whole stream, and its trace."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterator, Mapping, Sequence

from cepkit.automata.chart import Chart
from cepkit.automata.events import Event, events_of
from cepkit.automata.joint import Member, joint, single
from cepkit.automata.lanes.journal import Journal
from cepkit.automata.machine import Machine
from cepkit.automata.mechanisms.contract import Joint, JointProgram, Mechanism
from cepkit.automata.recording import Recording
from cepkit.automata.subject import Subject, attributes_read
from cepkit.budget import Work
from cepkit.errors import PlanError, UnsupportedError
from cepkit.memory import Expected, Room
from cepkit.pattern.evaluation.kind_checks import check_kinds
from cepkit.pattern.policies import CountWindow, Strategy, window_text
from cepkit.pattern.query import Query
from cepkit.plan.checks import PlanLike, as_plan
from cepkit.plan.nodes import Plan, TreePlan
from cepkit.plan.printer import one_line
from cepkit.progress import counted
from cepkit.stream.columns import TIME, EventColumns, Kind
from cepkit.tracing import MechanismTrace
from cepkit.tracing.operations import Operation

_EVENT, _VALUE, _ARRAY = 240, 70, 500
"""Bytes of an event as an object, of a value, and of an array without its numbers."""
EACH_EVENT = 500
"""A run may do so much more with each event: a long stream is no reason to refuse."""
_INSTEAD = "simulate(..., limit=1000) takes the first thousand; detect takes all in little memory"


def refuse_unsupported(query: Query) -> None:
    """Refuse a query with a clause that no mechanism supports.

    Raises:
        UnsupportedError: AGG, AFTER MATCH SKIP, or a strategy other than skip-till-any-match.
    """
    if query.aggregates:
        raise UnsupportedError(
            "a pattern with AGG cannot be simulated: mechanisms find matches",
            hint="leave AGG out, or count with mechanism='prefix-counters'",
        )
    if query.after_match is not None:
        raise UnsupportedError(
            "a pattern with AFTER MATCH SKIP cannot be simulated: mechanisms find all matches",
            hint="leave it out; detect can",
        )
    if query.strategy is not Strategy.SKIP_TILL_ANY_MATCH:
        raise UnsupportedError(
            f"mechanisms cannot follow the strategy {query.strategy} yet",
            expected=str(Strategy.SKIP_TILL_ANY_MATCH),
            hint="detect can",
        )


def follow(mechanism: Mechanism, plan: PlanLike, query: Query) -> Plan:
    """Return the plan of a query for a mechanism.

    Raises:
        PlanError: The plan does not belong to the query, or is a tree where the mechanism follows
            an order.
    """
    query_plan = as_plan(plan, query)
    if mechanism.follows == "an order":
        for branch in query_plan.branches:
            if isinstance(branch, TreePlan):
                raise PlanError(
                    f"'{mechanism.name}' follows an order, and {branch} is a tree",
                    expected="an order, as ['c', 'b', 'a']",
                    hint="the mechanism 'evaluation-tree' follows any tree",
                )
    return query_plan


def machine_for(
    mechanism: Mechanism, columns: EventColumns, query: Query, plan: Plan
) -> tuple[Machine, list[Event]]:
    """Return a mechanism ready to run, and the events of a stream for it.

    Args:
        plan: A plan of the kind that the mechanism follows.

    Raises:
        PatternError: A condition compares values of different kinds.
        LimitError: The events would not fit the free memory.
    """
    machine = new_machine(mechanism, columns, query, plan)
    _check_memory(columns, attributes_read(query))
    return machine, list(events_of(columns, query, Subject.of(query).values))


def new_machine(mechanism: Mechanism, columns: EventColumns, query: Query, plan: Plan) -> Machine:
    """Return a mechanism ready to run over a stream (see `machine_for`)."""
    return _machine(mechanism, columns, Subject.of(query), single(query, plan))


def _machine(
    mechanism: Mechanism,
    columns: EventColumns,
    subject: Subject,
    members: Sequence[Member],
    journal: Journal | None = None,
    chart: Chart | None = None,
) -> Machine:
    """Return a machine for branches of one clock and partition."""
    queries = {member.query: subject.queries[member.query] for member in members}
    for query in queries.values():
        check_kinds(query, columns.kinds)
    # Arrival numbers are attributes without a column.
    kinds: dict[str, Kind] = {
        name: "timestamp" if name == TIME else columns.kinds.get(name, "integer")
        for name in subject.values
    }
    in_events = isinstance(members[0].branch.window, CountWindow)
    return Machine(
        mechanism,
        members,
        subject.clauses,
        subject.values,
        kinds,
        ascending=not in_events or columns.in_order(),
        journal=journal,
        chart=chart,
    )


def _check_memory(columns: EventColumns, names: Sequence[str]) -> None:
    """Refuse events that would not fit the free memory as objects."""
    size = _EVENT
    for name in names:
        shape = columns.attributes[name].values.shape
        size += _VALUE if len(shape) == 1 else _ARRAY + 8 * shape[1]
    events = Expected(len(columns), 1.0, f"there are {len(columns):,} events")
    Room("events", "objects", _INSTEAD, lambda: events).take(1, size)


def simulate(
    mechanism: Mechanism,
    columns: EventColumns,
    query: Query,
    plan: Plan,
    max_steps: int,
    work: Work | None = None,
) -> MechanismTrace:
    """Run a mechanism over a stream and return its trace.

    Args:
        plan: A plan of the kind that the mechanism follows.
        max_steps: The most steps to keep; the run goes on after them.
        work: What it may do; None for any work.
    """
    work = work or Work()
    machine, events = machine_for(mechanism, columns, query, plan)
    machine.journal.work = work
    recording = recording_of(machine, query, len(events), max_steps)
    recording.run(_steps([machine], [events], work))
    plan_text = one_line(plan) if mechanism.follows != "nothing" else ""
    return recording.trace(mechanism.name, mechanism.diagram, columns, plan_text)


def recording_of(machine: Machine, query: Query, events: int, max_steps: int) -> Recording:
    """Return the recording of a machine that runs a query (see `Recording`)."""
    subject = Subject.of(query)
    return Recording(machine.journal, machine.chart, subject, machine.members, events, max_steps)


def simulate_several(
    mechanism: Joint,
    columns: EventColumns,
    queries: Mapping[str, Query],
    plans: Sequence[Plan],
    pools: Sequence[Sequence[int]] | None,
    max_steps: int,
    work: Work | None = None,
) -> MechanismTrace:
    """Run a mechanism over a stream for several queries at once, and return its trace.

    Args:
        plans: A plan for each query, of the kind that the mechanism follows.
        pools: The pool of each branch of each query, from a shared plan; None: one for all.
        max_steps: The most steps to keep; the run goes on after them.
        work: What it may do; None for any work.
    """
    subject = Subject.several(queries)
    members = joint(
        subject.queries, plans, pools, "order" if mechanism.follows == "an order" else "tree"
    )
    work = work or Work()
    journal = Journal(work=work)
    chart = Chart(
        parts={m.number: m.component for m in members},
        names={m.number: subject.names[m.query] for m in members},
    )
    _check_memory(columns, subject.attributes)
    machines: list[Machine] = []
    streams: list[list[Event]] = []
    for family in _families(members):
        machines.append(_machine(mechanism, columns, subject, family, journal, chart))
        query = subject.queries[family[0].query]
        streams.append(list(events_of(columns, query, subject.values)))
    for machine in machines:
        _label_users(chart, machine, subject)
    chart.number_states()
    recording = Recording(journal, chart, subject, members, len(columns), max_steps)
    recording.run(_steps(machines, streams, work))
    named_plans = zip(queries, plans, strict=True)
    plan = "; ".join(f"{name}: {one_line(plan)}" for name, plan in named_plans)
    return recording.trace(mechanism.together, mechanism.joint_diagram, columns, plan)


def _steps(
    machines: Sequence[Machine], streams: Sequence[Sequence[Event]], work: Work
) -> Iterator[Sequence[Operation]]:
    """Feed each machine its stream, and yield what each event and the end cause in all of them."""
    for events in counted([*zip(*streams, strict=True)]):
        work.budget += EACH_EVENT
        pairs = zip(machines, events, strict=True)
        yield [step for machine, event in pairs for step in machine.feed(event)]
    work.budget = sys.maxsize  # what is alive ends, in one operation each
    yield [step for machine in machines for step in machine.finish()]


def _families(members: Sequence[Member]) -> list[list[Member]]:
    """Return the branches in groups of one clock and one partition."""
    families: dict[Hashable, list[Member]] = {}
    for member in members:
        branch = member.branch
        key = isinstance(branch.window, CountWindow), frozenset(branch.partition_by)
        families.setdefault(key, []).append(member)
    return list(families.values())


def _label_users(chart: Chart, machine: Machine, subject: Subject) -> None:
    """Label the nodes of a machine with the patterns that use them or end there."""
    by_number = {member.number: member for member in machine.members}
    for member in machine.members:
        program, rules = machine.programs[member.number], machine.rules[member.number]
        assert isinstance(program, JointProgram)
        window = member.branch.window
        for variables, users in member.users:
            names = tuple(dict.fromkeys(subject.names[by_number[n].query] for n in sorted(users)))
            ends = (
                subject.names[by_number[n].query]
                for n in users
                if len(by_number[n].branch.variables) == len(variables)
            )
            chart.label_users(
                program.node_of(rules.mask(variables)),
                names,
                tuple(dict.fromkeys(ends)),
                "" if window is None else window_text(window),
            )
