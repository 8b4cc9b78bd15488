"""The contract of all verbs on inputs without an end: an answer, a refusal, or an interrupt, soon.

Time is that of the processor, so that a busy machine changes nothing.
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

SECONDS = 10.0
"""The most processor time of a verb; it is interrupted a second before."""

RUN = """
import json, signal, sys, time, warnings
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
    "aggregate_trace": lambda: str(ck.aggregate_trace(stream, text)),
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


for case, rows in ROWS.items():
    text = TEXTS[case]
    pair = [text, text.replace(" WITHIN", " AND a.v > 1 WITHIN")]
    frame = pd.DataFrame(rows, columns=["t", "kind", "v"])
    stream = ck.events(frame.head(3), time="t", type="kind", unit="s")
    outcome_of(verbs[sys.argv[1]])  # what is compiled at first is no matter
    stream = ck.events(frame, time="t", type="kind", unit="s")
    began = time.process_time()
    signal.signal(signal.SIGPROF, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_PROF, 4.0)
    outcome = outcome_of(verbs[sys.argv[1]])
    signal.setitimer(signal.ITIMER_PROF, 0)
    print(json.dumps([case, outcome, time.process_time() - began]))
"""

SIMULATE = ("eager-nfa", "chain-nfa", "tree-nfa", "evaluation-tree", "several", "adapt")
REFUSED = [*(f"simulate {name}" for name in SIMULATE), "aggregate_trace", "to_pandas"]
"""Refused before the clock of the test interrupts them."""
ANSWERED = ["profile", "print", "compare_plans", "choose_plan", "choose_plan several"]
LONG = ["why_not", "aggregate", "count", "counts", "list", "explain"]
"""They may work as long as they must, until the user interrupts."""


@pytest.mark.parametrize("verb", [*REFUSED, *ANSWERED, *LONG])
def test_a_verb_answers_refuses_or_can_be_interrupted(verb):
    ran = subprocess.run(
        [sys.executable, "-c", RUN, verb], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    outcomes = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [case for case, _, _ in outcomes] == ["sets", "sequence", "any order"]
    for case, outcome, seconds in outcomes:
        assert seconds < SECONDS, (case, outcome)
        if verb in REFUSED:
            assert outcome == "refused", case
        elif verb in ANSWERED:
            assert outcome == "answered", case
