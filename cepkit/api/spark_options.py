"""Options that only Spark has: one value for `detect` and `aggregate`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar

from cepkit.api.arguments import check_name
from cepkit.arguments import FORMER, typed
from cepkit.errors import ArgumentError, StreamError, shown

if TYPE_CHECKING:
    from cepkit.stream.stream import Stream

P = ParamSpec("P")
R = TypeVar("R")

ROUTES = ("auto", "driver", "workers")


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkOptions:
    """How `detect` and `aggregate` run on Spark; the matches are the same.

    An option that says nothing where the events are is refused.

    Attributes:
        slice_seconds: The length of a time slice of patterns without a key; None chooses it from
            the statistics so that a worker's memory is bounded. For a streaming DataFrame, which
            only `detect` cuts, the length of the slices that are assigned to buckets, if one core
            is too slow for a pattern without a key; None: one bucket has all events.
        slice_events: For a Spark DataFrame: the same in events, for windows in events and
            contiguity.
        route: Where the events of a Spark DataFrame are searched: "driver" fetches the events that
            the pattern needs into this process, once (see `Stream.forget`); "workers" leaves them
            in Spark; "auto" fetches up to 64 MB, or the session's `spark.cepkit.fetch.maxBytes`,
            and searches them here if that takes a few seconds. Several queries take only "auto".
            Local Parquet files are read without a Spark job, up to 512 MB. `.route` of the matches
            says what was done.
        buckets: For a streaming DataFrame: the number of buckets that keys are hashed into, or that
            time slices are assigned to; one task evaluates a bucket. None: 16. A checkpoint keeps
            its number.
        late: For a streaming DataFrame: whether events that are too late, or too far ahead, are
            only counted (in each micro-batch's progress), or also emitted as rows: the column
            `kind` is then "match", "late" or "ahead", and `event` has the event.
        timeouts: For a streaming DataFrame: whether partial matches that time out are also emitted
            as rows, for SEQ (also with FIRST) and AND: the first variables in the order of the
            pattern, if no event came within the window that could have been the next. `kind` is
            "timed-out", `awaited` the variable that did not come, `window_end` the latest time at
            which it could have come.

    Example:
        >>> import cepkit as ck
        >>> ck.SparkOptions(late="collect", buckets=4)
        SparkOptions(buckets=4, late='collect')
    """

    slice_seconds: float | None = None
    slice_events: int | None = None
    route: Literal["auto", "driver", "workers"] = "auto"
    buckets: int | None = None
    late: Literal["count", "collect"] = "count"
    timeouts: bool = False

    def __post_init__(self) -> None:
        if self.slice_seconds is not None and not self.slice_seconds > 0:
            raise StreamError(f"slice_seconds={self.slice_seconds}", expected="more than 0")
        if self.slice_events is not None and self.slice_events < 1:
            raise StreamError(f"slice_events={self.slice_events}", expected="1 or more")
        check_name("route", self.route, ROUTES)
        if self.late not in ("count", "collect"):
            raise StreamError(f"late={self.late!r}", expected="'count' or 'collect'")

    def __repr__(self) -> str:
        return (
            f"SparkOptions({', '.join(f'{name}={getattr(self, name)!r}' for name in self.given)})"
        )

    @property
    def given(self) -> tuple[str, ...]:
        """The names of the options that are not left at their defaults."""
        return tuple(one.name for one in fields(self) if getattr(self, one.name) != one.default)


SparkOptions.__init__ = typed(SparkOptions.__init__)  # type: ignore[method-assign]

_PLACES = {
    "local": "events in this process",
    "batch": "a Spark DataFrame",
    "stream": "a streaming DataFrame (spark.readStream)",
}
_APPLY: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "detect": {
        "slice_seconds": ("batch", "stream"),
        "slice_events": ("batch",),
        "route": ("batch",),
        "buckets": ("stream",),
        "late": ("stream",),
        "timeouts": ("stream",),
    },
    "aggregate": {"slice_seconds": ("batch",)},
}
"""The places where each verb takes each option."""
_HINTS = {
    ("timeouts", "local"): "NOT at the end of a pattern finds what times out",
    ("timeouts", "batch"): "NOT at the end of a pattern finds what times out",
    ("slice_events", "stream"): "slice_seconds= cuts the time of a pattern without a key",
    ("slice_seconds", "stream"): "each micro-batch is a slice: .trigger(processingTime=...) says"
    " how long",
}


DEFAULTS = SparkOptions()


def options_for(
    spark: SparkOptions, verb: str, stream: Stream, *, several: bool = False
) -> SparkOptions:
    """Return the options that are given for a verb over a stream.

    Raises:
        ArgumentError: They are something else, or the verb takes no such option.
        StreamError: One of them says nothing for such a stream, or for several patterns.
    """
    if not isinstance(spark, SparkOptions):
        raise ArgumentError(
            f"spark= is of the type {type(spark).__name__}",
            expected="cepkit.SparkOptions(...)",
            hint="the session is that of the stream's DataFrame",
        )
    live = stream.lateness is not None
    place = "stream" if live else "batch" if stream.place == "spark" else "local"
    for name in spark.given:
        places = _APPLY[verb].get(name)
        if places is None:
            raise ArgumentError(
                f"{name}= of SparkOptions for {verb}", expected=f"one of {', '.join(_APPLY[verb])}"
            )
        if place not in places:
            raise StreamError(
                f"{name}= of SparkOptions with {_PLACES[place]}",
                expected=" or ".join(map(_PLACES.__getitem__, places)),
                hint=_HINTS.get((name, place)),
            )
    if several and spark.route != "auto":
        raise StreamError(f"route={shown(spark.route)} for several patterns", expected="'auto'")
    return spark


OLD_ARGUMENTS = ("slice_seconds", "slice_events", "route", "buckets", "late", "timeouts")
"""The former arguments of `detect` and `aggregate` that are options of Spark."""


def taking_old_arguments(verb: Callable[P, R]) -> Callable[P, R]:
    """Let a verb take the former arguments that are options of Spark now, with a warning."""
    FORMER[verb] = partial(_with_options, verb.__name__)
    return verb


def _with_options(verb: str, args: tuple[Any, ...], given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the arguments by name with options of Spark in place of the former arguments."""
    old: Any = {name: given[name] for name in OLD_ARGUMENTS if name in given}
    if not old:
        return given
    options = ", ".join(f"{name}={value!r}" for name, value in old.items())
    names = ", ".join(f"{name}=" for name in old)
    from cepkit.deprecated import warn

    warn(f"{names} of cepkit.{verb}: write spark=ck.SparkOptions({options})", stacklevel=5)
    kept = {name: value for name, value in given.items() if name not in old}
    stream: Any = args[0] if args else given.get("stream")
    if getattr(stream, "place", None) == "local":  # where slices had no effect
        old = {name: value for name, value in old.items() if "slice" not in name}
    new: Any = given.get("spark") or DEFAULTS
    return {**kept, "spark": replace(new, **old)}
