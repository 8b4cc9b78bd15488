"""Kleene variables as a user meets them: lists of events, numbers beyond floats, clear refusals."""

from __future__ import annotations

import pandas as pd
import pytest

import cepkit as ck
from cepkit.columnar.compile.program import Program
from cepkit.columnar.compile.query import compile_branch
from cepkit.errors import LimitError, PatternError, StreamError
from cepkit.pattern.normal_form import normal_form
from cepkit.plan.checks import plan_without_rates


def stream(kinds: str, *values: float) -> ck.api.Stream:
    """Return events one second apart, their types the letters of a text."""
    x = list(values) or list(range(len(kinds)))
    rows = {"t": range(len(kinds)), "kind": list(kinds), "x": x}
    return ck.events(pd.DataFrame(rows), time="t", type="kind", unit="s")


def sets(matches: object, variable: str = "b") -> list[list[int]]:
    """Return the times of the members, match after match."""
    return [[e["t"] for e in row[variable]] for row in matches.to_arrow().to_pylist()]


def program(text: str) -> Program:
    """Return the program of the only branch of a text, in its own order, its sets last."""
    query = ck.parse(text)
    (branch,), (plan,) = normal_form(query), plan_without_rates(query).branches
    return compile_branch(branch, plan)


def test_three_events_make_seven_sets() -> None:
    found = ck.detect(stream("ABBBC"), "PATTERN SEQ(A a, KL(B b), C c) WITHIN 9 s")
    assert sorted(sets(found)) == [[1], [1, 2], [1, 2, 3], [1, 3], [2], [2, 3], [3]]
    assert found.to_arrow().to_pylist()[0]["match_end"] == 4


def test_bounds_and_conditions_on_the_size() -> None:
    text = "PATTERN SEQ(A a, KL(B b){2,}, C c) WHERE count(b) < 3 WITHIN 9 s"
    assert sorted(sets(ck.detect(stream("ABBBC"), text))) == [[1, 2], [1, 3], [2, 3]]


def test_a_set_that_ends_the_match_is_found_across_slices() -> None:
    text = "PATTERN SEQ(A a, KL(B b)) WITHIN 2 s"
    from cepkit.columnar.results.matches import Matches
    from cepkit.plan.checks import as_plan

    query = ck.parse(text)
    found = Matches(stream("ABBBB"), query, as_plan(None, query), slice_rows=1)
    assert sorted(sets(found)) == [[1], [1, 2], [2]]


def test_the_largest_set_of_each_choice_of_the_others() -> None:
    text = "PATTERN SEQ(A a, KL(B b), C c) WITHIN 9 s"
    found = ck.detect(stream("ABABCC"), text, sets="maximal")
    assert sorted(sets(found)) == [[1, 3], [1, 3], [3], [3]]


def test_numbers_of_sets_are_exact_however_large() -> None:
    many = stream("A" + "B" * 3000 + "C")
    found = ck.detect(many, "PATTERN SEQ(A a, KL(B b), C c) WITHIN 4000 s")
    assert found.count() == 2**3000 - 1
    assert "e+903" in str(found.explain())
    bounded = ck.detect(many, "PATTERN SEQ(A a, KL(B b){2}, C c) WITHIN 4000 s")
    assert bounded.count() == 3000 * 2999 // 2


def test_a_set_too_many_is_refused_before_any_is_made() -> None:
    found = ck.detect(stream("A" + "B" * 40 + "C"), "PATTERN SEQ(A a, KL(B b), C c) WITHIN 99 s")
    with pytest.raises(LimitError, match=r"1,099,511,627,775 matches") as refusal:
        found.to_arrow()
    assert "sets='maximal'" in str(refusal.value)
    assert len(found.head(3)) == 3
    limited = ck.detect(
        stream("A" + "B" * 40 + "C"), "PATTERN SEQ(A a, KL(B b), C c) WITHIN 99 s", limit=1000
    )
    assert len(limited.to_arrow()) == limited.count() == 1000


def test_condition_that_needs_every_set_tried_is_refused_when_too_many() -> None:
    text = "PATTERN SEQ(A a, KL(B b), C c) WHERE avg(b.x) > 20 WITHIN 99 s"
    with pytest.raises(LimitError, match="up to 1,099,511,627,775 matches"):
        ck.detect(stream("A" + "B" * 40 + "C"), text).count()


def test_sets_are_tried_only_for_conditions_on_whole_sets() -> None:
    plain = program("PATTERN SEQ(A a, KL(B b), C c) WHERE a.x < b.x AND b.k = c.k WITHIN 9 s")
    assert not plain.tries_sets
    assert plain.ends == frozenset()
    beside = program("PATTERN SEQ(A a, KL(B b), NOT(N n), C c) WITHIN 9 s")
    assert beside.ends == {"last(b)"}
    assert not beside.tries_sets
    assert program("PATTERN AND(A a, KL(B b)) WITHIN 9 s").ends == {"first(b)", "last(b)"}
    assert program("PATTERN AND(A a, KL(B b))").ends == frozenset()
    whole = program("PATTERN SEQ(A a, KL(B b)) WHERE sum(b.x) > a.x WITHIN 9 s")
    assert whole.tries_sets


def test_conditions_on_first_and_last_need_no_sets_tried() -> None:
    text = "PATTERN SEQ(A a, KL(B b), C c) WHERE first(b.x) < last(b.x) AND count(b) = 2 WITHIN 9 s"
    assert not program(text).tries_sets
    assert sorted(sets(ck.detect(stream("ABBBC", 0, 2, 1, 3, 0), text))) == [[1, 3], [2, 3]]


def test_a_bound_on_the_greatest_member_is_one_on_all() -> None:
    text = "PATTERN SEQ(A a, KL(B b), C c) WHERE max(b.x) < c.x WITHIN 9 s"
    made = program(text)
    assert len(made.sets[0].step.residuals) == 1
    found = ck.detect(stream("ABBBC", 0, 2, 1, 3, 3), text)
    assert sorted(sets(found)) == [[1], [1, 2], [2]]


def test_contiguous_sets_have_no_holes() -> None:
    text = "PATTERN SEQ(A a, KL(B b)) STRATEGY strict-contiguity"
    assert sets(ck.detect(stream("ABBXB"), text)) == [[1], [1, 2]]


def test_wrong_sets_option_and_sum_of_texts_are_refused() -> None:
    with pytest.raises(StreamError, match="sets='all'"):
        ck.detect(stream("AB"), "PATTERN SEQ(A a, KL(B b))", sets="all")
    with pytest.raises(PatternError, match="sum of a text"):
        ck.detect(
            stream("ABC"), "PATTERN SEQ(A a, KL(B b)) WHERE sum(b.kind) > 1 WITHIN 9 s"
        ).count()


@pytest.mark.parametrize("condition", ["sum(b.x) <= 5", "sum(b.x) < 6", "6 > sum(b.x)"])
def test_sums_that_only_grow_cut_sets_off(condition: str) -> None:
    text = f"PATTERN SEQ(A a, KL(B b), C c) WHERE {condition} WITHIN 99 s"
    assert len(program(text).sets[0].caps) == 1
    # Of 2^40 sets the ones, twos and threes of the first three matter alone.
    many = stream("A" + "B" * 40 + "C", 0, 1, 2, 3, *[100] * 37, 0)
    found = ck.detect(many, text)
    assert sorted(sets(found)) == [[1], [1, 2], [1, 3], [2], [2, 3], [3]]
    assert found.count() == 6


def test_a_sum_that_may_fall_again_cuts_nothing_off() -> None:
    text = "PATTERN SEQ(A a, KL(B b), C c) WHERE sum(b.x) <= 1 WITHIN 99 s"
    found = ck.detect(stream("ABBC", 0, 5, -4, 0), text)
    assert sorted(sets(found)) == [[1, 2], [2]]


def test_sum_of_a_set_includes_its_first_and_last_members() -> None:
    text = "PATTERN AND(A a, KL(B b)) WHERE sum(b.x) <= a.x WITHIN 99 s"
    found = ck.detect(stream("ABBB", 5, 1, 3, 2), text)
    assert sorted(sets(found)) == [[1], [1, 2], [1, 3], [2], [2, 3], [3]]


def test_only_sets_that_conditions_are_about_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cepkit.columnar.kleene.sets.MOST_TRIED", 10)
    free = ck.detect(stream("ABBBBC"), "PATTERN SEQ(A a, KL(B b), C c) WITHIN 9 s")
    assert len(free.to_arrow()) == 15
    text = "PATTERN SEQ(A a, KL(B b), C c) WHERE avg(b.x) > 0 WITHIN 9 s"
    with pytest.raises(LimitError, match="more than 10 sets tried"):
        ck.detect(stream("ABBBBC"), text, limit=100).to_arrow()


@pytest.mark.parametrize("size", ["{1,99999999999}", "{1,}", "{1,1000000000000000000000000000000}"])
def test_huge_sizes_and_counts_of_sets_do_not_overflow(size: str) -> None:
    text = f"PATTERN SEQ(A a, KL(B b){size}, C c) WHERE count(b) <= 1e15 WITHIN 9 s"
    assert ck.detect(stream("ABBC"), text).count() == 3
    never = "PATTERN SEQ(A a, KL(B b), C c) WHERE count(b) >= 3e300 WITHIN 9 s"
    assert ck.detect(stream("ABBC"), never).count() == 0
    contiguous = f"PATTERN SEQ(A a, KL(B b){size}, C c) STRATEGY strict-contiguity"
    assert sets(ck.detect(stream("ABBC"), contiguous)) == [[1, 2]]


def test_sets_between_ends_stay_in_one_partition() -> None:
    kinds, hosts = "ABBNCABBC", [1, 1, 2, 2, 1, 2, 1, 2, 2]
    rows = pd.DataFrame({"t": range(9), "kind": list(kinds), "host": hosts})
    events = ck.events(rows, time="t", type="kind", unit="s")
    text = "PATTERN SEQ(A a, KL(B b), NOT(N n), C c) PARTITION BY host WITHIN 9 s"
    assert sorted(sets(ck.detect(events, text))) == [[1], [7]]
    text = "PATTERN SEQ(KL(B b), KL(C c)) PARTITION BY host WITHIN 9 s"
    assert ck.detect(events, text).count() == len(ck.detect(events, text).to_arrow()) == 4


@pytest.mark.parametrize("plan", [["b", "d"], ["d", "b"]])
def test_the_largest_sets_do_not_depend_on_the_plan(plan):
    frame = pd.DataFrame({"t": [1, 2, 2, 3, 4], "kind": list("XBBDD"), "row": range(5)})
    stream = ck.events(frame, time="t", type="kind", unit="s")
    pattern = "PATTERN SEQ(KL(B b), NOT(NEXT D c), KL(D d))"
    found = ck.detect(stream, pattern, plan=plan, sets="maximal")
    rows = [[[e["row"] for e in match[v]] for v in "bd"] for match in found]
    assert sorted(rows) == [[[1, 2], [3, 4]], [[2], [3, 4]]]
    assert found.count() == 2
