"""COUNT, SUM, AVG, MIN and MAX."""

from __future__ import annotations

from typing import Any

from cepkit.pattern.aggregates.contract import AggregateFunction


def _number(n: Any) -> Any:
    return n


def _only(_: Any, value: Any) -> Any:
    return value


def _mean(n: Any, total: Any) -> Any:
    return total / n


COUNT = AggregateFunction("count", "anything", (), _number, "integer", least=0)
SUM = AggregateFunction("sum", "amounts", ("sum",), _only, "same")
AVG = AggregateFunction("avg", "amounts", ("sum",), _mean, "float")
MIN = AggregateFunction("min", "ordered", ("least",), _only, "same")
MAX = AggregateFunction("max", "ordered", ("greatest",), _only, "same")
