"""The first steps of a program with fewer conditions, as a shared plan needs them."""

from __future__ import annotations

from dataclasses import replace

from cepkit.columnar.compile.branch import compile_branch
from cepkit.columnar.compile.forest import WeakStart
from cepkit.columnar.compile.program import Program
from cepkit.columnar.compile.steps import ends_of, is_link
from cepkit.pattern.normal_form import Branch
from cepkit.plan.nodes import OrderPlan
from cepkit.sharing.late import Late, weaker_branch


def weak_start(branch: Branch, program: Program, late: Late) -> WeakStart | None:
    """Return the weaker steps that a program begins with; None if there are none.

    Args:
        late: The part of the branch that comes from a weaker node.
    """
    order = program.bound[: len(late.variables)]
    if {*order} != {*late.variables} or not _equal_in_all(program, late):
        return None
    steps = compile_branch(weaker_branch(branch, late), OrderPlan(order))
    weaker = replace(
        program,
        steps=steps.steps,
        absences=steps.absences,
        classes=steps.classes,
        linked=steps.linked,
    )
    return WeakStart(weaker, late.checked)


def _equal_in_all(program: Program, late: Late) -> bool:
    """Return whether the first steps demand or check each equality that later steps rely on."""
    links = [ends_of(each) for each in (*late.demanded, *late.checked) if is_link(each)]
    for members in program.classes[: program.linked]:
        own = {m for m in members if m[0] in late.variables and isinstance(m[1], str)}
        if any(attribute is None for _, attribute in members) or len(own) < 2:
            continue
        reached = {min(own)}
        while further := {m for link in links if link & reached for m in link} - reached:
            reached |= further
        if not own <= reached:
            return False
    return True
