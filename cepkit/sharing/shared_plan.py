"""The plans of several patterns and their shared nodes, as a value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

from cepkit.costs.contract import CostModel
from cepkit.errors import PatternError
from cepkit.lazy import nx, pd
from cepkit.pattern.builder import as_query
from cepkit.pattern.policies import Window, window_text
from cepkit.pattern.query import Query
from cepkit.pattern.several import free_name
from cepkit.pattern.several import number_of as pattern_number
from cepkit.plan.logarithms import from_log
from cepkit.plan.nodes import BranchPlan, Plan, TreePlan
from cepkit.planners.choose import cost_plan
from cepkit.printing import WithPrinter
from cepkit.sharing.late import Late, check_text
from cepkit.sharing.parts import (
    Part,
    Share,
    alone_costs,
    branch_plan,
    mode_of,
    places_of,
    prepared_part,
)
from cepkit.sharing.plan_graph import Choice, Made, Mode, PlanGraph
from cepkit.sharing.prices import number_of, window_of
from cepkit.sharing.start import alone
from cepkit.sharing.texts import sub_pattern_text
from cepkit.sharing.workload import Places
from cepkit.statistics.model import Statistics


@dataclass(frozen=True, slots=True)
class NodeUser:
    """A user of a node, with its variable names.

    Attributes:
        name: Of the pattern.
        branch: The number of the branch in the pattern's normal form, from 0.
        variables: The branch's variables, in the order of the node's events.
        checked: The conditions that it checks on the node's rows because the node lacks them,
            including "a before b".
    """

    name: str
    branch: int
    variables: tuple[str, ...]
    checked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SharedNode:
    """A node of a shared plan: the partial matches of a sub-pattern, computed once.

    Attributes:
        pattern: The sub-pattern, with types as names of events.
        window: The largest window of its users; those with a smaller one filter its rows.
        users: All branches whose plans contain it; twice if they contain it twice.
        sources: The numbers of the nodes that it joins: for an order the prefix before it, for a
            tree both sides; none for a single event.
        alive: The expected partial matches alive in a window.
        cost: Its part of the total cost, including handing over.
        ends: The patterns whose complete matches it finds.
    """

    pattern: str
    window: Window | None
    users: tuple[NodeUser, ...]
    sources: tuple[int, ...]
    alive: float
    cost: float
    ends: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The patterns that use it, each once."""
        return tuple(dict.fromkeys(user.name for user in self.users))

    @property
    def size(self) -> int:
        """The number of variables that it binds."""
        return len(self.users[0].variables)


@dataclass(frozen=True, repr=False)
class SharedPlan(WithPrinter):
    """A plan for each of several patterns, and the nodes that they share.

    Attributes:
        names: Of the patterns.
        plans: A plan for each, as from `choose_plan`: an engine can run each separately.
        pools: A number for each branch of each plan. Equal nodes are shared only within a pool: a
            shared node takes the largest window of its users, which may cost users with a small one
            more than they save.
        late: For each branch the part that it takes from a weaker node; None if its nodes have all
            its conditions.
        cost: The total cost: by `work` for each second of the stream, by `partial-matches` the
            number alive. Latency is the sum over the branches, and belongs to no node.
        alone: The total cost of each pattern's best plan without sharing.
        share: The requested way of sharing: "auto", "none", "prefix" or "tree".
        cost_model: The name of the cost model.
        statistics: The statistics of the stream, covering all patterns.
    """

    names: tuple[str, ...]
    queries: tuple[Query, ...]
    plans: tuple[Plan, ...]
    pools: tuple[tuple[int, ...], ...]
    late: tuple[tuple[Late | None, ...], ...]
    cost: float
    alone: float
    share: Share
    search: str
    cost_model: CostModel
    statistics: Statistics

    @cached_property
    def nodes(self) -> tuple[SharedNode, ...]:
        """The nodes of all plans, sources before the nodes that join them."""
        nodes: list[SharedNode] = []
        for part in _parts_of(self, tuple(map(_mode_of, self.plans))):
            graph = PlanGraph(part.prepared, part.choices)
            nodes += _nodes_of(part, graph, self.names, len(nodes))
        return tuple(nodes)

    @property
    def shared(self) -> tuple[SharedNode, ...]:
        """The nodes that several plans contain."""
        return tuple(node for node in self.nodes if len(node.users) > 1)

    def __len__(self) -> int:
        """Return the number of patterns."""
        return len(self.plans)

    def __getitem__(self, pattern: int | str) -> Plan:
        """Return the plan of one pattern, by its name or number.

        Raises:
            PatternError: No pattern has that name.
        """
        number = pattern_number(pattern, self.names) if isinstance(pattern, str) else pattern
        return self.plans[number]

    def plan(self, name: str) -> Plan:
        """Return the plan of one pattern, as `shared[name]`."""
        return self[name]

    def add(
        self,
        pattern: str | Query | Any,
        name: str | None = None,
        statistics: Statistics | None = None,
    ) -> SharedPlan:
        """Return the plan with one more pattern; the plans of the others stay.

        The new pattern gets the cheapest plan given the others.

        Args:
            pattern: The query, its text, or a pattern of the builder.
            name: The name of the pattern; None for a free number.
            statistics: The statistics of all patterns; None if the present ones cover the new
                pattern.

        Raises:
            PatternError: It is not a pattern, or the name is in use.
            StatisticsError: The statistics do not cover it.
        """
        query = as_query(pattern)
        taken = free_name(self.names, name)
        known = self.statistics if statistics is None else statistics
        number = len(self.names)
        mode = mode_of(query, known.of(query), self.cost_model, self.share)
        grown = replace(
            self,
            names=(*self.names, taken),
            queries=(*self.queries, query),
            statistics=known,
        )
        parts = _parts_of(grown, (*map(_mode_of, self.plans), mode))
        for part in parts:
            if number in part.queries:
                part.respond(number, share=self.share != "none")
        return assembled(grown, parts)

    def remove(self, name: str) -> SharedPlan:
        """Return the plan without one pattern; the plans of the others stay.

        Raises:
            PatternError: There is no pattern of that name, or it is the only one.
        """
        number = pattern_number(name, self.names)
        if len(self.names) == 1:
            raise PatternError(f"cannot remove '{name}', which is the only pattern")
        rest = replace(
            self,
            names=_without(self.names, number),
            queries=_without(self.queries, number),
            plans=_without(self.plans, number),
            pools=_without(self.pools, number),
            late=_without(self.late, number),
        )
        return assembled(rest, _parts_of(rest, tuple(map(_mode_of, rest.plans))))

    def to_networkx(self) -> nx.DiGraph[int]:
        """Return the graph of the nodes by number, with edges from sources to their users.

        Attributes of a node: `label` (the sub-pattern), `variables` (how many it binds), `patterns`
        and `ends` (names), `window`, `alive`, `cost`; of an edge `alive`: the rows handed over.
        """
        graph: nx.DiGraph[int] = nx.DiGraph()
        for number, node in enumerate(self.nodes):
            graph.add_node(
                number,
                label=node.pattern,
                variables=node.size,
                patterns=node.names,
                ends=node.ends,
                window="" if node.window is None else window_text(node.window),
                alive=node.alive,
                cost=node.cost,
            )
            for source in node.sources:
                graph.add_edge(source, number, alive=self.nodes[source].alive)
        return graph

    def to_pandas(self) -> pd.DataFrame:
        """Return a row for each node.

        Columns: node, pattern, window, patterns (names), users, sources, alive, cost, ends.
        """
        return pd.DataFrame.from_records(
            [
                {
                    "node": number,
                    "pattern": node.pattern,
                    "window": "" if node.window is None else window_text(node.window),
                    "patterns": list(node.names),
                    "users": len(node.users),
                    "sources": list(node.sources),
                    "alive": node.alive,
                    "cost": node.cost,
                    "ends": list(node.ends),
                }
                for number, node in enumerate(self.nodes)
            ]
        )


def cost_under(plan: SharedPlan, statistics: Statistics) -> float:
    """Return the cost of a shared plan by other statistics of its queries."""
    parts = _parts_of(replace(plan, statistics=statistics), tuple(map(_mode_of, plan.plans)))
    return number_of(sum(PlanGraph(part.prepared, part.choices).cost for part in parts))


def _parts_of(whole: SharedPlan, modes: Sequence[Mode]) -> list[Part]:
    """Return the present plans by kind, with room for queries that have none yet."""
    known = [whole.statistics.of(query) for query in whole.queries]
    parts = []
    for mode in sorted({*modes}):
        numbers = [i for i, each in enumerate(modes) if each == mode]
        part = prepared_part(whole.queries, known, whole.cost_model, mode, numbers)
        for sharer, query, branch in part.sharers:
            if query < len(whole.plans):
                pool, late = whole.pools[query][branch], whole.late[query][branch]
                part.choices[sharer.number] = Choice(
                    places_of(whole.plans[query].branches[branch], sharer),
                    alone(sharer) if pool < 0 else pool,
                    None if late is None else part.prepared.workload.weaken(sharer, late),
                )
        parts.append(part)
    return parts


def assembled(whole: SharedPlan, parts: Sequence[Part]) -> SharedPlan:
    """Return a shared plan with the plans of its parts and its costs.

    Args:
        whole: The parts that stay: the queries, their names and so on, and unchanged plans.
        parts: The plans of all queries.
    """
    branches: list[list[BranchPlan]] = [[] for _ in whole.queries]
    pools: list[list[int]] = [[] for _ in whole.queries]
    late: list[list[Late | None]] = [[] for _ in whole.queries]
    known: dict[int, Statistics] = {}
    cost = by_itself = 0
    for part in parts:
        prepared = part.prepared
        part.upright()
        graph = PlanGraph(prepared, part.choices)
        cost += graph.cost
        by_itself += sum(alone_costs(part))
        for sharer, query, _ in part.sharers:
            known[query] = sharer.statistics
            choice = part.choices[sharer.number]
            branches[query].append(branch_plan(choice.plan, sharer, prepared.mode))
            pools[query].append(choice.pool if choice.pool >= 0 else -1 - query)
            weaker = prepared.weaker(choice)
            late[query].append(None if weaker is None else weaker.late)
    plans = []
    for number, each in enumerate(branches):
        plan = Plan(tuple(each), whole.search)
        old = whole.plans[number] if number < len(whole.plans) else None
        if old is None or old.branches != plan.branches:
            old = cost_plan(plan, whole.queries[number], known[number], whole.cost_model)
        plans.append(old)
    return replace(
        whole,
        plans=tuple(plans),
        pools=tuple(map(tuple, pools)),
        late=tuple(map(tuple, late)),
        cost=number_of(cost),
        alone=number_of(by_itself),
    )


def _nodes_of(part: Part, graph: PlanGraph, names: Sequence[str], first: int) -> list[SharedNode]:
    """Return the nodes of a part, numbered from `first`."""
    prepared = part.prepared
    numbers: dict[int, int] = {}
    makers: list[tuple[Made, Places]] = []
    users: dict[int, list[NodeUser]] = {}
    ends: dict[int, list[str]] = {}
    for sharer, query, branch in part.sharers:
        choice = graph.choices[sharer.number]
        path, weaker = prepared.path(sharer, choice), prepared.weaker(choice)
        for made, places in zip(path, prepared.arrangements(sharer, choice), strict=True):
            own = places
            checked: tuple[str, ...] = ()
            if weaker is not None and len(places) <= weaker.sharer.size:
                own = weaker.own(places)
                if len(own) == weaker.sharer.size:
                    checked = tuple(map(check_text, weaker.late.checked))
            if made.node not in numbers:
                numbers[made.node] = first + len(numbers)
                makers.append((made, own))
            variables = tuple(sharer.description.variables[place] for place in places)
            user = NodeUser(names[query], branch, variables, checked)
            users.setdefault(made.node, []).append(user)
        ends.setdefault(path[-1].node, []).append(names[query])
    nodes = []
    for made, places in makers:
        held = graph.held[made.node]
        prices = prepared.prices(made.sharer, held.window)
        nodes.append(
            SharedNode(
                sub_pattern_text(made.sharer, places),
                window_of(made.sharer, held.window),
                tuple(users[made.node]),
                tuple(numbers[source] for source in made.sources),
                from_log(prices.alive(made.left | made.right)),
                number_of(held.cost),
                tuple(ends.get(made.node, ())),
            )
        )
    return nodes


_T = TypeVar("_T")


def _without(items: tuple[_T, ...], number: int) -> tuple[_T, ...]:
    return items[:number] + items[number + 1 :]


def _mode_of(plan: Plan) -> Mode:
    return "tree" if any(isinstance(b, TreePlan) for b in plan.branches) else "order"


@dataclass(frozen=True, slots=True)
class Sharing:
    """How several patterns are run together.

    Attributes:
        plans: The plan of each.
        pools: The pools of the branches, as in `SharedPlan`; None: one pool for all.
        late: The parts from weaker nodes, as in `SharedPlan`.
    """

    plans: tuple[Plan, ...]
    pools: tuple[tuple[int, ...], ...] | None
    late: tuple[tuple[Late | None, ...], ...]

    @classmethod
    def of(cls, plans: SharedPlan | Sequence[Plan]) -> Sharing:
        """Return the sharing of a shared plan, or of separate plans."""
        if isinstance(plans, SharedPlan):
            return cls(plans.plans, plans.pools, plans.late)
        return cls(tuple(plans), None, tuple((None,) * len(plan.branches) for plan in plans))
