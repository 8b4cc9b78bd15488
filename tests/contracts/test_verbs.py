"""The contract of the verbs of the command; its tests run for every entry of the table."""

from __future__ import annotations

import subprocess
import sys

import pytest

from cepkit.cli import main
from cepkit.cli.verbs import VERBS

VERB = pytest.mark.parametrize("verb", list(VERBS))


def called(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    captured = capsys.readouterr()
    return stop.value.code, captured.out, captured.err


@VERB
def test_help_shows_usage_and_the_traceback_option(verb, capsys):
    code, out, err = called(capsys, verb, "--help")
    assert (code, err) == (0, "")
    assert out.startswith(f"usage: cepkit {verb} ")
    assert "--traceback" in out


@VERB
def test_the_command_lists_it_with_its_line(verb, capsys):
    code, out, _ = called(capsys, "--help")
    assert code == 0
    assert f"{verb} {VERBS[verb]}" in " ".join(out.split())


@VERB
def test_an_unknown_option_is_an_error_of_two_lines(verb, capsys):
    code, out, err = called(capsys, verb, "--no-such-option")
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.endswith("--help\n")
    assert len(err.splitlines()) == 2


def test_help_of_the_command_loads_no_verb():
    code = (
        "import sys\n"
        "from cepkit.cli import main\n"
        "try:\n    main(['--help'])\n"
        "except SystemExit: pass\n"
        "loaded = {m for m in sys.modules if m.startswith('cepkit.cli.verbs.')}\n"
        "assert not loaded | ({'numpy', 'pandas'} & set(sys.modules)), loaded\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
