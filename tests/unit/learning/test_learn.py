"""Patterns that are learned from incidents."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pandas as pd
import pytest

import cepkit as ck
from cepkit.calibration.result import CalibratedRow
from cepkit.errors import LimitError, StreamError
from cepkit.learning import search
from cepkit.learning.conditions import _round_between
from cepkit.learning.result import Chance, Learned
from cepkit.stream.warnings import StreamWarning

WITHIN = 600


def drawn(seed=0, number=60, machines=4, absent=False):
    """Return events and incidents: a hot A, then a B of the same machine come before them."""
    rng = np.random.default_rng(seed)
    span = number * 6_000 / machines
    size = int(span * machines / 150)
    frame = pd.DataFrame(
        {
            "t": rng.uniform(0, span, size).round(2),
            "type": rng.choice(list("ABCDE"), size),
            "machine": rng.integers(0, machines, size),
            "temp": rng.normal(50, 10, size).round(1),
            "noise": rng.uniform(0, 1, size).round(3),
            "site": rng.choice(["north", "south"], size),
        }
    )
    rows, incidents = [], []
    places = rng.permutation(int(span / 2_000) * machines)
    for i, place in enumerate(places[: number * 2]):
        machine, at = int(place) % machines, (int(place) // machines) * 2_000 + 700
        is_near_miss = i >= number
        temp = 90 + rng.uniform(0, 20) if not (is_near_miss and i % 2) else 50.0
        rows.append((at, "A", machine, round(temp, 1), 0.5, "north"))
        if is_near_miss and not i % 2 and absent:
            rows.append((at + 30, "F", machine, 50.0, 0.5, "north"))
        if not (is_near_miss and not i % 2 and not absent):
            rows.append((at + 60, "B", machine, 50.0, 0.5, "south"))
        if not is_near_miss:
            incidents.append((at + 60 + rng.uniform(30, 400), machine))
    frame = pd.concat([frame, pd.DataFrame(rows, columns=frame.columns)]).sort_values("t")
    labels = pd.DataFrame(incidents, columns=["time", "machine"]).sort_values("time")
    return frame.reset_index(drop=True), labels.reset_index(drop=True)


FRAME, INCIDENTS = drawn()
STREAM = ck.events(FRAME, time="t", type="type", unit="s")


def learn(stream=STREAM, incidents=INCIDENTS, **options):
    options = {"within": "10 minutes", "by": "machine", "progress": False} | options
    return ck.learn(stream, incidents, **options)


@cache
def learned_from_all():
    """Return the proposals from all events and incidents, without an option."""
    return learn()


def test_planted_sequence_with_its_filter_is_the_first_proposal():
    learned = learned_from_all()
    text = learned.best.text
    assert "PATTERN SEQ(A a, B b)\nWHERE a.temp > " in text
    assert "PARTITION BY machine" in text
    assert 75 <= float(text.split("a.temp > ")[1].split()[0]) < 92
    assert learned.best.f1 > 0.85


def test_the_key_need_not_be_in_the_output():
    bare = ck.events(FRAME, time="t", type="type", unit="s", columns=["temp"])
    learned = learn(bare)
    assert "PARTITION BY machine" in learned.best.text


def test_absence_is_found():
    frame, incidents = drawn(1, absent=True)
    learned = learn(ck.events(frame, time="t", type="type", unit="s"), incidents)
    assert any("SEQ(A a, NOT(F n0), B b)" in each.text for each in learned.proposals[:3])


@pytest.mark.parametrize(
    ("column", "harmless", "breaking", "condition"),
    [
        ("temp", 50.0, 95.0, r"n0\.temp > (?P<bound>[\d.]+)"),
        ("site", "north", "south", "n0.site = 'south'"),
    ],
)
def test_absence_of_events_with_a_filter_is_found(column, harmless, breaking, condition):
    frame, incidents = drawn(1, absent=True)
    rng = np.random.default_rng(5)
    vents = frame[frame["type"] == "F"].assign(**{column: breaking})
    others = vents.sample(600, replace=True, random_state=5).assign(**{column: harmless})
    others["t"] = rng.uniform(0, frame["t"].max(), len(others)).round(2)
    before = frame[frame["type"] == "A"].assign(**{"type": "F", "temp": 50.0, column: harmless})
    before["t"] += 20  # also between the A and the B that come before incidents
    parts = [frame[frame["type"] != "F"], vents, others, before]
    events = ck.events(pd.concat(parts).sort_values("t"), time="t", type="type", unit="s")
    learned = learn(events, incidents)
    texts = [each.text for each in learned.proposals[:3]]
    found = [re.search(condition, text) for text in texts if "NOT(F n0)" in text]
    assert any(found), texts
    if column == "temp":
        assert 50 <= float(next(filter(None, found))["bound"]) < 95


def test_absence_after_the_last_event_alarms_at_the_end_of_the_window():
    rows, times = [], []
    for i in range(60):
        at = i * 3_000
        rows += [(at, "start"), (at + 500, "tick"), (at + 900, "tick")]
        if i % 3:
            rows.append((at + 60, "done"))
        else:
            times.append(at + 700)
    frame = pd.DataFrame(rows, columns=["t", "type"])
    stream = ck.events(frame, time="t", type="type", unit="s")
    learned = learn(stream, times, by=None)
    texts = [each.text for each in learned.proposals]
    late = next(i for i, text in enumerate(texts) if "SEQ(start a, NOT(done n0))" in text)
    assert learned.proposals[late].f1 > 0.9


def test_key_is_optional():
    learned = learn(incidents=INCIDENTS["time"].tolist(), by=None)
    assert "PARTITION" not in str(learned)
    assert learned.incidents == (40, 20)


def test_stream_without_types_has_patterns_of_any_event():
    frame, incidents = drawn(2, machines=1)
    frame = frame[frame["type"] == "A"].drop(columns=["type", "machine"])
    stream = ck.events(frame, time="t", unit="s")
    best = learn(stream, incidents[["time"]], by=None).best
    assert best.text.startswith("PATTERN ANY a\nWHERE a.temp > ")


def test_same_seed_gives_the_same_proposals(monkeypatch):
    monkeypatch.setattr("cepkit.learning.training._MOST_EVENTS", 1_000)
    first, second, other = learn(seed=1), learn(seed=1), learn(seed=2)
    assert first.to_pandas().equals(second.to_pandas())
    for learned in (first, other):  # of a sample
        texts = "".join(each.text for each in learned.proposals[:3])
        assert "SEQ(A a, B b)\nWHERE a.temp > " in texts


def test_random_incidents_have_no_proposal():
    rng = np.random.default_rng(5)
    times = rng.uniform(0, FRAME["t"].max(), 12)
    incidents = pd.DataFrame({"time": times, "machine": rng.integers(0, 4, 12)})
    learned = learn(incidents=incidents)
    assert learned.proposals == ()
    assert learned.best is None
    assert str(learned).startswith(
        "no pattern does better than the base rate: 12 incidents are few"
    )
    assert list(learned.to_pandas().columns)[:3] == ["pattern", "precision", "recall"]


def test_interrupt_gives_the_best_so_far(monkeypatch):
    whole = search.Pool._children

    def interrupted(self, *arguments):
        whole(self, *arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(search.Pool, "_children", interrupted)
    learned = learn()
    assert not learned.finished
    assert "interrupted after" in str(learned)
    assert "SEQ(A a, B b)" in learned.best.text


def test_incidents_may_be_a_file(tmp_path):
    INCIDENTS.to_csv(tmp_path / "incidents.csv", index=False)
    assert learn(incidents=tmp_path / "incidents.csv").proposals == learned_from_all().proposals


@pytest.mark.parametrize(
    ("incidents", "options", "said"),
    [
        (INCIDENTS.rename(columns={"time": "at"}), {}, "the incidents have no column 'time'"),
        (INCIDENTS[["time"]], {}, "the incidents have no column 'machine'"),
        (INCIDENTS["time"].tolist(), {}, "incidents with keys as a list"),
        (INCIDENTS, {"by": "mashine"}, "no column 'mashine'"),
        (INCIDENTS.assign(time=INCIDENTS["time"] + 1e9), {}, "outside of the stream's time"),
        (INCIDENTS.assign(machine=INCIDENTS["machine"] + 90), {}, "no incident has a key"),
        (INCIDENTS[:3], {}, "3 incidents in the time"),
        (INCIDENTS[:0], {}, "0 incidents in the time"),
        (INCIDENTS.assign(time="soon"), {}, "holds texts"),
        (INCIDENTS, {"within": "0 seconds"}, "within='0 seconds'"),
    ],
)
def test_wrong_incidents_are_refused(incidents, options, said):
    with pytest.raises(StreamError, match=said):
        learn(incidents=incidents, **options)


@pytest.mark.parametrize("value", [b"x", [1.0, 2.0], pd.Timestamp("2024-03-01")])
def test_key_that_is_no_plain_value_is_refused(value):
    frame = FRAME.assign(machine=[value] * len(FRAME))
    with pytest.raises(StreamError, match="the key 'machine' holds values"):
        learn(ck.events(frame, time="t", type="type", unit="s"))


def test_keys_of_another_type_are_hinted_at():
    with pytest.raises(StreamError) as refused:
        learn(incidents=INCIDENTS.assign(machine=INCIDENTS["machine"].astype(str)))
    assert "numbers and texts are different keys" in str(refused.value)


def test_incidents_in_another_zone_are_refused_with_a_hint():
    day = pd.Timestamp("2024-03-01")
    stream = ck.events(
        FRAME.assign(t=day + pd.to_timedelta(FRAME["t"], unit="s")), time="t", type="type"
    )
    later = day + pd.to_timedelta(INCIDENTS["time"], unit="s") + pd.Timedelta(days=9)
    with pytest.raises(StreamError, match=r"outside of the stream's time") as refused:
        learn(stream, INCIDENTS.assign(time=later))
    assert "timezone=" in refused.value.hint


def test_incidents_without_a_zone_beside_events_in_one_are_refused():
    times = pd.to_datetime(FRAME["t"], unit="s").dt.tz_localize("Europe/Rome")
    stream = ck.events(FRAME.assign(t=times), time="t", type="type")
    naive = INCIDENTS.assign(time=pd.to_datetime(INCIDENTS["time"], unit="s"))
    with pytest.raises(StreamError, match="have no zone") as refused:
        learn(stream, naive)
    assert "tz_localize('Europe/Rome')" in str(refused.value)
    aware = naive.assign(time=naive["time"].dt.tz_localize("Europe/Rome"))
    assert "SEQ(A a, B b)" in learn(stream, aware).best.text


def test_incidents_outside_are_left_out_with_a_warning():
    more = pd.concat([INCIDENTS, pd.DataFrame({"time": [9e9], "machine": [0]})])
    with pytest.warns(StreamWarning, match="1 of 61 incidents"):
        learned = learn(incidents=more)
    assert sum(learned.incidents) == 60


def test_stream_of_spark_above_the_limit_is_refused(monkeypatch):
    monkeypatch.setattr("cepkit.api.learning._MOST_FETCHED", 10)
    monkeypatch.setattr("cepkit.stream.stream.Stream.place", "spark")
    monkeypatch.setattr("cepkit.stream.stream.Stream.head", lambda self, n: STREAM)
    with pytest.raises(LimitError, match="more than 10 events"):
        learn()


@pytest.mark.parametrize(
    ("low", "high", "number"),
    [(69.2, 72.3, 70.0), (0.0, 0.9, 0.0), (-3.4, -2.7, -3.0), (0.0123, 0.0129, 0.0125), (5, 6, 5)],
)
def test_bound_is_a_number_of_few_digits(low, high, number):
    assert _round_between(low, high) == pytest.approx(number)


def test_chance_is_exceeded_only_by_more_hits_than_random_alarms_have():
    chance = Chance(0.1, 0.01)
    assert chance.is_exceeded(CalibratedRow((), 10, 8, 2, 2, 1.0))
    assert not chance.is_exceeded(CalibratedRow((), 100, 6, 4, 94, 1.0))
    assert not chance.is_exceeded(CalibratedRow((), 5, 0, 10, 5, 1.0))
    assert not chance.is_exceeded(CalibratedRow((), 0, 0, 10, 0, 0.0))
    # One alarm of twenty candidates that hits one of two incidents is luck.
    assert not Chance(0.008, 0.004).is_exceeded(CalibratedRow((), 1, 1, 1, 0, 0.0))


def test_result_shows_proposals_as_a_table():
    learned = learned_from_all()
    assert isinstance(learned, Learned)
    html = learned._repr_html_()
    assert "SEQ(A a, B b)" in html
    assert "base rate" in html
    frame = learned.to_pandas()
    assert frame["support"].iloc[0] == learned.best.support <= learned.incidents[1]
    assert frame["false_alarms_per_day"].iloc[0] == learned.best.false_alarms_per_day


def test_figure_has_shares_false_alarms_and_the_base_rate_of_proposals():
    learned = learned_from_all()
    chart = ck.draw(learned)
    drawn = {bars.name: [*bars.x] for bars in chart.data}
    assert drawn == {
        name: [getattr(each, name) for each in learned.proposals]
        for name in ("precision", "recall")
    }
    assert chart.layout.shapes[0].x0 == learned.chance.share
    notes = [one.text for one in chart.layout.annotations]
    assert "SEQ(A a, B b)" in notes[0]
    assert f"{learned.best.false_alarms_per_day:.4g}"[:4] in notes[len(learned.proposals)]
