"""Bad texts and the whole messages they get, side by side in tests/golden.

pattern_errors.txt has what is wrong with a text alone, kind_errors.txt what is wrong with it beside
the columns of a stream. After a change that is meant: CEPKIT_UPDATE_GOLDEN=1 pytest
tests/unit/pattern, then read the diff.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from cepkit.errors import PatternError
from cepkit.pattern.evaluation.kind_checks import check_kinds
from cepkit.pattern.evaluation.kinds import ValueKind
from cepkit.pattern.parsing.parser import parse

GOLDEN = Path(__file__).parents[2] / "golden"
FILES = ("pattern_errors.txt", "kind_errors.txt")
KINDS: dict[str, ValueKind] = {
    "ts": "timestamp",
    "shipped": "timestamp",
    "delay": "duration",
    "x": "integer",
    "price": "float",
    "name": "text",
    "open": "boolean",
    "history": "array",
    "nothing": "null",
}
"""The kinds of the attributes in kind_errors.txt."""

_CASE = re.compile(
    r"^=== (?P<name>.+)\n(?P<text>(?:.*\n)*?)---\n(?P<message>(?:.*\n)*?)(?=\n===|\Z)", re.M
)


def _cases(file: str) -> dict[str, tuple[str, str]]:
    return {
        case["name"]: (case["text"].removesuffix("\n"), case["message"].removesuffix("\n"))
        for case in _CASE.finditer((GOLDEN / file).read_text("utf-8"))
    }


def _message(file: str, text: str) -> str:
    if file == "pattern_errors.txt":
        with pytest.raises(PatternError) as caught:
            parse(text)
    else:
        query = parse(text)
        with pytest.raises(PatternError) as caught:
            check_kinds(query, KINDS)
    # An editor may strip what stands at the end of a line.
    shown = f"{type(caught.value).__name__}: {caught.value}"
    return "\n".join(line.rstrip() for line in shown.splitlines())


def _update(file: str) -> None:
    cases = _cases(file).items()
    blocks = (f"=== {n}\n{text}\n---\n{_message(file, text)}\n" for n, (text, _) in cases)
    (GOLDEN / file).write_text("\n".join(blocks), "utf-8")


if os.environ.get("CEPKIT_UPDATE_GOLDEN"):
    for _file in FILES:
        _update(_file)


@pytest.mark.parametrize(("file", "name"), [(f, name) for f in FILES for name in _cases(f)])
def test_a_bad_text_gets_the_message_that_was_agreed_on(file: str, name: str) -> None:
    text, message = _cases(file)[name]
    assert _message(file, text) == message


@pytest.mark.parametrize("file", FILES)
def test_no_case_is_lost_in_reading_a_file(file: str) -> None:
    text = (GOLDEN / file).read_text("utf-8")
    assert len(_cases(file)) == len(re.findall(r"^=== ", text, re.M))
