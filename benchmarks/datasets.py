"""Real streams as frames of events; they lie beside the project and are never part of it.

The folder is that of the environment variable CEPKIT_DATA, or `../shared/data` seen from the
project's root. A README in each of its folders gives origin, licence and columns. `absent` returns
why data are missing, so that tests and benchmarks can leave them out with a reason.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

Clock = Literal["event", "cut", "arrival", "number"]
"""The clock by which recorded events are ordered: see `intrusion`."""

SECOND = 1_000_000
"""A second in microseconds."""


def folder() -> Path:
    """Return where the data lies, whether it is there or not."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    return Path(os.environ.get("CEPKIT_DATA") or beside)


def absent(name: str) -> str | None:
    """Return why the data of a folder cannot be used, None where it can."""
    place = folder() / name
    if place.is_dir():
        return None
    return f"the data '{name}' is not in {folder()}; CEPKIT_DATA may name another folder"


def intrusion(recording: str, clock: Clock = "event") -> pd.DataFrame:
    """Return the recorded events of an attack, in the order in which the collector got them.

    The clock of the Security, System and PowerShell channels shows whole seconds, cut off, while
    Sysmon's shows milliseconds. So an event happened in an interval, and `earliest < latest` of two
    events says that the one may have been before the other.

    Args:
        recording: psexec, smbexec, wmic_backdoor or dcsync.
        clock: What `earliest` and `latest` are: "event" the interval of the event's time, "cut"
            twice the time as it is written, "arrival" twice the collector's time, "number" twice
            the arrival number.

    Returns:
        The columns of the file; `type` (channel and number, as "security 4624"); `time`, that of
        the clock (the collector's for "number"); `earliest` and `latest`, in microseconds or
        arrival numbers; `machine`, whether the user is a machine's account.
    """
    frame = pd.read_csv(folder() / "windows-intrusion" / f"{recording}.csv", dtype="string")
    frame["seq"] = frame["seq"].astype("int64")
    frame["type"] = frame["channel"] + " " + frame["event_id"]
    frame["machine"] = frame["user"].str.endswith("$").fillna(False).astype(bool)
    by_event = clock in ("event", "cut")
    time = pd.to_datetime(frame["event_time" if by_event else "arrival_time"]).dt.as_unit("us")
    frame["time"] = time
    frame["earliest"] = frame["seq"] if clock == "number" else time.astype("int64")
    coarse = (frame["channel"] != "sysmon") & (clock == "event")
    frame["latest"] = frame["earliest"] + coarse * SECOND
    return frame


def nasdaq(history: int = 20) -> pd.DataFrame:
    """Return the minute bars of seven tickers on one day.

    Args:
        history: The prices in a history: the bar's own close and those before it.

    Returns:
        Columns ticker, timestamp, open, high, low, close, volume; `difference` from the ticker's
        close before, missing in its first bar; `history`, an array of closes, missing in the bars
        that have too few before them.
    """
    path = folder() / "nasdaq-minute" / "nasdaq_2008-02-01_7tickers.csv"
    frame = pd.read_csv(path, parse_dates=["timestamp"])
    frame["difference"] = frame.groupby("ticker")["close"].diff()
    frame["history"] = pd.Series([None] * len(frame), dtype=object)
    for _, rows in frame.groupby("ticker"):
        windows = np.lib.stride_tricks.sliding_window_view(rows["close"].to_numpy(), history)
        full = rows.index[history - 1 :]
        frame.loc[full, "history"] = pd.Series([w.copy() for w in windows], index=full)
    return frame


def nasdaq_skewed() -> pd.DataFrame:
    """Return 256 bars of DRIV, 256 of MSFT and one of CBRL: the last of a sequence is rare."""
    names = ["ticker", "timestamp", "open", "high", "low", "close", "volume"]
    path = folder() / "nasdaq-minute" / "NASDAQ_FREQUENCY_TAILORED.txt"
    frame = pd.read_csv(path, names=names)
    frame["timestamp"] = pd.to_datetime(frame["timestamp"].astype(str), format="%Y%m%d%H%M")
    return frame


def trades(rows: int | None = 120_000) -> pd.DataFrame:
    """Return trades of ten stocks, in order of time; many are in the same millisecond.

    Args:
        rows: How many, from the first; None for all 224,473.

    Returns:
        Columns ts_ms, side, trade_id, ticker, volume, price; `difference` from the ticker's price
        before, missing in its first trade.
    """
    path = folder() / "stock-trades" / "trades_2004-06-03.csv.gz"
    frame = pd.read_csv(path, nrows=rows)
    frame["difference"] = frame.groupby("ticker")["price"].diff()
    return frame
