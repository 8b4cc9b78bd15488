"""The fixtures of all tests: one Spark session, and the profiles of hypothesis."""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, settings

from cepkit import compiling
from cepkit.pattern.evaluation.functions import registered as functions
from tests.spark.classes import java_options

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The same examples every time, so that a change is not blamed for what it did not do. No deadline:
# kernels compile, and machines are shared.
settings.register_profile(
    "default",
    max_examples=16,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("quick", settings.get_profile("default"), max_examples=4)
settings.register_profile("long", settings.get_profile("default"), max_examples=3000)
# For make test-random: what is drawn follows from --hypothesis-seed alone.
settings.register_profile(
    "random", settings.get_profile("default"), derandomize=False, max_examples=25
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

os.environ.setdefault("SPARK_SUBMIT_OPTS", java_options())

compiling.PLAIN_SECONDS = 0.0  # small streams, too, test the compiled loops


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The session of all tests, on two cores, so that data is split.

    With SPARK_REMOTE, as `tests.spark.connect` sets it, it is one of Spark Connect.
    """
    from cepkit.spark.fetching import LIMIT
    from cepkit.spark.session.local import get_session

    if os.environ.get("SPARK_REMOTE"):
        from pyspark.sql import SparkSession

        _take_empty_tables(SparkSession.builder.getOrCreate())
    session = get_session(cores=2, memory="2g", app_name="cepkit tests")
    # Or all that tests have would be fetched, and no worker tested.
    session.conf.set(LIMIT, "0")
    yield session
    session.stop()


def _take_empty_tables(session: Any) -> None:
    """Let a session of Connect make DataFrames of empty Arrow tables, as a classic one does."""
    import pyarrow as pa
    from pyspark.sql.pandas.types import from_arrow_schema

    create = session.createDataFrame

    def created(data: Any, schema: Any = None, **options: Any) -> Any:
        if isinstance(data, pa.Table) and not len(data) and schema is None:
            return create([], from_arrow_schema(data.schema))
        return create(data, schema, **options)

    session.createDataFrame = created


@pytest.fixture(autouse=True)
def _own_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the functions that a test registers."""
    monkeypatch.setattr(functions, "_registered", dict(functions._registered))


_OF_EXTRAS = re.compile(
    r"^(?:from|import) (?:pyspark|cepkit\.spark|cepkit_widgets|IPython|benchmarks|tests\.cells"
    r"|tests import examples|tests\.unit\.figures\.test_hostile_texts)\b",
    re.MULTILINE,
)
"""At the top of a file of tests: an import of what the extras bring."""


def pytest_configure(config: pytest.Config) -> None:
    """Make a write to a copy an error: pandas 3 has no such warning, as every frame is a copy."""
    if hasattr(pd.errors, "SettingWithCopyWarning"):
        config.addinivalue_line("filterwarnings", "error::pandas.errors.SettingWithCopyWarning")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out files that need Spark or Jupyter where the extras are not installed."""
    if find_spec("pyspark") is not None:
        return None
    if collection_path.is_dir():
        return collection_path.name in {"browser", "notebooks", "realdata", "spark"} or None
    if collection_path.suffix != ".py":
        return None
    # That file is about the packages of the lock.
    is_of_all = collection_path.name == "test_licences.py"
    return is_of_all or bool(_OF_EXTRAS.search(collection_path.read_text("utf-8"))) or None


class _FromTheEnd(pytest.Dir):
    """A folder whose files are imported from the last to the first."""

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        return reversed([*super().collect()])


def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Dir | None:
    """Let every other process import the files of tests from the last to the first.

    Each prepares half of the asserts, and finds those of the other half prepared on disk.
    """
    number = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
    return _FromTheEnd.from_parent(parent, path=path) if int(number) % 2 else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Look for no garbage among thousands of collected tests, and seldom where loops compile."""
    gc.disable()
    yield
    gc.set_threshold(100_000, 50, 1_000)
    gc.enable()
    gc.freeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Order the tests, mark those that use Spark or a browser, and slow ones.

    Spark, notebooks and recorded data are slow unless a test says that it is `quick`.
    """
    # The same in all processes. Short files come last, so that all processes end at one time.
    items.sort(key=lambda item: (item.path.parent.name == "pattern", item.path))
    browser = "browser" in config.option.markexpr
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        if "spark" in fixtures:
            item.add_marker(pytest.mark.spark)
        if "context" in fixtures:
            item.add_marker(pytest.mark.browser)
            if not browser:
                item.add_marker(pytest.mark.skip(reason="make test-browser runs these"))
        of_spark = item.get_closest_marker("spark") is not None
        slow = of_spark or item.path.parent.name in {"notebooks", "realdata"}
        if slow and item.get_closest_marker("quick") is None:
            item.add_marker(pytest.mark.slow)


_IN_ONE_PROCESS = {
    "spark": re.compile(r"tests/spark/"),
    "notebooks": re.compile(r"tests/(notebooks/|unit/test_lite\.py)"),
    "aggregates": re.compile(r"tests/(unit/aggregation/|properties/test_aggregat)"),
    "first matches": re.compile(
        r"tests/(properties/test_(absent_together|adaptation|after_match|next_match)\.py"
        r"|unit/adaptation/test_several\.py|unit/columnar/test_next_match)"
    ),
}
"""Files that share a session, a large package that few others import, or loops of which each takes
many seconds to compile: two processes that need one at the same moment would both compile it."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep the tests of a file, and all of Spark, in one process, to compile each loop once.

    The groups of pytest-xdist 3.8 have no effect under pytest 9.2.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            path = nodeid.partition("::")[0]
            found = (name for name, files in _IN_ONE_PROCESS.items() if files.match(path))
            return next(found, path)

    return ByFile(config, log) if config.getvalue("dist") == "loadfile" else None
