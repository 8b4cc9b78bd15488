"""Long actions show a bar and can be interrupted; short ones say nothing."""

from __future__ import annotations

import signal
import threading
import time

import pytest

from cepkit.errors import StreamError
from cepkit.spark.passes.frame import ResultFrame
from cepkit.spark.passes.reports import Reports
from cepkit.spark.session import progress
from cepkit.spark.session.access import access_to
from cepkit.spark.session.progress import run_with_progress


def slow(spark, seconds: float):
    """Return an action of 8 tasks that takes some seconds on two cores."""

    def nap(batches):
        for batch in batches:
            time.sleep(seconds / 4)
            yield batch

    return lambda: spark.range(0, 8, 1, 8).mapInArrow(nap, "id long").count()


def press_ctrl_c_as_jobs_run(spark):
    """Interrupt the main thread when jobs run."""
    tracker, main = spark.sparkContext.statusTracker(), threading.main_thread().ident

    def press():
        while not tracker.getActiveJobsIds():
            time.sleep(0.05)
        signal.pthread_kill(main, signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()


def has_no_jobs(spark):
    """Return whether all jobs end, sooner or later."""
    tracker = spark.sparkContext.statusTracker()
    deadline = time.monotonic() + 300
    while tracker.getActiveJobsIds() and time.monotonic() < deadline:
        time.sleep(0.1)
    return not tracker.getActiveJobsIds()


def test_short_action_shows_no_progress(spark, capsys):
    assert run_with_progress(lambda: spark.range(9).count()) == 9
    assert capsys.readouterr().err == ""


def test_a_bar_counts_the_tasks_and_goes_when_it_is_done(spark, capsys):
    assert run_with_progress(slow(spark, 2), "counting", progress=True) == 8
    shown = capsys.readouterr().err
    assert "counting" in shown
    assert "/" in shown
    assert shown.endswith("\r")


def test_an_error_comes_as_it_is(spark):
    def fail(batches):
        raise StreamError("no times", expected="times", hint="look")
        yield from batches

    with pytest.raises(StreamError, match="no times") as error:
        run_with_progress(spark.range(3).mapInArrow(fail, "id long").count)
    assert (error.value.expected, error.value.hint) == ("times", "look")
    with pytest.raises(ZeroDivisionError):
        run_with_progress(lambda: 1 // 0)


def test_an_interrupt_while_the_bar_asks_leaves_the_session_usable(spark, monkeypatch, caplog):
    java = spark.sparkContext._jvm.java.lang
    asking = threading.Event()
    main = threading.main_thread().ident

    def tasks(*_):
        asking.set()
        java.Thread.sleep(1_500)
        return 0, 8

    def interrupt():
        asking.wait()
        time.sleep(0.5)
        signal.pthread_kill(main, signal.SIGINT)

    monkeypatch.setattr(progress, "_tasks", tasks)
    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        run_with_progress(slow(spark, 40), progress=True)
    assert not caplog.records
    assert java.Math.abs(-5) == 5


def test_an_interrupt_cancels_the_jobs_at_once(spark):
    action = slow(spark, 3600)  # nobody waits for its end
    press_ctrl_c_as_jobs_run(spark)
    with pytest.raises(KeyboardInterrupt):
        run_with_progress(action, progress=False)
    assert has_no_jobs(spark)
    assert spark.range(5).count() == 5


def result_of(rows) -> ResultFrame:
    reports = Reports(access_to(rows).reports(rows.sparkSession), 1, (), reported=True)
    return ResultFrame(rows, title="rows", route="here", reports=reports)


def test_an_interrupt_reaches_the_jobs_of_a_result_inside_a_longer_action(spark):
    def nap(batches):
        for batch in batches:
            time.sleep(900)
            yield batch

    result = result_of(spark.range(0, 8, 1, 8).mapInArrow(nap, "id long"))
    press_ctrl_c_as_jobs_run(spark)
    with pytest.raises(KeyboardInterrupt):
        run_with_progress(result.count, progress=False)
    assert has_no_jobs(spark)


def test_a_result_is_in_the_job_group_of_its_user(spark):
    context = spark.sparkContext
    context.setJobGroup("the user's", "")
    try:
        assert result_of(spark.range(4)).count() == 4
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)
    assert context.statusTracker().getJobIdsForGroup("the user's")


def test_an_interrupt_before_a_job_starts_cancels_it_as_it_does(spark):
    started = threading.Event()
    main = threading.main_thread().ident

    def action():
        started.set()
        time.sleep(2)
        return slow(spark, 200)()

    def interrupt():
        started.wait()
        time.sleep(0.5)
        signal.pthread_kill(main, signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        run_with_progress(action, progress=False)
    assert has_no_jobs(spark)
