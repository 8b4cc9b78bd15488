"""Arguments of the verbs are checked against their annotations."""

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
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
    path: str | os.PathLike[str] | None = None,
    *more: str,
    **options: int,
) -> str:
    return "done"


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("whole", "3", "a 64-bit integer"),
        ("whole", 2.0, "a 64-bit integer"),
        ("whole", True, "a 64-bit integer"),
        ("whole", 2**63, "a 64-bit integer"),
        ("number", math.nan, "a finite number"),
        ("number", 10**400, "a finite number"),
        ("text", 3, "a text or None"),
        ("flag", 1, "True or False"),
        ("names", "ab", "a list of texts"),
        ("names", ["a", 1], "a list of texts"),
        ("names", iter("ab"), "a list of texts"),
        ("shares", {"a": "b"}, "a dict of finite numbers or None"),
        ("items", [1, None], "a list of 64-bit integers"),
        ("function", 3, "a function"),
        ("choice", 3, "'a' or 'b'"),
        ("path", b"x", "a text or a path or None"),
        ("other", "x", "a 64-bit integer"),
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
    assert verb(0, 0.5, None, True, ["a"], None, [1], abs, "a", Path("x"), "y", z=1) == "done"


def test_numbers_of_numpy_arrive_as_those_of_python():
    @typed
    def kinds(*values: float, flag: bool = False) -> list[type]:
        return [type(value) for value in (*values, flag)]

    values = np.int64(3), np.float32(0.5), np.array(2)
    assert kinds(*values, flag=np.bool_(True)) == [int, float, int, bool]


@pytest.mark.parametrize(
    ("value", "hint"),
    [("3", "whole=3, without quotes"), ("three", "help(verb) describes each argument")],
)
def test_text_instead_of_a_number_is_refused_with_a_hint(value, hint):
    with pytest.raises(ArgumentError) as caught:
        verb(whole=value)
    assert caught.value.hint == hint


@typed
def strict(stream: str, *, limit: int) -> None: ...


@pytest.mark.parametrize(
    ("given", "options", "said"),
    [
        ((), {"limit": 1}, "missing a required argument: 'stream'"),
        (("x",), {}, r"missing a required (keyword-only )?argument: 'limit'"),
        (("x",), {"limti": 1, "limit": 1}, "did you mean 'limit'"),
        (("x", 1), {"limit": 1}, "too many positional"),
    ],
)
def test_missing_and_unknown_arguments_are_refused_by_name(given, options, said):
    with pytest.raises(ArgumentError, match=said) as caught:
        strict(*given, **options)
    assert "stream, limit" in caught.value.expected


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
        for call in (
            lambda: ck.detect(stream, self.text, sample=3, seed=-1),
            lambda: ck.aggregate(stream, f"{self.text} AGG COUNT", error=0.5, seed=-1),
            lambda: ck.learn(stream, [1, 2], within="1 minute", seed=-1),
        ):
            with pytest.raises(ArgumentError, match="seed=-1"):
                call()
        with pytest.raises(ArgumentError, match="n=-1"):
            ck.sample_stocks(-1)
        matches = ck.detect(stream, self.text)
        for few in (matches.head, matches.timeline):
            with pytest.raises(ArgumentError, match="n=-1"):
                few(-1)

    def test_a_text_is_no_leave_to_overwrite(self, stream, tmp_path):
        statistics = ck.profile(stream, self.text)
        trace = ck.simulate(stream, self.text)
        for write, name in (
            (ck.detect(stream, self.text).write_parquet, "m.parquet"),
            (statistics.to_json, "s.json"),
            (trace.to_json, "t.json"),
            (ck.simulate(stream, self.text, "prefix-counters").to_json, "c.json"),
            (ck.draw(trace).save_html, "p.html"),
        ):
            (tmp_path / name).write_text("mine", encoding="utf-8")
            with pytest.raises(ArgumentError, match="overwrite='no'"):
                write(tmp_path / name, overwrite="no")
            assert (tmp_path / name).read_text(encoding="utf-8") == "mine"

    def test_swapped_arguments_are_named(self, stream):
        with pytest.raises(StreamError, match="swapped"):
            ck.detect(self.text, stream)

    @pytest.mark.parametrize("wrong", [3, object(), ck])
    def test_choose_plan_refuses_values_that_are_no_planner_or_cost(self, stream, wrong):
        statistics = ck.profile(stream, self.text)
        with pytest.raises((PlanError, ArgumentError), match="planner"):
            ck.choose_plan(self.text, statistics, wrong)
        with pytest.raises((PlanError, ArgumentError), match="cost"):
            ck.choose_plan(self.text, statistics, cost=wrong)


@typed
def unknown(
    names: "Sequence[str | Unknown]" = (),  # noqa: F821 - as under TYPE_CHECKING
    frame: "nothing.DataFrame | None" = None,  # noqa: F821
    number: "int | None" = None,
) -> str:
    return "done"


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [("names", "text", "a list of texts or Unknown"), ("number", "a", "a 64-bit integer or None")],
)
def test_annotation_with_an_unknown_name_is_checked_in_its_known_parts(name, value, expected):
    with pytest.raises(ArgumentError, match=f"Expected: {expected}"):
        unknown(**{name: value})


def test_value_of_an_unknown_name_is_let_through():
    assert unknown(names=["text", object()], frame=3, number=4) == "done"


@pytest.mark.parametrize(
    "odd", [pd.DataFrame({"a": [1, 2]}), np.array([1, 2]), pd.NA, ""], ids=type
)
@pytest.mark.parametrize("option", ["planner", "cost", "share"])
@pytest.mark.parametrize("several", [False, True])
def test_option_without_a_truth_value_is_refused_by_its_kind(option, odd, several):
    pattern: Any = "PATTERN SEQ(A a, B b) WITHIN 1 s"
    statistics = ck.Statistics.assumed({"a": 1, "b": 2})
    with pytest.raises(ck.CepkitError):
        ck.choose_plan([pattern] if several else pattern, statistics, **{option: odd})
