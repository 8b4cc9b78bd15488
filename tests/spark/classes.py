"""Spark's classes as a JVM wants them, written once: each JVM of the tests starts from that file.

    python -m tests.spark.classes build/spark-classes.jsa

To load and verify some 15,000 classes takes longer than most tests. A Java that does not match the
file starts without it, and says nothing.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

FILE = Path(__file__).parents[2] / "build" / "spark-classes.jsa"

# Spark of tests runs for minutes and does each thing once: Java's second compiler and its threads
# for garbage took nearly half of the processor time.
_BRIEF = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xlog:cds*=off"


def java_options() -> str:
    """Return the options of the JVMs of tests; processes that tests start have them as well."""
    return f"{_BRIEF} -XX:SharedArchiveFile={FILE}" if FILE.exists() else _BRIEF


def write(file: Path) -> None:
    """Write the classes that a batch, a stream and files load."""
    draft = file.with_suffix(f".{os.getpid()}.part").resolve()
    draft.parent.mkdir(parents=True, exist_ok=True)
    os.environ["SPARK_SUBMIT_OPTS"] = f"{_BRIEF} -XX:ArchiveClassesAtExit={draft}"

    import cepkit as ck
    from tests.spark.live import PATTERNS, Live, make_events

    text, roles = PATTERNS["SEQ"], {"time": "ts", "type": "type"}
    spark = ck.get_session(cores=2, memory="1g", progress=False)
    java = spark.sparkContext._gateway.proc
    with tempfile.TemporaryDirectory(prefix="cepkit-") as folder:
        live = Live(spark, Path(folder))
        live.put(make_events(300), 150)
        live.run(ck.detect(live.events(lateness="1 second"), text))
        frame = spark.read.parquet(f"{folder}/in")
        stream = ck.events(frame, **roles)
        ck.detect(stream, text, spark=ck.SparkOptions(route="workers")).toPandas()
        ck.aggregate(stream, f"{text} AGG COUNT").toPandas()
        frame.write.csv(f"{folder}/csv")
        spark.read.csv(f"{folder}/csv").count()
    spark.stop()
    java.stdin.close()
    java.wait()
    draft.replace(file)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
