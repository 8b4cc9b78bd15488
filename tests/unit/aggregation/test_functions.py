"""A new aggregate is one small class, and every method can carry it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

import cepkit as ck
from cepkit.aggregation.semirings.functions import Count, Element, Function, Reads
from cepkit.errors import CepkitError, PatternError
from tests.unit.aggregation.cases import METHODS, stream, values


@dataclass(frozen=True)
class SumOfProducts:
    """SUM(one.x * other.y) over matches: an element is (matches, sum of x, of y, of x * y)."""

    one_of: tuple[str, str]
    other: tuple[str, str]
    zero = (0, 0, 0, 0)
    one = (1, 0, 0, 0)

    @property
    def reads(self) -> Reads:
        return (self.one_of, self.other)

    def plus(self, x: Element, y: Element) -> Element:
        return tuple(a + b for a, b in zip(x, y, strict=True))

    def times(self, x: Element, y: Element) -> Element:
        (m, a, b, ab), (n, c, d, cd) = x, y
        return m * n, a * n + m * c, b * n + m * d, ab * n + m * cd + a * d + b * c

    def lift(self, variable: str, value: Any, /) -> Element:
        return (1, value, 0, 0) if variable == self.one_of[0] else (1, 0, value, 0)

    def result(self, x: Element) -> Any:
        return x[3]


@dataclass(frozen=True)
class Top:
    """The k greatest values of an attribute over matches, each as often as matches have it."""

    k: int
    variable: str
    attribute: str
    zero = (0, ())
    one = (1, ())

    @property
    def reads(self) -> Reads:
        return ((self.variable, self.attribute),)

    def plus(self, x: Element, y: Element) -> Element:
        return min(self.k, x[0] + y[0]), tuple(sorted(x[1] + y[1], reverse=True)[: self.k])

    def times(self, x: Element, y: Element) -> Element:
        # Each value stands once for every match of the other side; more than k need not be known.
        most = x[1] * y[0] + y[1] * x[0]
        return min(self.k, x[0] * y[0]), tuple(sorted(most, reverse=True)[: self.k])

    def lift(self, variable: str, value: Any, /) -> Element:
        return 1, (value,)

    def result(self, x: Element) -> Any:
        return " ".join(map(str, x[1]))


@pytest.mark.parametrize("method", METHODS)
def test_a_sum_of_products_is_one_class(method: str) -> None:
    events = stream("a b a c b c", w=[2, 3, 5, 7, 11, 13])
    function: Function = SumOfProducts(("a", "w"), ("c", "w"))
    got = values(
        events, "PATTERN SEQ(A a, B b, C c)", method=method, functions={"products": function}
    )
    # a b c: 2*7; then 2*13 by either b and 5*13.
    assert got == [(4, 14, 1), (6, 14 + 2 * 26 + 65, 3)]


@pytest.mark.parametrize("method", METHODS)
def test_the_greatest_values_are_one_class(method: str) -> None:
    events = stream("a@1 a@2 b@3 b@4 b@6", w=[1, 1, 4, 9, 2])
    text = "PATTERN SEQ(A a, B b) WITHIN 4 s AGG COUNT"
    top = {"top": Top(3, "b", "w")}
    got = values(events, text, method=method, functions=top)
    assert got == [(3, 2, "4 4", 2), (4, 4, "9 9 4", 2), (6, 3, "9 4 2", 1)]


def test_a_function_of_a_variable_that_is_not_there_is_refused() -> None:
    with pytest.raises(PatternError, match="'x', which matches do not have"):
        ck.aggregate(
            stream("a b", w=[1, 2]), "PATTERN SEQ(A a, B b)", functions={"t": Top(2, "x", "w")}
        )


@pytest.mark.parametrize(
    ("functions", "found"),
    [
        (["x"], "functions=['x']"),
        ({"x": 3}, "functions= has an object of the type int for 'x'"),
        ({"x": Count}, "functions= has the class Count for 'x'"),
        ({3: Count()}, "functions={3: Count()}"),
    ],
)
def test_functions_argument_refuses_values_that_are_no_aggregates(
    functions: Any, found: str
) -> None:
    with pytest.raises(CepkitError) as caught:
        ck.aggregate(stream("a b"), "PATTERN SEQ(A a, B b) AGG COUNT", functions=functions)
    assert caught.value.found == found
    assert caught.value.hint is not None


@pytest.mark.parametrize("name", ["count", "ts", "cause", "new_matches"])
def test_no_two_columns_have_one_name(name: str) -> None:
    query = "PATTERN SEQ(A a, B b) AGG COUNT"
    with pytest.raises(PatternError, match=f"with the name '{name}'"):
        ck.aggregate(stream("a b"), query, functions={name: Count()})
    found = ck.aggregate(stream("a b"), query, functions={"number": Count()})
    assert list(found.columns) == ["ts", "count", "number", "new_matches"]
