"""One mechanism for several patterns, and the nodes that their branches share.

The plans of several patterns become prefix-shared orders, or shared trees: equal nodes are one. A
node belongs to the user with the largest window (among equal ones to the first), so that it keeps
all that any user needs. Nodes above it belong to users with windows that are no larger, so a branch
takes some nodes from others and has all nodes above them to itself.
A branch with constant conditions, which may make it impossible, shares nothing; neither does one
with runs, GREEDY, UNTIL, conditions between members or a NOT of several events. A NOT that the
window ends is decided at the last node of its branch, which is shared only with other last nodes.
O(users of all nodes). Source: MULTI, the multi-pattern NFA and the multitree.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cepkit.costs.work import WORK
from cepkit.pattern.canonical import canonical_conditions
from cepkit.pattern.conditions import Expression, set_of_members, variables_of
from cepkit.pattern.normal_form import Branch, normal_form, runs_as_absences
from cepkit.pattern.query import Query
from cepkit.plan.nodes import BranchPlan, Plan, as_tree
from cepkit.sharing.description import ends_with_window
from cepkit.sharing.parts import places_of
from cepkit.sharing.plan_graph import COMMON, Choice, Mode, Prepared
from cepkit.sharing.start import alone
from cepkit.sharing.workload import Sharer, Workload


@dataclass(frozen=True, slots=True)
class Taken:
    """A node that a branch takes from another one.

    Attributes:
        owner: The number of the other branch.
        variables: The variables of this branch, each with that of the other.
        conditions: The conditions of this branch on them that the other branch does not have.
    """

    owner: int
    variables: tuple[tuple[str, str], ...] = ()
    conditions: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class Member:
    """A branch of one of several queries.

    Attributes:
        number: Its number among all branches.
        query: The number of its query.
        called: The names of its variables in traces; a shared variable has one name.
        taken: The nodes that it takes from others.
        users: For each own node its variables and the numbers of the branches that use it.
        component: The number of its automaton, or multitree.
    """

    number: int
    query: int
    branch: Branch
    plan: BranchPlan
    called: Mapping[str, str]
    taken: tuple[Taken, ...] = ()
    users: tuple[tuple[frozenset[str], tuple[int, ...]], ...] = ()
    component: int = 0


def single(query: Query, plan: Plan) -> tuple[Member, ...]:
    """Return the branches of one query, each by itself."""
    return tuple(
        Member(number, 0, runs_as_absences(branch), branch_plan, {}, component=number)
        for number, (branch, branch_plan) in enumerate(
            zip(normal_form(query), plan.branches, strict=True)
        )
    )


def joint(
    queries: Sequence[Query],
    plans: Sequence[Plan],
    pools: Sequence[Sequence[int]] | None,
    mode: Mode,
) -> tuple[Member, ...]:
    """Return the branches of several queries with the nodes that they share, owners first.

    Args:
        pools: For each branch of each query its pool, from a shared plan; None: one for all.
        mode: "order" to share common prefixes, "tree" to share subtrees.
    """
    return tuple(_Joining(queries, plans, pools, mode).members())


class _Joining:
    def __init__(
        self,
        queries: Sequence[Query],
        plans: Sequence[Plan],
        pools: Sequence[Sequence[int]] | None,
        mode: Mode,
    ) -> None:
        self._mode = mode
        branches = [branch for query in queries for branch in normal_form(query)]
        self._branches = [*map(runs_as_absences, branches)]
        self._plans = [as_tree(p) if mode == "tree" else p for plan in plans for p in plan.branches]
        workload = Workload.of(queries)
        self._sharers = workload.sharers
        all_pools = (
            [COMMON] * len(self._sharers) if pools is None else [p for each in pools for p in each]
        )
        prepared = Prepared(workload, WORK, mode)
        self._paths: list[list[tuple[object, tuple[str, ...]]]] = []
        self._users: dict[object, dict[int, tuple[str, ...]]] = {}
        for sharer, pool in zip(self._sharers, all_pools, strict=True):
            apart = pool < 0 or _is_apart(self._branches[sharer.number])
            own_pool = alone(sharer) if apart else pool
            choice = Choice(places_of(self._plans[sharer.number], sharer), own_pool)
            self._paths.append([*self._nodes(prepared, sharer, choice)])
            for node, variables in self._paths[-1]:
                self._users.setdefault(node, {}).setdefault(sharer.number, variables)
        self._owners = {node: min(users, key=self._rank) for node, users in self._users.items()}
        self._names: dict[str, int] = {}

    def _nodes(
        self, prepared: Prepared, sharer: Sharer, choice: Choice
    ) -> Iterator[tuple[object, tuple[str, ...]]]:
        """Yield the nodes of a plan with their variables, the parts of a node before it."""
        if self._mode == "order":
            yield (sharer.family, choice.pool), ()  # all have one initial state
        path, arrangements = prepared.path(sharer, choice), prepared.arrangements(sharer, choice)
        nodes: list[object] = [step.node for step in path]
        branch = self._branches[sharer.number]
        if any(ends_with_window(branch, event.variable) for event in branch.negated):
            nodes[-1] = "last", nodes[-1]
        for node, places in zip(nodes, arrangements, strict=True):
            yield node, tuple(sharer.description.variables[place] for place in places)

    def _rank(self, number: int) -> tuple[int, int]:
        return -self._sharers[number].window, number

    def members(self) -> Iterator[Member]:
        taken_nodes = {s.number: self._taken(s.number) for s in self._sharers}
        components = self._components(taken_nodes)
        called: dict[int, Mapping[str, str]] = {}
        for number in sorted(taken_nodes, key=self._rank):
            called[number] = self._called(number, taken_nodes[number], called)
            own = dict.fromkeys(node for node, _ in self._paths[number])
            yield Member(
                number,
                self._sharers[number].query,
                self._branches[number],
                self._plans[number],
                called[number],
                taken_nodes[number],
                tuple(
                    (frozenset(self._users[node][number]), tuple(sorted(self._users[node])))
                    for node in own
                    if self._owners[node] == number
                ),
                components[number],
            )

    def _taken(self, number: int) -> tuple[Taken, ...]:
        """Return the largest nodes of a branch that belong to others, each once."""
        taken: list[Taken] = []
        covered: set[str] = set()
        theirs: set[tuple[int, str]] = set()
        for node, variables in reversed(self._paths[number]):
            owner = self._owners[node]
            pairs = tuple(zip(variables, self._users[node][owner], strict=True))
            owned = {(owner, variable) for _, variable in pairs}
            free = not covered & {*variables} and not theirs & owned
            if owner != number and free and (variables or not taken):
                covered |= {*variables}
                theirs |= owned
                taken.append(Taken(owner, pairs, tuple(self._only_implied(number, owner, pairs))))
        return tuple(taken)

    def _only_implied(
        self, number: int, owner: int, pairs: Sequence[tuple[str, str]]
    ) -> Iterator[Expression]:
        """Yield the conditions of a branch on some variables that their owner only implies.

        `a.k = b.k AND b.k = c.k` implies `a.k = c.k`.
        """
        ours = {here: f"_{i}" for i, (here, _) in enumerate(pairs)}
        theirs = {there: f"_{i}" for i, (_, there) in enumerate(pairs)}
        owned_parts = {
            part
            for condition in self._branches[owner].conditions
            if variables_of(condition) <= theirs.keys()
            for part in canonical_conditions([condition], theirs)
        }
        for condition in self._branches[number].conditions:
            about = variables_of(condition)
            covered = about and about <= ours.keys()
            if covered and not {*canonical_conditions([condition], ours)} <= owned_parts:
                yield condition

    def _called(
        self, number: int, taken: Sequence[Taken], called: Mapping[int, Mapping[str, str]]
    ) -> Mapping[str, str]:
        """Return the names of the variables of a branch in traces.

        A shared variable has its name in the first branch. If another query has used the name for
        another variable, it gets a number.
        """
        branch = self._branches[number]
        names = {
            here: called[node.owner][there] for node in taken for here, there in node.variables
        }
        by_first: dict[str, tuple[str, int]] = {}
        for node, variables in self._paths[number]:
            users = self._users[node]
            if users[number] == variables:
                first = min(users)
                for here, name in zip(variables, users[first], strict=True):
                    by_first[here] = by_first.get(here, (name, first))
        for event in (*branch.positive, *branch.negated):
            if event.variable not in names:
                base, first = by_first.get(event.variable, (event.variable, number))
                query = self._sharers[first].query
                name, more = base, query + 1
                while name in names.values() or self._names.setdefault(name, query) != query:
                    name, more = f"{base}_{more}", more + 1
                names[event.variable] = name
        return names

    def _components(self, taken: Mapping[int, Sequence[Taken]]) -> dict[int, int]:
        """Return for each branch the number of its component, in the order of the branches."""
        part = {number: {number} for number in taken}
        for number, nodes in taken.items():
            for node in nodes:
                both = part[number] | part[node.owner]
                part.update(dict.fromkeys(both, both))
        order = {first: i for i, first in enumerate(sorted({min(each) for each in part.values()}))}
        return {number: order[min(each)] for number, each in part.items()}


def _is_apart(branch: Branch) -> bool:
    """Return whether a branch shares nothing with others."""
    return (
        bool(branch.together)
        or any(event.beside is not None for event in branch.negated)
        or any(not variables_of(c) or set_of_members(c) is not None for c in branch.conditions)
    )
