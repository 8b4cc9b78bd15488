"""Arguments of the verbs are held against their annotations."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
import pytest

import cepkit as ck
from cepkit.arguments import check_range, typed
from cepkit.errors import ArgumentError, PlanError, StreamError


@typed
def verb(
    whole: int = 0,
    number: float = 0.0,
    text: str | None = None,
    flag: bool = False,
    names: Sequence[str] = (),
    shares: Mapping[str, float] | None = None,
    items: Iterable[int] = (),
    function: Callable[..., Any] = len,
    choice: Literal["a", "b"] = "a",
    *more: str,
    **options: int,
) -> str:
    return "done"


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("whole", "3", "a whole number of 64 bits"),
        ("whole", 2.0, "a whole number of 64 bits"),
        ("whole", True, "a whole number of 64 bits"),
        ("whole", 2**63, "a whole number of 64 bits"),
        ("number", math.nan, "a finite number"),
        ("number", 10**400, "a finite number"),
        ("text", 3, "a text or None"),
        ("flag", 1, "True or False"),
        ("names", "ab", "a list of texts"),
        ("names", ["a", 1], "a list of texts"),
        ("names", iter("ab"), "a list of texts"),
        ("shares", {"a": "b"}, "a dict of numbers or None"),
        ("items", [1, None], "a list of whole number of 64 bits"),
        ("function", 3, "a function"),
        ("choice", 3, "'a' or 'b'"),
        ("other", "x", "a whole number of 64 bits"),
    ],
)
def test_a_value_of_another_kind_is_refused(name, value, expected):
    with pytest.raises(ArgumentError) as caught:
        verb(**{name: value})
    assert caught.value.expected == expected


def test_values_that_fit_go_through():
    assert (
        verb(np.int64(3), 2, "x", np.bool_(True), ("a",), {"a": 1}, iter([1]), max, "b") == "done"
    )
    assert verb(0, 0.5, None, True, ["a"], None, [1], abs, "a", "x", "y", z=1) == "done"


def test_a_number_out_of_range_is_refused():
    check_range("n", 3, 0)
    with pytest.raises(ArgumentError, match="n=-1"):
        check_range("n", -1, 0)
    with pytest.raises(ArgumentError, match="1 to 5"):
        check_range("n", 6, 1, 5)


class TestVerbs:
    frame = pd.DataFrame({"ts": [1, 2, 3], "type": list("ABA"), "x": [1, 2, 3]})
    text = "PATTERN SEQ(A a, B b) WITHIN 9 us"

    @pytest.fixture
    def stream(self):
        return ck.events(self.frame, time="ts", type="type", unit="us")

    def test_wrong_kinds_are_refused_by_name(self, stream):
        with pytest.raises(ArgumentError, match="limit='3'"):
            ck.detect(stream, self.text, limit="3")
        with pytest.raises(ArgumentError, match="seed=-1"):
            ck.profile(stream, self.text, seed=-1)
        with pytest.raises(ArgumentError, match="n=-1"):
            ck.sample_stocks(-1)
        with pytest.raises(ArgumentError, match="the first -1 matches"):
            ck.detect(stream, self.text).head(-1)

    def test_swapped_arguments_are_named(self, stream):
        with pytest.raises(StreamError, match="swapped"):
            ck.detect(self.text, stream)

    @pytest.mark.parametrize("wrong", [3, object(), ck])
    def test_what_is_no_planner_and_no_cost_model_is_refused(self, stream, wrong):
        statistics = ck.profile(stream, self.text)
        with pytest.raises((PlanError, ArgumentError), match="planner"):
            ck.choose_plan(self.text, statistics, wrong)
        with pytest.raises((PlanError, ArgumentError), match="cost"):
            ck.choose_plan(self.text, statistics, cost=wrong)
