"""The conda file, the lock and the project's metadata say the same."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from cepkit.spark.session.java import OLDEST_JAVA

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
LOCKED = [Requirement(line) for line in LOCK]
CONDA = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
OWN = [Requirement(text) for text in PROJECT["dependencies"]]
DEV = [
    Requirement(text)
    for extra in ("dev", "browser")
    for text in PROJECT["optional-dependencies"][extra]
]

# One environment a supported Python and platform: a marker may choose another line in each.
ENVIRONMENTS = [
    {
        "python_version": python,
        "python_full_version": f"{python}.9",
        "sys_platform": system,
        "platform_machine": machine,
        "platform_system": {"linux": "Linux", "darwin": "Darwin", "win32": "Windows"}[system],
        "os_name": "nt" if system == "win32" else "posix",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
    }
    for python in ("3.11", "3.12", "3.13")
    for system, machine in (
        ("linux", "x86_64"),
        ("linux", "aarch64"),
        ("darwin", "arm64"),
        ("win32", "AMD64"),
    )
]


def applies(requirement: Requirement, environment: dict[str, str]) -> bool:
    return requirement.marker is None or requirement.marker.evaluate(environment)


def conda_requirements() -> dict[str, SpecifierSet]:
    entries = [Requirement(entry) for entry in CONDA["dependencies"] if isinstance(entry, str)]
    return {entry.name: entry.specifier for entry in entries}


def pip_lines() -> list[str]:
    (lines,) = [entry["pip"] for entry in CONDA["dependencies"] if isinstance(entry, dict)]
    return lines


def test_conda_asks_for_the_python_that_the_project_asks_for() -> None:
    assert conda_requirements()["python"] == SpecifierSet(PROJECT["requires-python"])


def test_conda_asks_for_the_java_that_the_library_accepts() -> None:
    assert conda_requirements()["openjdk"] == SpecifierSet(f">={OLDEST_JAVA}")


def test_pip_installs_the_project_at_the_locked_versions() -> None:
    assert pip_lines() == ["-c requirements.lock", "-e ."]
    assert "pip" in conda_requirements()


def test_the_packages_that_notebooks_use_come_with_it() -> None:
    names = {canonicalize_name(requirement.name) for requirement in OWN}
    assert {"pyspark", "ipywidgets", "networkx", "plotly", "pandas", "jupyterlab"} <= names


@pytest.mark.parametrize("requirement", OWN + DEV, ids=lambda requirement: requirement.name)
def test_the_lock_holds_every_dependency_at_a_version_that_fits(requirement: Requirement) -> None:
    name = canonicalize_name(requirement.name)
    for environment in ENVIRONMENTS:
        if not applies(requirement, environment):
            continue
        held = [r for r in LOCKED if canonicalize_name(r.name) == name and applies(r, environment)]
        assert len(held) == 1, f"{name} is held {len(held)} times for {environment}"
        (pin,) = held[0].specifier
        assert pin.operator == "=="
        assert requirement.specifier.contains(pin.version, prereleases=True)


def words_of_the_lock() -> Iterator[str]:
    for line in LOCK:
        yield re.sub(r"'[^']*'", "", line)


def test_the_lock_names_no_place() -> None:
    """No index, no address, no path, no option: pip asks whatever its reader has set up."""
    for line in words_of_the_lock():
        assert not re.search(r"[/\\@]|--|^#", line), line
