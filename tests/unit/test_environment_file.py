"""The conda file, the lock and the project's metadata say the same."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from cepkit.spark.session.java import OLDEST_JAVA

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
# An entry is a requirement and, each on a line of its own, the hashes of its files.
ENTRIES = [entry.split(" \\\n    ") for entry in re.split(r"\n(?! )", LOCK.rstrip("\n"))]
LOCKED = [Requirement(requirement) for requirement, *_ in ENTRIES]
CONDA = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
EXTRAS = PROJECT["optional-dependencies"]
OWN = [
    Requirement(text) for text in (*PROJECT["dependencies"], *EXTRAS["notebook"], *EXTRAS["spark"])
]
DEV = [Requirement(text) for extra in ("dev", "browser", "docs") for text in EXTRAS[extra]]

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
    # One with hashes takes no package without: what installs the project itself stands above it.
    assert pip_lines() == ["-r requirements.lock"]
    assert "pip" in conda_requirements()


def test_environment_has_the_packages_of_the_notebooks() -> None:
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


def test_each_entry_has_the_hashes_of_its_files_and_names_no_place() -> None:
    """No index, no address, no path, no option: pip uses the index that the user has set up."""
    for requirement, *hashes in ENTRIES:
        assert not re.search(r"[/\\@]|--|^#", re.sub(r"'[^']*'", "", requirement)), requirement
        assert hashes, requirement
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", each) for each in hashes), (
            requirement
        )


def test_make_installs_build_tools_first_and_all_packages_by_hash() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (chosen,) = re.findall(r"awk '(.*)' requirements\.lock", makefile)
    found = subprocess.run(
        ["awk", chosen, ROOT / "requirements.lock"], capture_output=True, text=True, check=True
    ).stdout
    names = [line.split("==")[0] for line in found.splitlines() if not line.startswith(" ")]
    assert names == ["packaging", "setuptools", "wheel"]
    assert all(line in LOCK.splitlines() for line in found.splitlines())
    assert found.count("--hash=") >= len(names)
    installs = [line for line in makefile.splitlines() if "$(PIP) install" in line]
    assert all(
        "--require-hashes -r" in line or "--no-build-isolation --no-deps -e ." in line
        for line in installs
    )
    assert "--generate-hashes" in makefile
