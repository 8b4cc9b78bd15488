"""VARIANCE and STDDEV: of samples, exact of whole numbers, and not lost far away from zero."""

from __future__ import annotations

from statistics import variance

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import cepkit as ck
from cepkit.aggregation.kernels import stacks
from cepkit.aggregation.methods import running
from cepkit.compiling import interpreted
from cepkit.pattern.builder import event, fn, kl, seq, var
from cepkit.pattern.parsing.parser import parse
from tests.cells import Cut, aggregate_in_cells
from tests.unit.aggregation.cases import stream, values

TEXT = "PATTERN SEQ(A a, B b) AGG VARIANCE(a.w), STDDEV(a.w), COUNT(a.w)"
EMITS = ("trigger", "new", "changes", "total")


def test_products_beyond_64_bits_are_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    w = [2**30, -(2**30), 7, 0]
    expected = float(variance(w[:3]))
    events = stream("a a a b", w=w)
    assert values(events, TEXT, method="a-seq")[0][1] == expected
    monkeypatch.setattr(running, "SAFE", 0.0)  # by remainders
    assert values(events, TEXT, method="a-seq")[0][1] == expected


def test_several_queries_have_the_results_of_each_alone() -> None:
    events = stream("a c b a c b d", w=[5, 1, 0, 7, 2, 4, 3])
    texts = [
        "PATTERN SEQ(A a, C c, B b) WITHIN 5 s AGG STDDEV(a.w), AVG(a.w)",
        "PATTERN SEQ(A p, C q, B r, D s) WITHIN 6 s AGG VARIANCE(p.w), SUM(p.w), MIN(q.w)",
    ]
    together = ck.aggregate(events, texts, share="prefix")
    for text, found in zip(texts, together, strict=True):
        alone = ck.aggregate(events, text, method="detect").to_pandas()
        pd.testing.assert_frame_equal(found.to_pandas(), alone)


def test_cells_far_from_each_other_give_one_total() -> None:
    text = "PATTERN SEQ(A a, B b) WITHIN 2 s AGG VARIANCE(a.w)"
    w = [1e9 + 0.25, 0.0, 4e9, 1.0, 4e9 + 0.5, 0.0]
    events = stream("a@1 b@2 a@11 b@12 a@21 b@22", w=w)
    table = pa.Table.from_pandas(events.source)
    (rows,) = aggregate_in_cells(
        table, events.schema, [parse(text)], "total", Cut(4, 0, 1), method="a-seq"
    )
    ((_, _, found, _),) = rows
    assert found == variance(w[::2])


@pytest.mark.parametrize("text", ["stddev(b.w) = 2", "variance(b.w) = 4"])
def test_conditions_on_sets_can_use_variance(text: str) -> None:
    events = stream("a b b b b", w=[0, 1, 3, 5, 5])
    pattern = f"PATTERN SEQ(A a, KL(B b)) WHERE {text}"
    # {1, 3, 5} twice, of which either 5 may be the last.
    assert ck.detect(events, pattern).count() == 2
    assert len(ck.simulate(events, pattern, "eager-nfa").matches) == 2


def test_builder_makes_stddev() -> None:
    a, b = var("a"), var("b")
    pattern = seq(event("a", "A"), kl(event("b", "B"))).where(fn("STDDEV", b.w) > a.w)
    assert "stddev(b.w) > a.w" in str(pattern)
    assert "AGG STDDEV(a.w)" in str(pattern.agg(fn("stddev", a.w)))


def test_number_of_matches_whose_square_is_no_float_has_a_spread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The properties of remainders compile the loop for these numbers, which takes seconds.
    monkeypatch.setattr(stacks, "run", np.errstate(all="ignore")(interpreted(stacks.run)))
    w = [2.5, 1.5, *[0.0] * 600, 0.0]
    events = stream("a a " + "b " * 600 + "c", w=w)
    frame = ck.aggregate(events, "PATTERN SEQ(A a, KL(B b), C c) AGG STDDEV(a.w)").to_pandas()
    assert frame["stddev(a.w)"].tolist() == pytest.approx([0.5])
