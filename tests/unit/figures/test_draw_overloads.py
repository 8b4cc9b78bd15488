"""An editor completes the options of `draw`: there is an overload for each figure."""

from __future__ import annotations

import ast
import inspect
import re
from typing import get_overloads

import pytest

import cepkit as ck
from cepkit.figures import FIGURES

ALIASES = {
    "OnePattern": "Query | Pattern",
    "SeveralPatterns": "Sequence[Query | Pattern]",
    "LikeMatches": "is_matches",
    "ResultFrame": "is_from_spark",
}
OVERLOADS = [inspect.signature(one) for one in get_overloads(inspect.unwrap(ck.draw))]


def names_of(signature):
    """Return the figures in `of=`, and whether one of them is the default."""
    literal, _, default = signature.parameters["of"].annotation.partition("]")
    return ast.literal_eval(literal.removeprefix("Literal[") + ","), "None" in default


def draws(signature, entry):
    """Return whether an overload is of a figure."""
    kinds = signature.parameters["value"].annotation
    for alias, meaning in ALIASES.items():
        kinds = re.sub(rf"\b{alias}\b", meaning, kinds)
    kind = entry.kind if isinstance(entry.kind, tuple) else (entry.kind,)
    whole = all(re.search(rf"\b{one.__name__}\b", kinds) for one in kind)
    listed = "Sequence[" in kinds or entry.takes == "one"
    alone = entry.takes != "several" or kinds.startswith("Sequence[")
    return entry.name in names_of(signature)[0] and whole and listed and alone


@pytest.mark.parametrize("entry", [*FIGURES], ids=lambda one: f"{one.name} of {one.draw.__name__}")
def test_each_figure_has_an_overload_with_its_options(entry):
    (signature,) = (one for one in OVERLOADS if draws(one, entry))
    _, of, *options = signature.parameters
    assert (of, options) == ("of", [*entry.options])


@pytest.mark.parametrize("signature", OVERLOADS, ids=str)
def test_overload_without_of_is_that_of_the_default_figure(signature):
    names, is_default = names_of(signature)
    entries = [entry for entry in FIGURES if draws(signature, entry)]
    assert {entry.name for entry in entries} == set(names)
    assert is_default == any(default_of(entry) is entry for entry in entries)


def default_of(entry):
    """Return the figure that is drawn without `of=` of what another one draws."""
    for one in FIGURES:
        if one.kind == entry.kind and one.takes == entry.takes:
            return one
        kinds = (entry.kind, one.kind)
        alone = "several" not in (one.takes, entry.takes)
        if alone and all(isinstance(kind, type) for kind in kinds) and issubclass(*kinds):
            return one
    raise AssertionError(entry)
