"""The contract of all verbs on inputs without an end: an answer, a refusal, or an interrupt.

No time is measured: an interrupt comes when the processor has worked for some seconds, and the
system ends a process that goes on for minutes.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(signal, "ITIMER_PROF"), reason="needs a timer of the processor"),
]

PATIENCE, SOON = 10.0, 1.0
"""The seconds of the processor after which a verb is interrupted: one that must answer or refuse
by itself, and one that may work as long as it must."""

RUN = """
import json, resource, signal, sys, time, warnings
import pandas as pd
import cepkit as ck

warnings.simplefilter("ignore")
ROWS = {
    "sets": [(0, "A", 0.0), *((i, "B", i % 7) for i in range(1, 41)), (41, "C", 9.0)],
    "sequence": [(i, "ABC"[i % 3], i % 11) for i in range(12_000)],
    "any order": [(i, "ABCDEFGH"[i % 8], i % 11) for i in range(800)],
}
TEXTS = {
    "sets": "PATTERN SEQ(A a, KL(B b), C c) WHERE a.v < c.v WITHIN 1 day",
    "sequence": "PATTERN SEQ(A a, B b, C c) WHERE a.v < c.v WITHIN 1 day",
    "any order": "PATTERN AND(A a, B b, C c, D d, E e, F f, G g, H h) WHERE a.v < h.v WITHIN 1 day",
}
verbs = {
    **{
        f"simulate {name}": lambda name=name: ck.simulate(stream, text, name)
        for name in ("eager-nfa", "chain-nfa", "tree-nfa", "evaluation-tree")
    },
    "simulate several": lambda: ck.simulate(stream, pair),
    "simulate adapt": lambda: ck.simulate(stream, text, adapt="threshold"),
    "why_not": lambda: str(ck.why_not(stream, text)),
    "profile": lambda: str(ck.profile(stream, text)),
    "aggregate": lambda: str(ck.aggregate(stream, text + " AGG COUNT")),
    "simulate counters": lambda: str(ck.simulate(stream, text, "prefix-counters")),
    "count": lambda: ck.detect(stream, text).count(),
    "counts": lambda: str(ck.detect(stream, pair).counts()),
    "to_pandas": lambda: ck.detect(stream, text).to_pandas(),
    "list": lambda: list(ck.detect(stream, text)),
    "print": lambda: str(ck.detect(stream, text)),
    "explain": lambda: str(ck.detect(stream, text).explain()),
    "compare_plans": lambda: str(ck.compare_plans(text, ck.profile(stream, text))),
    "choose_plan": lambda: str(ck.choose_plan(text, ck.profile(stream, text))),
    "choose_plan several": lambda: str(ck.choose_plan(pair, ck.profile(stream, pair))),
}


def outcome_of(verb):
    try:
        answer = verb()
    except ck.CepkitError:
        return "refused"
    except KeyboardInterrupt:
        return "interrupted"
    cut = getattr(answer, "truncated", None)
    return "answered" if getattr(cut, "ran", None) is None else "interrupted"


seconds, *names = sys.argv[1:]
for name in names:
    for case, rows in ROWS.items():
        # Of a verb that heeds no interrupt the system ends this process.
        resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + 240, -1))
        print(json.dumps([name, case]), end="", flush=True)
        text = TEXTS[case]
        pair = [text, text.replace(" WITHIN", " AND a.v > 1 WITHIN")]
        frame = pd.DataFrame(rows, columns=["t", "kind", "v"])
        stream = ck.events(frame.head(3), time="t", type="kind", unit="s")
        outcome_of(verbs[name])  # what is compiled at first is no matter
        stream = ck.events(frame, time="t", type="kind", unit="s")
        signal.signal(signal.SIGPROF, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_PROF, float(seconds))
        outcome = outcome_of(verbs[name])
        signal.setitimer(signal.ITIMER_PROF, 0)
        print(f" {outcome}", flush=True)
"""

CASES = ("sets", "sequence", "any order")
SIMULATE = ("eager-nfa", "chain-nfa", "tree-nfa", "evaluation-tree", "several", "adapt", "counters")
REFUSED = [*(f"simulate {name}" for name in SIMULATE), "to_pandas"]
"""Refused before the clock of the test interrupts them."""
ANSWERED = ["profile", "print", "compare_plans", "choose_plan", "choose_plan several"]
LONG = ["why_not", "aggregate", "count", "counts", "list", "explain"]
"""They may work as long as they must, until the user interrupts."""


@pytest.mark.parametrize(
    ("verbs", "seconds", "expected"),
    [
        pytest.param(REFUSED, PATIENCE, {"refused"}, id="refused"),
        pytest.param(ANSWERED, PATIENCE, {"answered"}, id="answered"),
        pytest.param(LONG, SOON, {"answered", "refused", "interrupted"}, id="long"),
    ],
)
def test_verbs_answer_refuse_or_can_be_interrupted(verbs, seconds, expected):
    ran = subprocess.run(
        [sys.executable, "-c", RUN, str(seconds), *verbs],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout[-200:] + ran.stderr[-2000:]
    lines = [line.rpartition(" ") for line in ran.stdout.splitlines()]
    outcomes = {tuple(json.loads(what)): outcome for what, _, outcome in lines}
    assert [*outcomes] == [(verb, case) for verb in verbs for case in CASES]
    assert {what: got for what, got in outcomes.items() if got not in expected} == {}
