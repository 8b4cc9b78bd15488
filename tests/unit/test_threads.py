"""Jobs side by side: order, errors, memory, stops, and how many threads there are."""

import os
import threading
from collections.abc import Iterator

import pandas as pd
import pytest

import cepkit as ck
from cepkit import threads
from cepkit.cli import main
from cepkit.columnar.detector import Detector
from cepkit.columnar.results import matches
from cepkit.errors import ArgumentError
from cepkit.threads import VARIABLE, in_order, limited_to, number_of_threads, threads_asked

SECONDS = 120.0
"""A deadline for what happens in another thread."""


@pytest.fixture(autouse=True)
def four_cores(monkeypatch):
    monkeypatch.setenv(VARIABLE, "4")


def numbers(job, size=3):
    def run():
        for step in range(size):
            yield job, step

    return run


@pytest.mark.parametrize("most", [1, 2, 4])
def test_results_come_in_the_order_of_the_jobs(most):
    expected = [(job, step) for job in range(50) for step in range(3)]
    assert list(in_order(map(numbers, range(50)), most)) == expected


def test_no_jobs_have_no_results():
    assert list(in_order([], 4)) == []


def test_two_threads_work_at_the_same_time():
    both = threading.Barrier(2)

    def run() -> Iterator[int]:
        both.wait(SECONDS)
        yield threading.get_ident()

    assert len(set(in_order([run, run], 2))) == 2


@pytest.mark.parametrize("most", [1, 2, 4])
def test_the_error_is_that_of_the_first_job_with_one(most):
    def failing(job):
        def run():
            yield job
            if job >= 5:
                raise ValueError(job)

        return run

    seen = []
    with pytest.raises(ValueError, match=r"^5$"):
        seen.extend(in_order(map(failing, range(20)), most))
    assert seen == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("most", [1, 2, 4])
def test_an_error_of_making_jobs_comes_after_the_jobs_before(most):
    def jobs():
        yield from map(numbers, range(7))
        raise ValueError("no more")

    seen = []
    with pytest.raises(ValueError, match="no more"):
        seen.extend(in_order(jobs(), most))
    assert len(seen) == 21


def test_only_one_job_more_than_threads_is_open():
    begun = []

    def job(number):
        def run():
            begun.append(number)
            yield number

        return run

    for number in in_order(map(job, range(40)), 3):
        assert max(begun) <= number + 4


def test_a_job_pauses_while_nobody_takes_its_results():
    steps = []

    def run():
        for step in range(1000):
            steps.append(step)
            yield step

    results = in_order([numbers(0), run, run], 2, lambda _: threads.HELD // 4)
    next(results)
    results.close()
    assert len(steps) <= 2 * 4


def test_a_paused_job_goes_on():
    results = in_order([numbers(job, 40) for job in range(9)], 3, lambda _: threads.HELD // 3)
    assert list(results) == [(job, step) for job in range(9) for step in range(40)]


def test_closing_ends_the_threads():
    begun, ended = threading.Event(), threading.Event()

    def first():
        begun.wait(SECONDS)
        yield 1
        yield 2

    def long():
        begun.set()
        try:
            while True:
                threads.end_if_stopped()
        finally:
            ended.set()
        yield

    results = in_order([first, long, long], 2)
    assert next(results) == 1
    results.close()
    assert ended.wait(SECONDS)


def test_an_interrupt_of_the_caller_ends_the_threads():
    begun, ended = threading.Event(), threading.Event()

    def interrupted():
        begun.wait(SECONDS)
        raise KeyboardInterrupt
        yield

    def long():
        begun.set()
        try:
            while True:
                threads.end_if_stopped()
        finally:
            ended.set()
        yield

    with pytest.raises(KeyboardInterrupt):
        list(in_order([interrupted, long], 2))
    assert ended.wait(SECONDS)


def test_callers_at_once_have_no_more_threads_than_cores():
    lock, inside, most = threading.Lock(), set(), []

    def run():
        with lock:
            inside.add(threading.get_ident())
            most.append(len(inside))
        yield
        with lock:
            inside.discard(threading.get_ident())

    started = threading.Barrier(8)

    def call():
        started.wait(SECONDS)
        assert len(list(in_order([run] * 50, 4))) == 50

    callers = [threading.Thread(target=call) for _ in range(8)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(SECONDS)
    assert max(most) <= 8  # the callers themselves, and helpers only where one has ended
    assert threads._cores._busy == 0


def test_nested_job_gets_no_further_threads():
    both = threading.Barrier(2)

    def inner():
        yield threading.get_ident()

    def outer():
        both.wait(SECONDS)
        yield set(in_order([inner] * 8, 4)), threading.get_ident()

    of_helper = [
        own for own, ident in in_order([outer, outer], 2) if ident != threading.get_ident()
    ]
    assert [len(own) for own in of_helper] == [1]


def test_a_forked_process_begins_with_no_thread():
    threads._cores.add(4)
    try:
        child = os.fork()
        if child == 0:
            os._exit(threads._cores._busy)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        threads._cores.add(-4)


def test_the_variable_limits_the_threads(monkeypatch):
    assert number_of_threads() == 4
    for asked, used in ((3, 3), (99, 4), (None, 4)):
        with limited_to(asked):
            assert number_of_threads() == used
    monkeypatch.delenv(VARIABLE)
    assert number_of_threads() == threads.cores()


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5", "99999999999"])
def test_a_variable_that_is_no_number_of_threads_is_refused(monkeypatch, text):
    monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(ArgumentError, match=VARIABLE):
        number_of_threads()


def test_no_threads_are_refused():
    with pytest.raises(ArgumentError, match="threads=0"), limited_to(0):
        pass


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"/a/b/cpu.max": "150000 100000", "/cpu.max": "max 100000"}, (2,)),
        ({"/a/cpu.max": "20000 100000"}, (1,)),
        ({}, ()),
    ],
)  # fmt: skip
def test_a_containers_quota_limits_the_cores(monkeypatch, files, expected):
    from cepkit import memory

    known = {f"/sys/fs/cgroup{name}": [text] for name, text in files.items()}
    known["/proc/self/cgroup"] = ["0::/a/b"]
    for module in (memory, threads):
        monkeypatch.setattr(module, "lines_of", lambda path: known.get(path, []))
    assert threads._quotas.__wrapped__() == expected


def test_an_older_containers_quota_limits_the_cores(monkeypatch):
    from cepkit import memory

    known = {
        "/proc/self/cgroup": ["4:cpu,cpuacct:/a"],
        "/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us": ["300000"],
        "/sys/fs/cgroup/cpu/a/cpu.cfs_period_us": ["100000"],
        "/sys/fs/cgroup/cpu/cpu.cfs_quota_us": ["-1"],
        "/sys/fs/cgroup/cpu/cpu.cfs_period_us": ["100000"],
    }
    for module in (memory, threads):
        monkeypatch.setattr(module, "lines_of", lambda path: known.get(path, []))
    assert threads._quotas.__wrapped__() == (3,)


def test_verbs_take_the_number_of_threads(monkeypatch):
    used = []
    whole = Detector.__init__

    def noted(self, *given, threads=1, **options):
        used.append(threads)
        whole(self, *given, threads=threads, **options)

    monkeypatch.setattr(Detector, "__init__", noted)
    stream = ck.events(ck.sample_stocks(500), time="ts", type="ticker")
    text = "PATTERN SEQ(MSFT a, GOOG b) WITHIN 1 minute"
    assert ck.detect(stream, text, threads=3).count() == ck.detect(stream, text).count()
    assert used == [3, 4]
    ck.detect(stream, [text, text], threads=2)[0].count()
    ck.detect(stream, [text, text], threads=2).counts()
    ck.aggregate(stream, f"{text} AGG COUNT", method="detect", threads=2)
    assert used[2:] == [2, 2, 2]
    with pytest.raises(ArgumentError, match="threads=0"):
        ck.detect(stream, text, threads=0)
    with pytest.raises(ArgumentError, match="threads=0"):
        ck.profile(stream, text, threads=0)


def test_a_stream_of_one_slice_starts_no_thread(monkeypatch):
    class Refused(threading.Thread):
        def start(self):
            raise AssertionError("a thread was started")

    events = ck.events(
        pd.DataFrame({"type": list("ABC") * 5, "ts": range(15)}), time="ts", type="type", unit="s"
    )
    monkeypatch.setattr(threading, "Thread", Refused)
    assert len(ck.detect(events, "PATTERN SEQ(A a, B b) WITHIN 1 second", threads=4)) == 5


def test_the_command_takes_the_number_of_threads(tmp_path, monkeypatch, capsys):
    asked = []
    monkeypatch.setattr(matches, "number_of_threads", lambda: asked.append(threads_asked()) or 1)
    ck.sample_stocks(500).to_csv(tmp_path / "stocks.csv", index=False)
    command = ["--events", f"{tmp_path / 'stocks.csv'}", "--time", "ts", "--type", "ticker"]
    command += ["--pattern-text", "PATTERN SEQ(MSFT a, GOOG b) WITHIN 1 minute"]
    for verb in ("detect", "explain", "why-not"):
        assert main([verb, *command, "--threads", "3"]) == 0
    assert set(asked) == {3}
    assert main(["detect", *command, "--threads", "0"]) != 0
    assert "threads=0" in capsys.readouterr().err
