"""A small stream, patterns and names that try to break out of a page."""

import numpy as np
import pandas as pd

from cepkit.columnar.results.matches import Matches
from cepkit.pattern.parsing.parser import parse
from cepkit.plan.checks import as_plan
from cepkit.stream.stream import events

SCRIPT = "<script>alert(1)</script>"
NASTY = ("<b>x</b>", '"quo\'ted" $x$', "a very long variable name that goes on and on and on")
TWELVE = (*NASTY, *"defghijkl")


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def sequence(names=TWELVE, types=None, rest=""):
    listed = ", ".join(
        f"{quoted(kind)} {quoted(name)}"
        for name, kind in zip(names, types or [f"T{i}" for i in range(len(names))], strict=True)
    )
    return parse(f"PATTERN SEQ({listed}) {rest}")


def find(query, rows, order=None, unit="us", **options):
    """The matches of a query among rows of (seconds, type, price), their times in a unit."""
    return Matches(events_of(rows, unit), query, as_plan(order, query), **options)


def events_of(rows, unit="us"):
    """A stream of rows of (seconds, type, price)."""
    frame = pd.DataFrame(rows, columns=["ts", "kind", "price"])
    frame["ts"] = pd.Timestamp("2024-03-04 10:00", tz="UTC") + pd.to_timedelta(frame["ts"], "s")
    frame["ts"] = frame["ts"].dt.as_unit(unit)
    return events(frame, time="ts", type="kind")


THREE = parse(
    "PATTERN SEQ(A a, B b, C c) WHERE a.price < b.price AND c.price > 3 AND a.price + c.price > 5 "
    "WITHIN 1 hour"
)
NONE = [(0, "C", 4.0), (1, "B", 2.0), (2, "A", 9.0)]
ROWS = [(0, "A", 1.0), (1, "B", 2.0), (60, "C", 4.5), (1800, "A", 2.5), (3000, "B", 3.0)]


def measured_like_frame(n=3):
    moments = np.arange(n)
    return pd.DataFrame(
        {
            "a": [{"t": int(m), "kind": "A", "note": SCRIPT} for m in moments],
            "b": [{"t": int(m) + 5, "kind": "B", "note": None} for m in moments],
            "match_start": moments,
            "match_end": moments + 5,
        }
    )
