"""Every verb has an example in its docstring, and the examples print the output given there."""

from __future__ import annotations

import pytest

from cepkit.pattern.evaluation.functions import registered
from tests import examples


@pytest.fixture(autouse=True)
def _no_function_stays_registered(monkeypatch):
    monkeypatch.setattr(registered, "_registered", {})


@pytest.mark.parametrize("name", examples.verbs())
def test_a_verb_has_an_example(name):
    text = examples.verbs()[name].__doc__ or ""
    assert "\n    Example:\n        >>> " in text


@pytest.mark.parametrize("name", sorted(examples.with_examples().keys() - examples.ON_SPARK))
def test_example_prints_its_documented_output(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert examples.run(name, examples.with_examples()[name]) == ""


def test_a_wrong_example_is_noticed():
    def wrong():
        """Return nothing.

        >>> 1 + 1
        3
        """

    assert "Expected:\n    3\nGot:\n    2" in examples.run("wrong", wrong)
