"""Compiles a branch and a plan to a program."""

from __future__ import annotations

from collections.abc import Sequence

from cepkit.columnar.compile.absences import Absences, with_absences
from cepkit.columnar.compile.demands import Demands
from cepkit.columnar.compile.kleene import repeated_of
from cepkit.columnar.compile.links import parts_of
from cepkit.columnar.compile.program import Program
from cepkit.columnar.compile.steps import Steps
from cepkit.pattern.conditions import NUMBER, NUMBER_BEFORE, TIME, attributes_of, variables_of
from cepkit.pattern.normal_form import Branch
from cepkit.plan.nodes import BranchPlan, OrderPlan, TreePlan, sets_begun


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
        branch: One branch of a normal form.
        plan: A plan for it, or a permutation of its variables.
        earlier: The branches before it in the normal form.
    """
    same = [other for other in earlier if set(other.variables) == set(branch.variables)]
    demands = Demands.of(branch)
    conditions = [*demands.conditions, *(c for one in (branch, *same) for c in one.conditions)]
    if not isinstance(plan, OrderPlan | TreePlan):
        plan = OrderPlan(tuple(plan))
    begun = sets_begun(branch, plan)
    repeated = repeated_of(branch, demands, same, parts_of(conditions), begun)
    compiler = Steps(branch, demands, plan, same, repeated, begun)
    steps = compiler.steps(compiler.units)
    listings = {r.variable: compiler.listing(r) for r in repeated}
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
