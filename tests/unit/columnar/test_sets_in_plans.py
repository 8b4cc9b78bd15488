"""A set in its place in a plan: plan, printout, forecast and run say the same."""

from itertools import permutations

import numpy as np
import pyarrow as pa
import pytest

import cepkit as ck
from cepkit.columnar.results.explanation import Explanation
from cepkit.columnar.results.matches import Matches
from cepkit.plan.checks import as_plan
from cepkit.planners.choose import cost_plan
from cepkit.stream.stream import Stream

EVENTS = 20_000
TEXT = "PATTERN {}(A a, KL(B b), C c){} WITHIN 60 s"


def stream(share: float) -> Stream:
    random = np.random.default_rng(3)
    columns = {
        "ts": np.sort(random.uniform(0, EVENTS, EVENTS)),
        "kind": random.choice([*"ABC"], EVENTS, p=[(1 - share) / 2, share, (1 - share) / 2]),
        "x": random.normal(size=EVENTS),
    }
    return ck.events(pa.table(columns), time="ts", type="kind", unit="s")


RARE = stream(0.002)


@pytest.mark.parametrize("order", list(permutations("abc")), ids="".join)
@pytest.mark.parametrize(
    "text",
    [TEXT.format("SEQ", ""), TEXT.format("SEQ", " WHERE a.x < b.x")],
    ids=["SEQ", "condition"],
)
def test_steps_that_are_forecast_are_those_that_run(text: str, order: tuple[str, ...]) -> None:
    found = detected(text, order)
    (expected,) = found.explain().plan.expected
    steps = found.explain().steps
    assert [step.variable for step in steps] == [step.variable for step in expected]
    begun = ["first(b)"] if order[-1] != "b" else []
    assert {step.variable for step in steps} == {"a", "c", "b", *begun}
    assert steps[-1].variable == "b"
    bound = [v.replace("first(b)", "b") for v in (step.variable for step in steps[:-1])]
    assert tuple(bound) == (order if begun else order[:-1])
    printed = str(found.explain()).splitlines()
    assert [line.split(":")[0].split()[0] for line in printed[-len(steps) :]] == [
        step.variable for step in steps
    ]
    for ran, hoped in zip(steps, expected, strict=True):
        assert ran.candidates == pytest.approx(hoped.candidates, rel=0.25, abs=20), ran.variable
    for ran, hoped in zip(steps[:-1], expected, strict=False):
        assert ran.survivors == pytest.approx(hoped.partial_matches, rel=0.25, abs=20), ran.variable


@pytest.mark.parametrize("order", ["bac", "abc", "acb"])
def test_ends_that_the_window_needs_have_no_forecast(order: str) -> None:
    """Under AND a set may hold the first and the last event of a match: both ends are bound."""
    found = detected(TEXT.format("AND", ""), tuple(order))
    (expected,) = found.explain().plan.expected
    names = [step.variable for step in expected]
    steps = {step.variable: step for step in found.explain().steps}
    assert [v for v in steps if v in names] == names
    assert {*steps} - {*names} == {"last(b)", *([] if "first(b)" in names else ["first(b)"])}
    assert steps["last(b)"].expected_candidates is None
    for hoped in expected[:-1]:
        found_candidates = steps[hoped.variable].candidates
        assert found_candidates == pytest.approx(hoped.candidates, rel=0.25, abs=20)


def detected(text: str, order: tuple[str, ...]) -> Matches:
    """Return the matches by an order that was forecast, counted."""
    query = ck.parse(text)
    plan = cost_plan(as_plan(order, query), query, ck.profile(RARE, text))
    found = ck.detect(RARE, text, plan=plan)
    found.count()
    return found


def test_rare_set_comes_first_and_saves_the_promised_work() -> None:
    text = TEXT.format("SEQ", "")
    found = ck.detect(RARE, text)
    late = ck.detect(RARE, text, plan=["a", "c", "b"])
    assert found.count() == late.count()
    first, last = (each.explain() for each in (found, late))
    assert first.plan.branches[0].variables[0] == "b"
    assert 5 * work(first) < work(last)
    assert first.steps[0].variable == "first(b)"


def test_frequent_set_comes_last_and_is_not_begun() -> None:
    found = ck.detect(stream(0.3), TEXT.format("SEQ", ""))
    found.count()
    assert [step.variable for step in found.explain().steps][-1] == "b"
    assert found.explain().plan.branches[0].variables[-1] == "b"


def work(explained: Explanation) -> int:
    return sum(step.candidates for step in explained.steps)
