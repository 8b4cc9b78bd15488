"""What a new process takes to its first answer, with kept machine code and with Numba.

Each verb runs in processes of its own over a file of 2,000 trades, its loops in the cache before,
the two ways in turns. Processor seconds of the whole process, the median. Any setting of Numba's
makes loops come from Numba (`cepkit/native_loops.py`).

Then the same where nothing is cached, once: with loops over few events as plain Python, and with
all compiled.

    python -m benchmarks.fresh [--runs N] [--out FOLDER]
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks.results import show, write

SETUP = """
import sys
from cepkit import compiling
if sys.argv[1] == "compiled":
    compiling.PLAIN_SECONDS = 0
import cepkit as ck
stream = ck.events("sample_data/stocks.csv", time="ts", type="ticker")
text = "PATTERN SEQ(MSFT a, GOOG b) WHERE a.price < b.price WITHIN 30 seconds"
"""
VERBS = {
    "detect": "ck.detect(stream, ck.parse(text)).count()",
    "detect, next match": (
        "ck.detect(stream, ck.parse(text + ' STRATEGY skip-till-next-match')).count()"
    ),
    "aggregate": (
        "ck.aggregate(stream, ck.parse("
        "'PATTERN SEQ(MSFT a, GOOG b) AGG COUNT WITHIN 30 seconds')).to_pandas()"
    ),
    "aggregate, AVG": (
        "ck.aggregate(stream, ck.parse("
        "'PATTERN SEQ(MSFT a, GOOG b) AGG AVG(b.price) WITHIN 30 seconds')).to_pandas()"
    ),
    "aggregate, MAX": (
        "ck.aggregate(stream, ck.parse("
        "'PATTERN SEQ(MSFT a, GOOG b) AGG MAX(b.price) WITHIN 3 seconds')).to_pandas()"
    ),
    "profile": "ck.profile(stream, ck.parse(text))",
    "why_not": "str(ck.why_not(stream, ck.parse(text)))",
    "simulate": "ck.simulate(stream.head(200), ck.parse(text))",
}
WAYS = {"machine code": {}, "Numba": {"NUMBA_DEBUG_CACHE": "0"}}


def seconds(verb: str, way: str, loops: str = "compiled") -> float:
    """Return the processor seconds of a process that runs a verb."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-c", SETUP + VERBS[verb], loops],
        check=True,
        env={**os.environ, **WAYS[way]},
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def cold_seconds(verb: str, loops: str) -> float:
    """Return the same for a process that finds no compiled loop."""
    with tempfile.TemporaryDirectory() as folder:
        WAYS["cold"] = {"NUMBA_CACHE_DIR": folder}
        return seconds(verb, "cold", loops)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks"))
    options = parser.parse_args(arguments)
    rows, ways = [], tuple(WAYS)
    for verb in VERBS:
        for way in ways:
            seconds(verb, way)
        runs = [[seconds(verb, way) for way in ways] for _ in range(options.runs)]
        native, numba = (median(each) for each in zip(*runs, strict=True))
        rows.append(
            {
                "verb": verb,
                "machine code": round(native, 2),
                "Numba": round(numba, 2),
                "gain": round(numba - native, 2),
                "nothing cached": round(cold_seconds(verb, "some plain"), 2),
                "nothing cached, all compiled": round(cold_seconds(verb, "compiled"), 2),
            }
        )
    show("processor seconds of a new process", rows)
    write(options.out, "fresh", rows)


if __name__ == "__main__":
    main()
