"""The plans of several branches as one graph, with each equal node once.

In a graph of orders (MPT) a node is a whole path of steps, in a graph of trees (MPM) an unordered
tree. A node's window is the largest of its users' windows; users with a smaller one filter its rows
by their span. Adding or removing a plan of n variables changes n nodes and the rows handed between
them, and returns the exact difference of cost (prices are integers).

    cost = sum over nodes of step(node at its window)
         + rows of a node, handed to each user but the first, and filtered for smaller windows
         + rows of a weaker node (late.py), checked by each user that demands more

Branches share only inside a pool. `COMMON` is for all. The pool of a window is for branches with
exactly this window, because rows of a large window may cost users with a small one more than they
save. The pool of one branch is not shared.

Source: MPT and MPM of MULTI; integers, pools and the price of handing over are ours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Literal, TypeAlias, cast

from cepkit.costs.contract import CostModel
from cepkit.pattern.canonical import MOST_ARRANGEMENTS
from cepkit.sharing.local import Local, Tree, mask_of, nodes_of, renamed
from cepkit.sharing.prices import CHECK, HAND_OVER, SPAN_FILTER, Prices
from cepkit.sharing.workload import Form, Places, Sharer, Weaker, Workload

Mode: TypeAlias = Literal["order", "tree"]

Planned: TypeAlias = "Places | Tree"
"""An order of a branch's places or a tree over them, depending on the mode."""

COMMON = 0
"""The pool in which all windows share."""

_HANDED, _FILTERED, _CHECKED = int(HAND_OVER), int(SPAN_FILTER), int(CHECK)


@dataclass(frozen=True, slots=True)
class Choice:
    """The plan of one branch.

    Attributes:
        plan: Its variables in an order, or a tree over them.
        pool: The pool in which it may share.
        weaker: The number of the weaker sub-pattern that its order begins with, if any.
    """

    plan: Planned
    pool: int = COMMON
    weaker: int | None = None

    @property
    def order(self) -> Places:
        """The plan, which must be an order."""
        return cast("Places", self.plan)

    @property
    def tree(self) -> Tree:
        """The plan, which must be a tree."""
        return cast("Tree", self.plan)


Changes: TypeAlias = Mapping[int, Choice]
"""New choices of sharers, by their numbers."""


@dataclass(frozen=True, slots=True)
class Made:
    """A node as a branch sees it.

    Attributes:
        node: Its number.
        left: The variables of its left part; empty for a leaf.
        right: The others.
        sources: The nodes that it joins.
        sharer: The owner of these variables: a branch, or the weaker sub-pattern that it begins
            with.
        checked: Whether the rows of its sources need checks of further conditions.
    """

    node: int
    left: int
    right: int
    sources: tuple[int, ...]
    sharer: Sharer
    checked: bool = False


@dataclass(slots=True)
class Held:
    """A node in use: its users and its price.

    Attributes:
        windows: The windows of its users, with the number of users of each.
        window: The largest of them.
        ends: The windows of users whose plan ends here; negative (`_mark`) if they check rows.
        takers: The same for the nodes that join it.
        several: Whether it has several variables, and so rows to hand over.
        cost: Its current cost.
    """

    several: bool
    windows: Counter[int] = field(default_factory=Counter)
    window: int = -1
    ends: Counter[int] = field(default_factory=Counter)
    takers: Counter[int] = field(default_factory=Counter)
    cost: int = 0

    @property
    def checked(self) -> int:
        """How many users check its rows."""
        return sum(n for each in (self.takers, self.ends) for key, n in each.items() if key < 0)


class Prepared:
    """A workload with its prices, shared by all graphs and searches over it.

    Attributes:
        trees: The trees of each sub-pattern in each pool that were examined, by their nodes; their
            leaves are places of the form.
    """

    def __init__(self, workload: Workload, cost: CostModel, mode: Mode) -> None:
        self.workload = workload
        self.cost = cost
        self.mode = mode
        self._prices: dict[tuple[int, int], Prices] = {}
        self._locals: dict[int, Local] = {}
        self._nodes: dict[object, int] = {}
        self._paths: dict[tuple[int, Choice], tuple[Made, ...]] = {}
        self._tree_forms: dict[tuple[int, int, Tree], tuple[int, tuple[Places, ...]]] = {}
        self._texts: dict[tuple[int, Places], object] = {}
        self.trees: dict[tuple[Form, int], dict[int, Tree]] = {}
        self._step_prices: dict[tuple[int, int], int] = {}
        self._row_prices: dict[tuple[int, int], int] = {}

    def prices(self, sharer: Sharer, window: int | None = None) -> Prices:
        """Return the prices of a branch at a window; None for its own."""
        key = sharer.number, sharer.window if window is None else window
        if key not in self._prices:
            self._prices[key] = Prices(sharer, key[1], self.cost, trees=self.mode == "tree")
        return self._prices[key]

    def weaker(self, choice: Choice) -> Weaker | None:
        """Return the weaker sub-pattern that an order begins with."""
        return None if choice.weaker is None else self.workload.weaker[choice.weaker]

    def local(self, sharer: Sharer) -> Local:
        """Return the local planner of a branch."""
        if sharer.number not in self._locals:
            self._locals[sharer.number] = Local(sharer.size, self.prices(sharer))
        return self._locals[sharer.number]

    def best(self, sharer: Sharer) -> Planned:
        """Return the best plan of a branch by itself."""
        local = self.local(sharer)
        return local.order if self.mode == "order" else local.tree

    def step_price(self, made: Made, window: int) -> int:
        """Return the cost of a node at a window; it is the same for all its users."""
        key = made.node, window
        known = self._step_prices.get(key)
        if known is None:
            known = self.prices(made.sharer, window).node(made.left, made.right)
            self._step_prices[key] = known
        return known

    def row_price(self, made: Made, window: int) -> int:
        """Return the cost of touching each row of a node once."""
        key = made.node, window
        known = self._row_prices.get(key)
        if known is None:
            known = self.prices(made.sharer, window).rows(made.left | made.right)
            self._row_prices[key] = known
        return known

    def path(self, sharer: Sharer, choice: Choice) -> tuple[Made, ...]:
        """Return the nodes of a plan, sources before the nodes that join them."""
        key = sharer.number, choice
        known = self._paths.get(key)
        if known is None:
            if self.mode == "order":
                nodes = self._along(sharer, choice)
            else:
                nodes = self._subtrees(sharer, choice.tree, choice.pool)
            known = self._paths[key] = tuple(nodes)
        return known

    def _along(self, sharer: Sharer, choice: Choice) -> Iterator[Made]:
        """Yield the nodes of an order, those of the weaker sub-pattern before the others."""
        weaker = self.weaker(choice)
        if weaker is None:
            yield from self._prefixes(sharer, choice.order, choice.pool)
            return
        begun = choice.order[: weaker.sharer.size]
        node = -1
        for made in self._prefixes(weaker.sharer, weaker.own(begun), choice.pool):
            node = made.node
            yield made
        checked = weaker.late.text([sharer.description.variables[place] for place in begun])
        after = self._number((node, checked))
        yield from self._prefixes(
            sharer, choice.order, choice.pool, after=(len(begun), node, after)
        )

    def _prefixes(
        self,
        sharer: Sharer,
        order: Places,
        pool: int,
        after: tuple[int, int | None, int | None] = (0, None, None),
    ) -> Iterator[Made]:
        """Yield the nodes of an order.

        Args:
            pool: With whom it shares.
            after: How many of them are bound before, the node that binds them, and the number that
                tells its rows, once they are checked, from others.
        """
        begin, source, at = after
        bound = sum(1 << place for place in order[:begin])
        for length, place in enumerate(order[begin:], begin + 1):
            node = self._number(self.prefix_key(at, sharer, pool, order[:length]))
            sources = () if source is None else (source,)
            yield Made(node, bound, 1 << place, sources, sharer, checked=at != source)
            at, source, bound = node, node, bound | 1 << place

    def prefix_key(
        self, parent: int | None, sharer: Sharer, pool: int, prefix: Places
    ) -> tuple[object, ...]:
        """Return the key of a node of an order: its parent and its last step."""
        texts = self._texts.get((sharer.number, prefix))
        if texts is None:
            *bound, new = prefix
            mask = sum(1 << place for place in bound)
            texts = (
                sharer.events[new],
                tuple(sharer.pairs[place][new] for place in bound),
                _new_texts(sharer, (mask, 1 << new), prefix),
            )
            self._texts[sharer.number, prefix] = texts
        return ((sharer.family, pool) if parent is None else parent, texts)

    def known(self, key: object) -> int | None:
        """Return the number of a node; None if it was never in use."""
        return self._nodes.get(key)

    def _number(self, key: object) -> int:
        return self._nodes.setdefault(key, len(self._nodes))

    def arrangements(self, sharer: Sharer, choice: Choice) -> list[Places]:
        """Return for each node of a path its variables, in an order common to all users."""
        if self.mode == "order":
            return [choice.order[: i + 1] for i in range(sharer.size)]
        return [self.tree_form(sharer, tree, choice.pool)[1][0] for tree in nodes_of(choice.tree)]

    def _subtrees(self, sharer: Sharer, tree: Tree, pool: int) -> Iterator[Made]:
        for each in nodes_of(tree):
            node, _ = self.tree_form(sharer, each, pool)
            if isinstance(each, int):
                yield Made(node, 0, 1 << each, (), sharer)
            else:
                sources = tuple(self.tree_form(sharer, side, pool)[0] for side in each)
                yield Made(node, mask_of(each[0]), mask_of(each[1]), sources, sharer)

    def tree_form(self, sharer: Sharer, tree: Tree, pool: int) -> tuple[int, tuple[Places, ...]]:
        """Return the number of a tree's node, and its leaves in all equivalent orders."""
        key = sharer.number, pool, tree
        known = self._tree_forms.get(key)
        if known is None:
            known = self._tree_forms[key] = self._tree_form(sharer, tree, pool)
        return known

    def _tree_form(self, sharer: Sharer, tree: Tree, pool: int) -> tuple[int, tuple[Places, ...]]:
        if isinstance(tree, int):
            texts = _new_texts(sharer, (0, 1 << tree), (tree,))
            number = self._number((sharer.family, pool, sharer.events[tree], texts))
            return number, ((tree,),)
        sides = [(*self.tree_form(sharer, side, pool), mask_of(side)) for side in tree]
        sides.sort(key=lambda side: (sharer.form(side[2])[0], side[0]))
        ways = [sides, sides[::-1]] if sides[0][0] == sides[1][0] else [sides]
        least: tuple[object, ...] | None = None
        alike: list[Places] = []
        for (_, firsts, one), (_, seconds, other) in ways:
            for first, second in product(firsts, seconds):
                texts = (
                    tuple(sharer.pairs[x][y] for x in first for y in second),
                    _new_texts(sharer, (one, other), first + second),
                )
                if least is None or texts < least:
                    least, alike = texts, []
                if texts == least and len(alike) < MOST_ARRANGEMENTS:
                    alike.append(first + second)
        number = self._number((sides[0][0], sides[1][0], least))
        form, places = sharer.form(mask_of(tree))
        at = {place: i for i, place in enumerate(places)}
        self.trees.setdefault((form, pool), {}).setdefault(number, renamed(tree, at))
        return number, tuple(alike)


def _new_texts(sharer: Sharer, sides: tuple[int, int], arrangement: Places) -> tuple[object, ...]:
    """Return the conditions on three or more variables that can be checked when two sets meet."""
    left, right = sides
    if not sharer.description.wider:
        return ()
    at = {sharer.description.variables[place]: i for i, place in enumerate(arrangement)}
    return tuple(
        sorted(
            item.text(sharer.description.branch, at)
            for among, item in sharer.description.wider
            if among & ~(left | right) == 0 and among & ~left and among & ~right
        )
    )


class PlanGraph:
    """The plans of some branches with equal nodes once, and their total cost."""

    def __init__(self, prepared: Prepared, choices: Changes | None = None) -> None:
        self.prepared = prepared
        self.choices: dict[int, Choice] = {}
        self.held: dict[int, Held] = {}
        self.cost = 0
        for number, choice in (choices or {}).items():
            self.put(number, choice)

    def put(self, number: int, choice: Choice) -> int:
        """Add the plan of a branch; return the difference of cost."""
        sharer = self.prepared.workload.sharers[number]
        path = self.prepared.path(sharer, choice)
        window, before = sharer.window, 0
        for made in path:
            held = self.held.get(made.node)
            if held is None:
                held = self.held[made.node] = Held(bool(made.left))
            before += held.cost
            held.cost = 0
            held.windows[window] += 1
            if window > held.window:
                self._widen(made, held, window)
        self.held[path[-1].node].ends[self._end_of(sharer, choice)] += 1
        self.choices[number] = choice
        difference = self._cost_of(path) - before + self._waiting(sharer, choice)
        self.cost += difference
        return difference

    def take(self, number: int) -> int:
        """Remove the plan of a branch; return the difference of cost."""
        sharer = self.prepared.workload.sharers[number]
        choice = self.choices.pop(number)
        path = self.prepared.path(sharer, choice)
        window, before = sharer.window, 0
        _less(self.held[path[-1].node].ends, self._end_of(sharer, choice))
        for made in path:
            held = self.held[made.node]
            before += held.cost
            held.cost = 0
            _less(held.windows, window)
            if window not in held.windows:
                self._widen(made, held, max(held.windows, default=-1))
        left = [made for made in path if self.held[made.node].windows]
        difference = self._cost_of(left) - before - self._waiting(sharer, choice)
        for made in path:
            if made.node in self.held and not self.held[made.node].windows:
                del self.held[made.node]
        self.cost += difference
        return difference

    def _widen(self, made: Made, held: Held, window: int) -> None:
        """Give a node another window, -1 for none, and update its sources."""
        for source in made.sources:
            takers = self.held[source].takers
            if held.window >= 0:
                _less(takers, _mark(held.window, checked=made.checked))
            if window >= 0:
                takers[_mark(window, checked=made.checked)] += 1
        held.window = window

    def _end_of(self, sharer: Sharer, choice: Choice) -> int:
        """Return the window of a branch in the form of `Held.ends`."""
        weaker = self.prepared.weaker(choice)
        whole = weaker is not None and weaker.sharer.size == sharer.size
        return _mark(sharer.window, checked=whole)

    def _cost_of(self, path: Iterable[Made]) -> int:
        prepared, total = self.prepared, 0
        for made in path:
            held = self.held[made.node]
            if held.cost:  # a node that stands twice in one plan
                continue
            held.cost = prepared.step_price(made, held.window)
            if held.several:
                users = held.takers.total() + held.ends.total()
                own = held.takers[held.window] + held.ends[held.window]
                checked = users - own and held.checked
                touched = handed(users - 1, users - own - checked, checked)
                if touched:
                    held.cost += touched * prepared.row_price(made, held.window)
            total += held.cost
        return total

    def _waiting(self, sharer: Sharer, choice: Choice) -> int:
        return self.prepared.local(sharer).waiting(choice.plan)

    def swap(self, changes: Changes) -> dict[int, Choice]:
        """Replace plans; return the previous ones."""
        before = {number: self.choices[number] for number in changes}
        for number in changes:
            self.take(number)
        for number, choice in changes.items():
            self.put(number, choice)
        return before


def handed(times: int, filtered: int, checked: int = 0) -> int:
    """Return how often a row is touched by handing over, filtering and checking."""
    return _HANDED * times + _FILTERED * filtered + _CHECKED * checked


def _mark(window: int, *, checked: bool) -> int:
    """Return a window, negative if its user checks conditions that the node lacks."""
    return ~window if checked else window


def _less(counter: Counter[int], key: int) -> None:
    counter[key] -= 1
    if not counter[key]:
        del counter[key]
