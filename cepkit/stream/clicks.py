"""Clicks in a made-up online shop: customers view, buy, follow recommendations, and leave.

A session is a random walk over a few actions, with odds that depend on the customer's channel. Some
customers come often, most do not. Product analysts ask for the funnel of such a stream: the number
of customers at each stage, in order and in time.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Integers = npt.NDArray[np.int64]

ACTIONS = (
    "ViewKindle",
    "BuyKindle",
    "Recommend",
    "ViewCase",
    "BuyCase",
    "ViewLight",
    "BuyLight",
    "ViewKindleFire",
)
"""The actions of customers; with Recommend they follow a recommendation."""

CHANNELS = ("web", "app", "mail")

_PRICES = {"BuyKindle": 99.0, "BuyCase": 29.0, "BuyLight": 19.0}
_FIRST = (0.55, 0.0, 0.0, 0.2, 0.0, 0.1, 0.0, 0.15)
_LEAVE = len(ACTIONS)
# The odds of each next action, by the previous one; the last is to leave.
_NEXT = (
    (0.22, 0.24, 0.0, 0.12, 0.0, 0.04, 0.0, 0.13, 0.25),
    (0.04, 0.0, 0.32, 0.28, 0.0, 0.06, 0.0, 0.0, 0.30),
    (0.05, 0.0, 0.0, 0.55, 0.0, 0.25, 0.0, 0.0, 0.15),
    (0.08, 0.05, 0.03, 0.22, 0.30, 0.06, 0.0, 0.0, 0.26),
    (0.04, 0.0, 0.08, 0.0, 0.0, 0.28, 0.0, 0.0, 0.60),
    (0.05, 0.0, 0.0, 0.15, 0.0, 0.15, 0.35, 0.0, 0.30),
    (0.05, 0.0, 0.0, 0.15, 0.0, 0.0, 0.0, 0.0, 0.80),
    (0.40, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.25, 0.35),
)
_BUYS = (1.0, 0.7, 1.6)
"""The factor of each channel's odds to buy."""

_MONDAY = np.datetime64("2024-03-04", "us").astype(np.int64)
_SECOND = 1_000_000
_DAY = 86_400 * _SECOND
_SESSIONS_PER_DAY = 20_000
_LONGEST = 24
_TICK = 100_000  # microseconds; a coarse clock makes ties


def click_events(n: int = 100_000, *, seed: int = 7) -> pa.Table:
    """Return clicks in a shop: skewed customers, busy evenings, actions in a plausible order.

    Args:
        n: The number of events; a day has about 60,000.
        seed: The seed of the random generator.

    Returns:
        Columns ts (timestamp, UTC; a clock that ticks ten times a second), action (text), customer
        (integer), channel (text), price (dollars; null where nothing is bought), in order of time.

    Example:
        >>> from cepkit.stream.clicks import click_events
        >>> click_events(3).column("action").to_pylist()
        ['ViewCase', 'ViewKindleFire', 'ViewKindle']
    """
    rng = np.random.default_rng(seed)
    # Generate whole days, so that a longer stream begins like a shorter one.
    days = [_day(rng, 0)]
    while sum(len(day[0]) for day in days[:-1]) < n:  # some sessions go on after midnight
        days.append(_day(rng, len(days)))
    ts, action, customer, channel, percent = map(np.concatenate, zip(*days, strict=True))
    order = np.argsort(ts, kind="stable")[:n]
    action, channel = action[order], channel[order]
    prices = np.array([_PRICES.get(name, 0.0) for name in ACTIONS])[action]
    prices = np.round(prices * percent[order] / 100, 2)
    return pa.table(
        {
            "ts": pa.array(ts[order], pa.timestamp("us", "UTC")),
            "action": pa.array(np.array(ACTIONS, dtype=object)[action], pa.string()),
            "customer": customer[order],
            "channel": pa.array(np.array(CHANNELS, dtype=object)[channel], pa.string()),
            "price": pa.array(prices, mask=prices == 0),
        }
    )


def _day(rng: np.random.Generator, day: int) -> tuple[Integers, ...]:
    """Return the times, actions, customers, channels and payments of a day's sessions.

    Payments are in percent of the price: now and then there is a discount.
    """
    size = _SESSIONS_PER_DAY
    hours = 1 + 0.8 * np.sin((np.arange(25) - 14) / 24 * 2 * np.pi)  # busiest at eight
    passed = np.concatenate(([0.0], np.cumsum((hours[1:] + hours[:-1]) / 2)))
    began = np.interp(rng.random(size) * passed[-1], passed, np.arange(25.0)) * 3600 * _SECOND
    customer = (rng.pareto(1.2, size) * 3000).astype(np.int64) % 50_000
    channel = rng.choice(len(CHANNELS), size, p=[0.5, 0.35, 0.15]).astype(np.int64)
    odds = _odds()
    now = began.astype(np.int64)
    action_now = rng.choice(len(ACTIONS), size, p=_FIRST).astype(np.int64)
    active = np.arange(size)
    steps: list[tuple[Integers, Integers, Integers]] = []
    for _ in range(_LONGEST):
        steps.append((now[active], action_now[active], active))
        draws = rng.random(len(active))[:, None]
        action_now[active] = (odds[channel[active], action_now[active]] < draws).sum(axis=1)
        now[active] += (rng.exponential(40 * _SECOND, len(active))).astype(np.int64)
        active = active[action_now[active] != _LEAVE]
    ts, action, session = (np.concatenate(parts) for parts in zip(*steps, strict=True))
    ts = _MONDAY + day * _DAY + ts // _TICK * _TICK
    percent = rng.choice(np.array([100, 90, 80]), len(ts), p=[0.7, 0.2, 0.1]).astype(np.int64)
    return ts, action, customer[session], channel[session], percent


def _odds() -> npt.NDArray[np.float64]:
    """Return for each channel and action the cumulative odds of the next one."""
    table = np.array([_NEXT] * len(CHANNELS))
    for channel, factor in enumerate(_BUYS):
        for action, name in enumerate(ACTIONS):
            if name.startswith("Buy"):
                table[channel, :, action] *= factor
    table /= table.sum(axis=2, keepdims=True)
    return np.asarray(np.cumsum(table, axis=2)[:, :, :-1])
