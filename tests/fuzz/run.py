"""The fuzzer: cases of each kind, one after the other, until the time is over (`make fuzz`).

    FUZZ_SECONDS=600   how long
    FUZZ_SEED=7        which cases; drawn anew, and printed, where it is not given
    FUZZ_KIND=patterns       cases of this kind alone
    FUZZ_CASE=patterns/123   this one alone, with the whole traceback

A separate process runs the cases and names each before it runs. So if a case crashes, hangs in
compiled code or uses up its memory, that is one more failure, and the next cases still run.
"""

from __future__ import annotations

import contextlib
import multiprocessing as mp
import os
import resource
import signal
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from multiprocessing.connection import Connection
from random import Random, SystemRandom
from time import monotonic

from tests.fuzz import documents, lines, patterns, values
from tests.fuzz.case import Case, refused

KINDS: dict[str, Callable[[Random], Case]] = {
    "patterns": patterns.case,
    "values": values.case,
    "documents": documents.case,
    "lines": lines.case,
}
SECONDS_A_CASE = 20
"""Of work; three times as long where there is nothing to do but wait."""
_GIVEN_UP_AFTER = 120
_MOST_BYTES = 8 << 30
_MOST_SHOWN = 30


class TooLongError(BaseException):
    """A case took too long. No Exception, so that nobody takes it for one of a file or the like."""


@dataclass
class Report:
    """The outcomes of the cases.

    Attributes:
        ran: How many there were of each kind.
        refused: How many of them were refused, as they should be.
        failures: For each that failed a line that repeats it, and what happened.
    """

    ran: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)


def made(seed: int, kind: str, number: int) -> Case:
    """Return a case; it is the same wherever and whenever it is made."""
    return KINDS[kind](Random(f"{seed}/{kind}/{number}"))


def tried(seed: int, kind: str, number: int, *, whole: bool = False) -> tuple[bool, str | None]:
    """Run a case; return whether it was refused, and how it failed, if it did.

    Args:
        seed: Of all cases.
        kind: Which.
        number: Which of its kind.
        whole: Whether to tell a failure with its traceback.
    """
    told = f"FUZZ_SEED={seed} FUZZ_CASE={kind}/{number} make fuzz"
    try:
        with limited():
            case = made(seed, kind, number)
            told += f"\n    {case.told if whole else case.told[:300]}"
            return refused(case) is not None, None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - whatever comes is to be reported
        last = traceback.extract_tb(error.__traceback__)[-1]
        text = str(error).strip().splitlines() or [""]
        told += f"\n    {type(error).__name__}: {text[0][:300]} ({last.filename}:{last.lineno})"
        return False, f"{told}\n{traceback.format_exc()}" if whole else told


@contextlib.contextmanager
def limited(seconds: int = SECONDS_A_CASE) -> Iterator[None]:
    """Raise TooLongError where the block takes too long."""

    def stop(*_: object) -> None:
        raise TooLongError(f"more than {seconds} s")

    signal.signal(signal.SIGALRM, stop)
    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_REAL, 3 * seconds)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.setitimer(signal.ITIMER_PROF, 0)


def work(kinds: Sequence[str], seed: int, begin: int, seconds: float, pipe: Connection) -> None:
    """Run cases of some kinds in turn, and send their outcomes.

    Args:
        kinds: Which.
        seed: Of all cases.
        begin: The number of the first.
        seconds: How long, once all is compiled.
        pipe: Where it goes: before each case its name, after it whether it was refused and how it
            failed. None while the time does not run yet.
    """
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_BYTES, _MOST_BYTES))
    for kind in kinds:  # compiles what all need
        with contextlib.suppress(BaseException), limited(_GIVEN_UP_AFTER - 20):
            refused(made(0, kind, 0))
        pipe.send(None)
    end = monotonic() + seconds
    for number in count(begin):
        for kind in kinds:
            if monotonic() > end:
                return
            pipe.send((kind, number))
            pipe.send(tried(seed, kind, number))


def run(kinds: Sequence[str], seed: int, seconds: float) -> Report:
    """Run cases of some kinds for some time."""
    report, left, begin = Report(), seconds, 0
    context = mp.get_context("fork")
    while left > 0:
        ours, theirs = context.Pipe(duplex=False)
        worker = context.Process(target=work, args=(kinds, seed, begin, left, theirs))
        worker.start()
        started = monotonic()
        theirs.close()
        kind, number = "the start", 0
        try:
            while ours.poll(_GIVEN_UP_AFTER):
                case = ours.recv()
                if case is None:
                    started = monotonic()
                    continue
                kind, number = case
                if not ours.poll(_GIVEN_UP_AFTER):
                    break
                was_refused, failure = ours.recv()
                report.ran[kind] += 1
                report.refused[kind] += was_refused
                if failure:
                    print(failure, flush=True)
                    report.failures.append(failure)
        except EOFError:
            worker.join()
            if worker.exitcode == 0:
                break
        worker.kill()
        worker.join()
        failure = f"FUZZ_SEED={seed} FUZZ_CASE={kind}/{number} make fuzz\n    ended the process"
        print(f"{failure} ({worker.exitcode})", flush=True)
        report.failures.append(failure)
        begin = number + 1
        left -= monotonic() - started
    return report


def main() -> int:
    """Run the cases that the environment names, and return the exit code."""
    seed = int(os.environ.get("FUZZ_SEED") or SystemRandom().randrange(10**6))
    if one := os.environ.get("FUZZ_CASE"):
        kind, number = one.split("/")
        was_refused, failure = tried(seed, kind, int(number), whole=True)
        print(failure or ("refused, as it should be" if was_refused else "it worked"))
        return 1 if failure else 0
    seconds = float(os.environ.get("FUZZ_SECONDS") or 600)
    print(f"fuzzing for {seconds:.0f} s with FUZZ_SEED={seed}", flush=True)
    begin = monotonic()
    kinds = [os.environ["FUZZ_KIND"]] if os.environ.get("FUZZ_KIND") else list(KINDS)
    report = run(kinds, seed, seconds)
    spent = monotonic() - begin
    for kind in kinds:
        ran = report.ran[kind]
        print(f"{kind:10} {ran:8,} cases, {report.refused[kind]:8,} refused")
    print(
        f"{report.ran.total():,} cases in {spent:.0f} s, {report.ran.total() / spent:,.0f} cases/s,"
        f" {len(report.failures)} failures (FUZZ_SEED={seed})"
    )
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
