"""Bad texts and the whole messages they get, side by side in tests/golden/pattern_errors.txt.

After a change that is meant: CEPKIT_UPDATE_GOLDEN=1 pytest tests/unit/pattern, then read the diff.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from cepkit.errors import PatternError
from cepkit.pattern.parser import parse

GOLDEN = Path(__file__).parents[2] / "golden" / "pattern_errors.txt"
_CASE = re.compile(
    r"^=== (?P<name>.+)\n(?P<text>(?:.*\n)*?)---\n(?P<message>(?:.*\n)*?)(?=\n===|\Z)", re.M
)


def _cases() -> dict[str, tuple[str, str]]:
    return {
        case["name"]: (case["text"].removesuffix("\n"), case["message"].removesuffix("\n"))
        for case in _CASE.finditer(GOLDEN.read_text("utf-8"))
    }


def _message(text: str) -> str:
    with pytest.raises(PatternError) as caught:
        parse(text)
    # An editor may strip what stands at the end of a line.
    shown = f"{type(caught.value).__name__}: {caught.value}"
    return "\n".join(line.rstrip() for line in shown.splitlines())


def _update() -> None:
    blocks = (f"=== {n}\n{text}\n---\n{_message(text)}\n" for n, (text, _) in _cases().items())
    GOLDEN.write_text("\n".join(blocks), "utf-8")


if os.environ.get("CEPKIT_UPDATE_GOLDEN"):
    _update()


@pytest.mark.parametrize("name", _cases())
def test_a_bad_text_gets_the_message_that_was_agreed_on(name: str) -> None:
    text, message = _cases()[name]
    assert _message(text) == message


def test_no_case_is_lost_in_reading_the_file() -> None:
    assert len(_cases()) == len(re.findall(r"^=== ", GOLDEN.read_text("utf-8"), re.M))
