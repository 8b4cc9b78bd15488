"""Results have few classes, and docs/results.md has each of them with all its methods."""

from __future__ import annotations

import ast
import re
import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]
TABLES = runpy.run_path(str(ROOT / "docs" / "tables.py"))
RESULTS = TABLES["RESULTS"]
VERBS = ("detect", "aggregate", "from_match_recognize")


def trees(pattern):
    """Yield the files in which a pattern occurs, and their trees: to parse all takes seconds."""
    for path in sorted((ROOT / "cepkit").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if re.search(pattern, text):
            yield path.relative_to(ROOT / "cepkit"), ast.parse(text)


def bases_of(one):
    return {ast.unparse(base).partition("[")[0] for base in one.bases}


def result_classes():
    """Return the classes that are rows, a mapping of results or a DataFrame, by name."""
    kinds = {"WithProgress", "ByName", "DataFrame", *RESULTS}
    found = {}
    for path, tree in trees(rf"class \w+\([^)]*\b({'|'.join(kinds)})\b"):
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and bases_of(node) & kinds:
                found[node.name] = path, node
    return found


def test_at_most_ten_classes_are_results():
    assert len(RESULTS) <= 10
    public = {name for name in result_classes() if not name.startswith("_")}
    assert public <= RESULTS.keys()


def test_private_class_of_rows_adds_no_public_method():
    for name, (_, node) in result_classes().items():
        if name.startswith("_"):
            (base,) = bases_of(node)
            known = set(TABLES["methods_of"](base))
            own = {n.name for n in node.body if isinstance(n, ast.FunctionDef)}
            assert {method for method in own if not method.startswith("_")} <= known


def test_verbs_give_only_these_classes():
    for _, tree in trees(rf"(?m)^def ({'|'.join(VERBS)})\("):
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and node.name in VERBS and node.returns:
                names = set(re.findall(r"\w+", ast.unparse(node.returns)))
                if not names & RESULTS.keys():
                    continue
                assert names <= {*RESULTS, "Any", "RowPatternQuery"}, node.name


def test_page_names_each_class():
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    above = page.partition("<!-- table: results -->")[0]
    for name in RESULTS:
        assert f"`{name}" in above
