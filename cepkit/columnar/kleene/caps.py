"""What sums and counts bounded from above allow: sets that only grow heavier are cut off early."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from cepkit.columnar.compile.kleene import Cap
from cepkit.columnar.compile.program import SetStep
from cepkit.columnar.join.step import Partials
from cepkit.columnar.kleene.lists import Lists
from cepkit.columnar.slices.candidates import Candidates
from cepkit.pattern.evaluation import value
from cepkit.pattern.operations import as_floats
from cepkit.stream.columns import Column


def weighed(
    candidates: Mapping[str, Candidates], step: SetStep, chosen: Partials, lists: Lists
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return for each cap what each listed member weighs, and what those of a row may weigh."""
    weights = np.zeros((len(step.caps), len(lists.members)))
    caps = np.full((len(step.caps), len(lists.begins)), np.inf)

    def read(variable: str, attribute: str) -> Column:
        return candidates[variable].column(attribute).take(chosen[variable])

    for k, cap in enumerate(step.caps):
        assert cap.function.attribute is not None
        column = candidates[step.repeated.variable].attribute(cap.function.attribute)

        def weigh(
            rows: npt.NDArray[np.integer], column: Column = column, cap: Cap = cap
        ) -> npt.NDArray[np.float64]:
            own = column.take(rows)
            if cap.function.function == "count":
                return (~own.missing()).astype(np.float64)
            return np.nan_to_num(as_floats(own), nan=0.0, posinf=np.inf, neginf=-np.inf)

        own = weigh(lists.members)
        # A sum that may fall again says nothing of larger sets.
        if (own < 0).any():
            continue
        weights[k] = own
        limit = np.broadcast_to(as_floats(value(cap.limit, read)), len(lists.begins))
        # What is missing bounds nothing, and makes no condition true.
        limit = np.where(np.isnan(limit), -np.inf, limit + 1e-9 * np.abs(limit))
        for ends in (lists.firsts, lists.lasts):
            bound = ends >= 0
            held = np.zeros(len(ends))
            held[bound] = weigh(ends[bound])
            limit = np.where(held < 0, np.inf, limit - held)
        caps[k] = limit
    return weights, caps
