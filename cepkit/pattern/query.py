"""A query: the structure, conditions, window, strategy and partition of a pattern."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Literal, TypeAlias

from cepkit.arguments import typed
from cepkit.errors import PatternError, Span, UnsupportedError, nearest_column
from cepkit.lazy import nx
from cepkit.pattern import conditions as c
from cepkit.pattern.names import name_text, variable_text
from cepkit.pattern.nodes import Structure, events_of
from cepkit.pattern.policies import AfterMatch, StepBound, Strategy, Window
from cepkit.pattern.repetitions import Group
from cepkit.printing import WithPrinter
from cepkit.stream.schema import ONLY_TYPE

if TYPE_CHECKING:
    from cepkit.stream.stream import Stream

SqlDialect: TypeAlias = Literal["duckdb", "flink", "snowflake", "spark", "trino"]
"""The systems whose SQL `Query.to_sql` writes."""

RESULT_ENDS = ("match_start", "match_end")
"""The columns of all matches: their first and last time."""


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column of RETURN: `max(b.price) AS top`."""

    name: str
    value: c.Expression
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def source(self) -> c.Attribute | None:
        """The attribute that the column copies from the stream; None for a computed column.

        For a set the column has the list of all values, or one of them.
        """
        match self.value:
            case c.Attribute():
                return self.value
            case c.Aggregate(function, str(variable), str(name)) if (
                c.place_of(function) is not None
            ):
                return c.Attribute(variable, name)
            case _:
                return None


@dataclass(frozen=True, repr=False)
class Query(WithPrinter):
    """A whole pattern, as `parse` and the builder return it; queries with equal parts are equal.

    Attributes:
        structure: The events and their order.
        where: The condition on their attributes, None for no condition.
        window: The greatest distance of the events of a match, None for any distance.
        strategy: The rule for the matches that count.
        partition_by: Attributes whose values all events of a match share (null equals null).
        aggregates: The aggregates of AGG; empty for a query that asks for its matches.
        group_by: The attributes that group the aggregates.
        having: Comparisons of aggregates of AGG with numbers, which all rows satisfy.
        after_match: The place where the next match may start; None: anywhere.
        returned: The columns of the matches; empty for all columns of their events.
        bounds: The greatest distances of pairs of events, in addition to the window.
        groups: The groups that repeat, unrolled in `structure`.
        unrolled_from: The structure as written, with its groups; None without groups.
        zone: The time zone whose clock conditions read; None: that of the stream.
        parameters: The names of its parameters (`$k`), which have stand-ins in the other parts.
        text: The text of the query, None from the builder.
    """

    structure: Structure
    where: c.Expression | None = None
    window: Window | None = None
    strategy: Strategy = Strategy.SKIP_TILL_ANY_MATCH
    partition_by: tuple[str, ...] = ()
    aggregates: tuple[c.Aggregate, ...] = ()
    group_by: tuple[str, ...] = ()
    having: tuple[c.Comparison, ...] = ()
    after_match: AfterMatch | None = None
    returned: tuple[ResultColumn, ...] = ()
    bounds: tuple[StepBound, ...] = ()
    groups: tuple[Group, ...] = ()
    unrolled_from: Structure | None = None
    zone: str | None = None
    parameters: tuple[str, ...] = ()
    text: str | None = field(default=None, compare=False, repr=False)

    @property
    def is_sound(self) -> bool:
        """Whether it has passed `checks.check`; by identity: as values 1 and TRUE are equal."""
        return "sound" in self.__dict__

    @property
    def written(self) -> Structure:
        """The structure as written; conditions and results use its variables."""
        return self.structure if self.unrolled_from is None else self.unrolled_from

    @property
    def computed_from(self) -> frozenset[str]:
        """The attributes that computed columns of RETURN read."""
        values = [result.value for result in self.returned if result.source is None]
        return frozenset(name for value in values for _, name in c.attributes_of(value))

    def bind(self, **values: object) -> Query:
        """Return the query with values for its parameters.

        Args:
            **values: A number, text, duration, time or truth value for each.

        Raises:
            PatternError: A parameter has no value, or a value that cannot stand there.

        Example:
            >>> import cepkit as ck
            >>> query = ck.parse("PATTERN SEQ(A a, B b) WHERE b.amount > $k WITHIN $t")
            >>> print(query.bind(k=20, t="5 minutes"))
            PATTERN SEQ(A a, B b)
            WHERE b.amount > 20
            WITHIN 5 minutes
        """
        from cepkit.pattern.parameters import with_values

        parse = import_module("cepkit.pattern.parsing.parser").parse  # it stands above queries
        bound: Query = parse(with_values(self.text or str(self), values))
        return bound

    def check_attributes(self, known: Iterable[str]) -> None:
        """Check that every attribute that the query reads is one of the known columns.

        Raises:
            PatternError: An attribute is not a known column.
        """
        columns = tuple(known)
        uses: list[tuple[str, object]] = [(name, None) for name in self.partition_by]
        uses += [(name, None) for name in self.group_by]
        results = (result.value for result in self.returned)
        for expression in (*c.conjuncts(self.where), *self.aggregates, *results):
            for node in c.walk(expression):
                if isinstance(node, c.Attribute) and node.name != c.TIME:
                    uses.append((node.name, node))
                elif isinstance(node, c.Aggregate) and node.attribute is not None:
                    uses.append((node.attribute, node))
        for name, reader in uses:
            if name not in columns:
                hint = nearest_column(name, columns)
                variable, _, column = name.partition(".")
                variables = (event.variable for event in events_of(self.written))
                if reader is None and column in columns and variable in variables:
                    hint = f"a column that all events have has no variable before it: {column}"
                raise PatternError(
                    f"the stream has no column '{name}'",
                    expected=f"one of {', '.join(sorted(columns))}",
                    hint=hint,
                    span=reader.span if isinstance(reader, c.Attribute | c.Aggregate) else None,
                )

    def check_reads(self, stream: Stream) -> None:
        """Check that a stream has the columns that the query reads, and types if it names some.

        Raises:
            PatternError: It has not.
        """
        if self.parameters:
            name = self.parameters[0]
            raise PatternError(
                f"the parameter ${name} has no value",
                expected=f"query.bind({name}=...)",
                hint="cepkit.calibrate counts the matches of many values",
            )
        self.check_attributes(stream.column_names)
        if stream.schema.type is not None:
            return
        for event in events_of(self.written):
            if event.types is not None and event.types != {ONLY_TYPE}:
                name = sorted(event.types)[0]
                raise PatternError(
                    f"'{name}' is a type, and the stream has no column of types",
                    expected=f"ANY {variable_text(event.variable)} with a condition, or a kind: "
                    f"DEFINE {name_text(name)} AS ...",
                    hint="events(..., type=column) names the column of the types",
                    span=event.span,
                )

    def check_detectable(self, stream: Stream) -> None:
        """Check that `detect` can run the query over a stream; nothing is computed.

        Args:
            stream: From `events`.

        Raises:
            StreamError: The value is not a stream.
            PatternError: The query reads a column that the stream does not have, or returns one
                that its output lacks.
            UnsupportedError: The query asks for aggregates.

        Example:
            >>> import cepkit as ck
            >>> trades = [
            ...     {"ts": 1, "type": "MSFT", "price": 30.0},
            ...     {"ts": 2, "type": "GOOG", "price": 31.0},
            ...     {"ts": 3, "type": "GOOG", "price": 29.0},
            ... ]
            >>> stream = ck.events(trades, time="ts", type="type", unit="s")
            >>> ck.parse("PATTERN SEQ(MSFT a, GOOG b) WITHIN 5 seconds").check_detectable(stream)
            >>> ck.parse("PATTERN SEQ(MSFT a, GOOG b) AGG COUNT").check_detectable(stream)
            Traceback (most recent call last):
                ...
            cepkit.errors.UnsupportedError: AGG asks for aggregates, not for matches
            Hint: `aggregate` gives them; to detect, leave AGG out
        """
        from cepkit.stream.stream import check_stream

        check_stream(stream)
        self.check_reads(stream)
        if self.aggregates:
            raise UnsupportedError(
                "AGG asks for aggregates, not for matches",
                hint="`aggregate` gives them; to detect, leave AGG out",
            )
        carried = frozenset(stream.schema.carried(stream.column_names))
        for source, span in ((result.source, result.value.span) for result in self.returned):
            if source is not None and source.name not in carried:
                raise PatternError(
                    f"RETURN of '{source.name}', which columns= leaves out of the output",
                    hint=f"events(..., columns=[..., '{source.name}'])",
                    span=span,
                )

    @typed
    def to_sql(
        self,
        dialect: SqlDialect,
        *,
        table: str = "events",
        time: str = "ts",
        type: str | None = "type",  # noqa: A002 - as in events
        id: str | None = None,  # noqa: A002 - as databases call it
        unit: Literal["s", "ms", "us"] | None = None,
        columns: Sequence[str] | None = None,
    ) -> str:
        """Return the pattern as a SELECT of another system, which gives the same matches.

        It joins the table with itself; under strict and partition contiguity it is a
        MATCH_RECOGNIZE. Needs sqlglot: `pip install cepkit[sql]`.

        Args:
            dialect: The system.
            table: The name of its table, with dots between catalogue, schema and table.
            time: The column of the time.
            type: The column of the type; None if all rows are of one type, ANY in the pattern.
            id: A column that differs between all rows, and orders those of equal time.
            unit: The unit of times that are numbers; None: they are timestamps.
            columns: The columns of each event in the result; None: the time, the type, and those
                that the pattern reads. RETURN has its own.

        Raises:
            UnsupportedError: SQL cannot say a part of the pattern exactly.
            MissingPackageError: sqlglot is not installed.

        Example:
            >>> import cepkit as ck
            >>> pattern = ck.parse("PATTERN SEQ(A a, B b) WITHIN 5 minutes RETURN a.k AS k")
            >>> print(pattern.to_sql("duckdb", table="log"))
            SELECT
              "event_a"."k" AS "k",
              "event_a"."ts" AS "match_start",
              "event_b"."ts" AS "match_end"
            FROM "log" AS "event_a"
            INNER JOIN "log" AS "event_b"
              ON "event_b"."type" = 'B'
              AND "event_a"."ts" < "event_b"."ts"
              AND "event_b"."ts" <= (
                "event_a"."ts" + INTERVAL '5' MINUTE
              )
            WHERE
              "event_a"."type" = 'A'
        """
        # By name: the SQL of a pattern stands above patterns.
        sql = import_module("cepkit.pattern.sql")
        text: str = sql.sql_of(self, sql.Table(table, time, type, id, unit, dialect), columns)
        return text

    def to_networkx(self) -> nx.DiGraph[int]:
        """Return the structure and the conditions as a directed graph of networkx.

        Nodes are numbers, 0 the root, with `kind` (SEQ, NOT, event, condition ...) and `label`; an
        event also has `variable` and `types`. Edges lead from a node to its items, and from events
        to the conditions about them.
        """
        # By name: the texts of a graph stand above patterns.
        graph: nx.DiGraph[int] = import_module("cepkit.pattern.networks").query_graph(self)
        return graph
