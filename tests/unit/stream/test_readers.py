import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as pa_dataset
import pyarrow.parquet as pa_parquet
import pytest

from cepkit.errors import StreamError
from cepkit.stream import events, readers

TEXT = "ts,kind,x\n2024-01-01T00:00:00,B,1\n2024-01-01T00:00:02,A,\n2024-01-01T00:00:01,,3\n"


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def stream(path):
    return events(path, time="ts", type="kind")


@pytest.mark.parametrize("name", ["x.csv", "X.CSV", "x.csv.gz"])
def test_csv(tmp_path, name):
    text = TEXT.encode()
    path = write(tmp_path / name, gzip.compress(text) if name.endswith("gz") else text)
    for source in (path, str(path)):
        got = stream(source).columns(["x"])
        assert got.type_names == ("A", "B")
        assert got.dropped.null_type == 1
        assert got.attributes["x"].missing().tolist() == [False, True]


def test_csv_with_a_byte_order_mark_and_quotes(tmp_path):
    path = write(tmp_path / "x.csv", b'\xef\xbb\xbfts,kind,"a,b"\n1,A,"x\ny"\n')
    got = events(path, time="ts", type="kind", unit="s").columns()
    assert got.source.column_names == ["ts", "kind", "a,b"]
    assert got.source["a,b"].to_pylist() == ["x\ny"]


def test_a_ticker_may_be_called_na(tmp_path):
    path = write(
        tmp_path / "x.csv", "ts,kind\n2024-01-01,NA\n2024-01-01,NULL\n2024-01-01,\n2024-01-01,A\n"
    )
    assert stream(path).columns().type_names == ("A", "NA", "NULL")


def test_only_the_needed_columns_are_read(tmp_path):
    path = write(tmp_path / "x.csv", TEXT)
    got = events(path, time="ts", type="kind", columns=[]).columns([])
    assert got.source.column_names == ["ts", "kind"]


def test_a_column_that_changes_its_type_late(tmp_path):
    rows = "".join(f"2024-01-01,A,{i}\n" for i in range(400_000))
    path = write(tmp_path / "x.csv", "ts,kind,x\n" + rows + "2024-01-01,A,0.5\n")
    got = stream(path).columns(["x"])
    assert got.attributes["x"].kind == "float"
    assert got.attributes["x"].values[-1] == 0.5


@pytest.mark.parametrize("header", ["ts,kind,x\n", "ts,kind,x"])
def test_a_header_alone_is_an_empty_stream(tmp_path, header):
    got = stream(write(tmp_path / "x.csv", header))
    assert len(got) == 0
    assert len(got.columns()) == 0
    assert "ts" in repr(got)


def test_parquet(tmp_path):
    pa_parquet.write_table(pa.table({"kind": ["A"], "ts": [1], "x": [2]}), tmp_path / "x.parquet")
    got = events(tmp_path / "x.parquet", time="ts", type="kind", unit="s")
    assert got.columns(["x"]).source.column_names == ["kind", "ts", "x"]
    assert "1 row" in repr(got)


def test_a_folder_of_parquet_with_what_spark_leaves_there(tmp_path):
    for part, ts in enumerate([[3, 4], [1, 2]]):
        pa_parquet.write_table(
            pa.table({"ts": ts, "kind": ["A", "A"], "part": [part] * 2}),
            tmp_path / f"part-{part}.parquet",
        )
    write(tmp_path / "_SUCCESS", "")
    write(tmp_path / ".part-0.parquet.crc", "x")
    got = events(tmp_path, time="ts", type="kind", unit="s").columns(["part"])
    assert got.attributes["part"].values.tolist() == [1, 1, 0, 0]


def test_a_partitioned_folder(tmp_path):
    rows = pa.table({"ts": [1, 2, 3], "kind": ["A", "B", "A"]})
    pa_dataset.write_dataset(
        rows, tmp_path, format="parquet", partitioning=["kind"], partitioning_flavor="hive"
    )
    got = events(tmp_path, time="ts", type="kind", unit="s").columns()
    assert got.type_names == ("A", "B")
    assert got.ts.tolist() == [1_000_000, 2_000_000, 3_000_000]


def test_a_folder_of_csv(tmp_path):
    write(tmp_path / "b.csv", "ts,kind,x\n2024-01-01,B,0.5\n")
    write(tmp_path / "a.csv", "ts,kind,x\n2024-01-01,A,1\n")
    got = stream(tmp_path).columns(["x"])
    assert got.attributes["x"].values.tolist() == [1.0, 0.5]


def test_a_missing_file_is_told_the_nearest(tmp_path):
    write(tmp_path / "stocks.csv", TEXT)
    with pytest.raises(StreamError, match=r"did you mean 'stocks\.csv'"):
        stream(tmp_path / "stock.csv")
    with pytest.raises(StreamError, match="there is no folder"):
        stream(tmp_path / "no" / "stock.csv")
    with pytest.raises(StreamError, match="read it with Spark"):
        stream("s3://bucket/stock.csv")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.csv", b"", "is empty"),
        ("x.csv.gz", b"no gzip", "cannot be read"),
        ("x.csv", b"\xff\xfe\x00bin\x00\n", "not in UTF-8"),
        ("x.csv", b"PAR1\x00\x00\n", "not a CSV file"),
        ("x.csv", b"ts,kind\n1,2,3\n", "cannot be read"),
        ("x.csv", b"ts,kind\n2024-01-01,caf\xe9\n", "not in UTF-8"),
        ("x.csv", b"ts,kind,x,x\n", "more than one column 'x'"),
        ("x.csv", b"time,kind\n", "no column 'ts'"),
        ("x.parquet", b"", "not a Parquet file"),
        ("x.parquet", b"nothing of the kind", "not a Parquet file"),
        ("x.txt", b"ts,kind\n", "no kind of file"),
    ],
)
def test_what_is_no_stream_is_refused(tmp_path, name, content, message):
    with pytest.raises(StreamError, match=message):
        stream(write(tmp_path / name, content)).columns()


def test_a_folder_without_events(tmp_path):
    with pytest.raises(StreamError, match="no file of events"):
        stream(tmp_path)
    write(tmp_path / "x.csv", TEXT)
    write(tmp_path / "x.parquet", "")
    with pytest.raises(StreamError, match="both CSV and Parquet"):
        stream(tmp_path)


def test_the_beginning_of_a_file(tmp_path):
    path = write(tmp_path / "x.csv", TEXT)
    assert len(readers.read_table(path, ["ts"], limit=2)) == 2
    assert readers.row_count(path) is None
