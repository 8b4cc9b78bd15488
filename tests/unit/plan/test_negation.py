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
    ],
)
def test_an_absence_depends_on_its_place_its_conditions_and_the_window(text, expected):
    [branch] = normal_form(parse(f"PATTERN {text}"))
    assert depends_on(branch, "n") == frozenset(expected)
