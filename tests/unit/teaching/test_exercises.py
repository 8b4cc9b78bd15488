"""Exercises: equal seeds give equal tasks, right answers are taken, wrong ones get a reason."""

from __future__ import annotations

from itertools import islice
from random import Random

import pytest

import cepkit as ck
from benchmarks.exercise_answers import MUTATIONS, REWRITES, answers, asked
from cepkit.teaching.exercises import KINDS

TASKS = ck.exercises("Ada")
WRONG, RIGHT = 24, 8


def test_there_are_twenty_of_six_kinds():
    assert len(TASKS) == 20
    assert len(KINDS) == 6
    assert len({task.name for task in TASKS}) == 20
    assert TASKS["why-1"] is TASKS[13]
    with pytest.raises(ck.CepkitError, match="did you mean 'write-3'"):
        TASKS["writ-3"]


@pytest.mark.parametrize("task", [*TASKS], ids=lambda task: task.name)
def test_solution_is_right(task):
    assert task.check(task.solution).right
    assert task.name in str(task)


@pytest.mark.parametrize("name", ["predict-1", "cheapest-1", "why-1", "count-1", "lazy-1"])
def test_solution_as_a_text_is_right(name):
    assert TASKS[name].check(f" {TASKS[name].solution} ").right


def test_a_seed_may_be_any_text():
    assert len(ck.exercises("\ud800")) == len(TASKS)


def test_equal_seeds_give_equal_tasks_and_others_do_not():
    frame = TASKS.to_pandas()
    assert frame.equals(ck.exercises("Ada").to_pandas())
    assert not frame.equals(ck.exercises("Bob").to_pandas())
    # The same on every machine.
    tasks = ck.exercises(0)
    assert tasks["write-1"].solution == (
        "PATTERN SEQ(login a, download b) WHERE a.user = b.user WITHIN 10 minutes"
    )
    assert tasks["count-1"].solution == 29


@pytest.mark.parametrize(
    ("name", "answer", "why"),
    [
        ("write-1", "PATTERN SEQ(A a, B b) WHERE a.nothing = b.nothing", "no 'nothing'"),
        ("predict-1", [(0, 0)], "no match"),
        ("predict-1", [], "matches missing"),
        ("predict-1", 5, "matches missing"),
        ("predict-1", [(2, "b")], "numbers of its rows"),
        ("predict-1", [(9, 1), ("b",)], "numbers of its rows"),
        ("write-4", "PATTERN SEQ(Login a, NOT(download x)) WITHIN 10 minutes", "over this event"),
        ("cheapest-1", "a", "each once"),
        ("why-1", "5", "no requirement"),
        ("why-1", 1, "still no match"),
        ("count-1", -1, "counter of the pairs"),
        ("count-1", "many", "counter of the pairs"),
        ("lazy-1", ["z"], "each once"),
    ],
)
def test_wrong_answer_gets_a_reason(name, answer, why):
    marked = TASKS[name].check(answer)
    assert not marked.right
    assert why in marked.why
    assert str(marked).startswith("not yet: ")


def test_orders_are_ranked():
    for name in ("cheapest-1", "lazy-2"):
        task = TASKS[name]
        worst = task.solution[::-1]
        assert not task.check(worst).right
        assert task.check(" -> ".join(task.solution)).right


@pytest.mark.slow
def test_mutants_of_solutions_get_a_counterexample():
    random = Random(1)
    for task, text in islice(answers(asked(1), MUTATIONS, random), WRONG):
        marked = task.check(text)
        assert not marked.right, text
        assert marked.difference is not None
        assert "missing" in str(marked) or "yours only" in str(marked)


@pytest.mark.slow
def test_rewrites_of_solutions_are_right():
    random = Random(1)
    for task, text in islice(answers(asked(1), REWRITES, random), RIGHT):
        assert task.check(text).right, text
