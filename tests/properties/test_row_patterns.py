"""MATCH_RECOGNIZE follows the definition of preferment, on drawn patterns and tables."""

from __future__ import annotations

import pandas as pd
from hypothesis import example, given
from hypothesis import strategies as st

import cepkit as ck
from cepkit.errors import PatternError
from tests.row_patterns import matches, written

VARIABLES = "ABC"


def loops(parts):
    bounds = st.tuples(st.integers(0, 2), st.none() | st.integers(1, 3))
    bounds = bounds.filter(lambda b: b[1] is None or b[0] <= b[1])
    return st.builds(lambda p, b, g: ("loop", p, *b, g), parts, bounds, st.booleans())


def compound(parts):
    several = st.lists(parts, min_size=2, max_size=3)
    return st.one_of(
        several.map(lambda p: ("seq", *p)),
        several.map(lambda p: ("seq", *p)),
        several.map(lambda p: ("or", *p)),
        several.map(lambda p: ("permute", *p)),
        loops(parts),
        loops(parts),
        parts.map(lambda p: ("hide", p)),
    )


ROWS = st.sampled_from(VARIABLES).map(lambda v: ("row", v))
LEAVES = st.one_of(ROWS, ROWS, ROWS, st.sampled_from([("^",), ("$",), ("seq",)]))
PATTERNS = st.recursive(LEAVES, compound, max_leaves=5)
TABLES = st.lists(
    st.tuples(st.sampled_from("uv"), st.none() | st.integers(0, 4)), min_size=0, max_size=8
)
SKIPS = st.sampled_from(
    [("past last row", None), ("next row", None), ("first", "B"), ("last", "A")]
)


def places(labels, variable):
    return [i for i, label in enumerate(labels) if label == variable]


def less(a, b):
    return a is not None and b is not None and a < b


# Each condition as SQL writes it, and as a function of the rows, the match's start and its labels.
# `v` is the row's own value.
def _last(rows, start, labels, variable, skipped=0):
    of = places(labels, variable)
    return rows[start + of[-1 - skipped]] if len(of) > skipped else None


def _first(rows, start, labels, variable):
    of = places(labels, variable)
    return rows[start + of[0]] if of else None


def _own(rows, start, labels):
    return rows[start + len(labels) - 1]


def _beside(rows, start, labels, shift):
    at = start + len(labels) - 1 + shift
    return rows[at] if 0 <= at < len(rows) else None


def _sum(rows, start, labels, variable):
    values = [rows[start + i] for i in places(labels, variable)]
    return sum(v for v in values if v is not None) if any(v is not None for v in values) else None


CONDITIONS = {
    "TRUE": lambda r, s, n: True,
    "v < 3": lambda r, s, n: less(_own(r, s, n), 3),
    "v > 0 OR v IS NULL": lambda r, s, n: _own(r, s, n) is None or _own(r, s, n) > 0,
    "v > PREV(v)": lambda r, s, n: less(_beside(r, s, n, -1), _own(r, s, n)),
    "v <= NEXT(v, 2)": lambda r, s, n: (
        (nxt := _beside(r, s, n, 2)) is not None
        and (own := _own(r, s, n)) is not None
        and own <= nxt
    ),
    "v > A.v": lambda r, s, n: less(_last(r, s, n, "A"), _own(r, s, n)),
    "v < LAST(B.v, 1)": lambda r, s, n: less(_own(r, s, n), _last(r, s, n, "B", 1)),
    "v < 2 AND v < FIRST(B.v)": lambda r, s, n: (
        less(_own(r, s, n), 2) and less(_own(r, s, n), _first(r, s, n, "B"))
    ),
    "SUM(A.v) < 5": lambda r, s, n: less(_sum(r, s, n, "A"), 5),
    "COUNT(*) < 4": lambda r, s, n: len(n) < 4,
    "COUNT(B.*) < 2": lambda r, s, n: len(places(n, "B")) < 2,
    "LAST(CLASSIFIER(), 1) = 'A'": lambda r, s, n: len(n) > 1 and n[-2] == "A",
    "v > PREV(LAST(B.v))": lambda r, s, n: bool(
        (of := places(n, "B")) and s + of[-1] > 0 and less(r[s + of[-1] - 1], _own(r, s, n))
    ),
}
DEFINED = st.fixed_dictionaries({v: st.sampled_from(list(CONDITIONS)) for v in VARIABLES})


def found(pattern, defined, table, skip, form):
    used = [v for v in VARIABLES if v in written(pattern)]
    text = f"""SELECT * FROM t MATCH_RECOGNIZE (
        PARTITION BY k ORDER BY i
        MEASURES MATCH_NUMBER() AS number, CLASSIFIER() AS label, COUNT(*) AS n,
            FIRST(i) AS first_i, FINAL LAST(i) AS last_i,
            PREV(CLASSIFIER()) AS before, NEXT(CLASSIFIER()) AS after
        {form} AFTER MATCH SKIP {skip}
        PATTERN ({written(pattern)}) SUBSET U = ({", ".join(used)})
        DEFINE {", ".join(f"{v} AS {defined[v]}" for v in used)})"""
    if not used:
        text = text.partition("SUBSET")[0] + ")"
    frame = pd.DataFrame(table, columns=["k", "v"]).astype({"v": "Int64", "k": str})
    frame["i"] = range(len(frame))
    return ck.from_match_recognize(text, frame.sample(frac=1, random_state=1)).to_pandas()


def usable(pattern, defined, skip):
    """Return whether the pattern has all variables of conditions and SKIP."""
    text = written(pattern)
    used = [v for v in VARIABLES if v in text]
    named = [v for u in used for v in "AB" if f"{v}." in defined[u]] + [skip[1] or ""]
    return all(v in text for v in named)


def expected(pattern, defined, table, skip):
    def holds(rows, start, labels):
        return CONDITIONS[defined[labels[-1]]](rows, start, labels)

    result = {}
    for key in sorted({k for k, _ in table}):
        rows = [v for k, v in table if k == key]
        result[key] = matches(pattern, holds, rows, skip)
    return result


A, B, C = (("row", v) for v in VARIABLES)
ANY = dict.fromkeys(VARIABLES, "TRUE")
FOUR = [("u", 1), ("u", 2), ("v", None), ("u", 0)]


@given(pattern=PATTERNS, defined=DEFINED, table=TABLES, skip=SKIPS)
@example(("loop", ("loop", A, 0, 1, False), 0, None, True), ANY, FOUR, ("past last row", None))
@example(("loop", ("or", ("seq",), A), 1, 3, True), ANY, FOUR, ("past last row", None))
@example(("seq", ("loop", A, 0, None, False), ("$",)), ANY, FOUR, ("next row", None))
def test_one_row_per_match_is_the_preferred_match_of_each_start(pattern, defined, table, skip):
    if not usable(pattern, defined, skip):
        return
    wanted = expected(pattern, defined, table, skip)
    written_skip = f"TO {skip[0]} {skip[1]}" if skip[1] else f"TO {skip[0]}"
    written_skip = written_skip.replace("TO past", "PAST").upper()
    if None in wanted.values():
        try:
            found(pattern, defined, table, written_skip, "ONE ROW PER MATCH")
        except PatternError as error:
            assert "SKIP TO" in str(error)
            return
        raise AssertionError("SKIP TO no row was not refused")
    rows = []
    for key, of in wanted.items():
        places_of = [i for i, (k, _) in enumerate(table) if k == key]
        taken = [(start, labels) for start, labels in of if labels is not None]
        for number, (start, labels) in enumerate(taken, 1):
            ends = [places_of[start], places_of[start + len(labels) - 1]] if labels else [None] * 2
            before = labels[-2] if len(labels) > 1 else None
            label = labels[-1] if labels else None
            rows.append([key, number, label, len(labels), *ends, before, None])
    got = found(pattern, defined, table, written_skip, "ONE ROW PER MATCH")
    assert got.astype(object).where(got.notna(), None).to_numpy().tolist() == rows


def hidden_rows(pattern, labels_with_marks):
    return [not mark for mark in labels_with_marks]


@given(
    pattern=PATTERNS,
    defined=DEFINED,
    table=TABLES,
    form=st.sampled_from(["SHOW EMPTY MATCHES", "OMIT EMPTY MATCHES", "WITH UNMATCHED ROWS"]),
    skip=SKIPS.filter(lambda s: s[1] is None),
)
def test_all_rows_per_match_shows_each_row_as_the_match_stands_there(
    pattern, defined, table, form, skip
):
    if not usable(pattern, defined, skip) or ("{-" in written(pattern)):
        return
    rows = []
    for key, of in expected(pattern, defined, table, skip).items():
        places_of = [i for i, (k, _) in enumerate(table) if k == key]
        number = 0
        for start, labels in of:
            if labels is None:
                if form == "WITH UNMATCHED ROWS":
                    rows.append([key, places_of[start], *[None] * 7])
                continue
            number += 1
            if not labels and form != "OMIT EMPTY MATCHES":
                rows.append([key, places_of[start], number, None, 0, *[None] * 4])
            ends = [places_of[start], places_of[start + len(labels) - 1]]
            beside = zip([None, *labels], labels, [*labels[1:], None], strict=False)
            rows.extend(
                [key, places_of[start + i], number, label, i + 1, *ends, before, after]
                for i, (before, label, after) in enumerate(beside)
            )
    got = found(
        pattern,
        defined,
        table,
        "TO NEXT ROW" if skip[0] == "next row" else "PAST LAST ROW",
        f"ALL ROWS PER MATCH {form}",
    )
    got = got.drop(columns="v")
    assert got.astype(object).where(got.notna(), None).to_numpy().tolist() == rows
