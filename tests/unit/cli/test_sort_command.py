"""`cepkit sort` writes the rows of files in the order of their times."""

import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from cepkit.stream import sorting

ROWS = 5_000
FIND = sorting.importlib.util.find_spec


def rows(*, texts=False):
    rng = np.random.default_rng(1)
    ts = pa.array(rng.integers(0, 900, ROWS), pa.timestamp("ms"), mask=rng.random(ROWS) < 0.01)
    return pa.table({"ts": ts.cast(pa.string()) if texts else ts, "i": np.arange(ROWS)})


@pytest.fixture(autouse=True)
def without_duckdb(monkeypatch):
    monkeypatch.setattr(sorting.importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr(sorting, "ROW_GROUP", 1_000)


@pytest.fixture
def unsorted(folder):
    Path("in").mkdir()
    pq.write_table(rows().slice(0, 2_000), "in/a.parquet")
    pq.write_table(rows().slice(2_000), "in/b.parquet")
    return "in"


def expected():
    table = rows()
    return table.take(pa.compute.sort_indices(table, [("ts", "ascending")]))


def test_sorted_file_has_all_rows_in_the_order_of_time(cepkit, unsorted):
    ran = cepkit("sort", unsorted, "out.parquet", "--time", "ts")
    assert (ran.code, ran.out) == (0, f"{ROWS:,} rows written to out.parquet\n")
    assert pq.read_table("out.parquet").equals(expected())
    assert pq.read_metadata("out.parquet").num_row_groups == 5
    pa_csv.write_csv(rows(), "in.csv")
    assert cepkit("sort", "in.csv", "of_csv.parquet", "--time", "ts").code == 0
    assert pq.read_table("of_csv.parquet", columns=["i"]).equals(expected().select(["i"]))


def test_existing_file_is_replaced_only_if_asked(cepkit, unsorted):
    Path("out.parquet").write_text("precious", encoding="utf-8")
    ran = cepkit("sort", unsorted, "out.parquet", "--time", "ts")
    assert (ran.code, Path("out.parquet").read_text(encoding="utf-8")) == (1, "precious")
    assert "--overwrite" in ran.err
    assert cepkit("sort", unsorted, "out.parquet", "--time", "ts", "--overwrite").code == 0
    assert pq.read_table("out.parquet").equals(expected())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("in", "out.parquet", "--time", "tss"), "did you mean 'ts'"),
        (("in", "out.csv", "--time", "ts"), "end in '.parquet'"),
        (("in", "in/c.parquet", "--time", "ts"), "in"),
        (("texts.parquet", "out.parquet", "--time", "ts"), "holds texts"),
        (("nothing.parquet", "out.parquet", "--time", "ts"), "nothing.parquet"),
    ],
)
def test_source_without_sortable_times_is_refused(cepkit, unsorted, arguments, message):
    pq.write_table(rows(texts=True), "texts.parquet")
    ran = cepkit("sort", *arguments)
    assert ran.code == 1
    assert message in ran.err
    assert not Path("out.parquet").exists()


def test_file_larger_than_memory_asks_for_duckdb(cepkit, unsorted, monkeypatch):
    monkeypatch.setattr(sorting, "free_memory", lambda: 1_000)
    ran = cepkit("sort", unsorted, "out.parquet", "--time", "ts")
    assert ran.code == 1
    assert "pip install duckdb" in ran.err


class Duck(ModuleType):
    """A stand-in for DuckDB that fails in the middle of writing."""

    Error = RuntimeError

    def connect(self):
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def execute(self, query):
        if query.startswith("COPY"):
            raise self.Error("the disk is full\nat some place")
        return self


def test_failed_sort_leaves_nothing_behind(cepkit, unsorted, monkeypatch):
    monkeypatch.setattr(sorting.importlib.util, "find_spec", lambda _: True)
    monkeypatch.setitem(sys.modules, "duckdb", Duck("duckdb"))
    before = sorted(Path().iterdir())
    ran = cepkit("sort", unsorted, "out.parquet", "--time", "ts")
    assert ran.code == 1
    assert "cannot be sorted: the disk is full" in ran.err
    assert sorted(Path().iterdir()) == before


def test_duckdb_sorts_as_arrow_does(cepkit, unsorted, monkeypatch):
    pytest.importorskip("duckdb")
    monkeypatch.setattr(sorting.importlib.util, "find_spec", FIND)
    assert cepkit("sort", unsorted, "out.parquet", "--time", "ts").code == 0
    assert pq.read_table("out.parquet", columns=["i"]).equals(expected().select(["i"]))
