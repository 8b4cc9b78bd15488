"""What `cepkit studio` refuses before it starts a server, and what its page shows."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from cepkit.cli import main
from cepkit.cli.verbs import studio
from cepkit.errors import CepkitError

PATTERN = "PATTERN SEQ(A a, B b) WITHIN 3 seconds"


@pytest.fixture
def file(tmp_path, monkeypatch):
    frame = pd.DataFrame({"ts": range(9), "type": list("ABC") * 3})
    frame.to_csv(tmp_path / "e.csv", index=False)
    (tmp_path / "p.cep").write_text(PATTERN)
    monkeypatch.chdir(tmp_path)
    return "e.csv"


def served(monkeypatch, *words):
    """Return what the command hands on to the notebook of its page."""
    kept = []
    monkeypatch.setattr(studio, "_serve", lambda folder, given, arguments: kept.append(given))
    assert main(["studio", *words]) == 0
    return json.loads(json.dumps(kept[0]))


@pytest.mark.parametrize("events", [["e.csv"], ["--events", "e.csv"]])
def test_page_opens_the_file_with_the_options_of_the_command(file, monkeypatch, tmp_path, events):
    more = ["--time", "ts", "--type", "type", "--unit", "s", "--pattern", "p.cep", "--sample", "6"]
    given = served(monkeypatch, *events, *more)
    monkeypatch.chdir("/")
    page = studio.shown(given)
    assert page.error is None
    assert (page.text, page.state.events, page.panel("editor").trial.count) == (PATTERN, 6, 2)
    saved = page.save(tmp_path / "x.json")
    monkeypatch.chdir(tmp_path)
    again = studio.shown(served(monkeypatch, *events, *more[:6], "--pattern", saved.name))
    assert again.state == page.state


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--time", "ts"], "required: FILE, --time"),
        (["e.csv"], "required: FILE, --time"),
        (["-", "--time", "ts"], "standard input"),
    ],
)
def test_command_without_events_or_time_is_refused(file, capsys, words, why):
    with pytest.raises(SystemExit):
        main(["studio", *words])
    assert why in capsys.readouterr().err


def test_wrong_column_is_refused_before_the_page_opens(file, capsys):
    assert main(["studio", "e.csv", "--time", "when"]) == 1
    assert "when" in capsys.readouterr().err


def test_server_that_does_not_start_is_an_error_with_its_last_word(file, monkeypatch, tmp_path):
    monkeypatch.setattr(studio.sys, "executable", "/bin/false")
    arguments = type("Given", (), {"port": None, "dark": False, "no_browser": True})
    with pytest.raises(CepkitError, match="did not start"):
        studio._serve(tmp_path, {}, arguments)
