"""Several tables as one stream: a list of them, or names with tables, which are the types."""

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cepkit as ck
from cepkit.errors import CepkitError, StreamError

ORDERS = pa.table({"ts": [1, 5, 9], "user": ["x", "y", "z"], "amount": [10, 20, 30]})
REFUNDS = pa.table({"ts": [3, 6], "user": ["x", "z"], "reason": [{"code": "late"}, None]})
TEXT = "PATTERN SEQ(order o, refund r) WHERE o.user = r.user AND o.amount = 10 WITHIN 5 seconds"


def in_files(table, path):
    table = table.append_column("k", pa.array(["A"] * len(table)))
    pq.write_table(table, path)
    return path


MADE = {
    "tables": lambda table: table,
    "pandas": lambda table: table.to_pandas(),
    "polars": pl.from_arrow,
    "lazy": lambda table: pl.from_arrow(table).lazy(),
    "rows": lambda table: table.to_pylist(),
}


@pytest.mark.parametrize("first", MADE)
@pytest.mark.parametrize("second", MADE)
def test_names_of_tables_are_types(first, second):
    tables = {"order": MADE[first](ORDERS), "refund": MADE[second](REFUNDS)}
    stream = ck.events(tables, time="ts", unit="s")
    assert set(stream.column_names) == {"ts", "user", "amount", "reason.code", "type"}
    matches = ck.detect(stream, TEXT).to_pandas()
    assert matches[["o.ts", "r.ts", "r.reason.code"]].to_numpy().tolist() == [[1, 3, "late"]]
    assert matches["o.reason.code"].isna().all()
    assert ck.detect(ck.events(tables, time="ts", type="what", unit="s"), TEXT).count() == 1


def test_tables_of_a_list_keep_their_types(tmp_path):
    paths = [in_files(ORDERS, tmp_path / "a.parquet"), in_files(REFUNDS, tmp_path / "b.parquet")]
    for tables in (paths, tuple(map(str, paths)), [pq.read_table(path) for path in paths]):
        stream = ck.events(tables, time="ts", type="k", unit="s")
        assert stream.columns(["user"]).ts.tolist() == [1e6, 3e6, 5e6, 6e6, 9e6]
    events = ck.events([ORDERS, REFUNDS], time="ts", unit="s")
    assert ck.detect(events, "PATTERN SEQ(ANY a, ANY b) WITHIN 1 second").count() == 1


def test_options_are_of_each_table(tmp_path):
    (tmp_path / "a.csv").write_text("day;x\n01.02.2024;1,5\n")
    (tmp_path / "b.csv").write_text("day;y\n02.02.2024;2\n")
    stream = ck.events(
        {"a": tmp_path / "a.csv", "b": tmp_path / "b.csv"},
        time="day", sep=";", decimal=",", time_format="%d.%m.%Y",
    )  # fmt: skip
    matches = ck.detect(stream, "PATTERN SEQ(a x, b y) WHERE x.x < y.y WITHIN 1 day")
    assert matches.count() == 1


ROME = pa.timestamp("ns", "Europe/Rome")
KINDS = {
    "widths": (pa.array([1], pa.int8()), pa.array([2.5])),
    "nulls": (pa.nulls(1), pa.array([[1, 2]])),
    "texts": (pa.array(["a"]).dictionary_encode(), pa.array(["b"], pa.large_string())),
    "zones": (pa.array([0], pa.timestamp("us", "UTC")), pa.array([10**9], ROME)),
    "units": (pa.array([0], pa.duration("s")), pa.array([10**9], pa.duration("ns"))),
}


@pytest.mark.parametrize("name", KINDS)
def test_values_of_one_kind_are_one_column(name):
    one, other = (pa.table({"ts": [n], "x": x}) for n, x in enumerate(KINDS[name]))
    for tables in ({"A": one, "B": other}, {"A": one.to_pandas(), "B": other}):
        stream = ck.events(tables, time="ts", unit="s")
        assert stream.columns(["x"]).attributes["x"].kind not in ("null",)
        assert ck.detect(stream, "PATTERN SEQ(A a, B b)").count() == 1


@pytest.mark.parametrize(
    ("other", "options", "message"),
    [
        ({"ts": [1], "user": [7]}, {}, "holds texts in the table 'a' and int64 in 'b'"),
        ({"ts": [1], "type": ["x"]}, {}, "a column 'type' beside the name 'b'"),
        ({"at": [1]}, {}, "no column 'ts'"),
        ({"ts": ["2024-01-01"]}, {}, "holds int64 in the table 'a' and texts in 'b'"),
        ({"ts": [1], "user": [b"x"]}, {}, "texts in the table 'a' and bytes in 'b'"),
        ({"ts": [1]}, {"sep": ";"}, "sep= with a Table"),
    ],
)
def test_tables_that_do_not_fit_are_refused(other, options, message):
    with pytest.raises(CepkitError) as error:
        ck.events({"a": ORDERS, "b": pa.table(other)}, time="ts", unit="s", **options)
    assert message in str(error.value)


def test_error_names_the_table():
    with pytest.raises(StreamError, match="the table 'refund'"):
        ck.events({"order": ORDERS, "refund": REFUNDS.drop(["ts"])}, time="ts", unit="s")
    with pytest.raises(StreamError, match="the table '2'"):
        ck.events([ORDERS, REFUNDS.drop(["ts"])], time="ts", unit="s")


def test_columns_are_no_tables():
    columns = {"ts": [1, 2], "k": ["A", "B"]}
    for source in (columns, dict(pd.DataFrame(columns)), dict(pl.DataFrame(columns).to_dict())):
        with pytest.raises(StreamError, match=r"pandas\.DataFrame"):
            ck.events(source, time="ts", type="k", unit="s")
