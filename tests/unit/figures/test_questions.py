"""The questions of a quiz: of steps where something happens, with the answers of the trace."""

import pytest

from cepkit import draw, simulate
from cepkit.automata.mechanisms import MECHANISMS
from cepkit.errors import ArgumentError, TraceError
from tests.unit.figures.test_player import PATTERN, stream_of, trace


def questions(traces, **options):
    return draw(traces, **options)._content["quiz"]


def test_questions_name_the_instances_that_an_event_extends():
    # The chain a, b, c: A 0 and A 1 begin, B costs more than both, C comes last.
    asked = questions(trace("abc", stream=stream_of("AABC")), quiz=9)
    assert asked == [
        {"step": 0, "trace": 0, "extends": [0]},
        {"step": 1, "trace": 0, "extends": [0]},
        {"step": 2, "trace": 0, "extends": [1, 2]},
        {"step": 3, "trace": 0, "extends": [3, 4]},
    ]


def test_event_that_is_only_stored_extends_none():
    asked = questions(trace("cba", stream=stream_of("AABC")), quiz=9)
    assert [one["extends"] for one in asked] == [[], [], [], [0]]


@pytest.mark.parametrize("mechanism", list(MECHANISMS))
def test_right_answers_are_those_of_the_counters(mechanism):
    """The instances that are alive before a step are as many as the trace counts."""
    text = "PATTERN OR(SEQ(A a, KL(B b), C c), SEQ(X x, NOT(A n), C d)) WITHIN 5 seconds"
    run = simulate(stream_of("AXBACXBCABXC"), text, mechanism=mechanism)
    asked = questions(run, quiz=100)
    assert asked
    for one in asked:
        before = run.counters[one["step"] - 1].instances if one["step"] else 1
        assert len(one["extends"]) <= before <= 9
        created = [op for op in run.encoded()["steps"][one["step"]] if op[0] == "create"]
        assert {parent for op in created for parent in op[2]} >= set(one["extends"])


def test_seed_draws_questions_of_steps_from_the_start_on():
    run = trace("abc", stream=stream_of("AABXCBACABCABXCABC"))
    once, again = (questions(run, quiz=3, start=2, seed="Ada") for _ in range(2))
    assert once == again
    assert len(once) == 3
    assert once != questions(run, quiz=3, start=2, seed="Bob")
    steps = [one["step"] for one in once]
    assert steps == sorted(set(steps))
    assert steps[0] >= 2


def test_player_without_a_quiz_has_no_questions():
    assert "quiz" not in draw(trace())._content


def test_refusals_name_what_a_quiz_needs():
    counted = simulate(
        stream_of(), PATTERN.replace("WHERE a.price < b.price", ""), "prefix-counters"
    )
    with pytest.raises(TraceError, match="a quiz of"):
        draw(counted, quiz=3)
    with pytest.raises(TraceError, match="no step to ask about"):
        draw(trace(stream=stream_of("XXX")), quiz=3)
    with pytest.raises(ArgumentError, match="quiz=101"):
        draw(trace(), quiz=101)
