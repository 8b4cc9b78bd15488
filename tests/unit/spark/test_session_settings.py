"""The settings of a local session, and the files that it leaves behind."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cepkit.errors import ArgumentError
from cepkit.spark.session import local as session


def test_shuffles_make_as_many_tasks_as_there_are_cores() -> None:
    settings = session.local_settings(3, "1g")
    assert settings["spark.master"] == "local[3]"
    assert settings["spark.sql.shuffle.partitions"] == "3"
    assert settings["spark.driver.memory"] == "1g"


def test_the_time_zone_is_left_to_the_machine() -> None:
    assert "spark.sql.session.timeZone" not in session.local_settings(1, "1g")


def test_the_logging_file_is_shipped() -> None:
    option = session.local_settings(1, "1g")["spark.driver.extraJavaOptions"]
    path = Path(option.removeprefix("-Dlog4j2.configurationFile=file://"))
    assert "rootLogger.level = error" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("machine", "heap"), [(2**31, "1024m"), (24 * 2**30, "8192m"), (2**40, "16384m")]
)
def test_the_heap_leaves_room_for_the_workers(
    machine: int, heap: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "_machine_memory", lambda: machine)
    assert session._default_memory() == heap


def test_the_environment_is_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "mine")
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    with session._environment({"JAVA_HOME": "ours", "PYSPARK_PYTHON": "ours"}):
        assert os.environ["JAVA_HOME"] == os.environ["PYSPARK_PYTHON"] == "ours"
    assert os.environ["JAVA_HOME"] == "mine"
    assert "PYSPARK_PYTHON" not in os.environ


@pytest.mark.parametrize(
    ("given", "hint"),
    [("app", "app_name"), ("appname", "app_name"), ("mem", "memory"), ("core", "cores")],
)
def test_an_argument_of_another_name_is_refused_with_the_right_one(given: str, hint: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        session.get_session(**{given: "x"})
    assert isinstance(caught.value, TypeError)
    assert str(caught.value) == (
        f"get_session has no argument '{given}'\n"
        f"Expected: one of cores, memory, app_name, progress\nHint: did you mean '{hint}'?"
    )
