"""A page in which the pattern may be changed: what it carries, and what answers it."""

from __future__ import annotations

import json
import re

import pandas as pd
import pytest

import cepkit as ck
from cepkit_widgets.studio.editable import answer
from tests.unit.figures import hostile


def opened(pattern, stream):
    """Return a studio that is up to date."""
    studio = ck.studio(stream, pattern)
    assert studio.wait()
    return studio


def carried(page):
    """Return what an editable page carries."""
    return json.loads(re.search(r'id="given">(.*?)</script>', page)[1])


def test_editable_page_answers_another_pattern_over_its_own_events(tmp_path):
    frame = pd.DataFrame(
        {
            "ts": range(60),
            "type": list("ABC" * 20),
            "x": range(60),
            "y": range(60),
            "secret": "hidden-word",
        }
    )
    stream = ck.events(frame, time="ts", type="type", unit="s")
    studio = opened("PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 9 seconds", stream)
    page = studio.save_html(tmp_path / "x.html", redact=["secret"], editable=True).read_text()
    assert "hidden-word" not in page
    assert not re.search(r"(src|href)=.?https?:", page)
    given = carried(page)
    assert given["pattern"] == str(studio.pattern)
    assert "y = 3" not in given["page"]
    text = "PATTERN SEQ(A a, C c) WHERE a.y < c.y WITHIN 4 seconds"
    found = json.loads(answer(given["events"], text))["page"]
    number = ck.detect(stream, text).count()
    assert f"of {number} matches" in found
    for wrong, why in (("PATTERN (", "^"), (text.replace("a.y", "a.secret"), "no column 'secret'")):
        assert why in json.loads(answer(given["events"], wrong))["error"]
    studio.write("PATTERN SEQ(A a) WHERE a.secret = 'x' WITHIN 9 s")
    assert studio.wait()
    with pytest.raises(ck.CepkitError, match="no column 'secret'"):
        studio.save_html(tmp_path / "y.html", redact=["secret"], editable=True)


def test_hostile_texts_cannot_leave_the_data_of_an_editable_page(tmp_path):
    studio = opened(hostile.QUERY, hostile.stream())
    page = studio.save_html(tmp_path / "x.html", editable=True).read_text(encoding="utf-8")
    assert hostile.TAG not in page
    assert page.count("<script") == 2
    assert hostile.TAG not in carried(page)["page"]
