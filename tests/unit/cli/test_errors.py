"""Errors of the command: a line or two, no traceback, and no files left behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import cepkit as ck
from cepkit import cli, files
from cepkit.cli.verbs import detect

HEADER = "ts,ticker,price\n"


@pytest.fixture
def refused(on_stocks, folder):
    """Run a command that must fail: exit code 1, nothing on stdout, no new file."""

    def run(command: str, *more: object) -> str:
        before = sorted(folder.rglob("*"))
        ran = on_stocks(command, *more)
        assert ran.code == 1, ran
        assert ran.out == ""
        assert ran.err.startswith("error")
        assert "Traceback" not in ran.err
        assert sorted(folder.rglob("*")) == before
        return ran.err

    return run


def test_no_such_file_of_events(refused):
    Path("trades.csv").write_text(HEADER, encoding="utf-8")
    error = refused("detect", "--events", "trade.csv")
    assert "there is no file 'trade.csv'" in error
    assert "did you mean 'trades.csv'?" in error


def test_no_such_pattern_file(refused):
    assert "did you mean 'p.cep'?" in refused("profile", "--pattern", "q.cep")


def test_the_pattern_where_its_file_belongs(refused):
    error = refused("detect", "--pattern", "PATTERN SEQ(MSFT a, GOOG b)")
    assert "--pattern-text" in error


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["p.cep"], "write --pattern p.cep"),
        (["PATTERN SEQ(MSFT a, GOOG b)"], "write --pattern-text 'PATTERN ...'"),
        (["trades.csv", "--time", "ts"], "write --events trades.csv"),
        (["--time", "ts"], "cepkit detect --help"),
    ],
)
def test_file_or_pattern_without_its_option_gets_a_hint_at_the_option(cepkit, folder, words, hint):
    Path("trades.csv").write_text(HEADER, encoding="utf-8")
    ran = cepkit("detect", *words)
    assert ran.code == 2
    assert ran.err.splitlines()[-1] == f"Hint: {hint}"


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["detec"], "did you mean 'detect'?"),
        (["sort", "trades.csv", "--time", "ts", "--out", "t.parquet"], "cepkit sort --help"),
        (["--frist"], "cepkit --help"),
    ],
)
def test_a_wrong_command_line_is_told_the_nearest_command_or_its_help(cepkit, words, hint):
    Path("trades.csv").write_text(HEADER, encoding="utf-8")
    ran = cepkit(*words)
    assert ran.code == 2
    assert ran.err.splitlines()[-1] == f"Hint: {hint}"


def test_a_pattern_file_that_is_no_text(refused):
    Path("p.cep").write_bytes(b"\xff\xfe\x00")
    assert "not a text in UTF-8" in refused("detect")


def test_a_missing_column(on_stocks, cepkit, folder):
    Path("t.csv").write_text("when,ticker,price\n", encoding="utf-8")
    ran = on_stocks("detect", "--events", "t.csv")
    assert ran.code == 1
    assert "the stream has no column 'ts'" in ran.err


def test_a_column_that_only_the_pattern_knows(refused):
    text = "PATTERN SEQ(MSFT a, GOOG b) WHERE a.prise < b.price WITHIN 1 hour"
    error = refused("plan", "--pattern-text", text)
    assert "'prise'" in error
    assert "did you mean 'price'?" in error
    assert "^^^^^^^" in error


def test_a_typo_in_the_pattern_is_underlined(refused):
    Path("p.cep").write_text("PATTERN SEQ(MSFT a, GOOG b\nWITHIN 1 hour", encoding="utf-8")
    lines = refused("detect").splitlines()
    assert lines[0] == "error in the pattern of p.cep, line 2, column 1"
    assert lines[1:3] == ["  WITHIN 1 hour", "  ^^^^^^"]


def test_unknown_planner_is_refused_before_the_profile(refused, monkeypatch):
    monkeypatch.setattr(ck, "profile", None)
    error = refused("detect", "--planner", "gredy")
    assert "did you mean 'greedy'?" in error


def test_an_order_that_is_not_the_patterns(refused):
    assert "'x'" in refused("detect", "--plan", "a,b,x")


def test_pattern_with_agg_is_refused_before_the_profile(refused, monkeypatch):
    monkeypatch.setattr(ck, "profile", None)
    text = "PATTERN SEQ(MSFT a, GOOG b, AAPL c) AGG COUNT WITHIN 1 hour"
    assert "AGG" in refused("detect", "--pattern-text", text)


def test_an_empty_file(refused):
    Path("t.csv").write_bytes(b"")
    assert "'t.csv' is empty" in refused("detect", "--events", "t.csv")


def test_a_file_of_a_header_is_an_empty_stream(on_stocks):
    Path("t.csv").write_text(HEADER, encoding="utf-8")
    ran = on_stocks("detect", "--events", "t.csv", "--out", "m.csv")
    assert ran.code == 0
    assert "0 matches" in ran.out
    assert Path("m.csv").exists()
    assert on_stocks("plan", "--events", "t.csv").code == 0


def test_a_file_of_no_known_kind(refused):
    Path("t.xls").write_bytes(b"x")
    assert ".parquet" in refused("detect", "--events", "t.xls")


def test_a_broken_parquet_file(refused):
    Path("t.parquet").write_bytes(b"PAR1 but no more")
    assert "t.parquet" in refused("detect", "--events", "t.parquet")


def test_unknown_unit_is_refused_with_a_suggestion(refused):
    assert "did you mean 'ms'?" in refused("detect", "--unit", "msec")


def test_numbers_without_a_unit(refused):
    Path("t.csv").write_text(HEADER + "1,MSFT,2.0\n", encoding="utf-8")
    assert "unit" in refused("detect", "--events", "t.csv")


def test_unknown_time_zone_is_refused(refused):
    assert "time zone" in refused("detect", "--timezone", "Europe/Copenhagn")


def test_a_folder_that_is_not_there(refused):
    assert "there is no folder 'nowhere'" in refused("detect", "--out", "nowhere/m.parquet")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written(refused, folder):
    (folder / "mine").mkdir(mode=0o500)
    assert "permission" in refused("detect", "--out", "mine/m.parquet")


def test_an_output_of_no_known_kind(refused):
    assert ".parquet" in refused("detect", "--out", "m.xlsx")


def test_the_events_are_never_overwritten(refused):
    Path("t.csv").write_text(HEADER, encoding="utf-8")
    error = refused("detect", "--events", "t.csv", "--out", "t.csv", "--overwrite")
    assert "is the file of the events" in error
    assert Path("t.csv").read_text(encoding="utf-8") == HEADER


def test_the_output_does_not_become_events(refused):
    Path("events").mkdir()
    Path("events", "t.csv").write_text(HEADER, encoding="utf-8")
    assert "one of them" in refused("detect", "--events", "events", "--out", "events/m.csv")


def test_a_folder_of_someone_elses_is_not_replaced(refused):
    Path("m.parquet").mkdir()
    Path("m.parquet", "precious.txt").write_text("x", encoding="utf-8")
    assert "did not write" in refused("detect", "--out", "m.parquet", "--overwrite")


@pytest.mark.parametrize("name", ["m.parquet", "m.csv"])
def test_a_write_that_fails_leaves_nothing_and_keeps_the_old(refused, monkeypatch, name):
    Path(name).write_text("old", encoding="utf-8")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    error = refused("detect", "--out", name, "--overwrite")
    assert error == f"error: cannot write '{name}': No space left on device\n"
    assert Path(name).read_text(encoding="utf-8") == "old"


@pytest.mark.parametrize(
    ("command", "option", "name"),
    [
        ("profile", "--json", "old.json"),
        ("plan", "--json", "old.json"),
        ("detect", "--json", "old.json"),
        ("detect", "--out", "old.csv"),
        ("simulate", "--json", "old.json"),
        ("simulate", "--html", "old.html"),
        ("simulate", "--out", "old.csv"),
        ("aggregate", "--json", "old.json"),
        ("aggregate", "--out", "old.parquet"),
    ],
)
def test_existing_output_is_refused_before_events_are_read(
    refused, monkeypatch, command, option, name
):
    monkeypatch.setattr(ck, "events", None)
    Path(name).write_text("old", encoding="utf-8")
    error = refused(command, option, name)
    assert error == f"error: '{name}' exists\nHint: pass --overwrite to replace it\n"
    wrong = refused(command, option, "notes.txt")
    assert wrong.startswith("error: cannot write '.txt' files: ")
    assert Path(name).read_text(encoding="utf-8") == "old"


def test_overwrite_replaces_existing_files(on_stocks):
    for name in ("a.json", "a.html"):
        Path(name).write_text("old", encoding="utf-8")
    ran = on_stocks(
        "simulate", "--limit", 20, "--json", "a.json", "--html", "a.html", "--overwrite"
    )
    assert ran.code == 0
    assert Path("a.json").read_text(encoding="utf-8").startswith("{")
    assert Path("a.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_a_demo_replaces_no_file_of_the_users(cepkit, folder):
    Path("notes.html").write_text("old", encoding="utf-8")
    ran = cepkit("demo", "--report", "notes.html")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == "error: 'notes.html' exists\nHint: pass --overwrite to replace it\n"
    assert Path("notes.html").read_text(encoding="utf-8") == "old"


def test_file_without_statistics_is_refused(refused):
    Path("s.json").write_text("{}", encoding="utf-8")
    assert "statistics" in refused("detect", "--statistics", "s.json")


def test_statistics_of_another_pattern(refused, on_stocks):
    other = "PATTERN SEQ(MSFT x, GOOG y) WITHIN 1 hour"
    on_stocks("profile", "--pattern-text", other, "--json", "s.json")
    error = refused("detect", "--statistics", "s.json")
    assert "lack the rate of" in error
    assert "s.json" in error


def test_a_type_that_never_occurs_is_one_line_of_warning(on_stocks):
    text = "PATTERN SEQ(MSFT a, GOGG b) WITHIN 1 hour"
    ran = on_stocks("detect", "--pattern-text", text)
    assert ran.code == 0
    assert ran.err == (f"warning: no event has the type 'GOGG': did you mean 'GOOG'? ({text})\n")


def test_rows_that_are_no_events_are_one_line_of_warning(on_stocks):
    Path("t.csv").write_text(
        HEADER + "2024-03-04T10:00:00Z,MSFT,1.0\n,GOOG,2.0\n", encoding="utf-8"
    )
    text = "PATTERN SEQ(MSFT a, MSFT b)"
    ran = on_stocks("profile", "--events", "t.csv", "--pattern-text", text)
    assert ran.err == f"warning: rows left out of the stream: 1 without a time ({text})\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["detct"],
        ["explain", "--pattern", "p.cep"],
        ["profile", "--events", "t.csv", "--type", "kind"],
        ["detect"],
        ["detect", "--pattern", "p.cep", "--events", "t.csv", "--type", "kind"],
        ["detect", "--pattern", "p.cep", "--pattern-text", "x"],
        ["demo", "--events", "many"],
        ["demo", "--events", "-1"],
        ["demo", "--seed", "-1"],
        ["demo", "--seed", "1e400"],
        ["detect", "--limit", "nan"],
        ["detect", "--limit", "inf"],
        ["detect", "--limit", "-1"],
        ["detect", "--limit", str(2**63)],
        ["detect", "--limit", "9" * 5_000],
        ["simulate", "--max-steps", str(-(2**70))],
        ["plan", "--run", "1.5"],
        ["detect", "--local", "--spark"],
    ],
)
def test_wrong_command_lines(cepkit, arguments):
    ran = cepkit(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: ")
    assert len(ran.err.splitlines()) == 2
    assert len(ran.err) < 500


@pytest.mark.parametrize(
    ("option", "path", "said"),
    [
        ("--pattern", "p" * 300, "File name too long"),
        ("--pattern", "~nosuchuser/p.cep", "name of a user"),
        ("--pattern", "a\0b", "without NUL"),
        ("--pattern", "/dev/zero", "larger than 400,000 bytes"),
        ("--statistics", ".", "'.' is a folder"),
        ("--pattern", "", "an empty path"),
        ("--statistics", "gone.json", "there is no file 'gone.json'"),
        ("--statistics", "/dev/zero", "larger than 100,000,000 bytes"),
        ("--events", "~nosuchuser/t.csv", "name of a user"),
        ("--events", "/dev/zero", "cannot read 'zero'"),
        ("--events", "t\0.csv", "without NUL"),
    ],
)
def test_paths_that_cannot_be_read(refused, option, path, said):
    assert said in refused("detect", option, path)


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="a system without /dev/fd")
def test_a_pattern_may_come_from_a_pipe(on_stocks):
    ours, theirs = os.pipe()  # as `<(...)` in a shell
    os.write(theirs, b"PATTERN SEQ(MSFT a, GOOG b) WITHIN 1 minute")
    os.close(theirs)
    assert on_stocks("detect", "--pattern", f"/dev/fd/{ours}", "--limit", "1").code == 0
    os.close(ours)


def test_a_long_pattern_is_not_cut_off(refused):
    text = "PATTERN SEQ(MSFT a, GOOG b) --" + "x" * 300_000 + "\nWITHIN 1 hour"
    Path("p.cep").write_text(text, encoding="utf-8")
    assert "a text of 300,044 characters" in refused("detect")


def test_ctrl_c(on_stocks, monkeypatch):
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ck, "profile", stopped)
    ran = on_stocks("profile")
    assert (ran.code, ran.out, ran.err) == (130, "", "interrupted\n")


@pytest.mark.parametrize("option", ["--out", "--json"])
def test_an_empty_name_is_no_file(refused, option):
    assert "cannot write ''" in refused("detect", option, "")


def test_ctrl_c_while_modules_are_loaded(monkeypatch, capsys):
    def stopped(_: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "import_module", stopped)
    assert cli.main(["detect"]) == 130
    assert capsys.readouterr().err == "interrupted\n"


@pytest.mark.parametrize("words", [["--help"], ["check", "--help"], []], ids=" ".join)
def test_the_reader_of_a_help_text_may_be_gone(words):
    ours, theirs = os.pipe()
    os.close(ours)
    command = [sys.executable, "-m", "cepkit.cli", *words]
    ran = subprocess.run(command, stdout=theirs, stderr=subprocess.PIPE, check=False)
    os.close(theirs)
    assert (ran.returncode, ran.stderr) == (0, b"")


def test_bug_prints_two_lines_and_a_traceback_on_demand(on_stocks, monkeypatch):
    def broken(*_: object) -> None:
        raise RuntimeError("first\nat java.lang.Thread")

    monkeypatch.setattr(detect, "first_rows", broken)
    ran = on_stocks("detect")
    assert ran.code == 1
    assert ran.err == ("error: RuntimeError: first\nHint: --traceback shows where it comes from\n")
    with pytest.raises(RuntimeError):
        on_stocks("detect", "--traceback")
