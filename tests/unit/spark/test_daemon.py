"""Workers end quietly when nobody reads, and do not look at all modules after each task."""

from __future__ import annotations

import gc
import sys
from types import ModuleType

import pytest

from cepkit.spark.session.daemon import polite


@pytest.fixture(autouse=True)
def _thawed():
    yield
    gc.unfreeze()


def test_a_reader_that_left_is_no_news(capfd):
    def work(_, __):
        raise BrokenPipeError

    assert polite(work)(None, True) == 1
    assert capfd.readouterr().err == ""


def test_another_error_is_news():
    def work(_, __):
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        polite(work)(None, True)


def test_modules_are_set_aside_once(monkeypatch):
    worker = polite(lambda _, __: 0)
    assert worker(None, True) == 0
    aside = gc.get_freeze_count()
    assert aside > 10_000
    more = [[] for _ in range(100_000)]
    worker(None, True)
    assert gc.get_freeze_count() <= aside
    monkeypatch.setitem(sys.modules, "a new module", ModuleType("a new module"))
    worker(None, True)
    assert gc.get_freeze_count() > aside + len(more) - 1000
