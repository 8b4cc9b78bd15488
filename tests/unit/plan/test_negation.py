import pytest

from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.parsing.parser import parse
from cepkit.plan.negation import depends_on


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SEQ(A a, NOT(N n), C c, D d)", "ac"),
        ("SEQ(A a, NOT(N n), AND(C c, D d)) WITHIN 5 seconds", "acd"),
        ("SEQ(A a, NOT(N n), C c, D d) WHERE n.x = d.x", "acd"),
        ("SEQ(NOT(N n), A a, B b)", "a"),
        ("SEQ(NOT(N n), A a, B b) WITHIN 5 seconds", "ab"),
        ("SEQ(A a, B b, NOT(N n))", "b"),
        ("SEQ(A a, B b, C c, NOT(N n)) WITHIN 5 seconds", "ac"),
        ("SEQ(A a, NOT(N n), C c, D d) WITHIN 5 EVENTS", "acd"),
        ("AND(SEQ(A a, B b, C c), NOT(N n))", ""),
        ("AND(SEQ(A a, B b, C c), NOT(N n)) WITHIN 5 seconds", "ac"),
        ("AND(SEQ(A a, B b, C c), NOT(B n))", "b"),
        ("SEQ(A a, KL(B b) UNTIL N n, C c) WITHIN 5 seconds", "ab"),
        ("SEQ(KL(B b) UNTIL N n, C c) WITHIN 5 seconds", "b"),
        ("SEQ(A a, C c, KL(B b) UNTIL N n) WHERE n.x = a.x", "abc"),
        ("SEQ(A a, KL(B b) UNTIL N n, C c) WITHIN 5 EVENTS", "abc"),
    ],
)
def test_an_absence_depends_on_its_place_its_conditions_and_the_window(text, expected):
    [branch] = normal_form(parse(f"PATTERN {text}"))
    assert depends_on(branch, "n") == frozenset(expected)


@pytest.mark.parametrize(
    ("text", "missed", "further"),
    [
        ("SEQ(A a, KL(B b) GREEDY, C c) WITHIN 5 seconds", "ab", "bc"),
        ("SEQ(KL(B b) GREEDY, C c, D d) WITHIN 5 seconds", "bd", "bc"),
        ("SEQ(A a, C c, KL(B b) GREEDY) WITHIN 5 seconds", "bc", "ab"),
        ("SEQ(A a, C c, KL(B b) GREEDY) WHERE b.x = a.x", "abc", "ab"),
    ],
)
def test_absences_of_a_greedy_set_depend_on_its_neighbours(text, missed, further):
    [branch] = normal_form(parse(f"PATTERN {text}"))
    assert depends_on(branch, "missed b") == frozenset(missed)
    assert depends_on(branch, "further b") == frozenset(further)
