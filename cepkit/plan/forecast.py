"""What a plan is expected to find and to cost, added up over its branches and steps."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cepkit.plan.checks import variables_of_plan
from cepkit.plan.logarithms import log
from cepkit.statistics.forecast import Forecast, around
from cepkit.statistics.model import Statistics

if TYPE_CHECKING:
    from cepkit.plan.nodes import Plan


def forecast_of(plan: Plan) -> Forecast | None:
    """Return the forecast of a plan; None where it was made without statistics."""
    if plan.statistics is None or not plan.expected:
        return None
    steps = [step for branch in plan.expected for step in branch]
    matches = math.fsum(branch[-1].partial_matches for branch in plan.expected if branch)
    errors = (_relative_error(plan.statistics, variables_of_plan(b)) for b in plan.branches)
    return Forecast(
        matches,
        *around(log(matches), max(errors, default=0.0)),
        candidates=math.fsum(step.candidates for step in steps),
        partial_matches=math.fsum(step.partial_matches for step in steps),
        alive=max((step.alive for step in steps), default=0.0),
    )


def _relative_error(statistics: Statistics, variables: tuple[str, ...]) -> float:
    """Return the standard error of the logarithm of the product of the selectivities."""
    known = set(variables)
    return math.sqrt(
        math.fsum(
            (found.standard_error / found.share) ** 2
            for names, found in statistics.selectivities.items()
            if names <= known and found.share
        )
    )
