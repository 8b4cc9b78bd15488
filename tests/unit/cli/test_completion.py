"""Shells complete the commands, their options and the values of these."""

import shutil
import subprocess

import pytest

from cepkit.cli import commands, main
from cepkit.cli.verbs import VERBS


def completed(words: list[str], tmp_path, capsys) -> list[str]:
    """The words that bash offers for the last of some words."""
    main(["completion", "bash"])
    script = tmp_path / "completion.bash"
    quoted = " ".join(f"'{word}'" for word in words)
    script.write_text(
        f"{capsys.readouterr().out}\nCOMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}\n"
        '_cepkit; printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    ran = subprocess.run(["bash", script], capture_output=True, text=True, check=True, timeout=600)
    assert ran.stderr == ""
    return ran.stdout.split()


@pytest.mark.parametrize(
    ("words", "some"),
    [
        (["cepkit", ""], [*VERBS]),
        (["cepkit", "det"], ["detect"]),
        (["cepkit", "plan", "--plan"], ["--planner"]),
        (["cepkit", "completion", "f"], ["fish"]),
        (["cepkit", "detect", "--unit", "m"], ["ms", "min"]),
    ],
)
def test_bash_completes(words, some, tmp_path, capsys):
    assert set(some) <= {*completed(words, tmp_path, capsys)}


def test_completion_offers_the_choices_of_an_option_or_files(tmp_path, capsys):
    for verb, parser in commands().items():
        for action in parser._actions:
            if action.option_strings and action.choices:
                words = ["cepkit", verb, action.option_strings[-1], ""]
                assert completed(words, tmp_path, capsys) == [*map(str, action.choices)]
                break
    assert completed(["cepkit", "detect", "--events", ""], tmp_path, capsys) == []


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_completion_script_is_valid_in_other_shells(shell, tmp_path, capsys):
    assert main(["completion", shell]) == 0
    script = tmp_path / "completion"
    script.write_text(capsys.readouterr().out)
    for verb in VERBS:
        assert verb in script.read_text()
    if found := shutil.which(shell):
        subprocess.run([found, "--no-execute", script], check=True, timeout=600)
