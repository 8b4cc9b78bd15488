"""Limits of the house: how long a file may be, and that one name means one thing in a layer."""

import re
import tomllib
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILES = [*(ROOT / "cepkit").rglob("*.py"), *(ROOT / "widgets" / "cepkit_widgets").rglob("*.py")]
MOST_LINES = 450
TWICE = {"Close"}
"""Names of saved traces: a change of counters and an operation of a mechanism."""


def test_no_file_is_longer_than_450_lines() -> None:
    lines = {file: len(file.read_text(encoding="utf-8").splitlines()) for file in FILES}
    assert len(lines) > 500
    longer = {str(file.relative_to(ROOT)): n for file, n in lines.items() if n > MOST_LINES}
    assert not longer


def layers() -> dict[str, str]:
    """For each package its layer, which it may share with others."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    contracts = tomllib.loads(text)["tool"]["importlinter"]["contracts"]
    rows = next(c["layers"] for c in contracts if c["name"].startswith("Data flows"))
    return {name.strip(" ()"): row for row in rows for name in row.split("|")}


def package(file: Path) -> str:
    first, second, *_ = file.relative_to(ROOT).with_suffix("").parts
    return second if first == "widgets" else f"{first}.{second}"


def test_no_class_name_occurs_twice_in_a_layer() -> None:
    layer_of, places = layers(), defaultdict(list)
    for file in FILES:
        layer = layer_of.get(package(file), "others")
        for name in re.findall(r"(?m)^ *class (\w+)[(:]", file.read_text(encoding="utf-8")):
            places[layer, name].append(str(file.relative_to(ROOT)))
    assert len({layer for layer, _ in places}) > 15
    twice = {name: found for (_, name), found in places.items() if len(found) > 1}
    assert twice.keys() == TWICE, twice
