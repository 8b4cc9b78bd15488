"""Syntax errors of patterns: the place, the word there, and the words that could follow."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Any

from lark.exceptions import UnexpectedInput, UnexpectedToken

from cepkit.errors import PatternSyntaxError, Span, nearest
from cepkit.pattern.aggregates import NAMES
from cepkit.pattern.names import (
    BEFORE_CLAUSES,
    BEHIND_SETS,
    BETWEEN_VALUES,
    INSIDE_CLAUSES,
    RESERVED,
    is_reserved,
    is_word,
    unquoted,
)
from cepkit.pattern.parsing.foreign_words import FOREIGN
from cepkit.stream.durations import NOT_UNITS, UNITS

_EXAMPLE = "PATTERN SEQ(MSFT a, GOOG b) WHERE a.price < b.price WITHIN 4 hours"
_STRUCTURES = frozenset(
    {"_SEQ", "AND", "OR", "NOT", "_KL", "_ANY", "_OPT", "FIRST", "NEXT", "TYPE"}
)
_VALUES = frozenset(
    {"NAME", "NUMBER", "STRING", "QUOTED", "MINUS", "TRUE", "FALSE", "NULL", "_LPAR"}
)
_ARITHMETIC = frozenset({"PLUS", "MINUS", "STAR", "SLASH", "PERCENT"})
_COMPARISONS = frozenset(
    {"LESS", "AT_MOST", "EQUAL", "UNEQUAL", "AT_LEAST", "MORE", "_IN", "_BETWEEN", "_IS", "NOT"}
    | {*BETWEEN_VALUES}
)
_CLAUSES = (
    "_WHERE", "_WITHIN", "_AT_TIME_ZONE", "_STRATEGY", "_PARTITION", "_AGG", "_GROUP", "_HAVING",
    "_AFTER", "_RETURN", "_DEFINE",
)  # fmt: skip

# Groups of terminals in the order of the message. A group applies where the parser accepts its
# whole first set; its words then stand for all terminals of its second set.
_GROUPS: tuple[tuple[frozenset[str], frozenset[str], str], ...] = (
    (
        frozenset({"_SEQ"}),
        _STRUCTURES | {"QUOTED", "STRING"},
        "an event as in MSFT a, or one of SEQ, AND, OR, NOT, KL, FIRST, NEXT, OPT",
    ),
    (frozenset({"NUMBER", "NAME", "NOT"}), _VALUES | {"NOT"}, "a condition"),
    (frozenset({"NUMBER", "NAME"}), _VALUES, "a value"),
    (frozenset({"LESS"}), _COMPARISONS | _ARITHMETIC, "a comparison"),
    (frozenset({"PLUS"}), _ARITHMETIC, "an operator"),
    (frozenset({"AND", "OR"}), frozenset({"AND", "OR"}), "AND, OR"),
)
_WORDS = {
    "_PATTERN": "PATTERN",
    "TYPE": "an event type",
    "VARIABLE": "a variable name",
    "COLUMN": "a column name",
    "UNIT": "a unit of time or EVENTS",
    "DURATION_UNIT": "a unit of time",
    "FUNCTION": NAMES,
    "ATTRIBUTE": "an attribute name",
    "NAME": "a variable name",
    "STRATEGY_NAME": "the name of a strategy",
    "QUOTED": "a name in double quotes",
    "STRING": "a text in single quotes",
    "NUMBER": "a number",
    "_COMMA": "','",
    "_LPAR": "'('",
    "_RPAR": "')'",
    "_LBRACE": "'{'",
    "_RBRACE": "'}'",
    "_RBRACKET": "']'",
    "_DOT": "'.'",
    "_DOTS": "'..'",
    "STAR": "'*'",
}
_SKIPPING = frozenset({
    "_MATCH", "_SKIP", "_PAST", "_FROM", "_TO", "_LAST", "_EVENT", "_GREEDY", "_UNTIL", "_DISTINCT",
    "FIRST", "NEXT",
})  # fmt: skip
_OPENING = {")": "(", "}": "{"}
# Typographic quotes, left, right, low and reversed, single and double, and angled ones.
_STRAIGHT = dict.fromkeys("\u2018\u2019\u201a\u201b", "'") | dict.fromkeys(
    "\u201c\u201d\u201e\u201f\u00ab\u00bb", '"'
)
_TOKEN = re.compile(
    r"""(?:--|\#)[^\n\r]* | '(?:[^']|'')*+' | "(?:[^"]|"")*+" | \d[\d_]* | \w+ | [^\s\w]""",
    re.VERBOSE,
)

_IN_INTERVAL = re.compile(r"['\d]").match


def syntax_error(text: str, start: str, error: UnexpectedInput) -> PatternSyntaxError:
    """Return the error for a text that the parser refused.

    Args:
        start: The rule of grammar.lark for the text.
    """
    parser: Any = error.interactive_parser
    return _Report(text, start, error, frozenset(parser.accepts() if parser else ())).error()


class _Report:
    """One error: the words around it, and the terminals that the parser accepts there."""

    def __init__(
        self, text: str, start: str, error: UnexpectedInput, accepts: frozenset[str]
    ) -> None:
        self.text = text
        self.start = start
        self.accepts = accepts
        ends = isinstance(error, UnexpectedToken) and error.token.type == "$END"
        place: Any = error.pos_in_stream
        self.position = len(text) if ends else int(place)
        words = [w for w in _TOKEN.finditer(text) if not w[0].startswith(("--", "#"))]
        self.before = [w for w in words if w.start() < self.position]
        self.after = [w for w in words if w.start() >= self.position]
        self.word = "" if ends or not self.after else self.after[0][0]

    def error(self) -> PatternSyntaxError:
        if not self.before and not self.after:
            return PatternSyntaxError(
                "the text is empty" if self.start == "query" else f"the {self.start} is empty",
                expected=_EXAMPLE if self.start == "query" else None,
                span=Span(self.text, 0, 0),
            )
        special = self._unclosed_quote() or self._odd_character() or self._interval()
        return special or PatternSyntaxError(
            f"{self._shown()} is not expected here" if self.word else "the text ends too early",
            expected=self._expected(),
            hint=next(self._hints(), None),
            span=self._span(),
        )

    def _shown(self) -> str:
        word = self.word if len(self.word) <= 40 else f"{self.word[:37]}..."
        return word if word[0] == "'" else f"'{word}'"

    def _span(self) -> Span:
        if self.word:
            return Span(self.text, *self.after[0].span())
        # After the last word, so that the caret does not stand in an empty last line.
        end = self.before[-1].end() if self.before else 0
        return Span(self.text, end, end + 1)

    def _expected(self) -> str | None:
        rest = set(self.accepts)
        descriptions = []
        for needed, members, words in _GROUPS:
            if needed <= rest:
                inside = words == "a condition" and self.before and self.before[-1][0] == "("
                descriptions.append("a condition or a value" if inside else words)
                rest -= members
        # A quoted name is another way to write a name; the message has it only without names.
        if rest & {"TYPE", "VARIABLE", "COLUMN", "ATTRIBUTE", "NAME"}:
            rest -= {"QUOTED", "STRING"}
        if rest & {"PLUS", "LESS", "$END"}:  # after an attribute, which seldom is a struct
            rest -= {"_DOT"}
        descriptions += [words for terminal, words in _WORDS.items() if terminal in rest]
        descriptions += sorted(
            t.strip("_")
            for t in rest
            & {"_AS", "_IN", "_BETWEEN", "_BY", "NULL", "NOT", *BETWEEN_VALUES, *_SKIPPING}
        )
        descriptions += ["AND"] if "AND" in rest else []
        descriptions += ["EXCLUSIVE"] if "EXCLUSIVE" in rest else []
        if rest.issuperset(_CLAUSES):
            descriptions.append("a clause such as WITHIN")
        if "$END" in rest:
            descriptions.append("the end")
        return (
            " or ".join(
                [", ".join(descriptions[:-1]), descriptions[-1]]
                if len(descriptions) > 1
                else descriptions
            )
            or None
        )

    # Mistakes whose place is not the parser's

    def _unclosed_quote(self) -> PatternSyntaxError | None:
        quote = self.word
        if quote not in ("'", '"'):
            return None
        end = min(
            (i for i in (self.text.find(c, self.position) for c in "\r\n") if i >= 0),
            default=len(self.text),
        )
        return PatternSyntaxError(
            f"the quote {quote} is never closed",
            expected=f"a second {quote}; inside of quotes it is written {quote * 2}",
            span=Span(self.text, self.position, end),
        )

    def _odd_character(self) -> PatternSyntaxError | None:
        if not self.word or self.word.isalnum():
            return None
        character = self.word[0]
        if character in _STRAIGHT:
            straight = _STRAIGHT[character]
            return PatternSyntaxError(
                f"the typographic quote {character}",
                expected="straight quotes: 'a text', \"a name\"",
                hint=f"replace it by {straight}",
                span=self._span(),
            )
        if character.isascii() or character.isalnum():
            return None
        hint = "a name with unusual characters goes in double quotes"
        match unicodedata.category(character):
            case "Pd":
                hint = "replace it by -"
            case "Cf" | "Cc":
                hint = "it is invisible; delete it"
        name = unicodedata.name(character, "no printable character")
        return PatternSyntaxError(
            f"the character U+{ord(character):04X} ({name}) is not expected here",
            expected=self._expected(),
            hint=hint,
            span=self._span(),
        )

    def _interval(self) -> PatternSyntaxError | None:
        """A duration as SQL writes it: `INTERVAL '5' MINUTE`, which is `5 minutes` here."""
        words = self.after[:3]
        if self.before and self.before[-1][0].upper() == "INTERVAL":
            words = [self.before[-1], *self.after[:2]]
        if len(words) < 2 or words[0][0].upper() != "INTERVAL" or not _IN_INTERVAL(words[1][0]):
            return None
        inside = unquoted(words[1][0]).split()
        behind = words[2][0].lower() if len(words) > 2 else ""
        number, unit = (*inside, behind, "")[:2]
        ends = words[2 if len(inside) == 1 and behind in UNITS else 1].end()
        write = "5 minutes"
        if number.isdigit() and unit in UNITS:
            write = (
                f"{number} {unit}s" if number != "1" and f"{unit}s" in UNITS else f"{number} {unit}"
            )
        return PatternSyntaxError(
            self.text[words[0].start() : ends],
            expected="a number with its unit, without quotes",
            hint=f"write {write}",
            span=Span(self.text, words[0].start(), ends),
        )

    # Hints, the most certain first

    def _hints(self) -> Iterator[str]:
        yield from self._foreign()
        yield from self._brackets()
        yield from self._misspelled()
        yield from self._durations()
        yield from self._quotes()
        yield from self._missing()
        yield from self._places()

    def _foreign(self) -> Iterator[str]:
        if [each[0].upper() for each in self.before[-3:-1]] == ["EXTRACT", "("] and (
            self.word.upper() == "FROM"
        ):
            argument = self.text[self.after[0].end() :].partition(")")[0].strip()
            yield f"write {self.before[-1][0].lower()}({argument})"
        if self.accepts & {"_TO", "TO"} and self.word in ("[", ".", "("):
            yield "a bound names variables: FROM a TO b; of a set from first to last: FROM c TO c"
        around = self.text[max(0, self.position - 1) : self.position + 2]
        for pair in (around[:2], around[1:3], self.word.upper(), around[1:2]):
            if pair in FOREIGN and self.word and "_PATTERN" not in self.accepts:
                yield FOREIGN[pair]
        for word in reversed(self.before):
            if word[0][0] in "'\"" and "\n" in word[0]:
                line = Span(self.text, *word.span()).line
                yield f"the quote opened in line {line} is closed {_lines(word[0])} later"

    def _brackets(self) -> Iterator[str]:
        opened: list[re.Match[str]] = []
        for word in self.before:
            if word[0] in _OPENING.values():
                opened.append(word)
            elif word[0] in _OPENING and opened:
                opened.pop()
        if self.word in _OPENING and not any(o[0] == _OPENING[self.word] for o in opened):
            yield f"no '{_OPENING[self.word]}' is open here"
        clause = f"_{self.word.upper()}" in _CLAUSES
        if opened and (not self.word or (clause and "_RPAR" in self.accepts)):
            place = Span(self.text, *opened[-1].span())
            yield (
                f"the '{opened[-1][0]}' in line {place.line}, column {place.column} is never closed"
            )

    def _misspelled(self) -> Iterator[str]:
        """A word that resembles a keyword for this place, or the place just before."""
        if self.word == "(" and self.before and "VARIABLE" in self.accepts:
            yield nearest(self.before[-1][0], ("SEQ", "AND", "OR", "NOT", "KL")) or (
                "events are combined by SEQ, AND, OR, NOT and KL"
            )
        words = (*RESERVED, *BETWEEN_VALUES, *BEHIND_SETS, *BEFORE_CLAUSES, *INSIDE_CLAUSES)
        keywords = [w for w in words if {w, f"_{w}"} & self.accepts]
        hint = nearest(self.word, keywords) if is_word(self.word) else None
        if hint and len(self.word) > 1 and not is_reserved(self.word):
            yield hint
        # In "PATTERN A WITHN 4 hours" WITHN is a variable, and the error is at the 4.
        after_event = {"_WHERE", "$END"} <= self.accepts and not {"AND", "EXCLUSIVE"} & self.accepts
        if after_event and self.before:
            yield from filter(None, [nearest(self.before[-1][0], [c[1:] for c in _CLAUSES])])
        if "_PATTERN" in self.accepts and "MATCH_RECOGNIZE" in self.text.upper():
            yield "a query in SQL is run by from_match_recognize(text, table)"
        elif "_PATTERN" in self.accepts:
            yield f"a pattern begins with PATTERN, as in {_EXAMPLE}"

    def _durations(self) -> Iterator[str]:
        """A number without a unit of time, or a second number behind the unit."""
        word = self.word.lower()
        if "DURATION_UNIT" in self.accepts and is_word(word) and word not in UNITS:
            hint = "only WITHIN counts events" if word in ("event", "events") else None
            yield from filter(None, [hint, NOT_UNITS.get(word), nearest(word, UNITS)])
        behind = self.before and self.before[-1][0].casefold() in UNITS
        if behind and self.word[:1].isdigit() and "PLUS" in self.accepts:
            yield "a duration is one number and one unit; several are added: 1 hour + 30 minutes"

    def _quotes(self) -> Iterator[str]:
        """A name that needs quotes: `session-id`, `product view v`, `a.user id`, `a.'user id'`."""
        if self.word[:1] == "'" and self.accepts & {"ATTRIBUTE", "COLUMN", "TYPE", "VARIABLE"}:
            yield f'a name goes in double quotes: "{unquoted(self.word)}"'
        if sign := re.match(r"[@#][\w.-]+", self.text[self.position :]):
            yield f'a name that is not a word goes in double quotes: "{sign[0]}"'
        yield from self._column_of_two_words()
        if not {"_COMMA", "VARIABLE"} & self.accepts or "LESS" in self.accepts:
            return
        for run in re.finditer(r"\w[\w.:/-]*\w", self.text):
            if run.start() < self.position < run.end():
                yield f'a name that is not a word goes in double quotes: "{run[0]}"'
        words = [*self.before[-2:], *self.after[:1]]
        behind = self.after[1][0] if len(self.after) > 1 else ""
        if len(words) == 3 and all(is_word(w[0]) for w in words) and behind in (",", ")", ""):
            type_name = " ".join(word[0] for word in words[:2])
            yield f"is a ',' missing? a type of two words goes in double quotes: \"{type_name}\""
        elif self.word.isdigit() and self._in_structure() and self.before:
            yield f'a type of two words goes in double quotes: "{self.before[-1][0]} {self.word}"'

    def _column_of_two_words(self) -> Iterator[str]:
        """Two words where a clause or a condition reads a column: `a.user id`."""
        words = [word[0] for word in (*self.before[-2:], *self.after[:2])]
        if len(words) < 3 or self._in_structure() or not all(map(_is_name, words[1:3])):
            return
        behind = words[3].upper() if len(words) > 3 else ""
        # Before a dot stands the variable of another condition.
        if (words[0] in (".", ",") or words[0].upper() == "BY") and behind != ".":
            missing = "is AS missing? " if "_AS" in self.accepts and behind != "AS" else ""
            yield f'{missing}a name of two words goes in double quotes: "{words[1]} {words[2]}"'

    def _missing(self) -> Iterator[str]:
        begins = is_word(self.word) and not is_reserved(self.word)
        begins = begins or self.word[:1] in ("'", '"') or self.word.isdigit()
        starts = begins or self.word in ("(", "-") or self.word.upper() in ("NOT", "SEQ", "KL")
        if "LESS" in self.accepts and starts and not self._compared():
            yield "is a comparison such as < or = missing?"
        elif "AND" in self.accepts and starts and not self._in_structure():
            yield "is AND missing between two conditions?"
        elif "_COMMA" in self.accepts and starts:
            yield "is a ',' missing?"
        elif self.word == "," and "AND" in self.accepts and "LESS" not in self.accepts:
            yield "a range is written BETWEEN 1 AND 2"
        elif self.word == "," and "AND" in self.accepts:
            yield "conditions are joined by AND, not by commas"
        elif self.word == "," and {"_WHERE", "$END"} <= self.accepts and self._in_structure():
            yield "several events go in SEQ(...), AND(...) or OR(...)"
        elif self.word == "," and {"_WHERE", "$END"} <= self.accepts and self._compared():
            yield "conditions are joined by AND, not by commas"
        elif self.word == ")" and self.before and self.before[-1][0] == ",":
            yield "is there a ',' too many?"

    def _in_structure(self) -> bool:
        """Return whether the words before are those of the structure, not of a clause."""
        return not any(f"_{word[0].upper()}" in _CLAUSES for word in self.before)

    def _compared(self) -> bool:
        """Return whether the condition before the word already has a comparison."""
        for word in reversed(self.before):
            if word[0].upper() in ("AND", "OR", "NOT", "WHERE"):
                return False
            if word[0].upper() in ("<", ">", "=", "IN", "IS", "BETWEEN", *BETWEEN_VALUES):
                return True
        return False

    def _places(self) -> Iterator[str]:
        last = self.before[-1][0].upper() if self.before else ""
        if self.word in ("+", "*", "?") and self._in_structure():
            yield "KL(B b) is one or more, KL(B b){0,} none or more, OPT(B b) one or none"
        if self.word == "," and last == "{":
            yield "the least number comes first: {1,5}"
        if self.accepts == {"_LPAR"} and last in ("NOT", "KL"):
            yield f"write {last}(B b)"
        if self.accepts == {"_LPAR"} and last == "IN":
            if any(word[0].upper() == "WHERE" for word in self.before):
                yield "values are listed in brackets: IN (1, 2)"
            yield 'types are listed as a IN (A, B); as a name IN goes in double quotes: "IN"'
        if last == "[":
            yield (
                "the members of a set are b[1], b[2], b[last], b[i] and the one before it, b[i-1]; "
                "sum(b[..i].price) takes those up to each"
            )
        elif self.word == "-" and "NUMBER" in self.accepts:
            yield "a window cannot be negative"
        if "EXCLUSIVE" in self.accepts and self.word[:1].isdigit():
            yield "a duration is one number and one unit: write 90 minutes for 1 hour 30 minutes"
        if "TYPE" in self.accepts and self.word[:1].isdigit():
            yield f'a type that is not a word goes in double quotes: "{self.word}" a'
        name_tokens = self.accepts & {"TYPE", "VARIABLE", "COLUMN", "NAME"}
        if name_tokens and is_reserved(self.word) and f"_{self.word.upper()}" not in _CLAUSES[:3]:
            yield (
                f"{self.word} is a word of the language; "
                f'as a name it goes in double quotes: "{self.word}"'
            )


def _is_name(word: str) -> bool:
    return is_word(word) and not is_reserved(word)


def _lines(token: str) -> str:
    lines = token.count("\n")
    return "one line" if lines == 1 else f"{lines} lines"
