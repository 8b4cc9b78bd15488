"""The work budget of a search or a run, which ends it before it takes too long.

Work is counted, not timed, so that the same input always ends at the same place.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass


class WorkBoundError(Exception):
    """A search or a run has used up its budget."""


@dataclass(slots=True)
class Work:
    """A budget: how many events, instances or combinations may be examined.

    Attributes:
        done: How many so far.
    """

    budget: int = sys.maxsize
    done: int = 0

    def take(self, amount: int) -> None:
        """Spend some of the budget.

        Raises:
            WorkBoundError: There is not so much left.
        """
        self.done += amount
        if self.done > self.budget:
            raise WorkBoundError
