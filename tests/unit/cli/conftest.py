"""A folder of small files, and a way to run the command in this process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from cepkit.cli import main

STOCKS = Path(__file__).parents[3] / "sample_data" / "stocks.csv"

PATTERN = """\
PATTERN SEQ(MSFT a, GOOG b, AAPL c)
WHERE a.price < b.price AND b.price < c.price
WITHIN 1 hour
"""


@dataclass(frozen=True)
class Ran:
    """The outcome of a run of the command."""

    code: int
    out: str
    err: str


Command = Callable[..., Ran]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder but for the pattern `p.cep`."""
    monkeypatch.chdir(tmp_path)
    Path("p.cep").write_text(PATTERN, encoding="utf-8")
    return tmp_path


@pytest.fixture
def cepkit(folder: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run the command in `folder`: cepkit("detect", "--limit", 3)."""

    def run(*arguments: object) -> Ran:
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as stop:  # argparse: --help and wrong command lines
            code = int(stop.code or 0)
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run


@pytest.fixture
def on_stocks(cepkit: Command) -> Command:
    """Run a command with the pattern, on the sample."""

    def run(command: str, *more: object) -> Ran:
        given = list(more)
        if "--pattern" not in given and "--pattern-text" not in given:
            given += ["--pattern", "p.cep"]
        if "--events" not in given:
            given += ["--events", STOCKS]
        return cepkit(command, *given, "--time", "ts", "--type", "ticker")

    return run
