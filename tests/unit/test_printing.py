"""Results at a prompt: the text that they print, not the values that they hold."""

import sys

import pytest
from IPython.lib.pretty import pretty

import cepkit as ck
from cepkit.printing import WithPrinter, html_of, text_of, time_text

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
        ck.compare_plans(query, statistics, alphas="auto"),
        ck.what_if(query, statistics, comparison, "a"),
        ck.detect(stream, query).explain(),
        ck.why_not(stream, query),
        trace,
        trace[3:5],
        trace.fate(0),
        trace.compare(trace),
    ]


def test_repr_and_pretty_print_equal_str(results):
    for result in results:
        assert repr(result) == str(result)
        assert pretty(result) == str(result)
        assert not str(result).startswith(f"{type(result).__name__}(")


def test_every_value_that_leaves_printing_to_a_printer_has_one():
    # A dataclass with slots is made twice; what its module knows is the one that counts.
    every = [
        leaf for kind in WithPrinter.__subclasses__() for leaf in kind.__subclasses__() or [kind]
    ]
    kinds = [k for k in every if k is vars(sys.modules[k.__module__]).get(k.__name__)]
    assert {k.__name__ for k in kinds} >= {"Plan", "Query", "Statistics"}
    for kind in kinds:
        assert text_of.dispatch(kind) is not text_of.dispatch(object), kind


def test_a_value_without_a_printer_says_so():
    class Bare(WithPrinter):
        pass

    with pytest.raises(TypeError, match="no printer of Bare"):
        str(Bare())


def test_html_of_a_value_is_its_escaped_text_by_default():
    query = ck.parse("PATTERN SEQ(A a, B b) WHERE a.x < b.x")
    assert "<pre>PATTERN SEQ(A a, B b)\nWHERE a.x &lt; b.x</pre>" in html_of(query)


@pytest.mark.parametrize(
    ("microseconds", "text"),
    [
        (0, "1970-01-01T00:00:00+00:00"),
        (-1, "1969-12-31T23:59:59.999999+00:00"),
        (2**63 - 1, "294247-01-10T04:00:54.775807+00:00"),
        (-(2**62), "-144169-06-28T09:59:32.612096+00:00"),
    ],
)
def test_times_of_all_years_can_be_shown(microseconds, text):
    assert time_text(microseconds) == text
