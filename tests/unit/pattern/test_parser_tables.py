"""The tables of the grammar, kept on disk."""

from __future__ import annotations

import os

import pytest
from lark import Lark

from cepkit.pattern.parsing import parser

TEXT = "PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 5 minutes"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path / "kept"))
    yield tmp_path / "kept"
    parser._lark.cache_clear()


def made(monkeypatch):
    """Parse as a new process would, and say whether tables were made."""
    parser._lark.cache_clear()
    calls = []

    class Made(Lark):
        def __init__(self, *given, **more):
            calls.append(1)
            super().__init__(*given, **more)

    with monkeypatch.context() as patch:
        patch.setattr(parser, "Lark", Made)
        query = parser.parse(TEXT)
    parser._lark.cache_clear()
    assert query == parser.parse(TEXT)
    return bool(calls)


def test_cached_tables_are_made_again_only_if_damaged_or_foreign(folder, monkeypatch):
    assert made(monkeypatch)
    assert not made(monkeypatch)
    [path] = folder.iterdir()
    whole = path.read_bytes()
    for content in (b"", whole[:-1], whole[:40] + os.urandom(len(whole) - 40)):
        path.write_bytes(content)
        assert made(monkeypatch)
        assert not made(monkeypatch)
    path.chmod(0o666)
    assert made(monkeypatch)


def test_tables_of_another_grammar_are_not_taken(folder, monkeypatch):
    assert made(monkeypatch)
    monkeypatch.setattr("lark.__version__", "0")
    assert made(monkeypatch)


def test_tables_are_made_without_a_writable_folder(folder, monkeypatch):
    folder.write_text("a file in its place")
    assert made(monkeypatch)
    assert made(monkeypatch)
