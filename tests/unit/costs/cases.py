"""Branches and statistics for tests of costs, plans and planners, and a stream simulator."""

from dataclasses import dataclass

import numpy as np

from cepkit.pattern.conditions import AllOf, Attribute, Comparison
from cepkit.pattern.nodes import And, Event, Kleene, Not, Or, Seq
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.policies import TimeWindow
from cepkit.pattern.query import Query


def event(variable):
    return Event(variable, frozenset({variable.upper()}))


def events(names):
    return tuple(event(name) for name in names)


def seq(*items):
    return Seq(tuple(event(i) if isinstance(i, str) else i for i in items))


def conjunction(*items):
    return And(tuple(event(i) if isinstance(i, str) else i for i in items))


def choice(*items):
    return Or(tuple(event(i) if isinstance(i, str) else i for i in items))


def absent(variable):
    return Not(event(variable))


def repeated(variable, minimum=1, maximum=None):
    return Kleene(event(variable), minimum, maximum)


def compare(left, operator, right):
    return Comparison(operator, Attribute(*left.split(".")), Attribute(*right.split(".")))


def query(structure, *conditions, seconds=10.0, window=None, **policies):
    if window is None and seconds is not None:
        window = TimeWindow(round(seconds * 1e6))
    where = AllOf(conditions) if conditions else None
    return Query(structure, where, window, **policies)


def branch(structure, *conditions, **policies):
    (only,) = normal_form(query(structure, *conditions, **policies))
    return only


@dataclass(frozen=True)
class Stream:
    """The times and attributes of the events of each variable."""

    times: dict
    attributes: dict


def simulate(random, rates, duration):
    """Return Poisson arrivals; x, y uniform on [0, 1), k one of 4 keys, p of 5, independent."""
    times, attributes = {}, {}
    for variable, rate in rates.items():
        count = random.poisson(rate * duration)
        times[variable] = random.uniform(0, duration, count)
        attributes[variable] = {
            "x": random.random(count),
            "y": random.random(count),
            "k": random.integers(0, 4, count),
            "p": random.integers(0, 5, count),
        }
    return Stream(times, attributes)


def count(stream, branch, variables, conditions, duration_of_window):
    """Return the number of combinations that satisfy window, order, keys and conditions."""
    names = list(variables)

    def spread(values, name):
        shape = [1] * len(names)
        shape[names.index(name)] = -1
        return np.reshape(values, shape)

    times = [spread(stream.times[v], v) for v in names]
    latest, earliest = times[0], times[0]
    for t in times[1:]:
        latest, earliest = np.maximum(latest, t), np.minimum(earliest, t)
    good = latest - earliest <= duration_of_window
    for a, b in branch.order:
        if a in names and b in names:
            good = good & (times[names.index(a)] < times[names.index(b)])

    def values(attribute):
        column = stream.attributes[attribute.variable][attribute.name]
        return spread(column, attribute.variable)

    for c in conditions:
        left, right = values(c.left), values(c.right)
        good = good & (left < right if c.operator == "<" else left == right)
    for key in branch.partition_by:
        for v in names[1:]:
            a, b = (spread(stream.attributes[n][key], n) for n in (names[0], v))
            good = good & (a == b)
    return int(np.count_nonzero(good))
