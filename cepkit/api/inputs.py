"""The verbs that make inputs: `parse` and the generators of sample events."""

from __future__ import annotations

from cepkit.arguments import check_range, typed
from cepkit.lazy import pd
from cepkit.pattern.evaluation.functions.registered import register_function as register_function
from cepkit.pattern.query import Query
from cepkit.stream.stream import events as events

_MOST_SAMPLES = 100_000_000
"""Some ten gigabytes."""


def parse(text: str) -> Query:
    """Return the query that a text says.

    Args:
        text: As docs/pattern-language.md describes.

    Raises:
        PatternSyntaxError: The text does not follow the grammar; the message underlines the place.
        PatternError: It does, but means nothing, as a condition on an unknown variable.

    Example:
        >>> import cepkit as ck
        >>> text = "PATTERN SEQ(MSFT a, GOOG b) WHERE a.price < b.price WITHIN 5 minutes"
        >>> print(ck.parse(text))
        PATTERN SEQ(MSFT a, GOOG b)
        WHERE a.price < b.price
        WITHIN 5 minutes
    """
    from cepkit.pattern.parsing.parser import parse as parse_text

    return parse_text(text)


@typed
def sample_stocks(n: int = 200_000, *, seed: int = 7) -> pd.DataFrame:
    """Return made-up stock trades to try things on: drifting, bursty, with a rare ticker.

    Args:
        n: How many.
        seed: Of the random generator.

    Returns:
        Columns ts (UTC), ticker, price, difference (from the ticker's price before), volume.

    Example:
        >>> import cepkit as ck
        >>> ck.sample_stocks(3)[["ticker", "price", "volume"]]
          ticker  price  volume
        0   ORCL  20.56     500
        1   CSCO  24.58     800
        2   CSCO  24.53     200
    """
    from cepkit.stream.generators import stock_events

    check_range("n", n, 0, _MOST_SAMPLES)
    check_range("seed", seed, 0)
    frame: pd.DataFrame = stock_events(n, seed=seed).to_pandas()
    return frame


@typed
def sample_clicks(n: int = 100_000, *, seed: int = 7) -> pd.DataFrame:
    """Return generated clicks in an online shop: visitors view, buy or leave.

    Args:
        n: How many; some 60,000 are a day.
        seed: Of the random generator.

    Returns:
        Columns ts (UTC), action (as ViewKindle, BuyCase, Recommend), customer, channel (web, app
        or mail), price (dollars; missing where nothing is bought).

    Example:
        >>> import cepkit as ck
        >>> ck.sample_clicks(3)[["action", "channel", "price"]]
                   action channel  price
        0        ViewCase     app    NaN
        1  ViewKindleFire    mail    NaN
        2      ViewKindle     web    NaN
    """
    from cepkit.stream.clicks import click_events

    check_range("n", n, 0, _MOST_SAMPLES)
    check_range("seed", seed, 0)
    frame: pd.DataFrame = click_events(n, seed=seed).to_pandas()
    return frame
