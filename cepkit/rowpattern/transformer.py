# Methods have the names of grammar rules.
# ruff: noqa: D102
"""The builder of frozen queries from syntax trees."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from lark import Token, v_args

from cepkit.errors import PatternError, Span
from cepkit.pattern.parsing.transformer import clause_of
from cepkit.rowpattern import nodes as n
from cepkit.rowpattern.expression_builder import ExpressionBuilder, Word
from cepkit.rowpattern.expressions import Column, Expression, place_text

Clause = tuple[tuple[str, str], Any, Span]
"""The keyword of a clause and its field of `RowQuery`, the value, and the place."""


@v_args(meta=True)
class QueryBuilder(ExpressionBuilder):
    """Builds a query bottom-up."""

    # The query

    def query(self, meta: Any, parts: list[Any]) -> n.RowQuery:
        (selected, table), rest = parts[:2], parts[2:]
        clauses: dict[str, Any] = {}
        spans: dict[str, Span] = {}
        for part in rest:
            if isinstance(part, Word):  # the alias of the result
                continue
            (keyword, name), value, span = part
            if name in clauses:
                raise PatternError(f"{keyword} stands here twice", span=span)
            clauses[name], spans[name] = value, span
        if "pattern" not in clauses:
            raise PatternError(
                "MATCH_RECOGNIZE has no PATTERN",
                expected="PATTERN (...), as in PATTERN (A B+) DEFINE B AS price > PREV(price)",
                span=self.span_of(meta),
            )
        return n.RowQuery(self._text, table, selected=selected, span=spans["pattern"], **clauses)

    def everything(self, _: Any, __: list[Token]) -> None:
        return None

    def selection(self, _: Any, parts: list[n.Named]) -> tuple[n.Named, ...]:
        return tuple(parts)

    def output(self, meta: Any, parts: list[Any]) -> n.Named:
        span = self.span_of(meta)
        if len(parts) == 2:
            return n.Named(str(parts[1]), parts[0], span)
        name = parts[0].name if isinstance(parts[0], Column) else place_text(span)
        return n.Named(name, parts[0], span)

    def table(self, _: Any, parts: list[Word]) -> str:
        return ".".join(parts)

    where, sorted_by = clause_of("WHERE", "where"), clause_of("ORDER BY", "sorted_by")

    def limit(self, meta: Any, parts: list[Token]) -> Clause:
        return ("LIMIT", "limit"), self._whole(parts[0]), self.span_of(meta)

    # The clauses of MATCH_RECOGNIZE

    partition_by = clause_of("PARTITION BY", "partition")
    order_by = clause_of("ORDER BY", "order")
    pattern = clause_of("PATTERN", "pattern")
    within = clause_of("WITHIN", "within")

    def measures(self, meta: Any, parts: list[n.Named]) -> Clause:
        return ("MEASURES", "measures"), tuple(parts), self.span_of(meta)

    def subsets(self, meta: Any, parts: list[Any]) -> Clause:
        return ("SUBSET", "subsets"), tuple(parts), self.span_of(meta)

    def one_row(self, meta: Any, _: list[Any]) -> Clause:
        return self._placed("ROWS PER MATCH", "output", n.OutputRows(), meta)

    def all_rows(self, meta: Any, parts: list[Token]) -> Clause:
        kind = parts[0].type if parts else "SHOW"
        rows = n.OutputRows(True, kind != "OMIT", kind == "WITH")
        return self._placed("ROWS PER MATCH", "output", rows, meta)

    def after_match(self, meta: Any, parts: list[n.Skip]) -> Clause:
        return self._placed("AFTER MATCH SKIP", "skip", parts[0], meta)

    def _placed(self, keyword: str, name: str, value: n.OutputRows | n.Skip, meta: Any) -> Clause:
        span = self.span_of(meta)
        return (keyword, name), replace(value, span=span), span

    def define(self, meta: Any, parts: list[Any]) -> Clause:
        names: set[str] = set()
        for name, condition in parts:
            if name in names:
                raise PatternError(
                    f"{name} is defined twice",
                    hint="join the conditions by AND",
                    span=condition.span,
                )
            names.add(name)
        return ("DEFINE", "defined"), tuple(parts), self.span_of(meta)

    def columns(self, _: Any, parts: list[n.Key]) -> tuple[n.Key, ...]:
        return tuple(parts)

    keys = columns

    def column(self, meta: Any, parts: list[Word]) -> n.Key:
        span = self.span_of(meta)
        return n.Key(Column(None, str(parts[0]), span), span=span)

    def key(self, meta: Any, parts: list[Any]) -> n.Key:
        words = {part.type for part in parts if isinstance(part, Token)}
        nulls: Literal["first", "last"] | None = None
        if words & {"FIRST", "LAST"}:
            nulls = "first" if "FIRST" in words else "last"
        return n.Key(parts[0], "DESC" in words, nulls, self.span_of(meta))

    def measure(self, meta: Any, parts: list[Any]) -> n.Named:
        span = self.span_of(meta)
        return n.Named(str(parts[1]) if len(parts) == 2 else place_text(span), parts[0], span)

    def past_last_row(self, _: Any, __: list[Any]) -> n.Skip:
        return n.Skip()

    def to_next_row(self, _: Any, __: list[Any]) -> n.Skip:
        return n.Skip("next row")

    def to_first(self, _: Any, parts: list[Word]) -> n.Skip:
        return n.Skip("first", parts[0].variable)

    def to_last(self, _: Any, parts: list[Word]) -> n.Skip:
        return n.Skip("last", parts[0].variable)

    def subset(self, _: Any, parts: list[Any]) -> tuple[str, tuple[str, ...]]:
        name, *members = [part.variable for part in parts if isinstance(part, Word)]
        return name, tuple(members)

    def definition(self, _: Any, parts: list[Any]) -> tuple[str, Expression]:
        return parts[0].variable, parts[1]

    # The row pattern

    def variable(self, meta: Any, parts: list[Word]) -> n.Variable:
        return n.Variable(parts[0].variable, self.span_of(meta))

    def nothing(self, meta: Any, _: list[Any]) -> n.Concatenation:
        return n.Concatenation((), self.span_of(meta))

    def concatenation(self, meta: Any, parts: list[n.RowPattern]) -> n.RowPattern:
        return parts[0] if len(parts) == 1 else n.Concatenation(tuple(parts), self.span_of(meta))

    def alternation(self, meta: Any, parts: list[n.RowPattern]) -> n.Alternation:
        return n.Alternation(tuple(parts), self.span_of(meta))

    def permutation(self, meta: Any, parts: list[n.RowPattern]) -> n.Permutation:
        return n.Permutation(tuple(parts), self.span_of(meta))

    def exclusion(self, meta: Any, parts: list[n.RowPattern]) -> n.Exclusion:
        return n.Exclusion(parts[0], self.span_of(meta))

    def anchor(self, meta: Any, parts: list[Token]) -> n.Anchor:
        return n.Anchor("start" if parts[0] == "^" else "end", self.span_of(meta))

    def repetition(self, meta: Any, parts: list[Any]) -> n.Repetition:
        part, (least, most, greedy) = parts
        span = self.span_of(meta)
        if most is not None and most < max(1, least):
            raise PatternError(
                f"a part is repeated {least} to {most} times",
                expected="a range from the smaller to the larger number, at least 1",
                span=span,
            )
        return n.Repetition(part, least, most, greedy, span)

    def sign(self, _: Any, parts: list[Token]) -> tuple[int, int | None, bool]:
        least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}[parts[0]]
        return least, most, len(parts) == 1

    def exactly(self, _: Any, parts: list[Token]) -> tuple[int, int | None, bool]:
        times = self._whole(parts[0])
        return times, times, len(parts) == 1

    def bound(self, _: Any, parts: list[Token]) -> int | None:
        return self._whole(parts[0]) if parts else None

    def from_to(self, _: Any, parts: list[Any]) -> tuple[int, int | None, bool]:
        return parts[0] or 0, parts[1], len(parts) == 2
