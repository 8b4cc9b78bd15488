"""The command `learn`."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from tests.unit.learning.test_learn import FRAME, INCIDENTS

OPTIONS = ("--events", "log.csv", "--time", "t", "--unit", "s", "--type", "type", "--by", "machine")


@pytest.fixture(autouse=True)
def _files(folder):
    FRAME.to_csv("log.csv", index=False)
    INCIDENTS.to_csv("incidents.csv", index=False)


def test_proposals_are_printed_and_written(cepkit):
    ran = cepkit("learn", *OPTIONS, "--incidents", "incidents.csv", "--out", "proposals.csv")
    assert (ran.code, ran.err) == (0, "")
    assert "SEQ(A a, B b)" in ran.out
    assert "base rate:" in ran.out
    written = pd.read_csv("proposals.csv")
    assert written["pattern"].str.startswith("PATTERN ").all()
    assert {"precision", "recall", "f1", "support"} <= {*written.columns}


def test_json_has_the_proposals_and_the_split(cepkit):
    ran = cepkit("learn", *OPTIONS, "--incidents", "incidents.csv", "--json", "learned.json")
    assert ran.code == 0
    data = json.loads(Path("learned.json").read_text(encoding="utf-8"))
    assert (data["learned_from"], data["judged_on"]) == (40, 20)
    assert data["proposals"][0]["f1"] > 0.8


def test_incidents_without_a_key_are_refused(cepkit):
    INCIDENTS[["time"]].to_csv("incidents.csv", index=False)
    ran = cepkit("learn", *OPTIONS, "--incidents", "incidents.csv")
    assert ran.code == 1
    assert "the incidents have no column 'machine'" in ran.err
