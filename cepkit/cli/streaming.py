"""`cepkit detect --stream`: matches in files that arrive in a folder, until Ctrl-C."""

from __future__ import annotations

import argparse
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import cepkit as ck
from cepkit.cli.options import CSV_OPTIONS, add, given
from cepkit.cli.spark_files import quiet_session, read_on_spark
from cepkit.cli.terminal import note, say
from cepkit.errors import StreamError
from cepkit.pattern.query import Query
from cepkit.stream.paths import path_of
from cepkit.stream.reading.readers import data_at
from cepkit.stream.stream import Stream
from cepkit.stream.warnings import warn_of_late
from cepkit.tables import count_text

_LOOK_SECONDS = 0.5
_REFUSED = (
    "limit", "explain", "json", "statistics", "planner", "arrival", "ties", "overwrite", "since",
    "until", "clock-error", "sample",
)  # fmt: skip


def streaming_options(command: argparse.ArgumentParser) -> None:
    """Add --stream and its options."""
    group = command.add_argument_group(
        "a folder in which files arrive", "on Spark, until Ctrl-C; started again, it continues"
    )
    add(group, "--stream", "--events is such a folder")
    add(group, "--checkpoint FOLDER", "the folder that records how far the files were read")
    lateness = 'how much earlier an event may be than one before it, as "10 seconds"'
    add(group, "--lateness DURATION", lateness)
    add(group, "--max-ahead DURATION", "how far a time may be ahead of the system clock")
    add(group, "--once", "end when all files that are there have been read")


def detect_in_folder(
    arguments: argparse.Namespace, query: Query | dict[str, Query], plan: Any
) -> None:
    """Write the matches in files that arrive in a folder, until an interrupt.

    Args:
        plan: The plan; None: in pattern order.

    Raises:
        StreamError: An option is missing or makes no sense here, or the folder has no file yet.
    """
    from cepkit.spark.streaming.checkpoints import readable

    _check(arguments)

    stream = _open(arguments)
    options = given(arguments, "sets", *(("share",) if isinstance(query, dict) else ()))
    patterns: Any = query
    matches: Any = ck.detect(stream, patterns, plan, **options)
    note(repr(matches))
    writer = matches.writeStream.format("parquet")
    checkpoint = str(path_of(arguments.checkpoint).resolve())
    writer = writer.option("checkpointLocation", checkpoint)
    if arguments.once:
        writer = writer.trigger(availableNow=True)
    # An interrupt must not reach a thread that talks to Java: the reply would stay unread.
    with ThreadPoolExecutor(1) as caller:
        out = str(path_of(arguments.out).resolve())
        running = caller.submit(writer.start, out).result()
        seen = _Seen(matches.watch(running))
        try:
            while caller.submit(seen.tell).result():
                time.sleep(_LOOK_SECONDS)
        except KeyboardInterrupt:
            caller.submit(running.stop).result()
            note("stopped; the same command continues from here")
        caller.submit(seen.tell).result()
        error = caller.submit(running.exception).result()
        late = caller.submit(lambda: seen.watched.late).result()
    if late is not None:
        warn_of_late(late)
    if error is not None:
        with readable(checkpoint):
            raise error
    say(f"{count_text(seen.matches, 'match', 'matches')} written to {arguments.out}")


class _Seen:
    """The micro-batches that were reported."""

    def __init__(self, watched: Any) -> None:
        self.watched = watched
        self.last = -1
        self.matches = 0

    def tell(self) -> bool:
        """Write a line for each new micro-batch; return whether the query goes on."""
        active = bool(self.watched.query.isActive)
        rows: Any = self.watched.table().reset_index().to_dict("records")
        for row in rows:
            if row["batch"] <= self.last:
                continue
            self.last = row["batch"]
            self.matches += row["match"]
            counts = {"late": row["late"], "too far ahead": row["ahead"]}
            more = "".join(f", {count:,} {what}" for what, count in counts.items() if count)
            note(
                f"batch {row['batch']}: {count_text(row['rows'], 'row')}, complete up to"
                f" {row['watermark']}, {count_text(row['match'], 'match', 'matches')}{more}"
            )
        return active


def _check(arguments: argparse.Namespace) -> None:
    for name in ("out", "checkpoint", "lateness"):
        if getattr(arguments, name) is None:
            raise StreamError(
                f"--stream without --{name}",
                expected=f"--{name} {'DURATION' if name == 'lateness' else 'FOLDER'}",
                hint='--lateness "10 seconds": matches are emitted that much later,'
                " and later events are left out"
                if name == "lateness"
                else None,
            )
    for name in (*_REFUSED, *CSV_OPTIONS):
        if getattr(arguments, name.replace("-", "_")):
            raise StreamError(f"--{name} with --stream", hint=f"leave --{name} out")


def _open(arguments: argparse.Namespace) -> Stream:
    """Return the folder as a stream; its files determine the columns."""
    from cepkit.spark.streaming.folder import folder_frame

    folder = path_of(arguments.events)
    if not folder.is_dir():
        raise StreamError(
            f"'{folder}' is not a folder", expected="a folder in which files arrive, with --stream"
        )
    kind = data_at(folder).format
    session = quiet_session()
    session.conf.set("spark.sql.session.timeZone", arguments.timezone or "UTC")
    batch = read_on_spark(str(folder))
    frame = folder_frame(session, folder, kind, batch, time=arguments.time, unit=arguments.unit)
    return ck.events(frame, **given(arguments, "time", "type", "lateness", "max_ahead"))
