import numpy as np
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
import pytest

from benchmarks.streams import main, zipf_events
from cepkit.stream import events
from cepkit.stream.clicks import ACTIONS, CHANNELS, click_events
from cepkit.stream.generators import TICKERS, stock_events


@pytest.mark.parametrize("generate", [zipf_events, stock_events, click_events])
def test_a_seed_gives_the_same_stream_again(generate):
    assert generate(500, seed=3).equals(generate(500, seed=3))
    assert not generate(500, seed=3).equals(generate(500, seed=4))


@pytest.mark.parametrize("generate", [zipf_events, stock_events, click_events])
@pytest.mark.parametrize("n", [0, 1, 1000])
def test_as_many_events_as_asked_for_in_order(generate, n):
    rows = generate(n)
    ts = rows["ts"].cast("int64").to_numpy()
    assert len(rows) == n
    assert (np.diff(ts) >= 0).all()


def test_zipf_events_have_the_rates_gaps_and_ties_of_the_benchmark():
    rows = zipf_events(100_000, seed=1)
    got = events(rows, time="ts", type="type").columns()
    counts = np.bincount(got.types)
    assert got.type_names[0] == "T01"
    assert len(counts) == 50
    assert counts[0] / len(got) == pytest.approx(0.222, abs=0.01)
    assert counts[49] / len(got) == pytest.approx(0.0044, abs=0.001)
    gaps = np.diff(got.ts)
    assert gaps.mean() == pytest.approx(5000, rel=0.02)
    assert (gaps == 0).mean() == pytest.approx(0.09, abs=0.01)
    assert len(np.unique(got.attributes["key"].values)) == 1000


def test_stocks_are_skewed_drift_and_tie():
    rows = stock_events(50_000, events_per_day=50_000)
    got = events(rows, time="ts", type="ticker").columns()
    counts = dict(zip(got.type_names, np.bincount(got.types), strict=True))
    assert set(counts) == {t.name for t in TICKERS}
    assert counts["MSFT"] > 30 * counts["AAPL"] > 0
    morning = got.ts < np.median(got.ts)
    microsoft = got.types == got.type_names.index("MSFT")
    assert microsoft[morning].mean() > 1.5 * microsoft[~morning].mean()
    assert (np.diff(got.ts) == 0).any()
    assert got.attributes["price"].values.min() > 0


def test_difference_is_from_the_tickers_price_before():
    rows = stock_events(2000, events_per_day=500).to_pandas()
    expected = rows.groupby("ticker")["price"].diff().fillna(0.0)
    assert np.allclose(rows["difference"], expected, atol=0.006)


def test_a_longer_stream_has_more_days_and_no_weekends():
    days = stock_events(600, events_per_day=100)["ts"].to_pandas().dt.dayofweek
    assert days.to_numpy().max() == 4
    assert stock_events(600, events_per_day=100)["ts"].to_pandas().dt.date.nunique() == 6


@pytest.mark.parametrize("stream", ["stocks", "zipf"])
def test_the_command_writes_files(stream, tmp_path):
    for suffix, read in ((".csv", pa_csv.read_csv), (".parquet", pa_parquet.read_table)):
        out = tmp_path / f"x{suffix}"
        main([stream, "--events", "50", "--seed", "2", "--out", str(out)])
        assert len(read(out)) == 50


@pytest.mark.parametrize(
    "given",
    [
        ["--events", "-1", "--out", "x.csv"],
        ["--out", "x.txt"],
        ["--per-day", "0", "--out", "x.csv"],
        ["--events", "1", "--out", "/no/such/folder/x.csv"],
    ],
)
def test_command_refuses_wrong_arguments(given, capsys):
    with pytest.raises(SystemExit):
        main(["stocks", *given])
    assert "error" in capsys.readouterr().err


def test_sample_file_equals_the_output_of_its_command(tmp_path):
    from pathlib import Path

    sample = Path(__file__).parents[3] / "sample_data" / "stocks.csv"
    out = tmp_path / "stocks.csv"
    main(["stocks", "--events", "2000", "--per-day", "2000", "--seed", "1", "--out", str(out)])
    assert sample.read_bytes().replace(b"\r\n", b"\n") == out.read_bytes()
    assert sample.stat().st_size < 150_000


def test_clicks_form_a_funnel_and_only_purchases_have_a_price():
    rows = click_events(20_000).to_pandas()
    counts = rows["action"].value_counts()
    assert set(counts.index) == set(ACTIONS)
    assert counts["ViewKindle"] > counts["BuyKindle"] > counts["Recommend"] > 0
    assert (rows["price"].notna() == rows["action"].str.startswith("Buy")).all()
    assert set(rows["channel"]) == set(CHANNELS)
    assert rows.groupby("customer").size().max() > 10
    assert rows["ts"].duplicated().any()


def test_longer_clicks_begin_like_shorter_ones():
    assert click_events(70_000)[:50_000].equals(click_events(50_000))


def test_clicks_are_written_by_the_command(tmp_path):
    main(["clicks", "--events", "50", "--out", str(tmp_path / "c.csv")])
    assert pa_csv.read_csv(tmp_path / "c.csv").num_rows == 50
