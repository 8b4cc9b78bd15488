"""CSV files with other separators and encodings, times in other formats, dates beside times."""

import datetime as dt
import gzip
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cepkit as ck
from cepkit.errors import StreamError

GERMAN = "Datum;Zeit;Art;Preis;Ort\n01.02.2024;10:00:00;A;1,5;München\n01.02.2024;9:30:05;B;20,5;\n"
OPTIONS = {
    "time": ("Datum", "Zeit"),
    "type": "Art",
    "sep": ";",
    "decimal": ",",
    "time_format": "%d.%m.%Y %H:%M:%S",
}
TEN = 1_706_781_600_000_000  # 2024-02-01 10:00 UTC


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "utf-16", "utf-8-sig", "cp1252"])
@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.txt", "a.log"])
def test_csv_file_with_semicolons_is_read(tmp_path, encoding, name):
    content = GERMAN.encode(encoding)
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    stream = ck.events(tmp_path / name, encoding=encoding, **OPTIONS)
    columns = stream.columns(["Preis", "Ort"])
    assert columns.ts.tolist() == [TEN - 1_795_000_000, TEN]
    assert columns.attributes["Preis"].values.tolist() == [20.5, 1.5]
    assert list(columns.attributes["Ort"].dictionary) == ["München"]
    assert columns.attributes["Ort"].missing().tolist() == [True, False]
    matches = ck.detect(stream, "PATTERN SEQ(B b, A a) WHERE a.Datum_Zeit - b.Datum_Zeit > 29 min")
    assert matches.to_pandas()["a.Datum_Zeit"].tolist() == [pd.Timestamp("2024-02-01 10:00")]


def test_times_of_a_format_are_in_the_time_zone(tmp_path):
    (tmp_path / "a.csv").write_text(GERMAN)
    stream = ck.events(tmp_path / "a.csv", timezone="Europe/Berlin", **OPTIONS)
    assert stream.columns(()).ts[1] == TEN - 3_600_000_000


@pytest.mark.parametrize("made", [pa.table, pd.DataFrame, lambda c: pa.table(c).to_pylist()])
@pytest.mark.parametrize(
    ("texts", "time_format"),
    [
        (["01/02/2024 10:00", None, "02/02/2024 10:00"], "%d/%m/%Y %H:%M"),
        (["02/01/2024 10 AM", " ", "02/02/2024 10 AM "], "%m/%d/%Y %I %p"),
        (["01/Feb/2024:11:00:00 +0100", "n/a", "02/Feb/2024:10:00:00 +0000"],
         "%d/%b/%Y:%H:%M:%S %z"),
    ],
)  # fmt: skip
def test_texts_in_a_format_are_times(made, texts, time_format):
    rows = {"t": texts, "k": ["A", "B", "A"]}
    stream = ck.events(made(rows), time="t", type="k", time_format=time_format)
    assert stream.columns(()).ts.tolist() == [TEN, TEN + 86_400_000_000]


DAY = dt.date(2024, 2, 1)
PAIRS = {
    "texts": (pa.array(["2024-02-01", "", None]), pa.array(["10:00", "10:00", "10:00"])),
    "texts with zones": (pa.array(["2024-02-01"]), pa.array(["11:00+01:00"])),
    "dates": (pa.array([DAY]), pa.array([dt.time(10)])),
    "codes": (pa.array(["2024-02-01"]).dictionary_encode(), pa.array([dt.time(10)])),
    "midnights": (
        pa.array(["2024-02-01"]).cast(pa.timestamp("ns")),
        pa.array([dt.timedelta(hours=10)]),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("in_file", [False, True])
def test_date_and_time_of_day_are_joined(tmp_path, name, in_file):
    date, time = PAIRS[name]
    table = pa.table({"date": date, "time": time, "k": ["A"] * len(date)})
    sources = [table, table.to_pandas()]
    if in_file:
        sources = [tmp_path / "a.parquet"]
        pq.write_table(table, sources[0])
    for source in sources:
        stream = ck.events(source, time=("date", "time"), type="k")
        assert stream.schema.time == "date_time"
        assert stream.columns(()).ts.tolist() == [TEN]
        assert {"date", "time", "date_time"} < {*stream.column_names}


def test_filetime_of_floats_is_read():
    rows = pd.DataFrame({"t": [133_512_552_000_000_000, None], "k": ["A", "B"]})
    assert ck.events(rows, time="t", type="k", unit="filetime").columns(()).ts.tolist() == [TEN]
    with pytest.raises(StreamError, match="holds no FILETIME"):
        ck.events(rows.fillna(np.inf), time="t", type="k", unit="filetime")


@pytest.mark.parametrize("kind", [pa.int64(), pa.uint64(), pa.decimal128(20)])
def test_filetime_counts_from_1601(kind):
    ticks = pa.array([133_512_552_000_000_019, None, 0, 133_512_552_000_000_000], pa.int64())
    table = pa.table({"t": ticks.cast(kind), "k": ["A"] * 4})
    stream = ck.events(table, time="t", type="k", unit="filetime")
    begin = np.datetime64("1601-01-01", "us").astype(np.int64)
    assert stream.columns(()).ts.tolist() == [begin, TEN, TEN + 1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"time": "t", "sep": ";"}, "sep= with a Table"),
        ({"time": "t", "decimal": ","}, "decimal= with a Table"),
        ({"time": "t", "sep": ";;"}, "sep=';;'"),
        ({"time": "t", "sep": ",", "decimal": ","}, "is the decimal point"),
        ({"time": "t", "encoding": "klingon"}, "encoding='klingon'"),
        ({"time": "t", "time_format": "%Y"}, "row 1 (rows count from 0)"),
        ({"time": "t", "time_format": "%Q"}, "time_format='%Q'"),
        ({"time": "n", "time_format": "%Y"}, "holds numbers"),
        ({"time": "t", "unit": "filetime"}, "unit='filetime' is given"),
        ({"time": ("t", "x")}, "no column 'x'"),
        ({"time": ("n", "k")}, "the column 'n' holds"),
        ({"time": ("t", "k")}, "has a column 't_k'"),
        ({"time": ("t", "k", "n")}, "the time column is given as"),
    ],
)
def test_option_that_does_not_fit_is_refused(options, message):
    rows = {"t": ["2024", "soon"], "k": ["A", "B"], "n": [1, 2], "t_k": [1, 2]}
    with pytest.raises(ck.CepkitError) as error:
        ck.events(pa.table(rows), type="k", **options)
    assert message in str(error.value).replace("int64", "numbers")


def test_separator_of_a_file_read_by_commas_is_named(tmp_path):
    (tmp_path / "a.csv").write_text(GERMAN)
    for options in ({}, {"encoding": "latin-1"}):
        with pytest.raises(StreamError, match="separated by ';': sep=';'"):
            ck.events(tmp_path / "a.csv", time="Zeit", type="Art", **options)
    with pytest.raises(StreamError, match="separated by ';': sep=';'"):
        ck.events(pd.read_csv(tmp_path / "a.csv", sep="\t"), time="Zeit", type="Art")


@pytest.mark.parametrize("name", ["a.tsv", "a.TSV.gz"])
def test_file_of_tabs_needs_no_separator(tmp_path, name):
    content = b"t\tk\n1\tA\n2\tB\n"
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    assert len(ck.events(tmp_path / name, time="t", type="k", unit="s")) == 2


def test_options_of_csv_files_are_refused_for_other_files(tmp_path):
    pq.write_table(pa.table({"t": [1], "k": ["A"]}), tmp_path / "a.parquet")
    (tmp_path / "a.jsonl").write_text('{"t": 1, "k": "A"}')
    for name in ("a.parquet", "a.jsonl"):
        with pytest.raises(StreamError, match="sep= with"):
            ck.events(tmp_path / name, time="t", type="k", unit="s", sep=";")


@pytest.mark.parametrize(
    ("text", "formats"),
    [
        ("01.03.2026 00:00", ["%d.%m.%Y %H:%M"]),
        ("3/4/2026 10:05 PM", ["%m/%d/%Y %I:%M %p", "%d/%m/%Y %I:%M %p"]),
        ("10/Oct/2000:13:55:36 -0700", ["%d/%b/%Y:%H:%M:%S %z"]),
        ("soon", ["%d.%m.%Y %H:%M:%S"]),
    ],
)
def test_times_in_another_format_are_refused_with_the_formats_that_fit(text, formats):
    with pytest.raises(StreamError) as caught:
        ck.events([{"ts": text}], time="ts")
    assert re.findall("time_format='(.*?)'", str(caught.value)) == formats
