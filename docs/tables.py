"""Writes the tables in README.md and docs/ that list what stands on a shelf: `make tables`.

A table stands between `<!-- table: planners -->` and `<!-- end -->`. A test runs this and finds
nothing to change.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from cepkit.adaptation.decisions import DECISIONS
from cepkit.automata.mechanisms import MECHANISMS
from cepkit.cli.verbs import VERBS
from cepkit.costs import COSTS
from cepkit.figures import FIGURES
from cepkit.pattern.aggregates import AGGREGATES
from cepkit.pattern.evaluation.functions import USAGE
from cepkit.planners import PLANNERS
from cepkit.sharing import SEARCHES

ROOT = Path(__file__).parents[1]

RESULTS = {
    "Rows": "columnar/results/rows.py",
    "Matches": "columnar/results/matches.py",
    "SeveralMatches": "columnar/results/several.py",
    "Aggregates": "aggregation/rows/result.py",
    "SeveralAggregates": "routes/result.py",
    "RowMatches": "rowpattern/result.py",
    "ResultFrame": "spark/passes/frame.py",
    "SparkMatches": "spark/matches/result.py",
    "SparkRowMatches": "spark/row_patterns.py",
    "StreamFrame": "spark/streaming/result.py",
}
"""The classes of what `detect`, `aggregate` and `from_match_recognize` give, and their files."""

_BASES = {
    "WithProgress": "progress.py",
    "ByName": "pattern/several.py",
    "Exported": "exports.py",
    "Translatable": "rowpattern/translation.py",
}
_SPECIAL = {"__len__": "len", "__iter__": "for ... in", "__getitem__": "[...]", "__bool__": "bool"}


def methods_of(name: str) -> Iterator[str]:
    """Yield the public methods and properties of a result class, and those of its bases."""
    path = ROOT / "cepkit" / (RESULTS.get(name) or _BASES[name])
    tree = ast.parse(path.read_text(encoding="utf-8"))
    (one,) = (n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == name)
    for base in one.bases:
        known = ast.unparse(base).partition("[")[0]
        if known in RESULTS or known in _BASES:
            yield from methods_of(known)
    for node in one.body:
        if not isinstance(node, ast.FunctionDef):
            continue
        if node.name in _SPECIAL or not node.name.startswith("_"):
            yield _SPECIAL.get(node.name, node.name)


def result_methods() -> dict[str, str]:
    """Return each method of the results, with the classes that have it."""
    classes: dict[str, list[str]] = {}
    for name in RESULTS:
        for method in dict.fromkeys(methods_of(name)):
            classes.setdefault(method, []).append(f"`{name}`")
    return {method: ", ".join(classes[method]) for method in sorted(classes, key=str.lower)}


TABLES: Mapping[str, tuple[tuple[str, str], Mapping[str, str]]] = {
    "planners": (("planner", "what it does"), PLANNERS.help),
    "searches": (("search", "what it does"), SEARCHES.help),
    "costs": (("cost model", "what it counts"), COSTS.help),
    "decisions": (("decision function", "what it does"), DECISIONS.help),
    "aggregates": (
        ("aggregate", "result"),
        {name.upper(): line for name, line in AGGREGATES.help.items()},
    ),
    "functions": (("function", "gives"), USAGE),
    "mechanisms": (("mechanism", "what it does"), MECHANISMS.help),
    "results": (("method or property", "of"), result_methods()),
    "figures": (("figure", "what it shows"), FIGURES.help),
    "commands": (
        ("command", "what it does"),
        {f"cepkit {verb}": line for verb, line in VERBS.items()},
    ),
}
"""The head and the lines of each table, by its name."""

PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))

_PLACE = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def table(head: tuple[str, str], lines: Mapping[str, str]) -> str:
    """Return names and their help as a table in Markdown."""
    rows = [f"| `{name}` | {line} |" for name, line in lines.items()]
    return "\n".join((f"| {head[0]} | {head[1]} |", "|---|---|", *rows)) + "\n"


def filled(page: str) -> str:
    """Return the text of a page with its tables as the shelves are now."""
    return _PLACE.sub(lambda place: place[1] + table(*TABLES[place[2]]) + place[3], page)


def main() -> None:
    """Write the pages of which a table has changed."""
    for path in PAGES:
        page = path.read_text(encoding="utf-8")
        if filled(page) != page:
            path.write_text(filled(page), encoding="utf-8")


if __name__ == "__main__":
    main()
