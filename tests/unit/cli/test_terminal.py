"""The command as a process: pipes, terminals, signals."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cepkit.cli import terminal

STOCKS = Path(__file__).parents[3] / "sample_data" / "stocks.csv"


@pytest.mark.slow
def test_a_reader_that_has_had_enough_ends_quietly(folder):
    text = "PATTERN SEQ(MSFT a, GOOG b) WITHIN 1 minute"
    command = [sys.executable, "-m", "cepkit.cli", "detect", "--pattern-text", text]
    command += ["--events", str(STOCKS), "--time", "ts", "--type", "ticker"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as ran:
        ran.stdout.close()
        assert ran.stderr.read() == b""
    assert ran.returncode == 0


def test_a_terminal_that_knows_no_arrows(folder):
    command = [sys.executable, "-m", "cepkit.cli", "plan", "--pattern", "p.cep"]
    command += ["--events", str(STOCKS), "--time", "ts", "--type", "ticker"]
    env = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    ran = subprocess.run(command, env=env, capture_output=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert b"c ? b ? a" in ran.stdout


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_long_work_shows_on_a_terminal_and_goes_away(monkeypatch):
    monkeypatch.setattr(terminal, "_PATIENCE", 0.01)
    monkeypatch.setattr(sys, "stderr", _Terminal())
    with terminal.working("detecting"):
        deadline = time.monotonic() + 300
        while not sys.stderr.getvalue():
            assert time.monotonic() < deadline
            time.sleep(0.005)
    shown = sys.stderr.getvalue()
    assert "detecting ... 0 s" in shown
    assert shown.endswith("\r\x1b[K")


def test_progress_is_hidden_for_short_work_and_without_a_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stderr", _Terminal())
    with terminal.working("detecting"):
        pass
    assert "detecting" not in sys.stderr.getvalue()
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setattr(terminal, "_PATIENCE", 0.0)
    with terminal.working("detecting"):
        time.sleep(0.05)
    assert sys.stderr.getvalue() == ""


@pytest.mark.parametrize(
    ("duration", "text"), [(0.04, "0.0 s"), (9.96, "10.0 s"), (12.3, "12 s"), (125, "2 min 5 s")]
)
def test_durations(duration, text):
    assert terminal.seconds(duration) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("unit='s' makes it 2023", "--unit 's' makes it 2023"),
        ("unit= one of s, ms", "--unit one of s, ms"),
        ("events(..., time_format='%d.%m.%Y') reads", "--time-format '%d.%m.%Y' reads"),
        ("overwrite=True replaces it", "--overwrite replaces it"),
        ("detect(..., limit=1000) gives some", "detect(..., limit=1000) gives some"),
        ("WHERE a.unit='s'", "WHERE a.unit='s'"),
        ("sort by time", "sort by time"),
    ],
)
def test_arguments_of_python_in_hints_become_options_of_the_command(text, shown):
    names = ("unit", "time_format", "overwrite")
    assert terminal.with_options(text, names) == shown
