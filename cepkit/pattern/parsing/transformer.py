# The methods are the rules of grammar.lark, all with the same arguments.
# ruff: noqa: D102, ARG002
"""The transformer from the parser's tree to the nodes of the language, with places in the text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from lark import Token, v_args
from lark.tree import Meta

from cepkit.errors import PatternSyntaxError, nearest
from cepkit.pattern import conditions as c
from cepkit.pattern import nodes as n
from cepkit.pattern.aggregates import AGGREGATES, NAMES
from cepkit.pattern.aggregates.quantiles import share_of
from cepkit.pattern.evaluation.functions.registered import SET_FUNCTIONS
from cepkit.pattern.kinds import lowered, resolved
from cepkit.pattern.limits import refuse_too_deep
from cepkit.pattern.parsing.condition_builder import OPERATORS, Children, ConditionBuilder
from cepkit.pattern.policies import AfterMatch, SkipTo, StepBound, Strategy, Window, read_window
from cepkit.pattern.printer import expression_text
from cepkit.pattern.query import Query, ResultColumn

_TWICE = {
    "WHERE": "join the conditions by AND",
    "DEFINE": "kinds are separated by commas: DEFINE hot AS temp > 30, cold AS temp < 20",
}


def clause_of(keyword: str, name: str) -> Callable[..., tuple[Any, ...]]:
    """Return the rule of a clause that holds one value."""

    def clause(builder: ConditionBuilder, meta: Meta, children: Children) -> tuple[Any, ...]:
        return (keyword, name), children[0], builder.span_of(meta)

    return clause


@v_args(meta=True)
class NodeBuilder(ConditionBuilder):
    """Turns a tree of grammar.lark, leaves first, into a query or one of its parts.

    Args:
        text: The text of the tree, for the places of the nodes.
    """

    def query(self, meta: Meta, children: Children) -> Query:
        if isinstance(children[0], tuple):  # DEFINE before PATTERN
            definitions, structure, *clauses = children
            clauses.insert(0, self.defined(meta, [definitions]))
        else:
            structure, *clauses = children
        fields: dict[str, Any] = {}
        for name, value, span in clauses:
            keyword, field = name
            if isinstance(value, StepBound):  # a query may have several
                fields[field] = (*fields.get(field, ()), value)
                continue
            if field in fields:
                raise PatternSyntaxError(
                    f"{keyword} is given twice",
                    expected=f"at most one {keyword}",
                    hint=_TWICE.get(keyword),
                    span=span,
                )
            fields[field] = value
        definitions = fields.pop("definitions", ())
        if definitions:
            structure = resolved(structure, definitions)
        names = tuple(dict.fromkeys(self._parameters.values()))
        query = Query(structure, **fields, parameters=names, text=self._text)
        return lowered(query) if definitions else query

    # Structure

    def structures(self, meta: Meta, children: Children) -> tuple[Any, ...]:
        return tuple(children)

    columns = aggregates = values = arguments = results = definitions = structures

    def seq(self, meta: Meta, children: Children) -> n.Structure:
        return n.Seq(children[0], self.span_of(meta))

    def and_(self, meta: Meta, children: Children) -> n.Structure:
        return n.And(children[1], self.span_of(meta))

    def or_(self, meta: Meta, children: Children) -> n.Structure:
        return n.Or(children[1], self.span_of(meta))

    def not_(self, meta: Meta, children: Children) -> n.Structure:
        return n.Not(children[1], self.span_of(meta))

    def opt(self, meta: Meta, children: Children) -> n.Structure:
        return n.Opt(children[0], self.span_of(meta), greedy=len(children) > 1)

    def first(self, meta: Meta, children: Children) -> n.Structure:
        return n.preceded(n.First, children[1], self.span_of(meta))

    def next(self, meta: Meta, children: Children) -> n.Structure:
        return n.preceded(n.Next, children[1], self.span_of(meta))

    def kleene(self, meta: Meta, children: Children) -> n.Structure:
        item, *more = children
        minimum, maximum = next((part for part in more if isinstance(part, tuple)), (1, None))
        until = next((part for part in more if isinstance(part, n.Event)), None)
        greedy = True in more
        span = self.span_of(meta)
        return n.optional_set(n.Kleene(item, minimum, maximum, span, greedy=greedy, until=until))

    def greedy(self, meta: Meta, children: Children) -> bool:
        return True

    def until(self, meta: Meta, children: Children) -> n.Event:
        event: n.Event = children[0]
        return event

    def exactly(self, meta: Meta, children: Children) -> tuple[int, int | None]:
        size = self._bound(children[0])
        return size, size

    def from_to(self, meta: Meta, children: Children) -> tuple[int, int | None]:
        return self._bound(children[0]), self._bound(children[1]) if len(children) > 1 else None

    def _bound(self, token: Token) -> int:
        value = self.number_of(token)
        if not isinstance(value, int):
            raise PatternSyntaxError(
                f"{token} as a number of events",
                expected="a whole number",
                span=self.span_of(token),
            )
        return value

    def bare_event(self, meta: Meta, children: Children) -> n.Event:
        return n.Event(children[0], frozenset(children), self.span_of(meta))

    def typed_event(self, meta: Meta, children: Children) -> n.Event:
        return n.Event(children[1], frozenset(children[:1]), self.span_of(meta))

    def any_event(self, meta: Meta, children: Children) -> n.Event:
        return n.Event(children[0], None, self.span_of(meta))

    def event_of_types(self, meta: Meta, children: Children) -> n.Event:
        return n.Event(children[0], frozenset(children[1:]), self.span_of(meta))

    # Clauses: (keyword and field of Query), value, place

    where = clause_of("WHERE", "where")
    at_time_zone = clause_of("AT TIME ZONE", "zone")
    partition_by = clause_of("PARTITION BY", "partition_by")
    agg = clause_of("AGG", "aggregates")
    group_by = clause_of("GROUP BY", "group_by")
    having = clause_of("HAVING", "having")
    returned = clause_of("RETURN", "returned")
    defined = clause_of("DEFINE", "definitions")

    def within(self, meta: Meta, children: Children) -> tuple[Any, ...]:
        if len(children) == 1:
            return ("WITHIN", "window"), children[0], self.span_of(meta)
        window, first, last = children
        bound = StepBound(first, last, window, self.span_of(meta))
        return ("WITHIN FROM", "bounds"), bound, self.span_of(meta)

    def strategy(self, meta: Meta, children: Children) -> tuple[Any, ...]:
        token = children[0]
        try:
            value = Strategy(token.lower())
        except ValueError:
            raise PatternSyntaxError.unknown(
                f"'{token}' is not a strategy", token, Strategy, span=self.span_of(token)
            ) from None
        return ("STRATEGY", "strategy"), value, self.span_of(meta)

    def thresholds(self, meta: Meta, children: Children) -> tuple[c.Comparison, ...]:
        return tuple(child for child in children if isinstance(child, c.Comparison))

    def threshold(self, meta: Meta, children: Children) -> c.Comparison:
        aggregate, operator, number = children
        sign: Any = OPERATORS.get(str(operator), str(operator))
        return c.Comparison(sign, aggregate, number, self.span_of(meta))

    def after_match(self, meta: Meta, children: Children) -> tuple[Any, ...]:
        skip = replace(children[0], span=self.span_of(meta))
        return ("AFTER MATCH SKIP", "after_match"), skip, self.span_of(meta)

    def kind_of_any(self, meta: Meta, children: Children) -> n.Kind:
        name, condition = children
        refuse_too_deep(condition)
        return n.Kind(name, None, condition, self.span_of(meta))

    def kind_of_type(self, meta: Meta, children: Children) -> n.Kind:
        name, base, condition = children
        refuse_too_deep(condition)
        return n.Kind(name, frozenset({base}), condition, self.span_of(meta))

    def past_last_event(self, meta: Meta, children: Children) -> AfterMatch:
        return AfterMatch(SkipTo.PAST_LAST_EVENT)

    def to_next(self, meta: Meta, children: Children) -> AfterMatch:
        return AfterMatch(SkipTo.NEXT)

    def to_first(self, meta: Meta, children: Children) -> AfterMatch:
        return AfterMatch(SkipTo.FIRST, children[1])

    def to_last(self, meta: Meta, children: Children) -> AfterMatch:
        return AfterMatch(SkipTo.LAST, children[0])

    def result(self, meta: Meta, children: Children) -> ResultColumn:
        value, *name = children
        self.check_is_value(value)
        refuse_too_deep(value)
        return ResultColumn(name[0] if name else expression_text(value), value, self.span_of(meta))

    def window(self, meta: Meta, children: Children) -> Window:
        number, *words = children
        calendar = words[0].type == "CALENDAR"
        unit, *exclusive = words[calendar:]
        return read_window(
            number,
            unit,
            exclusive=bool(exclusive),
            calendar=calendar,
            number_span=self.span_of(number),
            unit_span=self.span_of(unit),
        )

    def aggregate_of_matches(self, meta: Meta, children: Children) -> c.Aggregate:
        if len(children) > 1 and children[0].lower() != "count":
            raise PatternSyntaxError(
                f"{children[0]}(*)",
                expected=f"COUNT(*), or an attribute as in {children[0]}(c.price)",
                span=self.span_of(meta),
            )
        return self._aggregate(meta, children[0], None)

    def aggregate_of_value(self, meta: Meta, children: Children) -> c.Aggregate:
        function, value, *share = children
        return self._aggregate(meta, function, value, *map(self.number_of, share))

    def aggregate_of_distinct(self, meta: Meta, children: Children) -> c.Aggregate:
        function, value = children
        if function.lower() != "count":
            raise PatternSyntaxError(
                f"{function}(DISTINCT ...)",
                expected="COUNT(DISTINCT ...), as in COUNT(DISTINCT a.user)",
                span=self.span_of(meta),
            )
        self.check_is_value(value)
        return c.ValueAggregate(c.DISTINCT, span=self.span_of(meta), argument=value)

    def _aggregate(
        self,
        meta: Meta,
        function: Token,
        value: c.Expression | None,
        share: float | None = None,
    ) -> c.Aggregate:
        name, span = function.lower(), self.span_of(meta)
        if name == "percentile" and not 0 <= (-1 if share is None else share) <= 1:
            raise PatternSyntaxError(
                f"{function} without a share from 0 to 1",
                expected="a share of the values, as in PERCENTILE(b.price, 0.95)",
                span=span,
            )
        if share is not None and name != "percentile":
            raise PatternSyntaxError(
                f"{function} of two values", expected=f"{function}(b.price)", span=span
            )
        if name not in SET_FUNCTIONS and share_of(name, share) is None:
            names = [*map(str.upper, AGGREGATES), "MEDIAN", "PERCENTILE"]
            raise PatternSyntaxError(
                f"'{function}' is not an aggregate",
                expected=NAMES,
                hint=nearest(function, names),
                span=self.span_of(function),
            )
        if value is None:
            return c.Aggregate(name, span=span)
        self.check_is_value(value)
        if isinstance(value, c.Attribute) and name in SET_FUNCTIONS:
            if not value.variable:
                return c.Aggregate(name, value.name, None, span)
            return c.Aggregate(name, value.variable, value.name, span)
        return c.ValueAggregate(name, span=span, argument=value, share=share)
