"""Messages stay readable, whatever they quote."""

from __future__ import annotations

import pickle

import pytest

import cepkit as ck
from cepkit.errors import CepkitError, telling

LONG = "x" * 1_000_000
WORDS = "x " * 500_000


@pytest.mark.parametrize("text", [LONG, WORDS, f"{WORDS} {LONG}", "\n" * 1_000_000])
def test_a_long_text_is_cut_in_every_part_of_a_message(text):
    error = CepkitError(f"the variable '{text}'", expected=f"not '{text}'", hint=f"use '{text}'")
    with pytest.raises(CepkitError) as caught, telling(f"query '{text}'"):
        raise error
    for shown in (str(caught.value), repr(caught.value), str(pickle.loads(pickle.dumps(error)))):
        assert len(shown) < 50_000
    assert str(error).startswith("query '")
    assert "the variable '" in str(error)
    assert error.found.endswith("'")


def test_a_message_of_some_lines_is_whole():
    found = "\n".join(["a line of a message of common length, with a hint"] * 100)
    assert CepkitError(found).found == found


@pytest.mark.parametrize(
    "attempt",
    [
        lambda: ck.Statistics.assumed({"a": 1.0}, {(LONG, "a"): 0.5}),
        lambda: ck.Statistics.assumed({LONG: -1.0}),
        lambda: ck.Statistics.assumed({LONG: 1.0}).rate("a"),
        lambda: ck.Statistics.assumed({"a": 1.0}).rate(LONG),
        lambda: ck.Statistics.from_json(LONG),
        lambda: ck.parse(f"PATTERN SEQ(A a, B a) WHERE a.{LONG} > 3"),
        lambda: ck.events([{"t": 1}], time=LONG, type="t"),
        lambda: ck.choose_plan("PATTERN SEQ(A a, B b)", ck.Statistics({"a": 1.0}), LONG),
    ],
)
def test_an_error_about_a_long_name_is_short(attempt):
    with pytest.raises(CepkitError) as caught:
        attempt()
    assert len(str(caught.value)) < 10_000
