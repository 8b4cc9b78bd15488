"""The examples in docstrings that need a session."""

from __future__ import annotations

import pytest

from tests import examples


@pytest.mark.parametrize("name", sorted(examples.ON_SPARK))
def test_example_prints_its_documented_output(spark, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert examples.run(name, examples.with_examples()[name]) == ""
