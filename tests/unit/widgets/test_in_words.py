"""A pattern in plain English, for those who have only the page."""

from __future__ import annotations

import pytest
from hypothesis import given

from cepkit.pattern.nodes import events_of
from cepkit.pattern.parsing.parser import parse
from cepkit_widgets.in_words import in_words
from tests.strategies import OPERATORS, queries

ANY = "Other events may come in between, and every combination that fits is a match."


@pytest.mark.parametrize(
    ("pattern", "sentences"),
    [
        ("PATTERN A a", ["A match is an A (a)."]),
        (
            (
                'PATTERN SEQ(search s, FIRST "product view" v, NOT(purchase p)) '
                "WITHIN 30 minutes PARTITION BY session"
            ),
            [
                (
                    "A match is a search (s), then the first product view (v) that fits. "
                    "After v, within the window, there is no purchase (p)."
                ),
                "All events of a match have the same session.",
                "From the first event to the last at most 30 minutes pass.",
                ANY,
            ],
        ),
        (
            (
                "PATTERN AND(A a, B b) WHERE a.x < b.x AND a.y + 1 < b.y AND b.z IS NOT NULL "
                "WITHIN 5 EVENTS"
            ),
            [
                "A match is an A (a) and a B (b), in any order.",
                "The x of a is less than the x of b.",
                "It holds: a.y + 1 < b.y.",
                "The z of b is not missing.",
                "From the first event to the last there are at most 5 events, these two included.",
                ANY,
            ],
        ),
        (
            (
                "PATTERN SEQ(A a, KL(FIRST B b){2,}, OPT(C c), KL(D d){1,9} UNTIL E e) "
                "AFTER MATCH SKIP PAST LAST EVENT"
            ),
            [
                (
                    "A match is an A (a), then two or more B (b), with none that fits left out, "
                    "then maybe a C (c), then one to 9 D (d), until an E (e) comes."
                ),
                ANY,
                "The next match may start only after the last event of the one before.",
            ],
        ),
        (
            "DEFINE hot AS sensor WHERE temp > 30 PATTERN KL(hot h){3} WITHIN 1 minute EXCLUSIVE",
            [
                "hot means a sensor with the temp is greater than 30.",
                "A match is exactly three hot (h).",
                "From the first event to the last less than 1 minute pass.",
            ],
        ),
        (
            "PATTERN SEQ(A a, NOT(B n), C c) WHERE n.x > 4 WITHIN 3 EVENTS EXCLUSIVE",
            [
                "A match is an A (a), then a C (c). Between a and c there is no B (n).",
                "Only an event counts as n where the x of n is greater than 4.",
                (
                    "From the first event to the last there are fewer than 3 events, "
                    "these two included."
                ),
                ANY,
            ],
        ),
        (
            "PATTERN OR(SEQ(A a, B b), C c) WITHIN 2 s AGG COUNT GROUP BY k",
            [
                "A match is either (an A (a), then a B (b)) or a C (c).",
                "From the first event to the last at most 2 seconds pass.",
                ANY,
                "It asks for COUNT for each k.",
            ],
        ),
        (
            "PATTERN SEQ(A a, NOT(SEQ(X x, Y y)), NEXT B b) WHERE b.v > $k WITHIN $t",
            [
                (
                    "A match is an A (a), then as the very next event a B (b). "
                    "Between a and b there are not together an X (x), then a Y (y)."
                ),
                "The v of b is greater than $k.",
                "From the first event to the last at most $t pass.",
                ANY,
            ],
        ),
    ],
)
def test_pattern_is_described_in_sentences(pattern, sentences):
    told = in_words(parse(pattern))
    assert told == tuple(sentences or told), told


@given(queries(operators=OPERATORS))
def test_description_names_every_variable(query):
    told = " ".join(in_words(query))
    assert told.startswith(("A match is",)) or " means " in told
    for event in events_of(query.written):
        assert event.variable in told
