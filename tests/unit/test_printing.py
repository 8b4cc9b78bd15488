"""What a prompt shows of results: the text that they print, not the values that they hold."""

import pytest
from IPython.lib.pretty import pretty

import cepkit as ck

TEXT = "PATTERN SEQ(MSFT a, GOOG b) WHERE a.price < b.price WITHIN 3 seconds"


@pytest.fixture(scope="module")
def results():
    stream = ck.events(ck.sample_stocks(2000), time="ts", type="ticker")
    query = ck.parse(TEXT)
    statistics = ck.profile(stream, query)
    comparison = ck.compare_plans(query, statistics)
    trace = ck.simulate(stream.head(200), query)
    return [
        query,
        statistics,
        comparison,
        comparison.best,
        ck.weigh_plans(query, statistics),
        ck.what_if(query, statistics, comparison, "a"),
        ck.detect(stream, query).explain(),
        ck.why_not(stream, query),
        trace,
        trace[3:5],
        trace.fate(0),
        trace.compare(trace),
    ]


def test_a_prompt_shows_what_is_printed(results):
    for result in results:
        assert repr(result) == str(result)
        assert pretty(result) == str(result)
        assert not str(result).startswith(f"{type(result).__name__}(")
