"""Times of every kind become microseconds since 1970; Python's datetime is the judge."""

# ruff: noqa: DTZ001 - clock readings without a zone are what is tested

import datetime as dt
import decimal
import zoneinfo

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepkit as ck
from cepkit.errors import StreamError
from cepkit.stream import MISSING_INTEGER
from cepkit.stream.reading.time_zones import instants
from cepkit.stream.reading.times import microseconds

EPOCH = dt.datetime(1970, 1, 1)
EPOCH_UTC = EPOCH.replace(tzinfo=dt.UTC)
ZONES = (
    "Europe/Copenhagen",
    "America/New_York",
    "America/Santiago",  # its gap begins at midnight
    "Australia/Lord_Howe",  # shifts by half an hour
    "Asia/Kolkata",
    "Pacific/Apia",  # skipped a whole day
)


def micros(value: dt.datetime) -> int:
    return (value - (EPOCH_UTC if value.tzinfo else EPOCH)) // dt.timedelta(microseconds=1)


def one(array, **settings) -> int:
    return int(microseconds(array, "ts", **settings)[0])


naive_times = st.datetimes(dt.datetime(1, 1, 3), dt.datetime(9999, 12, 29))
recent_times = st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2200, 1, 1))


@given(st.lists(st.none() | naive_times))
def test_naive_timestamps_are_utc(values):
    got = microseconds(pa.array(values, pa.timestamp("us")), "ts")
    assert got.tolist() == [MISSING_INTEGER if v is None else micros(v) for v in values]


@given(recent_times, st.sampled_from(["s", "ms", "us", "ns"]))
def test_every_unit_of_timestamps(value, unit):
    array = pa.array([value], pa.timestamp("us")).cast(pa.timestamp(unit), safe=False)
    whole = {"s": 1_000_000, "ms": 1_000}.get(unit, 1)
    cast = array.cast(pa.int64())[0].as_py()
    assert one(array) == (cast // 1000 if unit == "ns" else cast * whole)


@pytest.mark.parametrize(("nanoseconds", "expected"), [(1999, 1), (-1, -1), (-1000, -1), (0, 0)])
def test_nanoseconds_are_floored(nanoseconds, expected):
    assert one(pa.array([nanoseconds], pa.timestamp("ns"))) == expected
    assert one(pa.array([nanoseconds], pa.int64()), unit="ns") == expected
    assert one(pa.array([float(nanoseconds)]), unit="ns") == expected


@given(recent_times, st.sampled_from(ZONES))
def test_timestamps_with_a_zone_ignore_the_zone_of_the_schema(value, zone):
    aware = value.replace(tzinfo=dt.UTC)
    array = pa.array([aware], pa.timestamp("us", zone))
    assert one(array, timezone="Asia/Tokyo") == micros(aware)


@given(naive_times, st.sampled_from(ZONES))
def test_naive_times_are_read_in_the_zone(value, zone):
    expected = micros(value.replace(tzinfo=zoneinfo.ZoneInfo(zone)).astimezone(dt.UTC))
    assert one(pa.array([value], pa.timestamp("us")), timezone=zone) == expected


@given(st.lists(st.integers(0, 4 * 366 * 86_400), min_size=1, max_size=50), st.sampled_from(ZONES))
def test_many_readings_around_changes_agree_with_datetime(seconds, zone):
    start = dt.datetime(2010, 12, 1)
    values = [start + dt.timedelta(seconds=s) for s in seconds]
    expected = [
        micros(v.replace(tzinfo=zoneinfo.ZoneInfo(zone)).astimezone(dt.UTC)) for v in values
    ]
    assert instants(np.array([micros(v) for v in values]), zone).tolist() == expected


@pytest.mark.parametrize("zone", ZONES)
def test_every_quarter_of_an_hour_of_some_years(zone):
    start, step = micros(dt.datetime(2010, 12, 1)), 900 * 1_000_000
    local = start + step * np.arange(0, 4 * 366 * 96, 7)
    tz = zoneinfo.ZoneInfo(zone)
    expected = [
        micros((EPOCH + dt.timedelta(microseconds=int(v))).replace(tzinfo=tz).astimezone(dt.UTC))
        for v in local
    ]
    assert instants(local, zone).tolist() == expected


@pytest.mark.parametrize(
    ("reading", "utc"),
    [
        ("2024-03-31T01:59:59.999999", "2024-03-31T00:59:59.999999"),
        ("2024-03-31T02:30:00", "2024-03-31T01:30:00"),  # never shown: taken as 03:30
        ("2024-03-31T03:00:00", "2024-03-31T01:00:00"),
        ("2024-10-27T01:59:59", "2024-10-26T23:59:59"),
        ("2024-10-27T02:30:00", "2024-10-27T00:30:00"),  # shown twice: the earlier
        ("2024-10-27T03:00:00", "2024-10-27T02:00:00"),
        ("2050-07-01T12:00:00", "2050-07-01T10:00:00"),  # summer time goes on after 2037
    ],
)
def test_changes_of_the_clock_are_decided_as_spark_does(reading, utc):
    array = pa.array([dt.datetime.fromisoformat(reading)], pa.timestamp("us"))
    expected = micros(dt.datetime.fromisoformat(utc))
    assert one(array, timezone="Europe/Copenhagen") == expected
    assert one(pa.array([reading]), timezone="Europe/Copenhagen") == expected


def test_far_apart_days_and_fixed_offsets():
    values = [dt.datetime(1, 1, 3), dt.datetime(2024, 7, 1), dt.datetime(9999, 12, 31, 23)]
    array = pa.array(values, pa.timestamp("us"))
    tz = zoneinfo.ZoneInfo("America/New_York")
    expected = [
        micros(v) - v.replace(tzinfo=tz).utcoffset() // dt.timedelta(microseconds=1) for v in values
    ]
    assert microseconds(array, "ts", timezone="America/New_York").tolist() == expected
    assert one(array[1:], timezone="-03:30") == micros(dt.datetime(2024, 7, 1, 3, 30))


def test_a_year_that_no_zone_knows():
    array = pa.array([2**60], pa.timestamp("us"))
    assert one(array) == 2**60
    with pytest.raises(StreamError, match="years 1 to 9999"):
        one(array, timezone="Europe/Copenhagen")


def test_dates_are_midnight_in_the_zone():
    days = [dt.date(2024, 7, 1), None, dt.date(1969, 12, 31)]
    expected = [micros(dt.datetime(2024, 7, 1)), MISSING_INTEGER, -86_400_000_000]
    assert microseconds(pa.array(days, pa.date32()), "ts").tolist() == expected
    assert microseconds(pa.array(days, pa.date64()), "ts").tolist() == expected
    local = microseconds(pa.array(days, pa.date32()), "ts", timezone="Europe/Copenhagen")
    assert local[0] == micros(dt.datetime(2024, 6, 30, 22))


UNIT_SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86_400}


@pytest.mark.parametrize(("unit", "seconds"), UNIT_SECONDS.items())
@pytest.mark.parametrize(
    "kind",
    [
        pa.int8(),
        pa.int16(),
        pa.int32(),
        pa.int64(),
        pa.uint8(),
        pa.uint64(),
        pa.float32(),
        pa.float64(),
    ],
)
def test_numbers_with_a_unit(unit, seconds, kind):
    got = microseconds(pa.array([7, None, 0], kind), "ts", unit=unit)
    assert got.tolist() == [7 * seconds * 1_000_000, MISSING_INTEGER, 0]


@given(st.floats(-1e10, 1e10))
def test_seconds_as_floats_are_rounded_to_the_microsecond(value):
    exact = decimal.Decimal(value) * 1_000_000
    assert abs(one(pa.array([value]), unit="s") - exact) <= decimal.Decimal("1.5")


def test_a_float_that_stands_for_a_microsecond_is_that_microsecond():
    assert one(pa.array([1_700_000_000.123457]), unit="s") == 1_700_000_000_123_457


def test_decimals_are_numbers():
    array = pa.array([decimal.Decimal("1.50"), None], pa.decimal128(10, 2))
    assert microseconds(array, "ts", unit="s").tolist() == [1_500_000, MISSING_INTEGER]


def test_nan_is_missing():
    got = microseconds(pa.array([float("nan"), 1.0, None], from_pandas=False), "ts", unit="s")
    assert got.tolist() == [MISSING_INTEGER, 1_000_000, MISSING_INTEGER]


def test_numbers_without_a_unit_are_refused_with_the_units():
    with pytest.raises(StreamError, match="s, ms, us, ns, min, h, d"):
        one(pa.array([1]))


@pytest.mark.parametrize("array", [pa.array(["2024-01-01"]), pa.array([0], pa.timestamp("s"))])
def test_unit_is_refused_for_times_that_are_no_numbers(array):
    with pytest.raises(StreamError, match="leave unit out"):
        one(array, unit="s")


@pytest.mark.parametrize("unit", [None, "ms"])
def test_numbers_in_texts_are_refused_with_the_unit_that_fits_the_numbers(unit):
    hint = "convert the texts to numbers and give a unit: unit='ms' makes it 2024"
    with pytest.raises(StreamError, match=hint):
        one(pa.array(["1709287200000"]), unit=unit)


@pytest.mark.parametrize(
    ("array", "hint"),
    [
        (pa.array([20240301]), "time_format='%Y%m%d'"),
        (pa.array([45352.41]), "subtract 25569 and give unit='d'"),
        (pa.array([20241301]), "unit='min' makes it 2008"),  # no month 13
        (pa.array(["10:05"]), "a time of day needs its date"),
        (pa.array(["noon"]), "or another says how"),
    ],
)
def test_unreadable_times_are_refused_with_what_makes_them_readable(array, hint):
    with pytest.raises(StreamError) as error:
        one(array)
    assert hint in str(error.value.hint)


@pytest.mark.parametrize("value", [float("inf"), -float("inf"), 1e300])
def test_infinite_times_are_refused_with_their_row(value):
    with pytest.raises(StreamError, match="in row 1 "):
        one(pa.array([0.0, value]), unit="s")


@pytest.mark.parametrize(
    ("array", "unit"),
    [
        (pa.array([None, 2**62], pa.int64()), "us"),
        (pa.array([0, -(2**62)], pa.int64()), "us"),
        (pa.array([0, 2**45], pa.int64()), "s"),
        (pa.array([0, 2**64 - 1], pa.uint64()), "ns"),
        (pa.array([0, 2**62], pa.timestamp("s")), None),
    ],
)
def test_times_out_of_range_are_refused_with_their_row(array, unit):
    with pytest.raises(StreamError, match="in row 1 "):
        one(array, unit=unit)


def test_value_under_a_null_is_ignored():
    hidden = pa.array(np.array([5, 2**63 - 1]), mask=np.array([False, True]))
    assert microseconds(hidden, "ts", unit="s").tolist() == [5_000_000, MISSING_INTEGER]


@pytest.mark.parametrize(
    "kind", [pa.time64("us"), pa.bool_(), pa.list_(pa.int64()), pa.duration("us")]
)
def test_columns_of_types_without_times_are_refused(kind):
    with pytest.raises(StreamError, match="holds no times"):
        one(pa.nulls(1, kind))


def test_a_column_of_nulls_holds_no_time():
    assert microseconds(pa.nulls(2), "ts").tolist() == [MISSING_INTEGER] * 2


def test_a_dictionary_of_times():
    array = pa.array(["2024-01-02", None, "2024-01-01", "2024-01-02"]).dictionary_encode()
    got = microseconds(array, "ts")
    assert got[0] == got[3] == micros(dt.datetime(2024, 1, 2))
    assert got[1] == MISSING_INTEGER


def test_slices_and_chunks():
    array = pa.array([5, None, 7, 8], pa.timestamp("s"))
    expected = [MISSING_INTEGER, 7_000_000, 8_000_000]
    assert microseconds(array[1:], "ts").tolist() == expected
    chunks = pa.chunked_array([array[1:2], array[2:]])
    assert microseconds(chunks, "ts").tolist() == expected
    assert microseconds(pa.chunked_array([], pa.timestamp("s")), "ts").tolist() == []


@given(st.lists(st.none() | naive_times, min_size=1), st.sampled_from(["T", " "]))
def test_iso_texts(values, separator):
    array = pa.array([None if v is None else v.isoformat(separator) for v in values], pa.string())
    expected = [MISSING_INTEGER if v is None else micros(v) for v in values]
    assert microseconds(array, "ts").tolist() == expected


@given(st.lists(recent_times, min_size=1), st.integers(-14 * 60, 14 * 60))
def test_iso_texts_with_an_offset(values, minutes):
    zone = dt.timezone(dt.timedelta(minutes=minutes))
    aware = [v.replace(tzinfo=zone) for v in values]
    got = microseconds(pa.array([v.isoformat() for v in aware]), "ts", timezone="Asia/Tokyo")
    assert got.tolist() == [micros(v) for v in aware]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_forms_of_times_in_logs_are_read(kind):
    texts = [
        "2024-07-01",
        "2024-07-01 00:00",
        " 2024-07-01T00:00:00 ",
        "2024-07-01 00:00:00,000",
        "2024-07-01t00:00:00.000000999",
        "2024-07-01T00:00:00Z",
        "2024-06-30 22:00:00 UTC",
        "2024-07-01 02:00:00 +0200",
        "2024-07-01 02:00:00+02",
    ]
    hour = 3_600_000_000
    utc = micros(dt.datetime(2024, 7, 1))
    expected = [utc - 2 * hour] * 5 + [utc, utc - 2 * hour, utc, utc]
    got = microseconds(pa.array(texts).cast(kind), "ts", timezone="Europe/Copenhagen")
    assert got.tolist() == expected


@pytest.mark.parametrize("text", ["", " ", "NaT", "nan", "NULL", "None", "N/A"])
def test_texts_that_stand_for_null(text):
    assert microseconds(pa.array(["2024-01-01", text]), "ts")[1] == MISSING_INTEGER


@pytest.mark.parametrize("text", ["soon", "01/02/2024", "2024-13-01", "2024-01-01T25:00:00Z"])
def test_a_text_that_is_no_time_is_shown_with_its_row(text):
    texts = ["2024-01-01", "2024-01-01T00:00:00Z", None, text, "later"]
    with pytest.raises(StreamError) as error:
        one(pa.array(texts))
    assert f"{text!r} in row 3" in str(error.value)
    assert "time_format=" in str(error.value)


def test_texts_with_and_without_a_zone_need_to_know_which():
    mixed = pa.array(["2024-03-01T10:00Z", None, "2024-03-01 09:00", "NaT"])
    with pytest.raises(StreamError, match="'2024-03-01 09:00' in row 2, which names no") as caught:
        microseconds(mixed, "t")
    assert "timezone=" in str(caught.value.hint)
    read = microseconds(mixed, "t", timezone="+01:00")
    assert read[0] - read[2] == 2 * 3600 * 10**6


@pytest.mark.parametrize("form", ["datetime", "pandas"])
@pytest.mark.parametrize("zoned_first", [True, False])
def test_times_with_and_without_a_zone_in_one_column_of_objects_are_refused(form, zoned_first):
    plain = dt.datetime(2024, 3, 1, 9)
    zoned = dt.datetime(2024, 3, 1, 9, tzinfo=dt.timezone(dt.timedelta(hours=2)))
    times = [zoned, plain] if zoned_first else [plain, zoned]
    if form == "pandas":
        times = [pd.NaT, *map(pd.Timestamp, times)]
    frame = pd.DataFrame({"t": pd.Series(times, dtype=object), "kind": "A"})
    said = "the column 't' holds 2024-03-01 09:00:00 in row ., which names no"
    sources = [frame] if form == "pandas" else [frame, [{"t": t, "kind": "A"} for t in times]]
    for source in sources:
        with pytest.raises(StreamError, match=said):
            ck.events(source, time="t", type="kind")
    # Where no time of the first rows has another form, when the events are read.
    long = pd.concat([frame[-1:]] * 200 + [frame[-2:-1]], ignore_index=True)
    with pytest.raises(StreamError, match="in row 200"):
        len(ck.events(long, time="t", type="kind"))
