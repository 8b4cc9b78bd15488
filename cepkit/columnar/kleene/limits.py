"""Limits on the number of sets that are written or tried."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from cepkit.columnar.compile.program import Program
from cepkit.errors import LimitError
from cepkit.tables import whole

SetChoice: TypeAlias = Literal["every", "maximal", "count", "bound", "tried"]
"""every: each non-empty set is a match. maximal: for each choice of the single events the match
with the most members, the earliest ones where there are several such. count: only the number of
matches is found, choosing no sets but those that conditions are about. bound: how many matches
there would be if all conditions on sets held. tried: how many sets the count has to choose."""

MOST_SETS = 20_000_000
"""The most sets that are written where no limit is given."""

MOST_TRIED = 100_000_000
"""The most sets that are tried against the conditions on them."""


def size_choice(programs: Iterable[Program]) -> SetChoice:
    """Return how to count the matches before they are written: exactly, or as an upper bound."""
    return "count" if any(program.cuts_sets_off for program in programs) else "bound"


def check_number_of_sets(program: Program, number: int, most: int) -> None:
    """Refuse an enumeration that would never end, before it begins.

    Args:
        number: The number of its matches, or more if conditions on sets are not counted in.
        most: The most matches that there may be.

    Raises:
        LimitError: There are more.
    """
    if number <= most or not program.sets:
        return
    matches = f"{'up to ' if program.tries_sets else ''}{whole(number)} matches"
    raise too_many_sets(program, f"{matches}, as every set of events for", most)


def too_many_sets(program: Program, what: str, most: int) -> LimitError:
    """Return the error for too many sets, with a hint at other calls.

    Args:
        what: The beginning of the message; the names of the Kleene variables follow.
    """
    names = " and ".join(f"'{step.variable}'" for step in program.listed)
    return LimitError(
        f"{what} {names} is a separate match",
        expected=f"at most {most:,} sets to choose from",
        hint="detect(..., sets='maximal') gives the largest sets alone, .count() their number"
        " without making them, limit=1000 some of them; KL(...){1,3} bounds their size",
    )


class TooManySets(Exception):  # noqa: N818 - no error until nothing else is left to do
    """More sets would have to be tried than the caller allows."""


@dataclass(slots=True)
class Tries:
    """How many sets may still be tried against the conditions on them, and how.

    Attributes:
        left: How many.
        together: How many at a time, if these are all sets of some rows.
        alone: Whether, if there are more, the first set of each row that holds is enough: in the
            order of skip-till-next-match, in which a set comes before its own subsets.
    """

    left: int
    together: int
    alone: bool

    def spend(self, number: int) -> None:
        """Count sets that are about to be tried.

        Raises:
            TooManySets: There are more than are left.
        """
        if number > self.left:
            raise TooManySets
        self.left -= number
