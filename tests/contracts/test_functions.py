"""The contract of functions and operators: the same result from every evaluator.

A new one is taken in by its entry in the table. What it means is said once more, in plain Python,
in tests/judge_values.py.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from datetime import timedelta
from functools import cache
from typing import Any, get_args

import pytest

import cepkit as ck
from cepkit.errors import PatternError
from cepkit.pattern import conditions as c
from cepkit.pattern.evaluation.functions import FUNCTIONS
from cepkit.pattern.evaluation.functions.contract import Class, Function
from cepkit.pattern.evaluation.functions.operators import MINUS, OPERATORS
from cepkit.pattern.evaluation.source import can_be_written, has_source
from cepkit.pattern.nodes import Event as EventNode
from cepkit.pattern.nodes import Kleene, Not, Seq, Structure
from cepkit.pattern.policies import Strategy
from cepkit.pattern.printer import expression_text
from cepkit.pattern.query import Query
from cepkit.plan.checks import as_plan
from cepkit.stream.stream import events
from tests.judge import Event, judge
from tests.loops import Way
from tests.properties.test_engine import found
from tests.properties.test_mechanisms import matches_of, traced
from tests.properties.test_why_not import asked
from tests.strategies import EPOCH, UNIT, Case, as_table

SIGNS: tuple[str, ...] = get_args(c.ComparisonOperator)
NAME = pytest.mark.parametrize("name", [*FUNCTIONS, *OPERATORS, "minus", *SIGNS, "IN", "BETWEEN"])

DOMAINS: Mapping[str, tuple[Any, ...]] = {
    "x": (0, 1, 2, 3, -1, -2),
    "y": (0.0, 0.5, -1.5, 2.5, 3.25, 40.0, float("nan"), None),
    "z": (0, 1, 2, -3, None),
    "s": ("", "a", "b", "ab", "aba", "AB", " é ", "Ésa", None),
    "f": (True, False, None),
    "h": ((1.0, 2.0, 3.0), (3.0, 1.0, 2.5), (2.0, 2.0, 2.0), (1.0, 2.5), None),
    "t": (*(EPOCH + timedelta(seconds=s) for s in (0, 1, 2, 50, 90_061.5, -0.5)), None),
    "d": (*(timedelta(seconds=s) for s in (0, 1, -2, 2)), None),
}
BOUNDS: Mapping[str, str] = {
    "number": "y",
    "integer": "y",
    "float": "y",
    "text": "s",
    "timestamp": "t",
    "duration": "d",
    "boolean": "f",
}
"""The attribute that a result is compared with."""

Variables = tuple[str, ...]


def attributes(kind: Class, number: str) -> str:
    return {"number": number, "array": "h", **{k: BOUNDS[k] for k in BOUNDS if k != "number"}}[kind]


def called(name: str, arguments: tuple[c.Expression, ...]) -> c.Expression:
    if name == "minus":
        return c.Negative(*arguments)
    return c.Arithmetic(name, *arguments) if name in OPERATORS else c.Call(name, arguments)


def definition(name: str) -> Function | None:
    return MINUS if name == "minus" else FUNCTIONS.get(name) or OPERATORS.get(name)


def conditions_of(name: str, variables: Variables) -> Iterator[c.Expression]:
    """Yield conditions in which a function or an operator takes all kinds that it can.

    Args:
        name: The function or operator.
        variables: Whose attributes it takes, in turn.
    """
    last = variables[-1]
    function = definition(name)
    if function is None:
        yield from comparisons(name, variables)
        return
    for taken, gives in function.signatures:
        longer = [(*taken, taken[-1])] if function.folded else []
        for kinds in (taken, *longer):
            # Numbers that may be missing, integers alone, and both.
            for numbers in ("yyy", "xzx", "zyx") if "number" in kinds else ("y",):
                names = map(attributes, kinds, numbers * len(kinds))
                owners = (variables * len(kinds))[: len(kinds)]
                call = called(name, tuple(map(c.Attribute, owners, names)))
                if gives == "boolean":
                    yield from (call, c.Complement(call))
                bound = c.Attribute(last, BOUNDS[gives])
                yield c.Comparison("<=", call, bound)
                yield c.Complement(c.Comparison("=", call, bound))
                yield c.IsNull(call)


def comparisons(name: str, variables: Variables) -> Iterator[c.Expression]:
    for pair in ("xz", "xy", "yy", "ss", "tt", "dd", "ff"):
        one, two = map(c.Attribute, (variables * 2)[:2], pair)
        match name:
            case "IN":
                yield from (
                    c.InList(one, (two, c.Attribute(variables[0], pair[1])), n) for n in (0, 1)
                )
            case "BETWEEN":
                yield from (c.Between(one, two, two, negated=negated) for negated in (False, True))
            case _:
                yield c.Comparison(name, one, two)
                yield c.Complement(c.Comparison(name, one, two))


def chosen(conditions: list[c.Expression]) -> c.Expression:
    """Return a condition that is the i-th of some where `a.k` is i."""
    return c.AnyOf(
        tuple(
            c.AllOf((c.Comparison("=", c.Attribute("a", "k"), c.Literal(i)), condition))
            for i, condition in enumerate((*conditions, c.Literal(False)))
        )
    )


@cache
def stream(size: int, times: int) -> tuple[Event, ...]:
    """Return events A, some for each of a number of conditions, and a few B, and C last."""
    drawn = random.Random(7)
    kinds = ["A"] * max(size * times, 20)
    for place in range(5):
        kinds.insert((place + 1) * len(kinds) // 5, "B")
    rows = []
    for number, kind in enumerate([*kinds, "B", "C", "C"]):
        values = {name: drawn.choice(domain) for name, domain in DOMAINS.items()}
        values |= {"k": number % size, "ts": EPOCH + timedelta(seconds=number)}
        rows.append(Event(number * UNIT, kind, values, number))
    return tuple(rows)


def event(variable: str) -> EventNode:
    return EventNode(variable, frozenset((variable.upper(),)))


PAIR = Seq((event("a"), event("b")))
KLEENE = Seq((event("a"), Kleene(event("b"), 1, 2)))
ABSENT = Seq((event("a"), Not(event("b")), event("c")))


def case_of(
    conditions: list[c.Expression],
    structure: Structure = PAIR,
    strategy: Strategy = Strategy.SKIP_TILL_ANY_MATCH,
    times: int = 3,
) -> Case:
    query = Query(structure, chosen(conditions), strategy=strategy)
    rows = stream(len(conditions), times)
    case = Case(query, rows, frozenset(judge(rows, query)))
    assert case.matches, "a test of nothing"
    return case


@cache
def pair_case(name: str, variables: Variables) -> Case:
    """Return the case of a function between two events, judged once for all ways."""
    return case_of([*conditions_of(name, variables)])


def detected(case: Case, way: Way = "numpy") -> None:
    assert found(case, as_plan(None, case.query), way=way) == case.matches


@NAME
def test_functions_in_filters_give_the_same_matches_and_counts(name: str) -> None:
    case = case_of([*conditions_of(name, ("a",))])
    detected(case)
    counted = Query(case.query.structure, case.query.where, aggregates=(c.Aggregate("count"),))
    source = events(as_table(case.events), time="ts", type="kind")
    total = ck.aggregate(source, counted, emit="total")
    assert total.to_pandas().iloc[0, -1] == len(case.matches)


@NAME
@pytest.mark.parametrize("way", ["numpy", "python"])
def test_between_events(name: str, way: Way) -> None:
    detected(pair_case(name, ("a", "b")), way)
    detected(pair_case(name, ("b", "a")), way)


@pytest.mark.slow
@NAME
def test_functions_of_members_and_absent_events_give_the_judges_matches(name: str) -> None:
    conditions = [*conditions_of(name, ("a", "b"))]
    detected(case_of(conditions, KLEENE, times=2))
    detected(case_of(conditions, ABSENT))


@pytest.mark.slow
@NAME
def test_functions_in_first_match_search_give_the_judges_matches(name: str) -> None:
    conditions = [*conditions_of(name, ("a", "b"))]
    for one in (conditions, [*conditions_of(name, ("a",))]):
        detected(case_of(one, strategy=Strategy.SKIP_TILL_NEXT_MATCH))


@pytest.mark.slow
@NAME
def test_functions_in_mechanisms_give_the_judges_matches(name: str) -> None:
    for mechanism, variables in (("eager-nfa", ("a",)), ("chain-nfa", ("a", "b"))):
        case = case_of([*conditions_of(name, variables)], times=2)
        trace = traced(case, mechanism, as_plan(None, case.query))
        assert sorted(matches_of(trace), key=repr) == sorted(case.matches, key=repr)


@pytest.mark.slow
@NAME
def test_functions_in_why_not_agree_with_the_judge(name: str) -> None:
    case = pair_case(name, ("a", "b"))
    pairs = [
        frozenset({("a", a.arrival), ("b", b.arrival)})
        for a in case.events
        for b in case.events
        if (a.type, b.type) == ("A", "B") and a.ts < b.ts
    ]
    drawn = random.Random(3)
    for pair in (*drawn.sample(pairs, 3), *drawn.sample(sorted(case.matches, key=repr), 1)):
        assert asked(case, dict(pair)).found == (pair in case.matches)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", [Strategy.SKIP_TILL_ANY_MATCH, Strategy.SKIP_TILL_NEXT_MATCH])
def test_functions_in_compiled_loops_give_the_judges_matches(strategy: Strategy) -> None:
    """Many at once, as each shape takes a third of a second; not all, which LLVM is slow with."""
    any_match = strategy is Strategy.SKIP_TILL_ANY_MATCH
    conditions = [
        condition
        for name in (*FUNCTIONS, *OPERATORS, "minus")
        for condition in conditions_of(name, ("a", "b"))
        if has_source(condition, arrays=any_match) and isinstance(condition, c.Comparison)
    ]
    case = case_of(conditions, strategy=strategy, times=2)
    columns = events(as_table(case.events), time="ts", type="kind").columns([*DOMAINS, "k", "ts"])
    assert case.query.where is not None
    written = [x for x in conditions if can_be_written(x, lambda _, name: columns.attributes[name])]
    assert len(written) > 40
    for some in (written[::3], written[1::3], written[2::3]):
        detected(case_of(some, strategy=strategy, times=3), "compiled")


@NAME
def test_functions_print_and_parse_back(name: str) -> None:
    for condition in conditions_of(name, ("a", "b")):
        text = f"PATTERN SEQ(A a, B b) WHERE {expression_text(condition)}"
        assert ck.parse(text).where == condition


@pytest.mark.parametrize("name", list(FUNCTIONS))
def test_a_wrong_number_of_arguments_is_an_error_of_the_pattern(name: str) -> None:
    with pytest.raises(PatternError, match=rf"{name} with 0 arguments\nExpected: \d"):
        ck.parse(f"PATTERN A a WHERE {name}() = 1")


@pytest.mark.parametrize("name", list(FUNCTIONS))
def test_a_name_with_a_letter_too_many_gets_a_hint(name: str) -> None:
    with pytest.raises(PatternError, match=f"did you mean '{name}'"):
        ck.parse(f"PATTERN A a WHERE {name}x(a.x) = 1")


def test_functions_that_loops_compile_have_unique_names() -> None:
    forms = {one.form for one in (*FUNCTIONS.values(), *OPERATORS.values())}
    named = [form.scalar for form in forms if getattr(form, "written", "") is None]
    assert len({function.__name__ for function in named}) == len(named) > 5
