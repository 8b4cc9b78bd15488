"""A compiled query: a program for each branch, and which sets make matches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from cepkit.columnar.compile.branch import compile_branch
from cepkit.columnar.compile.forest import Leaf, Node, SharedTree, WeakStart, forest_of
from cepkit.columnar.compile.program import Program
from cepkit.pattern.normal_form import Branch, normal_form
from cepkit.pattern.policies import AfterMatch, Strategy
from cepkit.pattern.query import Query
from cepkit.plan.nodes import Plan
from cepkit.values import dataclass

if TYPE_CHECKING:
    from cepkit.sharing.late import Late

Sets: TypeAlias = Literal["every", "maximal"]
"""Which sets of Kleene variables make matches: see `Matches`."""


@dataclass(frozen=True, slots=True)
class CompiledQuery:
    """A query and a plan, compiled.

    Attributes:
        branches: The normal form of the query.
        programs: One for each branch.
        forest: What the programs begin with in common.
        in_turn: Whether an event takes part in one match at most (skip-till-next-match).
        sets: Which sets of Kleene variables make matches.
        trees: The subtrees that programs have in common.
        after_match: Which of the matches are left; None: all.
        weak: For each program the weaker steps that it may begin with; none where it is empty.
    """

    branches: tuple[Branch, ...]
    programs: tuple[Program, ...]
    forest: tuple[Node, ...]
    in_turn: bool = False
    sets: Sets = "every"
    trees: tuple[SharedTree, ...] = ()
    weak: tuple[WeakStart | None, ...] = ()
    after_match: AfterMatch | None = None

    @property
    def chooses(self) -> bool:
        """Whether it depends on other matches which ones count."""
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
    """Return a query compiled.

    Args:
        query: The query.
        plan: A plan for each of its branches.
        sets: Which sets of Kleene variables make matches.
        late: For each branch what it takes from a node that demands less; none where it is empty.
    """
    branches = normal_form(query)
    programs = tuple(
        compile_branch(branch, branch_plan, branches[:i])
        for i, (branch, branch_plan) in enumerate(zip(branches, plan.branches, strict=True))
    )
    in_turn = query.strategy is Strategy.SKIP_TILL_NEXT_MATCH
    forest = tuple(map(Leaf, range(len(programs)))) if in_turn else forest_of(programs)
    weak: tuple[WeakStart | None, ...] = ()
    if late:
        # Imported for plans that are shared alone: the package of these takes long to import.
        from cepkit.columnar.compile.weak import weak_start

        weak = tuple(
            None if each is None else weak_start(branch, program, each)
            for branch, program, each in zip(branches, programs, late, strict=False)
        )
    return CompiledQuery(
        branches, programs, forest, in_turn, sets, weak=weak, after_match=query.after_match
    )
