"""The identity of a query, stored in its state, so that no other query continues its checkpoint.

State is events, so another plan may go on with it. Another pattern, other columns, another
lateness or number of buckets may not: what was dropped, or dealt out, would be wrong for them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from cepkit.errors import StreamError
from cepkit.printing import cut
from cepkit.values import dataclass

FORMAT = 3
"""Of the state. It changes when what is kept does."""

_WIDTH = 300


@dataclass(frozen=True, slots=True)
class Identity:
    """The identity of the query that a checkpoint belongs to.

    Attributes:
        parts: What it is made of, in words.
    """

    parts: Mapping[str, str]

    @property
    def text(self) -> str:
        """The same as a text, for the state."""
        return json.dumps({"format": str(FORMAT), **self.parts}, ensure_ascii=False)

    def check(self, owner: str) -> None:
        """Check that a state is of this query.

        Args:
            owner: The text in the state.

        Raises:
            StreamError: It is of another.
        """
        if owner == self.text:
            return
        theirs, mine = json.loads(owner), json.loads(self.text)
        differing = [name for name in {**mine, **theirs} if mine.get(name) != theirs.get(name)]
        raise StreamError(
            f"the checkpoint belongs to another query: {_described(theirs, differing)}",
            expected=_described(mine, differing),
            hint="a query that has changed needs a new checkpointLocation; the plan alone, and"
            " spark.sql.shuffle.partitions, may change",
        )


def _described(parts: Mapping[str, str], names: list[str]) -> str:
    return "; ".join(f"{name} {cut(parts.get(name, 'unknown'), _WIDTH)}" for name in names)
