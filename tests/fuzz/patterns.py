"""Pattern texts: words of the grammar, derived by its own rules, then damaged.

A text that is parsed is printed and parsed again, checked, planned and run.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from random import Random

import cepkit as ck
from cepkit.errors import CepkitError
from cepkit.pattern.checks import check
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.parsing.parser import _lark
from cepkit.pattern.printer import to_text
from tests.fuzz.case import Case, look_at, streams

_WORDS = {
    "_PATTERN": ("PATTERN", "pattern"),
    "_SEQ": ("SEQ",),
    "_KL": ("KL",),
    "_OPT": ("OPT",),
    "_GREEDY": ("GREEDY",),
    "_UNTIL": ("UNTIL",),
    "_DISTINCT": ("DISTINCT",),
    "CALENDAR": ("CALENDAR",),
    "_AT_TIME_ZONE": ("AT TIME ZONE",),
    "_TIMESTAMP": ("TIMESTAMP",),
    "_RETURN": ("RETURN",),
    "_AS": ("AS",),
    "_AFTER": ("AFTER",),
    "_MATCH": ("MATCH",),
    "_SKIP": ("SKIP",),
    "_PAST": ("PAST",),
    "_FROM": ("FROM",),
    "_TO": ("TO",),
    "_LAST": ("LAST",),
    "_EVENT": ("EVENT",),
    "_ANY": ("ANY",),
    "_LPAR": ("(",),
    "_RPAR": (")",),
    "_LBRACE": ("{",),
    "_RBRACE": ("}",),
    "_LBRACKET": ("[",),
    "_RBRACKET": ("]",),
    "_COMMA": (",",),
    "_DOT": (".",),
    "_DOTS": ("..",),
    "PLUS": ("+",),
    "MINUS": ("-",),
    "STAR": ("*",),
    "SLASH": ("/",),
    "PERCENT": ("%",),
    "AT_MOST": ("<=",),
    "UNEQUAL": ("!=", "<>"),
    "AT_LEAST": (">=",),
    "EQUAL": ("=", "=="),
    "LESS": ("<",),
    "MORE": (">",),
    "TYPE": ("A", "B", "C", "a", "Nope"),
    "VARIABLE": ("a", "b", "c", "d", "e"),
    "NAME": ("a", "b", "c") * 3 + ("abs", "sqrt", "log", "least", "corr", "count", "sum", "avg"),
    "ATTRIBUTE": ("x", "y", "s", "k", "f", "h", "t", "x", "x", "ts", "type", "nope"),
    "COLUMN": ("k", "s", "x", "f", "h"),
    "FUNCTION": ("COUNT", "SUM", "AVG", "MIN", "MAX", "first", "nope"),
    "UNIT": ("us", "s", "hours", "days", "weeks", "EVENTS", "months"),
    "DURATION_UNIT": ("us", "s", "minutes", "hours", "days", "weeks"),
    "QUOTED": ('"a"', '"b"', '"k"', '"A b"', '"in"'),
    "STRING": ("'a'", "'A b'", "''", "'it''s'", "'2024-05-01 09:30'"),
    "NUMBER": ("1", "2", "3", "0", "10", "0.5", "1e3", "1_000", ".5", "9223372036854775807"),
    "STRATEGY_NAME": (
        "skip-till-any-match", "skip-till-next-match", "strict-contiguity", "partition-contiguity",
    ),
}  # fmt: skip
"""The words for a terminal; a keyword is its own word."""

_ODD = (
    "9" * 5000, "1e999", "1e-999", "9223372036854775808", "0x10", "1__0", "'", '"', "''", "\0",
    "\ud800", "\u2019", "\ufeff", "\u202e", "é", "-- ", "#", "\n", "\r", "\t", ";", "&&", "LIKE",
    "NOT", "NULL", "(" * 200, ")" * 200, "NOT " * 150, "a.x + " * 150, "-" * 3, "1e400 days",
    "99999999999999999999 EVENTS", "WITHIN 20000000 weeks", "{0}", "{1,0}", "{5,99999999999999999}",
)  # fmt: skip

_MOST_DEEP = 14


@cache
def _rules() -> dict[str, list[list[str]]]:
    rules: dict[str, list[list[str]]] = {}
    for rule in _lark().rules:
        expansion = [str(symbol.name) for symbol in rule.expansion]
        rules.setdefault(str(rule.origin.name), []).append(expansion)
    return rules


@cache
def _depths() -> dict[str, int]:
    """Return for each rule how deep its shallowest words are."""
    rules = _rules()
    depths: dict[str, int] = {}
    for _ in range(len(rules)):
        for name, expansions in rules.items():
            known = [[depths.get(s, 99) if s in rules else 0 for s in e] for e in expansions]
            depths[name] = 1 + min(max(parts) for parts in known)
    return depths


@dataclass
class _Sentence:
    """Derives words by the rules of the grammar.

    Attributes:
        random: Decides.
        sound: Whether to choose names that mean something: another variable for each event, and
            then these.
        variables: Those so far.
    """

    random: Random
    sound: bool
    variables: list[str] = field(default_factory=list)

    def of(self, symbol: str, depth: int) -> list[str]:
        """Return words that a rule or a terminal stands for, nested no deeper than need be."""
        rules = _rules()
        if self.sound and (words := self._meaningful(symbol, depth)):
            return words
        if symbol not in rules:
            return [self.random.choice(_WORDS.get(symbol, (symbol.strip("_"),)))]
        expansions = rules[symbol]
        if depth <= 0:
            depths = _depths()
            costs = [max(depths.get(s, 0) for s in e) for e in expansions]
            expansions = [e for e, c in zip(expansions, costs, strict=True) if c == min(costs)]
        chosen = self.random.choice(expansions)
        return [word for part in chosen for word in self.of(part, depth - 1)]

    def _meaningful(self, symbol: str, depth: int) -> list[str]:
        """Return words for rules whose own often mean nothing; none for the others."""
        pick = self.random.choice
        match symbol:
            case "query":
                words = ["PATTERN", *self.of("structure", depth)]
                for likely, head, rule in _CLAUSES:
                    if self.random.random() < likely:
                        words += [*head, *self.of(rule, depth)]
                return words
            case "structure" if depth > 0:
                operators = ("SEQ", "SEQ", "AND", "OR", "KL", "NOT", "OPT", "FIRST", "NEXT")
                operator = pick((*operators, "", ""))
                if operator == "KL" and self.random.random() < 0.3:
                    events = [self.of("event", depth) for _ in range(self.random.randint(1, 3))]
                    items = [word for event in events for word in (",", *event)][1:]
                    bounds = pick((["1", ",", "3"], ["2"], ["2", ","]))
                    return [
                        "KL",
                        "(",
                        pick(("SEQ", "AND")),
                        "(",
                        *items,
                        ")",
                        ")",
                        "{",
                        *bounds,
                        "}",
                    ]
                if operator in ("FIRST", "NEXT"):
                    return [operator, *self.of("event", depth)]
                if operator in ("KL", "NOT", "OPT", ""):
                    sizes = (["{", "1", ",", "3", "}"], ["{", "0", ",", "}"])
                    bounds = pick(([], [], *sizes)) if operator == "KL" else []
                    if operator in ("KL", "OPT") and self.random.random() < 0.2:
                        bounds += ["GREEDY"]
                    elif operator == "KL" and self.random.random() < 0.2:
                        bounds += ["UNTIL", *self.of("event", depth)]
                    event = self.of("event", depth)
                    return [operator, "(", *event, ")", *bounds] if operator else event
                parts = [self.of("structure", depth - 4) for _ in range(self.random.randint(1, 4))]
                inner = [word for part in parts for word in (",", *part)][1:]
                return [operator, "(", *inner, ")"]
            case "structure":
                return self.of("event", depth)
            case "condition" | "disjunction" | "conjunction" | "inversion" if depth < 4:
                return self.of("comparison", depth)
            case "comparison":
                form = pick((*_COMPARISONS, *_COMPARISONS[:2] * 3))
                return [word for part in form for word in self.of(part, depth - 2)]
            case "event":
                self.variables.append("abcdefghijklmnop"[len(self.variables) % 16])
                return [pick("ABC"), self.variables[-1]]
            case "reference" if self.variables:
                member = pick(_MEMBERS) if self.random.random() < 0.05 else ()
                return [pick(self.variables), *member, ".", *self.of("ATTRIBUTE", 0)]
            case "moment":
                return [pick(self.variables or ["a"]), ".", pick(("ts", "ts", "t"))]
            case "call":
                name, size = pick(_CALLS)
                given = [self.of(pick(("reference", "sum")), depth - 3) for _ in range(size)]
                return [name, "(", *[w for part in given for w in (",", *part)][1:], ")"]
            case "window":
                return [pick(("0", "1", "3", "9")), pick(("us", "us", "s", "EVENTS"))]
            case _:
                return []


_COMPARISONS = (
    ("sum", "_compared", "sum"),
    ("reference", "_compared", "reference"),
    ("reference", "_compared", "sum", "_compared", "sum"),
    ("sum", "NOT", "_IN", "_LPAR", "values", "_RPAR"),
    ("reference", "_IN", "_LPAR", "values", "_RPAR"),
    ("moment", "MINUS", "moment", "_compared", "NUMBER", "DURATION_UNIT"),
    ("moment", "PLUS", "NUMBER", "DURATION_UNIT", "_compared", "moment"),
    ("moment", "_compared", "moment"),
    ("reference", "_BETWEEN", "sum", "AND", "sum"),
    ("sum", "_IS", "NOT", "NULL"),
    ("reference",),
)
_CLAUSES = (
    (0.7, ("WHERE",), "condition"),
    (0.6, ("WITHIN",), "window"),
    (0.3, ("STRATEGY",), "STRATEGY_NAME"),
    (0.3, ("PARTITION", "BY"), "columns"),
    (0.1, ("AGG",), "aggregates"),
)
_MEMBERS = (("[", "2", "]"), ("[", "last", "]"), ("[", "last", "-", "1", "]"), ("[", "i", "]"),
            ("[", "i", "-", "2", "]"))  # fmt: skip
_CALLS = (("abs", 1), ("sqrt", 1), ("log", 1), ("least", 2), ("greatest", 3), ("corr", 2),
          ("sum", 1), ("avg", 1), ("min", 1), ("max", 1), ("first", 1))  # fmt: skip


def text(random: Random) -> str:
    """Return a text that may be a pattern."""
    sound = random.random() < 0.7
    words = _Sentence(random, sound).of("query", random.randint(4, _MOST_DEEP))
    for _ in range(random.choice((0, 0, 0, 0, 1) if sound else (0, 1, 1, 2, 5))):
        place = random.randrange(len(words) + 1)
        match random.randrange(6):
            case 0:
                del words[place : place + random.randint(1, 3)]
            case 1:
                words[place:place] = words[: random.randint(1, 8)]
            case 2:
                words[place : place + 1] = [random.choice(_ODD)]
            case 3:
                terminal = random.choice(list(_WORDS))
                words[place : place + 1] = [random.choice(_WORDS[terminal])]
            case 4:
                random.shuffle(words)
            case 5:
                words = words[:place]
    # Words stand apart, but for a dot: "a.x".
    return random.choice((" ", " ", "\n", "  ")).join(words).replace(" . ", ".")


def case(random: Random) -> Case:
    """Return a case: a text is parsed, and if it is a pattern, run."""
    written, seed = text(random), random.random()
    return Case(f"ck.parse({written!r})", lambda: _try(written, Random(seed)))


def _try(written: str, random: Random) -> None:
    query = ck.parse(written)
    printed = to_text(query)
    again = ck.parse(printed)
    assert again == query, f"printed as {printed!r}"
    assert to_text(again) == printed
    assert check(query) is query
    look_at(query)
    normal_form(query)
    stream = random.choice(streams())
    for attempt in random.sample(_ATTEMPTS, 2):
        try:
            look_at(attempt(stream, query))
        except CepkitError as error:
            str(error)


def _detect(stream, query):
    statistics = ck.profile(stream, query)
    plan = ck.choose_plan(query, statistics, "greedy")
    matches = ck.detect(stream, query, plan, limit=3)
    matches.to_pandas()
    return matches.explain()


_ATTEMPTS = (
    _detect,
    _detect,
    _detect,
    lambda stream, query: ck.compare_plans(query, ck.profile(stream, query), ["greedy", "dp-tree"]),
    lambda stream, query: ck.simulate(stream, query, limit=6),
    ck.why_not,
    ck.aggregate,
    lambda stream, query: ck.simulate(stream, query, "prefix-counters"),
    lambda _, query: ck.draw(query),
    lambda stream, query: ck.draw(ck.detect(stream, query, limit=3), limit=3),
    lambda stream, query: ck.draw(ck.profile(stream, query)),
)
