"""Write a pattern for a sentence; judged by the matches that it has on many small streams.

Streams have no missing values, as the sentences say nothing of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import Any

from cepkit.pattern.builder import as_query
from cepkit.teaching.domains import domains_of
from cepkit.teaching.equivalence import searched
from cepkit.teaching.exercises.contract import Exercise, Marked

_STORIES = (
    (("search", "view", "purchase"), "session", "price"),
    (("login", "download", "logout"), "user", "size"),
    (("start", "alarm", "stop"), "machine", "heat"),
    (("order", "payment", "refund"), "customer", "total"),
)
"""Types of events, a key, and a number."""
_SENTENCES = (
    (
        "every pair of one {A} and a later {B} of the same {k}, at most {n} minutes apart",
        "SEQ({A} a, {B} b) WHERE a.{k} = b.{k} WITHIN {n} minutes",
    ),
    (
        (
            "every {A}, later {B} with a higher {v}, and still later {C} with a still higher {v}, "
            "all within {n} minutes"
        ),
        "SEQ({A} a, {B} b, {C} c) WHERE a.{v} < b.{v} AND b.{v} < c.{v} WITHIN {n} minutes",
    ),
    (
        (
            "every {A} and later {B} of the same {k}, at most {n} minutes apart, with no {C} of "
            "that {k} between the two"
        ),
        "SEQ({A} a, NOT({C} x), {B} b) WHERE a.{k} = b.{k} AND x.{k} = a.{k} WITHIN {n} minutes",
    ),
    (
        "every {A} that no {B} of the same {k} follows within {n} minutes",
        "SEQ({A} a, NOT({B} x)) WHERE x.{k} = a.{k} WITHIN {n} minutes",
    ),
    (
        (
            "every pair of one {A} and one {B} of the same {k} that lie at most {n} minutes apart, "
            "whichever comes first, or at the same time"
        ),
        "AND({A} a, {B} b) WHERE a.{k} = b.{k} WITHIN {n} minutes",
    ),
    (
        (
            "for each {A} the first later {B} whose {v} is above {t}, if it comes at most {n} "
            "minutes later"
        ),
        "SEQ({A} a, FIRST {B} b) WHERE b.{v} > {t} WITHIN {n} minutes",
    ),
    (
        (
            "every {A}, then two or three {B}s, then one {C}, all within {n} minutes; each choice "
            "of the {B}s is a match of its own"
        ),
        "SEQ({A} a, KL({B} b){{2,3}}, {C} c) WITHIN {n} minutes",
    ),
)


@dataclass(frozen=True, slots=True)
class Write:
    """Exercises that ask for the pattern of a sentence, in one of several stories."""

    name: str = "write"
    count: int = len(_SENTENCES)

    def make(self, number: int, random: Random) -> Exercise:
        """Return an exercise (see `contract.Kind`)."""
        (a, b, c), key, value = random.choice(_STORIES)
        sentence, pattern = _SENTENCES[number]
        words = {
            "A": a, "B": b, "C": c, "k": key, "v": value,
            "n": random.choice((5, 10, 20, 30, 45)), "t": random.choice((10, 20, 50, 80)),
        }  # fmt: skip
        solution = f"PATTERN {pattern.format(**words)}"
        task = (
            f"Events are of the types {a}, {b}, {c} and others; each has a time ts, a {key} and "
            f"a {value}. Find {sentence.format(**words)}."
        )
        known = frozenset(("ts", key, value))
        return Exercise(
            f"{self.name}-{number + 1}", task, "a pattern", solution,
            lambda answer: _judge(answer, solution, known),
        )  # fmt: skip


def _judge(answer: Any, solution: str, known: frozenset[str]) -> Marked:
    queries = as_query(answer), as_query(solution)
    domains = domains_of(queries)
    strange = sorted(domains.kinds.keys() - known)
    if strange:
        return Marked(False, f"the events have no '{strange[0]}', but {', '.join(sorted(known))}")
    values = {
        name: tuple(value for value in choices if value is not None)
        for name, choices in domains.values.items()
    }
    difference = searched(queries, replace(domains, values=values))
    if not difference.differ:
        return Marked(True, str(difference))
    count = len(difference.to_pandas())
    over = "this event" if count == 1 else f"these {count} events"
    return Marked(False, f"the pattern has other matches over {over}", difference)
