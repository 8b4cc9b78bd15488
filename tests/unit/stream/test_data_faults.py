"""Faulty and extreme data: pandas, Arrow and files give the same matches, or the same error."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cepkit.errors import CepkitError
from tests import faulty_data as faulty

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore::cepkit.stream.warnings.StreamWarning")


def found_everywhere(name: str, folder: Path) -> list[list[faulty.Match]]:
    """Return the matches of a case, which are the same from each local source."""
    expected = []
    for events, options, pattern in faulty.CASES[name]():
        found = {
            source: faulty.found_in(rows, options, pattern)
            for source, rows in faulty.local_sources(events, folder).items()
        }
        expected.append(found["Arrow"])
        assert found == dict.fromkeys(found, found["Arrow"]), pattern
    return expected


def test_values_of_attributes(tmp_path: Path) -> None:
    (found,) = found_everywhere("values", tmp_path)
    true = {int(min(match)[1:]) for match in found}
    assert not [c for i, c in enumerate(faulty.CONDITIONS) if i not in true]


def test_keys(tmp_path: Path) -> None:
    pairs = [{"a": first, "b": first + 1} for first in (0, 2, 4, 6)]
    assert found_everywhere("keys", tmp_path) == [pairs, pairs, pairs[1:]]


def test_times(tmp_path: Path) -> None:
    found = [[(m["a"], m["b"]) for m in one] for one in found_everywhere("times", tmp_path)]
    assert found == [
        [(a, b) for a in (0, 4, 6) for b in (1, 5)],
        [(0, 1), (0, 3), (0, 5), (2, 3), (2, 5), (4, 5)],
        [(0, 1), (0, 3), (2, 3)],
        [(2, 1)],
        [(4, 5)],
        [(0, 1), (2, 1), (4, 5), (4, 7), (6, 5), (6, 7)],
        [(0, 1), (2, 1), (2, 3), (4, 5), (6, 5), (6, 7)],
        [],
        [(0, 1), (2, 1)],
    ]


def test_types(tmp_path: Path) -> None:
    found = found_everywhere("types", tmp_path)
    for column, matches in zip(faulty.TYPES.values(), found, strict=True):
        named = [v for v in column.to_pylist() if v is not None and v == v and v != "e\u0301"]
        assert len(matches) == len(named) * (len(named) - 1) / 2


def test_the_order_of_arrival(tmp_path: Path) -> None:
    assert all(found_everywhere("arrivals", tmp_path))


def test_fields_of_structs(tmp_path: Path) -> None:
    found = [[(m["a"], m["b"]) for m in one] for one in found_everywhere("structs", tmp_path)]
    assert found == [[(0, 1)], [(0, 1), (0, 5), (4, 5)], [(0, 1), (2, 3), (4, 5)]]


@pytest.mark.slow
def test_many_events_at_one_time_are_joined_by_their_keys(tmp_path: Path) -> None:
    (found,) = found_everywhere("one_time", tmp_path)
    assert len(found) == 20


@pytest.mark.parametrize("fault", faulty.ERRORS)
def test_faulty_events_give_the_same_error_from_every_source(fault: str, tmp_path: Path) -> None:
    events, options, pattern = faulty.ERRORS[fault]
    errors = {}
    for name, source in faulty.local_sources(events, tmp_path).items():
        with pytest.raises(CepkitError) as caught:
            faulty.found_in(source, options, pattern)
        errors[name] = faulty.said(caught.value)
    assert errors == dict.fromkeys(errors, errors["Arrow"])
