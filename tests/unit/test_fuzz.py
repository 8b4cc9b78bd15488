"""A few cases of the fuzzer (`make fuzz` runs them for minutes)."""

import inspect
import os
import re
import signal
from random import Random

import pytest

import cepkit as ck
from cepkit.pattern.parsing.parser import _lark
from tests.fuzz import patterns, run, values
from tests.fuzz.case import Case, refused


@pytest.fixture(autouse=True)
def _own_signals():
    kept = {number: signal.getsignal(number) for number in (signal.SIGALRM, signal.SIGPROF)}
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("kind", run.KINDS)
def test_cases_work_or_are_refused(kind):
    failures = [run.tried(7, kind, number)[1] for number in range(40)]
    assert not [failure for failure in failures if failure]


@pytest.mark.parametrize("kind", run.KINDS)
def test_a_seed_gives_the_same_cases_again(kind):
    assert run.made(7, kind, 3).told == run.made(7, kind, 3).told


def test_the_fuzzer_has_a_word_for_each_terminal_of_the_grammar():
    used = {symbol.name for rule in _lark().rules for symbol in rule.expansion}
    for terminal in _lark().terminals:
        if terminal.name in used - set(patterns._WORDS):
            assert re.match(terminal.pattern.to_regexp(), terminal.name.strip("_")), terminal


def test_the_fuzzer_calls_each_verb():
    pytest.importorskip("pyspark")
    called = {call[0] for call in values._calls().values()}
    verbs = {name for name in ck.__all__ if inspect.isfunction(getattr(ck, name))}
    # What starts a Java machine is not for thousands of calls.
    assert verbs - {verb.__name__ for verb in called} == {"get_session"}


def test_exception_other_than_cepkits_is_a_failure_with_its_seed(monkeypatch):
    def fail():
        raise KeyError("lost")

    monkeypatch.setitem(run.KINDS, "broken", lambda _: Case("a broken case", fail))
    was_refused, failure = run.tried(7, "broken", 0)
    assert not was_refused
    assert "FUZZ_SEED=7 FUZZ_CASE=broken/0" in failure
    assert "KeyError: 'lost'" in failure


def test_a_case_that_ends_the_process_is_one_more_failure(monkeypatch, capsys):
    def case(random: Random) -> Case:
        return Case("a crash", lambda: random.random() and os._exit(9))

    monkeypatch.setattr(run, "KINDS", {"crash": case})
    monkeypatch.setattr(run, "work", _work_once)
    report = run.run(["crash"], 7, 0.5)
    assert report.failures
    assert "ended the process (9)" in capsys.readouterr().out


def _work_once(kinds, seed, begin, seconds, pipe):
    pipe.send((kinds[0], begin))
    refused(run.made(seed, kinds[0], begin))
