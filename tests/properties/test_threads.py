"""What is found, its order, its counters and its errors do not depend on the number of threads."""

from __future__ import annotations

import warnings
from dataclasses import asdict
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepkit.adaptation.choice import slice_plans
from cepkit.columnar import parts
from cepkit.columnar.results.matches import Matches
from cepkit.columnar.results.several import SeveralMatches
from cepkit.columnar.results.together import InMemory
from cepkit.errors import CepkitError
from cepkit.pattern.policies import Strategy
from cepkit.plan.checks import as_plan
from cepkit.plan.nodes import Plan
from cepkit.statistics.measuring.estimate import estimate
from cepkit.statistics.stream_counts import attributes_read
from cepkit.stream.stream import events
from cepkit.threads import VARIABLE, limited_to
from tests.properties.test_adaptation import WAYS
from tests.properties.test_after_match import with_skip
from tests.properties.test_engine import DETECTED, plans, tree_plans
from tests.properties.test_several import no_measure, plan_of, workload
from tests.strategies import Case, as_table, cases, result_of

SETS = cases(("SEQ", "AND", "NOT", "KL"), max_variables=4, max_events=20, unsorted=True)
SKIPS = cases(
    max_variables=4,
    strategies=tuple(s for s in Strategy if s is not Strategy.SKIP_TILL_NEXT_MATCH),
    max_events=24,
    change=with_skip,
)
NEXT = cases(strategies=(Strategy.SKIP_TILL_NEXT_MATCH,), max_events=24)
ROWS = st.sampled_from([1, 2, 3, 7])


@pytest.fixture(autouse=True)
def four_cores(monkeypatch):
    monkeypatch.setenv(VARIABLE, "4")


def steps_of(matches: Any) -> list[dict[str, Any]]:
    """Return the counters without the time."""
    steps = [asdict(step) for step in matches.explain(anew=True).steps]
    return [{k: v for k, v in step.items() if "seconds" not in k} for step in steps]


def seen(make: Any, threads: int) -> Any:
    """Return all that a result shows with so many threads, or the text of its error."""
    with limited_to(threads):
        matches = make()
    ways = (
        lambda: matches.to_arrow().to_pylist(),
        lambda: list(matches.batches()),
        lambda: matches.to_pandas().to_dict("list"),
        lambda: matches.head(3).to_dict("list"),
        matches.count,
        lambda: steps_of(matches),
        lambda: matches.searched,
    )
    shown = []
    for way in ways:
        try:
            shown.append(str(way()))
        except CepkitError as error:
            shown.append(f"{type(error).__name__}: {error}")
    return shown


def compared(case: Case, plan: Plan, rows: int, threads: int, **options: Any) -> None:
    stream = events(as_table(case.events), time="ts", type="kind", ties=case.ties)

    def make() -> Matches:
        return Matches(stream, case.query, plan, slice_rows=rows, **options)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of types that never occur
        assert seen(make, threads) == seen(make, 1)
        with limited_to(threads):
            matches = make().to_arrow()
    assert result_of(matches, case.variables) == case.matches


@given(data=st.data())
def test_matches_and_counters_do_not_depend_on_threads(data: st.DataObject) -> None:
    case = data.draw(st.one_of(DETECTED, SETS))
    plan = data.draw(st.one_of(plans(case), tree_plans(case)))
    compared(case, plan, data.draw(ROWS), data.draw(st.integers(2, 4)))


@given(data=st.data())
def test_skips_do_not_depend_on_threads(data: st.DataObject) -> None:
    case = data.draw(st.one_of(SKIPS, NEXT))
    compared(case, data.draw(plans(case)), data.draw(ROWS), data.draw(st.integers(2, 4)))


@given(data=st.data())
def test_plans_of_slices_do_not_depend_on_threads(data: st.DataObject) -> None:
    case = data.draw(cases(unsorted=True))
    stream = events(as_table(case.events), time="ts", type="kind")
    adapt, rows = data.draw(st.sampled_from(WAYS)), data.draw(ROWS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of types that never occur
        statistics = estimate(stream.columns(attributes_read(case.query)), case.query)
        plan = as_plan(None, case.query)

        def make() -> Matches:
            # A plan may depend on those of the slices before it.
            by_slice = slice_plans(adapt, case.query, plan, "every", lambda: statistics)
            return Matches(stream, case.query, plan, slice_rows=rows, plans=by_slice)

        def plans_of(threads: int) -> list[Any]:
            with limited_to(threads):
                return list(make().plans.slices)

        threads = data.draw(st.integers(2, 4))
        assert seen(make, threads) == seen(make, 1)
        assert plans_of(threads) == plans_of(1)


@given(data=st.data())
def test_queries_found_together_do_not_depend_on_threads(data: st.DataObject) -> None:
    case = data.draw(cases(unsorted=data.draw(st.booleans())))
    queries = {name: query for name, (query, _) in workload(data.draw, case).items()}
    chosen = [plan_of(data.draw, query) for query in queries.values()]
    stream, rows = events(as_table(case.events), time="ts", type="kind"), data.draw(ROWS)

    def shown(threads: int) -> list[str]:
        with limited_to(threads):
            place = partial(InMemory, slice_rows=rows)
            several = SeveralMatches(stream, queries, chosen, no_measure, place)
        rows_together = several.together.to_arrow().to_pylist()
        return [*map(str, (rows_together, several.counts().to_dict(), steps_of(several)))]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of types that never occur
        assert shown(data.draw(st.integers(2, 4))) == shown(1)


PARTITIONED = cases(
    ("SEQ", "AND", "OR", "NOT", "KL", "OPT"), max_variables=4, max_events=24, unsorted=True
)


@given(data=st.data())
def test_parts_of_partitions_have_the_matches_of_the_whole(data: st.DataObject) -> None:
    case = data.draw(PARTITIONED.filter(lambda one: bool(one.query.partition_by)))
    plan, most = data.draw(plans(case)), data.draw(st.integers(1, 4))
    stream = events(as_table(case.events), time="ts", type="kind", ties=case.ties)

    def make() -> Matches:
        return Matches(stream, case.query, plan)

    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")  # of types that never occur
        patch.setattr(parts, "PARTITIONED", -1)
        patch.setattr(parts, "PARTITIONED_CANDIDATES", -1)
        patch.setattr(parts, "PARTITION_PARTS", data.draw(st.integers(2, 5)))
        assert seen(make, most) == seen(make, 1)
        assert result_of(make().to_arrow(), case.variables) == case.matches
        assert make().count() == len(case.matches)
