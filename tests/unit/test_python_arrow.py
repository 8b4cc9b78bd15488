"""A place without PyArrow and pandas, as a browser: the same answers."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepkit import python_arrow
from cepkit.stream.reading import arrow
from tests.absent import IN_A_BROWSER, without

ANSWERS = '''
import random, sys
from datetime import date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo
import numpy as np
import cepkit as ck

PATTERNS = (
    "PATTERN SEQ(A a, B b, C c) WHERE a.v < b.v AND c.v <= b.v WITHIN 6 seconds",
    "PATTERN SEQ(A a, KL(B b), C c) WHERE avg(b.n) > c.n WITHIN 5 seconds",
    "PATTERN SEQ(A a, NOT(B b), C c) WHERE b.name = a.name WITHIN 9 seconds PARTITION BY ok",
    "PATTERN OR(SEQ(A a, B b), C c) WHERE c.length > 3 s WITHIN 4 seconds",
    "PATTERN AND(A a, B b) WHERE a.name != b.name WITHIN 3 seconds RETURN a.ts, b.v - a.v AS d,"
    " b.name, a.day, a.n > b.n AS more",
    "PATTERN SEQ(A a, B b) WHERE a.day < TIMESTAMP '2024-03-05' WITHIN 4 seconds"
    " STRATEGY skip-till-next-match",
    "PATTERN SEQ(A a, B b) WHERE a.v > 100 WITHIN 4 seconds",
)
COUNTED = "PATTERN SEQ(A a, B b) WITHIN 6 seconds AGG COUNT, SUM(b.v) GROUP BY name"


def rows(number, draw):
    zone = draw.choice([None, timezone.utc, ZoneInfo("Europe/Copenhagen")])
    made = []
    for at in range(number):
        row = {
            "ts": datetime(2024, 3, 4, 10, tzinfo=zone) + timedelta(seconds=draw.randrange(number)),
            "type": draw.choice("ABC"), "v": draw.choice([1, 2.5, 3.0, float("nan")]),
            "n": draw.randrange(5), "name": draw.choice(["x", "y", None, "\\N{SNOWMAN}"]),
            "ok": draw.choice([True, False]), "day": date(2024, 3, draw.randrange(1, 9)),
            "length": timedelta(seconds=draw.randrange(7)), "many": [1.0, 2.0],
            "where": {"x": at, "y": draw.choice([None, 1.5])},
        }
        made.append({k: v for k, v in row.items() if k in ("ts", "type") or draw.random() < 0.9})
    return made


def plain(value):
    """Times as texts, missing values as None."""
    match value:
        case dict():
            return {name: plain(each) for name, each in value.items()}
        case list() | np.ndarray():
            return [plain(each) for each in list(value)]
        case timedelta():
            return None if value != value else value.total_seconds()
        case datetime():
            return None if str(value) == "NaT" else value.isoformat()
        case float():
            return None if value != value else float(value)
    return value


def show(value):
    # A duration of pandas says its days.
    print(*(str(value) + value._repr_html_()).replace("0 days 00:", "0:").split())


draw = random.Random(3)
for number in (0, 12, 1, 12, 5, 30):
    data = rows(number, draw) or [{"ts": datetime(2024, 3, 4), "type": "A", "v": 1.0}]
    names = {name for row in data for name in row}
    stream = ck.events(data, time="ts", type="type", timezone=draw.choice([None, "Asia/Tokyo"]))
    show(stream)
    for text in PATTERNS:
        try:
            statistics = ck.profile(stream, text)
            print(statistics)
            plan = ck.choose_plan(text, statistics)
            print(plan)
            matches = ck.detect(stream, text, plan)
            print(matches.count(), *(plain(match) for match in matches))
            show(matches)
            why = ck.why_not(stream, text)
            print(why)
            print(ck.draw(why).to_json())
            print(ck.draw(plan).to_json())
            trace = ck.simulate(stream, text, "eager-nfa")
            print(trace, trace[len(trace) - 1], ck.draw(trace))
        except ck.CepkitError as error:
            print(type(error).__name__, error)
    try:
        print(ck.aggregate(stream, COUNTED))
    except ck.CepkitError as error:
        print(type(error).__name__, error)
ups = "PATTERN SEQ(KL(NEXT A a){2,} GREEDY, NEXT KL(NEXT B b) GREEDY) WHERE a[i].v > a[i-1].v"
stream = ck.events([{"ts": at, "type": "AAB"[at % 3], "v": at} for at in range(9)], time="ts",
                   type="type", unit="s")
print(*(plain(match) for match in ck.detect(stream, ups + " AND b[i].v > b[i-1].v WITHIN 9 s")))
used = {"pyarrow", "pandas", "numba"} & {*sys.modules}
print(*sorted(used), file=sys.stderr)
'''


def answers(*options: str, **more: str) -> tuple[str, str]:
    """Return what the script prints, and the packages that it has used."""
    done = subprocess.run(
        [sys.executable, *options, "-c", ANSWERS],
        env={**os.environ, "PYTHONHASHSEED": "0", **more},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stderr
    return done.stdout, done.stderr.splitlines()[-1].strip()


@pytest.mark.slow
def test_answers_without_pyarrow_and_pandas_are_the_same(tmp_path: Path) -> None:
    here, used = answers("-W", "ignore")
    assert used.endswith("pandas pyarrow")
    there, unused = answers("-S", "-W", "ignore", **without(tmp_path, *IN_A_BROWSER))
    assert not unused
    assert there == here


KINDS = ("null", "integer", "floating", "string", "boolean", "timestamp", "date", "duration")
ZONES = (None, UTC, ZoneInfo("Asia/Tokyo"), timezone(timedelta(hours=-3.5)))
MOMENTS = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1))  # noqa: DTZ001
VALUES = (
    st.integers(-(2**64), 2**64) | st.integers(-9, 9),
    st.floats(allow_nan=False) | st.integers(-9, 9),
    st.text(max_size=3),
    st.booleans(),
    st.dates(date(1900, 1, 1), date(2200, 1, 1)),
    st.timedeltas(timedelta(days=-9), timedelta(days=9)),
    st.lists(st.none() | st.floats(allow_nan=False) | st.integers(-9, 9), max_size=3),
    st.dictionaries(st.sampled_from("xyz"), st.integers(-9, 9) | st.none(), min_size=1),
    *(MOMENTS.map(lambda moment, zone=zone: moment.replace(tzinfo=zone)) for zone in ZONES),
)
COLUMNS = st.sampled_from(VALUES).flatmap(lambda values: st.lists(values | st.none(), max_size=9))


def same(mine: python_arrow.Array, theirs: pa.Array) -> None:
    assert mine.to_pylist() == theirs.to_pylist()
    assert mine.null_count == theirs.null_count
    for name in KINDS:
        of_type = getattr(pa.types, f"is_{name}")(theirs.type)
        assert getattr(python_arrow.types, f"is_{name}")(mine.type) == of_type
    assert getattr(mine.type, "tz", None) == getattr(theirs.type, "tz", None)


@given(COLUMNS, st.data())
def test_columns_of_python_values_are_those_of_pyarrow(values, data) -> None:
    try:
        theirs = pa.array(values)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        with pytest.raises((python_arrow.ArrowException, OverflowError)):
            python_arrow.array(values)
        return
    mine = python_arrow.array(values)
    same(mine, theirs)
    begin = data.draw(st.integers(0, len(values)))
    length = data.draw(st.none() | st.integers(0, 9))
    same(mine.slice(begin, length), theirs.slice(begin, length))
    places = st.none() | st.integers(0, len(values) - 1) if values else st.none()
    at = data.draw(st.lists(places, max_size=9))
    same(mine.take(python_arrow.array(at)), theirs.take(pa.array(at, pa.int64())))
    mask = data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values)))
    same(mine.filter(python_arrow.array(mask)), theirs.filter(pa.array(mask, pa.bool_())))
    if pa.types.is_integer(theirs.type) or pa.types.is_timestamp(theirs.type):
        assert (mine.buffers()[1] == arrow.filled(theirs, np.int64, 0)).all()
    if not pa.types.is_nested(theirs.type) and not pa.types.is_null(theirs.type):
        encoded, codes = theirs.dictionary_encode(), mine.dictionary_encode()
        same(codes.indices, encoded.indices.cast(pa.int64()))
        same(codes.dictionary, encoded.dictionary)
    if pa.types.is_struct(theirs.type):
        for one, other in zip(mine.flatten(), theirs.flatten(), strict=True):
            same(one, other)


@pytest.mark.parametrize("values", [[1, "a"], [True, 1], [[1], 1]])
def test_values_of_several_types_are_refused_as_pyarrow_refuses_them(values) -> None:
    with pytest.raises(pa.ArrowException):
        pa.array(values)
    with pytest.raises(python_arrow.ArrowException):
        python_arrow.array(values)


@given(st.sampled_from(ZONES), MOMENTS, st.sampled_from(["seconds", "minutes"]))
def test_texts_of_times_are_read_as_pyarrow_reads_them(zone, moment, precision) -> None:
    text = moment.replace(tzinfo=zone, microsecond=0).isoformat(timespec=precision)
    for kind in (("us",), ("us", "UTC")):
        try:
            theirs = pa.array([text, None]).cast(pa.timestamp(*kind))
        except pa.ArrowInvalid:
            with pytest.raises(python_arrow.ArrowInvalid):
                python_arrow.array([text]).cast(python_arrow.timestamp(*kind))
        else:
            same(python_arrow.array([text, None]).cast(python_arrow.timestamp(*kind)), theirs)
