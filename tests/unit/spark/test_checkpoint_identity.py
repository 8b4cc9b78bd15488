"""A checkpoint says to which query it belongs, and refuses others with both descriptions."""

from __future__ import annotations

import json

import pytest

from cepkit.errors import StreamError
from cepkit.spark.streaming.identity import FORMAT, Identity

MINE = Identity({"pattern": "PATTERN A a WITHIN 1 s", "lateness": "1 second"})


def test_its_own_is_taken():
    MINE.check(Identity(dict(MINE.parts)).text)


def test_of_another_what_differs_is_told_of_both():
    other = Identity({"pattern": "PATTERN B b WITHIN 1 s", "lateness": "1 second"})
    with pytest.raises(StreamError) as error:
        MINE.check(other.text)
    assert "pattern PATTERN B b WITHIN 1 s" in error.value.found
    assert error.value.expected == "pattern PATTERN A a WITHIN 1 s"
    assert "lateness" not in str(error.value)


def test_an_older_format_is_refused():
    older = json.dumps({**json.loads(MINE.text), "format": "0"})
    with pytest.raises(StreamError, match="format 0"):
        MINE.check(older)
    assert json.loads(MINE.text)["format"] == str(FORMAT)
