import contextlib
import gzip
import os
import socket
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as pa_dataset
import pyarrow.parquet as pa_parquet
import pytest

from cepkit.errors import StreamError
from cepkit.stream import events
from cepkit.stream.reading import csv_files, readers
from cepkit.stream.warnings import StreamWarning

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


def test_folder_of_parquet_ignores_the_marker_files_of_spark(tmp_path):
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


def test_missing_file_is_refused_with_the_nearest_name(tmp_path):
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
        ("x.txt", b"ts,kind\n", "cannot read 'x.txt'"),
    ],
)
def test_file_without_readable_events_is_refused(tmp_path, name, content, message):
    with pytest.raises(StreamError, match=message):
        stream(write(tmp_path / name, content)).columns()


@pytest.mark.parametrize(
    ("name", "content", "hint"),
    [
        ("x.csv", "ts,kind\n".encode("utf-16"), "encoding='utf-16'"),
        ("x.csv", b"ts,k\xe9\n", "encoding='latin-1'"),
        ("x.csv", b"sep=;\nts;kind\n", "the first line, 'sep=;', is Excel's"),
        ("x.xlsx", b"PK", "pandas.read_excel"),
        ("x.log", b"ts,kind\n", "sep=','"),
    ],
)
def test_file_that_is_written_differently_is_refused_with_what_reads_it(
    tmp_path, name, content, hint
):
    with pytest.raises(StreamError) as error:
        stream(write(tmp_path / name, content)).columns()
    assert hint in str(error.value.hint)


def test_file_of_any_ending_is_read_as_csv_with_commas(tmp_path):
    path = write(tmp_path / "x.log", b"ts,kind\n2024-03-01,A\n")
    assert len(events(path, time="ts", type="kind", sep=",").columns().ts) == 1


def test_wildcards_are_refused_with_what_to_pass(tmp_path):
    write(tmp_path / "x.csv", b"ts,kind\n")
    with pytest.raises(StreamError, match="wildcards are not expanded"):
        stream(tmp_path / "*.csv").columns()


def test_a_folder_without_events(tmp_path):
    with pytest.raises(StreamError, match="no file of events"):
        stream(tmp_path)
    write(tmp_path / "x.csv", TEXT)
    write(tmp_path / "x.parquet", "")
    with pytest.raises(StreamError, match=r"holds 'x\.csv' and 'x\.parquet'"):
        stream(tmp_path)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("", "an empty path"),
        ("~nosuchuser/x.csv", "name of a user of this computer"),
        ("a\0b.csv", "without NUL"),
        ("\ud800.csv", "characters that a file's name can have"),
        ("x" * 300 + ".csv", "File name too long"),
        ("x/" * 3_000 + ".csv", "File name too long"),
        (b"x.csv", "a stream from bytes"),
        (None, "a stream from NoneType"),
        (3, "a stream from int"),
        ([], "an empty list, which has no columns"),
        ({"ts": [1]}, r"pandas\.DataFrame\(data\)"),
        ("/dev/zero", "cannot read 'zero'"),
    ],
)
def test_paths_that_no_file_can_have(path, message):
    with pytest.raises(StreamError, match=message) as caught:
        stream(path)
    assert len(str(caught.value)) < 500


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a system without pipes")
@pytest.mark.parametrize("inside", [False, True])
def test_pipe_or_socket_is_refused_without_waiting(tmp_path, inside):
    path = tmp_path / "x.csv"
    os.mkfifo(path)
    with pytest.raises(StreamError, match=r"x\.csv' is a pipe"):
        stream(tmp_path if inside else path)
    path.unlink()
    opened = socket.socket(socket.AF_UNIX)
    with contextlib.chdir(tmp_path):  # such names are short
        opened.bind("x.csv")
    with opened, pytest.raises(StreamError, match=r"x\.csv' is a socket"):
        stream(tmp_path if inside else path)


@pytest.mark.parametrize("inside", [False, True])
def test_a_link_to_nothing_is_not_left_out(tmp_path, inside):
    write(tmp_path / "a.csv", TEXT)
    (tmp_path / "x.csv").symlink_to("gone.csv")
    with pytest.raises(StreamError, match=r"x\.csv' is a link to 'gone\.csv', which is not there"):
        stream(tmp_path if inside else tmp_path / "x.csv")
    (tmp_path / "x.csv").unlink()
    (tmp_path / "x.csv").symlink_to("x.csv")
    with pytest.raises(StreamError, match="cannot be read: Too many levels of symbolic links"):
        stream(tmp_path if inside else tmp_path / "x.csv")


def test_links_among_folders_are_followed_once(tmp_path):
    folder, other = tmp_path / "events", tmp_path / "other"
    for path in (folder, other):
        path.mkdir()
    write(folder / "a.csv", "ts,kind\n2024-01-01,A\n")
    write(other / "b.csv", "ts,kind\n2024-01-02,B\n")
    (folder / "more").symlink_to(other)
    (other / "back").symlink_to(folder)
    assert stream(folder).columns().type_names == ("A", "B")


def test_a_folder_of_very_many_files_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(readers, "MOST_ENTRIES", 20)
    for i in range(21):
        (tmp_path / f"{i}.txt").touch()
    with pytest.raises(StreamError, match="holds more than 20 files and folders"):
        stream(tmp_path)


def test_the_root_of_the_disk_is_not_walked(monkeypatch):
    monkeypatch.setattr(readers, "MOST_ENTRIES", 1_000)
    with pytest.raises(StreamError, match=r"more than 1,000 files|cannot be read|both CSV"):
        stream("/")


def test_a_file_without_line_ends_is_not_read_whole(tmp_path):
    with pytest.raises(StreamError, match="a line of more than 1,048,576 characters"):
        stream(write(tmp_path / "x.csv", b"x" * (1 << 21)))
    with gzip.open(tmp_path / "x.csv.gz", "wb") as file:
        file.write(b"0" * (1 << 22))
    with pytest.raises(StreamError, match="a line of more than 1,048,576 characters"):
        stream(tmp_path / "x.csv.gz")


@pytest.mark.parametrize("name", ["x.csv", "x.parquet", "x.csv.gz", "folder"])
def test_file_without_permission_is_refused(tmp_path, name, monkeypatch):
    path = tmp_path / name
    if name == "folder":
        path.mkdir()
    else:
        write(path, TEXT)

    def refused(*_, **__):
        raise PermissionError(13, "Permission denied", str(path))

    for module, function in ((csv_files, "open"), (gzip, "open"), (readers.os, "scandir")):
        monkeypatch.setattr(module, function, refused, raising=False)
    monkeypatch.setattr(readers.pq, "read_metadata", refused)
    monkeypatch.setattr("pyarrow.dataset.dataset", refused)
    with pytest.raises(StreamError, match=f"{name}' cannot be read: Permission denied"):
        stream(path)


def test_the_beginning_of_a_file(tmp_path):
    path = write(tmp_path / "x.csv", TEXT)
    assert len(readers.read_table(path, ["ts"], limit=2)) == 2
    assert readers.row_count(path) is None


@pytest.mark.parametrize("rows", [0, 1, 7])
@pytest.mark.parametrize("names", [("a", "t"), ("a.b", "a"), ("t", "a")])
@pytest.mark.parametrize("coded", [False, True])
def test_one_parquet_file_is_read_in_groups_of_rows(tmp_path, rows, names, coded):
    texts = pa.array([None if i == 2 else f"x{i % 3}" for i in range(rows)], pa.string())
    table = pa.table([texts, pa.array(range(rows), pa.int64())], names=list(names))
    path = tmp_path / "x.parquet"
    pa_parquet.write_table(table, path, row_group_size=3)
    for columns in (names, names[::-1], names[:1]):
        read = readers.read_table(path, columns, coded=coded)
        assert read.column_names == list(columns)
        assert read.to_pydict() == table.select(columns).to_pydict()
        assert pa.types.is_dictionary(read.schema.field(names[0]).type) == coded
    assert readers.row_count(path) == rows


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have only names in Unicode")
@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_names_that_are_not_utf_8(tmp_path, ending):
    path = tmp_path / os.fsdecode(b"\xff" + ending.encode())
    path.touch()
    for each in (path, tmp_path):
        with pytest.raises(StreamError, match=r"\\udcff") as caught:
            readers.column_names(each)
        assert caught.value.expected == "a name in UTF-8"


def test_folder_of_csv_has_the_columns_of_all_files(tmp_path):
    write(tmp_path / "1.csv", "ts,kind,x\n2024-01-01,NA,1\n")
    write(tmp_path / "2.csv", "kind,ts,y,x\nB,2024-01-02,a,2.5\n")
    rows = stream(tmp_path).columns(["x"]).source.to_pydict()
    assert rows["kind"] == ["NA", "B"]
    assert (rows["x"], rows["y"]) == ([1.0, 2.5], [None, "a"])


def test_folder_of_parquet_warns_of_columns_that_the_first_file_lacks(tmp_path):
    for n, columns in enumerate(({"x": [1]}, {"x": [2], "y": [3]})):
        table = pa.table({"ts": [n], "kind": ["A"], **columns})
        pa_parquet.write_table(table, tmp_path / f"{n}.parquet")
    with pytest.warns(StreamWarning, match=r"column 'y' of .*1\.parquet' is not read"):
        events(tmp_path, time="ts", type="kind", unit="s").columns()
    files = sorted(tmp_path.iterdir())
    assert "y" in events(files, time="ts", type="kind", unit="s").column_names
