"""The judge of every engine: all matches by brute force, straight off the definition of a match.

It binds one variable after the other to every event (a Kleene variable to every set of events) that
types, order, window and conditions allow. It is slow, the product of the candidates, and meant to
be obviously right. It shares only the query's node classes with the package; judge_values.py
evaluates expressions.

Where the definition of a match leaves room, the judge decides:

* The window spans all events of a match, members of Kleene sets included.
* The event that breaks a NOT is none of the match's own events, agrees with them on PARTITION BY,
  lies within the window together with them, and fulfils every condition that mentions the absent
  variable (with every member of a Kleene set). Each NOT counts by itself. Neither contiguity nor
  consumption protects a match: any event of the stream may break a NOT.
* Several events break NOT(SEQ(B b, C c)) or NOT(AND(B b, C c)), one for each variable: none of them
  is the match's own, no two are the same, they are in the pattern's order among each other and
  beside the match's events, in one partition and one window with the match and each other, and they
  fulfil every condition that mentions one of them.
* A condition is a top-level conjunct of WHERE. It counts in the OR branches that have all of its
  variables, and only there. A condition on `b.x` of a Kleene variable holds for every member, with
  two Kleene variables for every pair; set functions take the whole set.
* A condition with prev(b.x) holds for each member of the set but the first, with the member before
  it in stream order; one with prev(b.x, 2) for each but the first two, with the second member
  before it, and so on. The greatest number in a condition decides how many members it spares.
* A condition with sum(b[..i].x), or another such function, holds for each member of the set; the
  function takes the members up to it in stream order, itself included. With sum(b[..i-1].x) it
  holds for each member but the first; the function takes the members before it.
* Null and NaN are both missing; in PARTITION BY missing agrees with missing.
* A count window counts inside the partition where there is PARTITION BY, whatever the strategy;
  strict-contiguity counts over the whole stream, also where there is PARTITION BY.
* WITHIN t FROM a TO b: no two events of the two lie further apart than that, in either order, nor
  two members of one set; for an absent variable it narrows the events that break the NOT. It counts
  in the OR branches that have both. It does not affect FIRST: an earlier event is nearer.
* OPT(...) chooses between its item and nothing. Where two choices of an OR share a variable, a
  condition about it counts in both.
* OPT(B b) GREEDY chooses between its item and NOT(B b), OPT(NEXT B b) GREEDY between its item and
  NOT(NEXT B b), with all conditions on b; so do OPT(KL(B b)) GREEDY and OPT(KL(B b) GREEDY). A
  condition on the set counts for a single B as for a set of it alone, if it reads no more of it
  than each member, the first, and running sums, means, minima and maxima up to each.
* FIRST B b: no event of the stream, other than the match's own, comes before b (strictly) and could
  be b, judged by the events before b: it is after those events, in the partition and window of the
  match, and fulfils the conditions on b and variables before it. Absent events do not count, nor do
  events that AND leaves in any order.
* NEXT B b: the event that came just before b, in the partition, is one of those nearest before b in
  the pattern; for a set, its last member in stream order. NOT(NEXT B b): such an event breaks it.
* KL(FIRST B b): the set has every event between its first and last member, in stream order, that
  could be b as for FIRST. KL(NEXT B b): its arrival numbers, in the partition, have no gap.
* KL(B b) UNTIL C c: no event of the stream, the match's own included, could be c: it would be after
  all events of the match that are before b in the pattern (without any, not before the first
  member) and not behind the last member, in stream order; in the partition and window of the match,
  and within the bounds; and it would fulfil the conditions on c.
* KL(FIRST B b) GREEDY: the set has its maximum, or no event behind its last member could be one
  more: it could be b as for FIRST, is before all events of the match that are after b, and within
  the bounds that begin at an event before b. KL(NEXT B b) GREEDY: the rule covers only the event
  that arrived just after the last member (in the partition), if the run with it would fulfil the
  conditions that name, of the run, members up to each alone: b.x, b[1].x, b[2].x, earlier ones and
  running functions, not b[last].x and functions of the whole run. KL(B b) GREEDY: as
  KL(FIRST B b) GREEDY, and no such event is before its first member. Before and behind are stream
  order. With UNTIL an event does not count if the set with it would end too late for UNTIL.
* KL(SEQ(A a, B b)){m,n}: m to n repetitions of the group, each wholly after the one before; a and b
  are sets. A condition on members of a and b is about those of one repetition, and holds in each;
  with prev(b.x) in each but the first, where b.x is of the repetition before. Beside another group,
  another set or single events it holds for each repetition. Set functions take the events of all
  repetitions, sum(b[..i].x) those up to the repetition. WITHIN t FROM a TO b bounds the events of
  one repetition, FROM a TO a all events of a, FROM a TO c, with c outside of the group, each event
  of a. FIRST and NEXT inside are about each repetition; all events of earlier repetitions come
  before. A condition that reads one repetition, as c[2].x, decides the first event like one on a
  single event; functions of all repetitions do not. In the order of matches the numbers of
  repetitions are like branches of an OR.
* Events of equal time have no order: neither is before the other. With ties="arrival" the one that
  came first is. Windows and bounds measure times all the same.
* Contiguity: the arrival numbers of all events of a match, Kleene members included, have no gap.
* skip-till-next-match orders the matches of all OR branches together, by the arrival numbers of the
  bound variables in pattern order; a Kleene set is its arrival numbers ascending, then infinity, so
  that a set comes before its own subsets ("takes all it can"). Equal numbers: the earlier branch.
* AFTER MATCH SKIP takes matches, inside of each partition, by their first event in stream order,
  then by their last, then as skip-till-next-match does; each match leaves out later ones that start
  before the named event (PAST LAST EVENT: before or at its last event; TO NEXT: with its first).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, is_dataclass
from itertools import combinations, product
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from cepkit.pattern import conditions as c
from cepkit.pattern import nodes
from cepkit.pattern.policies import CountWindow, SkipTo, Strategy, TimeWindow
from tests.judge_values import known, value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from cepkit.pattern.query import Query


@dataclass(frozen=True, slots=True)
class Event:
    """One event; `ts` is in microseconds, `arrival` a number of its own in the order of arrival."""

    ts: int
    type: str
    attributes: Mapping[str, Any] = field(hash=False)
    arrival: int


Match: TypeAlias = frozenset[tuple[str, int | tuple[int, ...]]]
"""(variable, arrival number) or, for a Kleene variable, (variable, ascending arrival numbers)."""

Binding: TypeAlias = dict[str, tuple[Event, ...]]
"""The event of each variable, or the members of its set in stream order."""


class BudgetError(Exception):
    """The error of a search with more assignments than its budget."""


def judge(
    events: Collection[Event], query: Query, *, budget: int | None = None, ties: str = "none"
) -> set[Match]:
    """Return all matches of `query` in `events`.

    Args:
        events: The stream, in any order.
        query: A query that passed `checks.check`.
        budget: The most assignments to try; None for any number.
        ties: The order of events of equal time: "none", or by "arrival".

    Raises:
        BudgetError: The search needs more assignments.
    """
    assert len({event.arrival for event in events}) == len(events), "arrival numbers are unique"
    stream = sorted(events, key=_stream_order)
    work = _Work(budget)
    matches: list[tuple[tuple[_Leaf, ...], Binding]] = []
    for leaves in _choices(query.written):
        branch = _Branch(leaves, stream, query, work, ties)
        matches += [(branch.positive, binding) for binding in branch.matches()]
    if query.strategy is Strategy.SKIP_TILL_NEXT_MATCH:
        matches = _one_match_an_event(matches, stream)
    if query.after_match is not None:
        matches = _after_match(matches, stream, query)
    return {_identity(leaves, binding) for leaves, binding in matches}


def returned(events: Collection[Event], query: Query, match: Match) -> tuple[Any, ...]:
    """Return the values of RETURN for a match; an attribute of a set has a list of values.

    A variable that the match does not bind is an event, or a set, without attributes.
    """
    at = {event.arrival: event for event in events}
    one: dict[str, Mapping[str, Any]] = {e.variable: {} for e in nodes.events_of(query.written)}
    sets: dict[str, list[Mapping[str, Any]]] = {variable: [] for variable in one}
    for variable, arrivals in match:
        if isinstance(arrivals, tuple):
            members = sorted((at[number] for number in arrivals), key=_stream_order)
            sets[variable] = [event.attributes for event in members]
        else:
            one[variable] = at[arrivals].attributes
    row: list[Any] = []
    for result in query.returned:
        match result.value:
            case c.Attribute(variable, name) if sets[variable]:
                row.append([known(member.get(name)) for member in sets[variable]])
            case c.Aggregate(function, str(variable)) if not sets[variable]:
                row.append(0 if function.startswith("count") else None)
            case _:
                row.append(value(result.value, one, sets))
    return tuple(row)


# --- structure ---------------------------------------------------------------------------------


class _Leaf(NamedTuple):
    """An event of the pattern, with the path of operators and item numbers from the root.

    For an absent event `under` is the path of its NOT; events under one NOT are absent together.
    """

    variable: str
    types: frozenset[str] | None
    kind: Literal["one", "set", "absent", "until"]
    sizes: tuple[int, float]
    path: tuple[tuple[type, int], ...]
    first: bool = False
    next: bool = False
    run: Literal["", "first", "next"] = ""
    of: str = ""
    greedy: Literal["", "set", "run"] = ""
    under: tuple[tuple[type, int], ...] = ()
    group: str = ""
    repetition: int = 0
    left_out: bool = False

    @property
    def name(self) -> str:
        """The variable in the pattern, without the number of its repetition."""
        return self.variable.split("@")[0] if self.group else self.variable


def _choices(
    node: nodes.Structure, path: Any = (), kind: Any = "one"
) -> Iterator[tuple[_Leaf, ...]]:
    """Yield the leaves of each choice at the ORs, in pattern order."""
    match node:
        case nodes.Event(variable, types):
            yield (_Leaf(variable, types, kind, (1, 1), path),)
        case nodes.Not(item):
            for leaves in _choices(item, path, "absent"):
                yield tuple(leaf._replace(under=path) for leaf in leaves)
        case nodes.Opt(item, greedy=greedy):
            greedy = greedy or any(getattr(each, "greedy", False) for each in nodes.walk(item))
            for leaves in _choices(item, path):
                yield leaves
                if greedy:
                    absent = {"kind": "absent", "sizes": (1, 1), "left_out": True, "under": path}
                    absent |= {"first": False, "run": "", "greedy": ""}
                    yield tuple(leaf._replace(**absent) for leaf in leaves)
            if not greedy:
                yield ()
        case nodes.First(item):
            for leaf, *rest in _choices(item, path, kind):
                yield (leaf._replace(first=True), *rest)
        case nodes.Next(item):
            for leaf, *rest in _choices(item, path, kind):
                yield (leaf._replace(next=True), *rest)
        case nodes.Kleene(nodes.Seq() | nodes.And() as group, minimum, maximum):
            names = " ".join(event.variable for event in nodes.events_of(group))
            for times in range(minimum, maximum + 1):
                leaves = []
                for number in range(times):
                    (once,) = _choices(group, (*path, (nodes.Seq, number)))
                    for leaf in once:
                        name = f"{leaf.variable}@{number}"
                        leaves.append(leaf._replace(variable=name, group=names, repetition=number))
                yield tuple(leaves)
        case nodes.Kleene(item, minimum, maximum):
            sizes = (minimum, math.inf if maximum is None else maximum)
            run = {nodes.First: "first", nodes.Next: "next"}.get(type(item), "")
            greedy = ("run" if run else "set") if node.greedy else ""
            run = "first" if greedy == "set" else run
            inner = item.item if isinstance(item, nodes.First | nodes.Next) else item
            for (leaf,) in _choices(inner, path, "set"):
                ends = [] if node.until is None else next(_choices(node.until, path, "until"))
                of_set = (end._replace(of=leaf.variable) for end in ends)
                yield (leaf._replace(sizes=sizes, run=run, greedy=greedy), *of_set)
        case nodes.Or(items):
            for item in items:
                yield from _choices(item, path)
        case nodes.Seq(items) | nodes.And(items):
            below = [_choices(item, (*path, (type(node), i)), kind) for i, item in enumerate(items)]
            for parts in product(*below):
                yield tuple(leaf for part in parts for leaf in part)


def _precedes(x: _Leaf, y: _Leaf) -> bool:
    """Return whether x < y: their paths part at a SEQ, with the item of x first."""
    parting = next(((op, i, j) for (op, i), (_, j) in zip(x.path, y.path, strict=False) if i != j))
    return parting[0] is nodes.Seq and parting[1] < parting[2]


# --- search ------------------------------------------------------------------------------------


class _Work:
    def __init__(self, budget: int | None) -> None:
        self.left = math.inf if budget is None else budget

    def one_more(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise BudgetError


class _Branch:
    """A conjunctive pattern over a stream."""

    def __init__(
        self, leaves: tuple[_Leaf, ...], stream: list[Event], query: Query, work: _Work, ties: str
    ) -> None:
        self.ties = ties
        self.positive = tuple(leaf for leaf in leaves if leaf.kind in ("one", "set"))
        absent = [leaf for leaf in leaves if leaf.kind == "absent"]
        places = dict.fromkeys(leaf.under for leaf in absent)
        self.absent = [[leaf for leaf in absent if leaf.under == place] for place in places]
        self.until = tuple(leaf for leaf in leaves if leaf.kind == "until")
        self.leaf = {leaf.variable: leaf for leaf in leaves}
        self.stream, self.query, self.work = stream, query, work
        self.conditions = [
            condition
            for part in _conjuncts(query.where)
            for condition in _of_repetitions(part, leaves)
            if all(
                _is_of_one(node)
                for node in _reads(part)
                for leaf in leaves
                if leaf.left_out and leaf.variable == node.variable
            )
        ]
        self.bounds = list(_bounds(query, leaves))
        self.in_stream = {event.arrival: event.arrival for event in stream}
        self.in_partition = _numbered_by_partition(stream, query)
        # Contiguous events of which there are at most n lie within n arrival numbers.
        self.at_most = sum(leaf.sizes[1] for leaf in self.positive)

    def matches(self) -> Iterator[Binding]:
        """Yield every match, sets bound last."""
        if not all(part.holds({}) for part in self.conditions if not part.variables):
            return
        order = sorted(self.positive, key=lambda leaf: leaf.kind == "set")
        for binding in self._extend({}, order):
            numbers = self._contiguous_numbers(_all_events(binding))
            contiguous = not numbers or max(numbers) - min(numbers) + 1 == len(numbers)
            if not contiguous or any(self._broken(leaves, binding) for leaves in self.absent):
                continue
            if any(self._ends_before(leaf, binding) for leaf in self.until):
                continue
            if not all(self._is_first(leaf, binding) for leaf in self.positive if leaf.first):
                continue
            if not all(self._is_run(leaf, binding) for leaf in self.positive if leaf.run):
                continue
            if any(self._could_go_on(leaf, binding) for leaf in self.positive if leaf.greedy):
                continue
            following = [leaf for leaf in self.positive if leaf.next]
            if all(
                self._is_next(leaf, min(binding[leaf.variable], key=_stream_order), binding)
                for leaf in following
            ):
                yield binding

    def _extend(self, binding: Binding, todo: list[_Leaf]) -> Iterator[Binding]:
        if not todo:
            yield binding
            return
        leaf, rest = todo[0], todo[1:]
        fit = [event for event in self.stream if self._fits(leaf, (event,), binding)]
        if leaf.kind == "one":
            for event in fit:
                yield from self._extend({**binding, leaf.variable: (event,)}, rest)
            return
        for size in range(leaf.sizes[0], int(min(leaf.sizes[1], len(fit))) + 1):
            for members in combinations(fit, size):
                if self._fits(leaf, members, binding, whole=True):
                    yield from self._extend({**binding, leaf.variable: members}, rest)

    def _is_first(self, leaf: _Leaf, binding: Binding) -> bool:
        first = binding[leaf.variable][0]
        return not any(self._before(event, first) for event in self._could_be(leaf, binding))

    def _is_run(self, leaf: _Leaf, binding: Binding) -> bool:
        members = sorted(binding[leaf.variable], key=_stream_order)
        if leaf.run == "next":
            numbers = self.in_partition if self.query.partition_by else self.in_stream
            own = [numbers[event.arrival] for event in members]
            return max(own) - min(own) == len(own) - 1
        first, last = _stream_order(members[0]), _stream_order(members[-1])
        return not any(first < _stream_order(e) < last for e in self._could_be(leaf, binding))

    def _could_go_on(self, leaf: _Leaf, binding: Binding) -> bool:
        """Return whether a greedy set lacks an event that it could have as well."""
        name, members = leaf.variable, sorted(binding[leaf.variable], key=_stream_order)
        last, full = members[-1], len(members) >= leaf.sizes[1]
        known = {v: e for v, e in binding.items() if v != name and self._precedes(v, name)}
        later = {v: e for v, e in binding.items() if v != name and self._precedes(name, v)}
        so_far = [
            part
            for part in self.conditions
            if name in {*part.variables} - part.ahead and part.variables <= {*known, name}
        ]
        ends = [end for end in self.until if end.of == name]
        numbers = self.in_partition if self.query.partition_by else self.in_stream
        for event in self._could_be(leaf, binding):
            behind = _stream_order(event) > _stream_order(last)
            longer = {**binding, name: tuple(sorted((*members, event), key=_stream_order))}
            if any(self._ends_before(end, longer) for end in ends):
                continue
            if not all(self._before(event, other) for other in _all_events(later)):
                continue
            if not self._within_bounds({**known, name: (*members, event)}):
                continue
            if behind and not full:
                after = numbers[event.arrival] == numbers[last.arrival] + 1
                if leaf.run == "first" or (
                    after and all(part.holds({**known, name: longer[name]}) for part in so_far)
                ):
                    return True
            before = _stream_order(event) < _stream_order(members[0])
            if before and leaf.greedy == "set":
                return True
        return False

    def _ends_before(self, leaf: _Leaf, binding: Binding) -> bool:
        """Return whether UNTIL should have ended a set earlier."""
        members = sorted(map(_stream_order, binding[leaf.of]))
        before = {v: e for v, e in binding.items() if v != leaf.of and self._precedes(v, leaf.of)}
        about = [
            part
            for part in self.conditions
            if leaf.variable in part.variables <= {*before, leaf.variable}
        ]
        return any(
            (leaf.types is None or event.type in leaf.types)
            and all(self._before(other, event) for other in _all_events(before))
            and (before or members[0] <= _stream_order(event))
            and _stream_order(event) <= members[-1]
            and len({_partition(e, self.query) for e in (event, *binding[leaf.of])}) == 1
            and self._within_window([*_all_events(binding), event])
            and self._within_bounds({**binding, leaf.variable: (event,)})
            and all(part.holds({**before, leaf.variable: (event,)}) for part in about)
            for event in self.stream
        )

    def _precedes(self, x: str, y: str) -> bool:
        return _precedes(self.leaf[x], self.leaf[y])

    def _could_be(self, leaf: _Leaf, binding: Binding) -> Iterator[Event]:
        """Yield the events outside of the match that could be `leaf`, judged by earlier events."""
        name, own = leaf.variable, _all_events(binding)
        others = {v: events for v, events in binding.items() if v != name}
        before = {v: events for v, events in others.items() if _precedes(self.leaf[v], leaf)}
        about = [
            condition
            for condition in self.conditions
            if name in condition.variables
            and condition.variables <= {*before, name}
            and name not in {*condition.as_set, *condition.of_group}
        ]
        yield from (
            event
            for event in self.stream
            if (leaf.types is None or event.type in leaf.types)
            and all(event is not other for other in own)
            and all(self._before(other, event) for other in _all_events(before))
            and _partition(event, self.query) == _partition(own[0], self.query)
            and self._within_window([*own, event])
            and all(condition.holds({**before, name: (event,)}) for condition in about)
        )

    def _broken(self, leaves: list[_Leaf], binding: Binding) -> bool:
        if not leaves:
            return True
        leaf, *rest = leaves
        return any(
            self._fits(leaf, (event,), binding, whole=leaf.left_out)
            and (not leaf.next or self._is_next(leaf, event, binding))
            and self._broken(rest, {**binding, leaf.variable: (event,)})
            for event in self.stream
        )

    def _is_next(self, leaf: _Leaf, event: Event, binding: Binding) -> bool:
        before = [x for x in self.positive if x is not leaf and _precedes(x, leaf)]
        nearest = [x for x in before if not any(x is not y and _precedes(x, y) for y in before)]
        numbers = self.in_partition if self.query.partition_by else self.in_stream
        latest = [max(binding[other.variable], key=_stream_order) for other in nearest]
        # For a set `event` is the first member.
        return numbers[event.arrival] - 1 in [numbers[other.arrival] for other in latest]

    def _fits(
        self, leaf: _Leaf, members: tuple[Event, ...], bound: Binding, *, whole: bool = False
    ) -> bool:
        """Return whether rules 1 to 3 allow `members` for `leaf` beside the bound events.

        Conditions wait until all of their variables are bound, and those with a set function of
        this variable until its set is `whole`.
        """
        if leaf.types is not None and not all(event.type in leaf.types for event in members):
            return False
        self.work.one_more()
        others = _all_events(bound)
        together = [*others, *members]
        return (
            not any(event is other for event in members for other in others)
            and all(self._in_order(leaf, members, self.leaf[v], es) for v, es in bound.items())
            and len({_partition(event, self.query) for event in together}) == 1
            and self._within_window(together)
            and (leaf.kind == "absent" or self._may_be_contiguous(together))
            and self._within_bounds({**bound, leaf.variable: members})
            and all(
                condition.holds({**bound, leaf.variable: members})
                for condition in self.conditions
                if leaf.variable in condition.variables
                and condition.variables <= {*bound, leaf.variable}
                and (whole or leaf.variable not in condition.as_set)
            )
        )

    def _before(self, event: Event, other: Event) -> bool:
        if self.ties == "arrival":
            return _stream_order(event) < _stream_order(other)
        return event.ts < other.ts

    def _in_order(self, x: _Leaf, xs: tuple[Event, ...], y: _Leaf, ys: tuple[Event, ...]) -> bool:
        if _precedes(x, y):
            return all(self._before(a, b) for a in xs for b in ys)
        if _precedes(y, x):
            return all(self._before(b, a) for a in xs for b in ys)
        return True

    def _within_window(self, events: list[Event]) -> bool:
        match self.query.window:
            case None:
                return True
            case TimeWindow(width, exclusive):
                span = max(e.ts for e in events) - min(e.ts for e in events)
                return span < width if exclusive else span <= width
            case CountWindow(width, exclusive):
                numbering = self.in_partition if self.query.partition_by else self.in_stream
                numbers = [numbering[event.arrival] for event in events]
                return max(numbers) - min(numbers) < (width - 1 if exclusive else width)

    def _within_bounds(self, bound: Binding) -> bool:
        for first, last, window in self.bounds:
            if {first, last} <= {*bound}:
                span = max(abs(x.ts - y.ts) for x, y in product(bound[first], bound[last]))
                if span > window.microseconds or (span == window.microseconds and window.exclusive):
                    return False
        return True

    def _contiguous_numbers(self, events: list[Event]) -> list[int]:
        """Return the numbers that must have no gap; none under strategies that skip events."""
        match self.query.strategy:
            case Strategy.STRICT_CONTIGUITY:
                return [self.in_stream[event.arrival] for event in events]
            case Strategy.PARTITION_CONTIGUITY:
                return [self.in_partition[event.arrival] for event in events]
            case _:
                return []

    def _may_be_contiguous(self, events: list[Event]) -> bool:
        numbers = self._contiguous_numbers(events)
        return not numbers or max(numbers) - min(numbers) < self.at_most


def _one_match_an_event(
    matches: list[tuple[tuple[_Leaf, ...], Binding]], stream: list[Event]
) -> list[tuple[tuple[_Leaf, ...], Binding]]:
    """Return the matches under skip-till-next-match, from all matches, earlier branches first."""
    ending: dict[Event, list[tuple[tuple[_Leaf, ...], Binding]]] = {event: [] for event in stream}
    for leaves, binding in matches:
        ending[max(_all_events(binding), key=_stream_order)].append((leaves, binding))
    consumed: set[Event] = set()
    chosen = []
    for event in stream:
        free = [pair for pair in ending[event] if consumed.isdisjoint(_all_events(pair[1]))]
        if free:
            first = min(free, key=lambda pair: _arrivals(*pair))
            chosen.append(first)
            consumed |= set(_all_events(first[1]))
    return chosen


def _after_match(
    matches: list[tuple[tuple[_Leaf, ...], Binding]], stream: list[Event], query: Query
) -> list[tuple[tuple[_Leaf, ...], Binding]]:
    """Return the matches after AFTER MATCH SKIP, from all matches, earlier branches first."""
    place = {event: number for number, event in enumerate(stream)}

    def places(pair: tuple[tuple[_Leaf, ...], Binding]) -> list[int]:
        return sorted(place[event] for event in _all_events(pair[1]))

    matches = sorted(
        matches, key=lambda pair: (places(pair)[0], places(pair)[-1], _arrivals(*pair))
    )
    begin: dict[tuple[Any, ...], int] = {}
    chosen = []
    for pair in matches:
        start, end = places(pair)[0], places(pair)[-1]
        partition = _partition(stream[start], query)
        if start < begin.get(partition, 0):
            continue
        chosen.append(pair)
        match query.after_match.to:
            case SkipTo.PAST_LAST_EVENT:
                begin[partition] = end + 1
            case SkipTo.NEXT:
                begin[partition] = start + 1
            case SkipTo.FIRST | SkipTo.LAST as to:
                named = [leaf for leaf in pair[0] if leaf.name == query.after_match.variable]
                named_places = [place[event] for leaf in named for event in pair[1][leaf.variable]]
                begin[partition] = min(named_places) if to is SkipTo.FIRST else max(named_places)
    return chosen


def _arrivals(leaves: tuple[_Leaf, ...], binding: Binding) -> list[float]:
    numbers: list[float] = []
    for leaf in leaves:
        numbers += sorted(event.arrival for event in binding[leaf.variable])
        numbers += [math.inf] if leaf.kind == "set" else []
    return numbers


def _identity(leaves: tuple[_Leaf, ...], binding: Binding) -> Match:
    bound: dict[str, list[int]] = {}
    for leaf in leaves:
        bound.setdefault(leaf.name, []).extend(e.arrival for e in binding[leaf.variable])
    sets = {leaf.name for leaf in leaves if leaf.kind == "set" or leaf.group}
    return frozenset(
        (name, tuple(sorted(numbers)) if name in sets else numbers[0])
        for name, numbers in bound.items()
    )


def _all_events(binding: Binding) -> list[Event]:
    return [event for events in binding.values() for event in events]


def _stream_order(event: Event) -> tuple[int, int]:
    return event.ts, event.arrival


def _partition(event: Event, query: Query) -> tuple[Any, ...]:
    return tuple(known(event.attributes.get(name)) for name in query.partition_by)


def _numbered_by_partition(stream: list[Event], query: Query) -> dict[int, int]:
    """Number the events of each partition 0, 1, 2... in the order of arrival."""
    sizes: dict[tuple[Any, ...], int] = {}
    numbers = {}
    for event in sorted(stream, key=lambda event: event.arrival):
        key = _partition(event, query)
        numbers[event.arrival] = sizes.get(key, 0)
        sizes[key] = numbers[event.arrival] + 1
    return numbers


class _Condition:
    """A conjunct of WHERE and the variables it reads: member by member, and as a whole set.

    Args:
        expression: The conjunct.
        members: The variables of the repetitions of each variable of a group.
        at: The repetition of each variable of a group.
    """

    def __init__(
        self,
        expression: c.Expression,
        members: Mapping[str, list[str]],
        at: Mapping[str, int],
    ) -> None:
        self.expression, self.members, self.at = expression, members, at
        nodes_read = list(_reads(expression))
        of_sets = [node for node in nodes_read if isinstance(node, c.Aggregate)]
        alone = {node.variable for node in nodes_read if isinstance(node, c.Attribute)}
        before: dict[str | None, int] = {}
        for node in of_sets:
            if node.function.startswith(("prev", c.EARLIER)):
                further = _distance(node.function) if node.function.startswith("prev") else 1
                before[node.variable] = max(before.get(node.variable, 0), further)
        self.ahead = {n.variable for n in of_sets if _reads_ahead(n.function)}
        running = {n.variable for n in of_sets if n.function.startswith((c.RUNNING, c.EARLIER))}
        each = {*alone, *before, *running}
        whole = {node.variable for node in of_sets}
        self.each, self.running, self.as_set = (
            sorted({*names} - {*members}) for names in (each, running, whole)
        )
        self.before = {v: far for v, far in before.items() if v not in members}
        # The variables of groups: read in one repetition, and in all repetitions.
        self.grouped, self.alone = each & {*members}, alone & {*members}
        self.before_grouped = {v: far for v, far in before.items() if v in members}
        self.running_grouped = running & {*members}
        self.of_group: set[str] = set()
        self.whole = {n.variable for n in of_sets if _reads_whole(n.function)} & {*members}
        one_repetition = {members[v][at[v]] for v in self.alone}
        for node in of_sets:
            if node.variable in members:
                names, place = members[node.variable], at[node.variable]
                if node.function.startswith("prev"):
                    one_repetition |= {*names[max(place - _distance(node.function), 0) : place]}
                elif node.function.startswith((c.RUNNING, c.EARLIER)):
                    one_repetition |= {*names[: place + node.function.startswith(c.RUNNING)]}
                elif node.function == "first" or node.function.startswith(("last", "member")):
                    number = {"first": 1, "last": -1}.get(node.function)
                    number = int(node.function.split()[1]) if number is None else number
                    if abs(number) <= len(names):
                        one_repetition.add(names[number - (number > 0)])
                else:
                    self.of_group |= {*names}
        self.variables = {*self.each, *self.as_set, *one_repetition, *self.of_group}

    def holds(self, bound: Binding) -> bool:
        """Return whether the condition is true for every choice of members."""
        sets = {v: [event.attributes for event in bound[v]] for v in self.as_set}
        fixed: dict[str, Mapping[str, Any]] = {}

        def event_of(name: str) -> Mapping[str, Any]:
            (event,) = bound[name]
            return event.attributes

        for v, names in self.members.items():
            if v in self.whole:
                sets[v] = [event_of(name) if name in bound else {} for name in names]
            if v in self.alone:
                fixed[v] = event_of(names[self.at[v]])
            if v in self.before_grouped:
                for far in range(1, self.before_grouped[v] + 1):
                    fixed[f"{far} before {v}"] = event_of(names[self.at[v] - far])
            if v in self.running_grouped:
                upto = [event_of(name) for name in names[: self.at[v] + 1] if name in bound]
                sets[f"up to {v}"], sets[f"before {v}"] = upto, upto[: self.at[v]]
        for places in product(*(range(len(bound[variable])) for variable in self.each)):
            at = dict(zip(self.each, places, strict=True))
            if any(at[variable] < number for variable, number in self.before.items()):
                continue  # the set has no member so far before it
            one = {v: bound[v][place].attributes for v, place in at.items()}
            one |= {
                f"{far} before {v}": bound[v][at[v] - far].attributes
                for v, number in self.before.items()
                for far in range(1, number + 1)
            }
            upto = {
                f"up to {v}": [event.attributes for event in bound[v][: at[v] + 1]]
                for v in self.running
            }
            upto |= {f"before {v}": upto[f"up to {v}"][:-1] for v in self.running}
            if value(self.expression, fixed | one, sets | upto) is not True:
                return False
        return True


def _is_of_one(node: c.Attribute | c.Aggregate) -> bool:
    """Return whether the first member of a set alone decides what is read of it."""
    if isinstance(node, c.Attribute) or node.function == "first":
        return True
    running = [f"{c.RUNNING}{function}" for function in ("sum", "avg", "min", "max")]
    return node.function in running


def _reads_whole(function: str) -> bool:
    """Return whether a function is of a set, not of the members up to each."""
    return not function.startswith(("prev", c.RUNNING, c.EARLIER))


def _reads_ahead(function: str) -> bool:
    """Return whether a function takes members after the current one: last, sum, but not b[2]."""
    numbered = function == "first" or (function.startswith("member") and "-" not in function)
    return not numbered and _reads_whole(function)


def _distance(function: str) -> int:
    """Return the distance of a `prev` function: of "prev 3" it is 3."""
    return int(function.split()[1]) if " " in function else 1


def _of_repetitions(part: c.Expression, leaves: tuple[_Leaf, ...]) -> Iterator[_Condition]:
    """Yield a condition for each choice of repetitions of its groups."""
    members: dict[str, list[str]] = {}
    group = {}
    for leaf in leaves:
        if leaf.group:
            members.setdefault(leaf.name, []).append(leaf.variable)
            group[leaf.name] = leaf.group
    condition = _Condition(part, members, dict.fromkeys(members, 0))
    groups = sorted({group[v] for v in condition.grouped})
    since: dict[str, int] = {}
    for v, far in condition.before_grouped.items():
        since[group[v]] = max(far, since.get(group[v], 0))
    times = {group[v]: len(names) for v, names in members.items()}
    for choice in product(*(range(since.get(each, 0), times[each]) for each in groups)):
        repetition = dict(zip(groups, choice, strict=True))
        yield _Condition(part, members, {v: repetition.get(group[v], 0) for v in members})


def _bounds(query: Query, leaves: tuple[_Leaf, ...]) -> Iterator[tuple[str, str, TimeWindow]]:
    """Yield the bounds between the variables of a branch."""
    for bound in query.bounds:
        for x, y in product(leaves, leaves):
            if (x.name, y.name) == (bound.first, bound.last):
                one_group = x.group == y.group != "" and x.name != y.name
                if not one_group or x.repetition == y.repetition:
                    yield x.variable, y.variable, bound.window


def _conjuncts(where: c.Expression | None) -> list[c.Expression]:
    if isinstance(where, c.AllOf):
        return [part for item in where.items for part in _conjuncts(item)]
    return [] if where is None else [where]


def _reads(part: object) -> Iterator[c.Attribute | c.Aggregate]:
    if isinstance(part, c.Attribute | c.Aggregate):
        yield part
    elif isinstance(part, tuple):
        for item in part:
            yield from _reads(item)
    elif is_dataclass(part):
        for each in fields(part):
            yield from _reads(getattr(part, each.name))
