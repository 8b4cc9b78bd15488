"""docs/pattern-language.md tells the truth: its examples parse, its errors are the real ones."""

from __future__ import annotations

import re
from pathlib import Path

from cepkit.pattern.evaluation.kind_checks import kind_of
from cepkit.pattern.names import RESERVED
from cepkit.pattern.parsing.parser import parse, parse_condition

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "pattern-language.md").read_text("utf-8")
GOLDEN = (ROOT / "tests" / "golden" / "pattern_errors.txt").read_text("utf-8")
OF_KINDS = (ROOT / "tests" / "golden" / "kind_errors.txt").read_text("utf-8")


def test_the_first_example_parses():
    parse(PAGE.split("```")[1])


AGGREGATES = PAGE.split("| aggregate | result |\n|---|---|\n")[-1].split("\n\n")[0]


def test_the_aggregates_of_values_parse():
    examples = re.findall(r"`(\w+\(.+?\))`", AGGREGATES)
    assert len(examples) == 4
    for example in examples:
        parse(f"PATTERN SEQ(A a, B b) WITHIN 1 day AGG {example}")


def test_the_events_and_structures_parse():
    rows = re.findall(r"^\| (`.+?`) \|", PAGE.replace(AGGREGATES, ""), re.M)
    examples = [example for row in rows for example in re.findall(r"`([^`]+)`", row)]
    structures = [e for e in examples if re.match(r"[A-Z\"'].*[a-z)]$|a IN|MSFT$", e)]
    assert len(structures) >= 10
    for structure in structures:
        parse(f"PATTERN SEQ(X x, {structure})")


def test_errors_on_the_page_are_the_real_ones():
    shown = re.findall(r"```\n(line \d.*?)```", PAGE, re.S)
    assert len(shown) == 2
    for message in shown:
        assert f"PatternSyntaxError: {message}" in GOLDEN


def test_page_has_the_real_error_of_a_number_beside_a_duration():
    (shown,) = re.findall(r"```\n(PatternError: .*?)```", PAGE, re.S)
    assert shown in OF_KINDS


def test_times_and_durations_have_the_kinds_on_the_page():
    held = {"ts": "timestamp", "delay": "duration", "n": "integer"}
    words = {"duration": "a duration", "timestamp": "a time"}
    section = PAGE.split("| | gives |")[1].split("\n\n")[0]
    rows = re.findall(r"^\| (`[^|]+`) \| (a \w+) \|$", section, re.M)
    assert len(rows) == 7
    for examples, kind in rows:
        for example in re.findall(r"`([^`]+)`", examples):
            condition = parse_condition(f"{example} = NULL")
            known = kind_of(condition.left, lambda _, name: held[name])
            assert words.get(known, "a number") == kind, example


def test_the_reserved_words_are_all_listed():
    assert set(re.findall(r"[A-Z]{2,}", PAGE.split("Reserved words")[1])) - {"EVENTS"} == set(
        RESERVED
    )


def test_the_python_examples_run():
    *examples, of_builder = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    assert len(examples) >= 4
    for example in examples:
        exec(example, {})
    scope = {}
    exec(of_builder, scope)
    assert scope["pattern"].query.where == parse_condition(
        "a.price < b.price AND NOT a.exchange IN ('X', 'Y')"
    )
