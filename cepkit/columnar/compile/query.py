"""Compiles a query and a plan: to a program for each branch, and which sets make matches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from cepkit.columnar.compile.absences import Absences, with_absences
from cepkit.columnar.compile.kleene import Repeated, repeated_of
from cepkit.columnar.compile.program import Absence, Program
from cepkit.columnar.compile.steps import Steps, parts_of
from cepkit.errors import UnsupportedError
from cepkit.pattern.conditions import NUMBER, NUMBER_BEFORE, TIME, attributes_of, variables_of
from cepkit.pattern.nodes import groups_in
from cepkit.pattern.normal_form import Branch, normal_form
from cepkit.pattern.policies import AfterMatch, Strategy
from cepkit.pattern.printer import structure_text
from cepkit.pattern.query import Query
from cepkit.pattern.repetitions import Group
from cepkit.pattern.requirements import Demands
from cepkit.plan.nodes import BranchPlan, OrderPlan, Plan, TreePlan, sets_begun

if TYPE_CHECKING:
    from cepkit.columnar.compile.forest import Node, SharedTree, WeakStart
    from cepkit.sharing.late import Late

Sets: TypeAlias = Literal["every", "maximal"]
"""Which sets of Kleene variables make matches: see `Matches`."""


@dataclass(frozen=True, slots=True)
class CompiledQuery:
    """A query and a plan, compiled.

    Attributes:
        branches: The normal form of the query.
        programs: One for each branch.
        forest: The first steps that programs have in common; empty for a single program.
        in_turn: Whether an event takes part in one match at most (skip-till-next-match).
        sets: Which sets of Kleene variables make matches.
        trees: The subtrees that programs have in common.
        weak: For each program the weaker steps that it may begin with; empty: no program has any.
        after_match: Which of the matches are left; None: all.
        groups: The groups that repeat, whose variables AFTER MATCH SKIP names.
        together: Whether it is of several queries. Else the last step of each program counts its
            matches, also where all of its steps are in common with others.
        work: The candidates that are expected for an event of the stream; 0 if that is unknown.
    """

    branches: tuple[Branch, ...]
    programs: tuple[Program, ...]
    forest: tuple[Node, ...] = ()
    in_turn: bool = False
    sets: Sets = "every"
    trees: tuple[SharedTree, ...] = ()
    weak: tuple[WeakStart | None, ...] = ()
    after_match: AfterMatch | None = None
    groups: tuple[Group, ...] = ()
    together: bool = False
    work: float = field(default=0.0, compare=False)

    @property
    def chooses(self) -> bool:
        """Whether other matches decide which matches count."""
        return self.in_turn or self.after_match is not None

    @property
    def attributes(self) -> tuple[str, ...]:
        """The columns that the programs read, in alphabetical order."""
        return tuple(sorted({name for program in self.programs for name in program.columns}))

    @property
    def lists_sets(self) -> bool:
        """Whether there are Kleene variables."""
        return any(program.listed for program in self.programs)


def compile_query(
    query: Query, plan: Plan, sets: Sets = "every", late: Sequence[Late | None] = ()
) -> CompiledQuery:
    """Return the compiled query.

    Args:
        late: For each branch its part that comes from a weaker node; empty: no branch has any.

    Raises:
        UnsupportedError: The largest sets of a group that repeats are asked for.
    """
    if sets == "maximal":
        for node in groups_in(query.written):
            raise UnsupportedError(
                f"sets='maximal' of a group that repeats, {structure_text(node)}",
                expected="sets='every', which has each number of repetitions",
                hint="a minimum, as in KL(SEQ(A a, B b)){3,5}, leaves fewer",
                span=node.span,
            )
    branches = normal_form(query)
    programs = tuple(
        compile_branch(branch, branch_plan, branches[:i])
        for i, (branch, branch_plan) in enumerate(zip(branches, plan.branches, strict=True))
    )
    in_turn = query.strategy is Strategy.SKIP_TILL_NEXT_MATCH
    forest: tuple[Node, ...] = ()
    trees: tuple[SharedTree, ...] = ()
    if len(programs) > 1 and not in_turn:
        from cepkit.columnar.compile.forest import forest_of, trees_of

        forest, trees = forest_of(programs), trees_of(programs)
    weak: tuple[WeakStart | None, ...] = ()
    if any(each is not None for each in late):
        # Only shared plans need this, and importing their package takes long.
        from cepkit.columnar.compile.forest import weak_start

        weak = tuple(
            None if each is None else weak_start(branch, program, each, compile_branch)
            for branch, program, each in zip(branches, programs, late, strict=False)
        )
    return CompiledQuery(
        branches,
        programs,
        forest,
        in_turn,
        sets,
        trees,
        weak,
        query.after_match,
        query.groups,
        work=_work(plan),
    )


def _work(plan: Plan) -> float:
    """Return the candidates that a plan expects for an event; 0 if it does not know."""
    if plan.statistics is None or not plan.statistics.events:
        return 0.0
    steps = (step.candidates for branch in plan.expected for step in branch)
    return sum(steps) / plan.statistics.events


def _may_follow(branch: Branch) -> bool:
    """Return whether an event under NOT could come after all events of a match, in any plan."""
    bound = set(branch.variables)
    ahead = (e for e in branch.negated if e.beside is None or e.beside.place != "until")
    return any(not branch.after(event.variable) & bound for event in ahead)


def _chain(branch: Branch, demands: Demands) -> tuple[str, ...]:
    """Return the variables in order if each must be the next event after the one before, or ()."""
    strict = demands.gapless == "arrival"
    positive = set(branch.variables)
    before = {v: len(branch.before(v) & positive) for v in branch.variables}
    in_order = sorted(branch.variables, key=before.__getitem__)
    places = [before[v] for v in in_order]
    total = places == list(range(len(places)))
    return tuple(in_order) if strict and total and not branch.repeated else ()


def compile_branch(
    branch: Branch, plan: BranchPlan | Sequence[str], earlier: Sequence[Branch] = ()
) -> Program:
    """Return the program that evaluates `branch` by `plan`.

    Args:
        plan: A plan for it, or a permutation of its variables.
        earlier: The branches before it in the normal form.
    """
    same = [other for other in earlier if set(other.variables) == set(branch.variables)]
    demands = Demands.of(branch)
    conditions = [*demands.conditions, *(c for one in (branch, *same) for c in one.conditions)]
    if not isinstance(plan, OrderPlan | TreePlan):
        plan = OrderPlan(tuple(plan))
    begun, repeated = frozenset[str](), tuple[Repeated, ...]()
    if branch.repeated:
        begun = sets_begun(branch, plan)
        repeated = repeated_of(branch, demands, same, parts_of(conditions), begun)
    compiler = Steps(branch, demands, plan, same, repeated, begun)
    steps = compiler.steps(compiler.units)
    listings = {r.variable: compiler.listing(r) for r in repeated}
    absences: tuple[Absence, ...] = ()
    otherwise: tuple[tuple[Absence, ...], ...] = ((),) * len(same)
    if any(one.negated for one in (branch, *same)):
        absent = Absences(compiler)
        absences, inner = absent.placed(absent.of(branch), compiler.units)
        steps = with_absences(steps, inner)
        otherwise = tuple(absent.of(other) for other in same)
    single = [v for v in branch.variables if v not in listings]
    if demands.in_turn:
        single += [r.last for r in repeated if r.last is not None]
    single = single or [next(end for r in repeated for end in r.ends)]
    read = frozenset(name for c in conditions for _, name in attributes_of(c))
    # Members of a set with no single event after it can follow the owners.
    followed = any(not branch.after(variable) & set(single) for variable in listings)
    return Program(
        variables=branch.variables,
        steps=steps,
        sets=tuple(listings[v] for v in plan.variables if v in listings),
        on_sets=compiler.on_sets,
        overlapping=compiler.overlapping(),
        side_by_side=demands.gapless if repeated else None,
        chain=_chain(branch, demands),
        absences=absences,
        otherwise=otherwise,
        classes=tuple(compiler.classes),  # includes those of absences, so compute it after them
        linked=compiler.linked,
        owners=tuple(compiler.core.latest(single)),
        looks_ahead=followed or any(map(_may_follow, (branch, *same))),
        followed=followed,
        window=demands.length,
        windows=demands.windows,
        attributes=read - {NUMBER, NUMBER_BEFORE, TIME},
        partition_by=branch.partition_by,
        next_clock=demands.clock_of_next if NUMBER in read else None,
        constants=tuple(part for part in compiler.parts if not variables_of(part)),
    )
