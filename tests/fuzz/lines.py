"""Command lines: those of the manual, with options and values that nobody should give.

They run in this process. Errors must be a line or two on stderr, and the exit code 0, 1 or 2; an
error that the command did not expect is a failure.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
from functools import cache
from pathlib import Path
from random import Random

from cepkit.cli import main
from cepkit.errors import CepkitError
from tests.fuzz import patterns
from tests.fuzz.case import Case, streams

_PATTERN = "PATTERN SEQ(A a, B b, C c) WHERE a.x <= b.x WITHIN 9 us"
_NUMBERS = (
    "0", "1", "-1", "3", "1e3", "nan", "inf", "1e400", "9" * 30, "9" * 5000, "1_0", "", "x", "0x1",
)  # fmt: skip
_PATHS = ("", ".", "/", "..", "gone.csv", "~nosuchuser/x.csv", "a\0b.csv", "x" * 300 + ".csv", "-",
          "/dev/null", "/dev/zero", "t.csv", "t.parquet", "empty.csv", "broken.parquet", "link.csv",
          "pipe.csv", "p.cep", "s.json", "\udcff.csv", "s3://bucket/x.csv")  # fmt: skip
# As with other tools, one waits for who writes into a pipe.
_TEXTS = tuple(path for path in _PATHS if path != "pipe.csv")
_NAMES = (
    "ts", "type", "x", "nope", "", "a,b,c", "c,b,a", "a", ",", "greedy", "dp-tree", "chain-nfa",
    "work", "latency", "us", "s", "fortnight", "UTC", "Europe/Nowhere", "é", "\0",
)  # fmt: skip
_OPTIONS = {
    "--events": _PATHS, "--time": _NAMES, "--type": _NAMES, "--unit": _NAMES, "--timezone": _NAMES,
    "--arrival": _NAMES, "--pattern": _TEXTS, "--statistics": _TEXTS, "--planner": _NAMES,
    "--cost": _NAMES, "--run": _NUMBERS, "--plan": _NAMES, "--limit": _NUMBERS,
    "--sets": ("every", "maximal", "some"), "--explain": None, "--overwrite": None,
    "--mechanism": _NAMES, "--max-steps": _NUMBERS, "--emit": ("total", "new", "changes", "x"),
    "--method": ("auto", "a-seq", "detect", "x"), "--json": ("-", "out.json", "", "gone/x.json"),
    "--out": ("m.csv", "m.parquet", "m.txt", "", "gone/m.csv", "/", "t.csv"),
    "--html": ("play.html", "gone/play.html", ""), "--traceback": None, "--help": None,
    "--version": None, "--nope": None, "--local": None,
}  # fmt: skip
_COMMANDS = ("profile", "plan", "detect", "simulate", "aggregate")


@cache
def _folder() -> str:
    """Return a folder with some files, most of them fine."""
    folder = Path(tempfile.mkdtemp(prefix="cepkit-fuzz-"))
    frame = streams()[0].source.drop(columns=["h"])
    frame.to_csv(folder / "t.csv", index=False)
    frame.to_parquet(folder / "t.parquet")
    (folder / "empty.csv").touch()
    (folder / "broken.parquet").write_bytes(b"PAR1 and no more")
    (folder / "link.csv").symlink_to("gone.csv")
    os.mkfifo(folder / "pipe.csv")
    (folder / "p.cep").write_text(_PATTERN, encoding="utf-8")
    (folder / "s.json").write_text('{"format": "cepkit statistics 2"}', encoding="utf-8")
    return str(folder)


def case(random: Random) -> Case:
    """Return a case: a command line."""
    command = random.choice(_COMMANDS)
    pattern = _PATTERN if random.random() < 0.6 else patterns.text(random)
    line = [command, "--pattern-text", pattern + (" AGG COUNT" if command == "aggregate" else "")]
    line += ["--events", random.choice(("t.csv", "t.parquet")), "--time", "ts", "--type", "type"]
    line += ["--unit", "us"]
    for _ in range(random.choice((0, 1, 1, 2, 3))):
        option = random.choice(list(_OPTIONS))
        values = _OPTIONS[option]
        if option in line and random.random() < 0.8:
            place = line.index(option)
            del line[place : place + 2]
        if option == "--pattern" and "--pattern-text" in line:
            place = line.index("--pattern-text")
            del line[place : place + 2]
        line += [option] if values is None else [option, random.choice(values)]
    if random.random() < 0.1:
        del line[random.randrange(len(line))]
    return Case(f"cepkit {line!r}", lambda: _try(line))


def _try(line: list[str]) -> None:
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(_folder()),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        Path(os.devnull).open(encoding="utf-8") as nothing,
    ):
        before, sys.stdin = sys.stdin, nothing
        try:
            code = main(line)
        except SystemExit as stop:
            code = stop.code
        finally:
            sys.stdin = before
    told = err.getvalue()
    assert code in (0, 1, 2), code
    assert "Traceback" not in told, told
    assert "--traceback shows where it comes from" not in told, told
    assert len(told) < 20_000, f"{len(told):,} characters on stderr"
    if code:
        assert told.startswith(("error", "warning")), told
        raise CepkitError(told)
