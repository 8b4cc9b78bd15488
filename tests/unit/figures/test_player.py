"""The document of the player: cut where it is too long, and no text can break out of it."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from cepkit import draw, simulate
from cepkit.errors import CepkitError, FileError, TraceError
from cepkit.figures.player import Player, document, player_document, script
from cepkit.figures.player.page import embedded
from cepkit.stream.stream import events
from cepkit.tracing import MechanismTrace
from tests.unit.figures.cases import SCRIPT, quoted

PATTERN = "PATTERN SEQ(A a, B b, C c) WHERE a.price < b.price WITHIN 9 seconds"


def stream_of(types="AABXCBAC", price=None):
    frame = pd.DataFrame({"ts": range(len(types)), "type": list(types)})
    frame["price"] = range(len(types)) if price is None else price
    return events(frame, time="ts", type="type", unit="s")


def who_of(who):
    frame = pd.DataFrame({"t": range(4), "type": list("AABB"), "price": [1, 2, 3, 4], "who": who})
    return events(frame, time="t", type="type", unit="s")


def trace(order="cba", pattern=PATTERN, stream=None, **options) -> MechanismTrace:
    return simulate(
        stream or stream_of(), pattern, mechanism="chain-nfa", plan=list(order), **options
    )


def test_document_has_the_common_parts_of_traces_once():
    one, two = trace("cba"), trace("abc")
    made = player_document([one, two])
    assert made["schema"] == "cepkit.player/1"
    assert made["pattern"] == one.pattern
    assert made["types"] == ["A", "B", "C"]
    assert made["events"]["type"] == list("AABXCBAC")
    assert [t["name"] for t in made["traces"]] == [one.name, two.name]
    for played, traced in zip(made["traces"], (one, two), strict=True):
        whole = json.loads(traced.to_json())
        assert played == {k: v for k, v in whole.items() if k not in document._SHARED}
    assert made["cut"] is None
    assert set(made["reasons"]) >= {"expired", "matched"}


def test_long_traces_are_cut_with_a_hint_at_more_steps():
    made = player_document([trace("cba"), trace("abc")], steps=5)
    assert made["cut"] == "These are the first 5 of 9 steps. draw(trace, steps=9) shows more."
    assert len(made["events"]["id"]) == len(made["events"]["attributes"]["price"]) == 5
    for played in made["traces"]:
        assert len(played["steps"]) == 5
        assert {len(column) for column in played["counters"].values()} == {5}
        assert all(match["step"] < 5 for match in played["matches"])
        assert played["final"] is False


def test_document_says_that_the_trace_itself_is_cut():
    made = player_document([trace(max_steps=4)])
    assert made["cut"] == (
        "These are the first 4 of 9 steps. The totals of the trace count all of them."
    )


def test_steps_with_very_many_operations_are_fewer(monkeypatch):
    monkeypatch.setattr(document, "MOST_OPERATIONS", 12)
    made = player_document([trace("abc")])
    shown = sum(map(len, made["traces"][0]["steps"]))
    assert shown <= 12
    assert "as many operations as the player can show" in made["cut"]


def test_traces_are_played_up_to_the_shortest():
    made = player_document([trace("cba"), trace("abc", max_steps=4)])
    assert [len(played["steps"]) for played in made["traces"]] == [4, 4]
    assert len(made["events"]["id"]) == 4
    assert made["cut"].startswith("These are the first 4 of 9 steps.")


def test_traces_that_do_not_belong_together_are_refused():
    other = trace(pattern=PATTERN.replace("9", "8"))
    with pytest.raises(TraceError, match="different patterns"):
        player_document([trace(), other])
    shorter = trace(stream=stream_of("AABXCBA"))
    with pytest.raises(TraceError, match="different streams"):
        player_document([trace(), shorter])
    with pytest.raises(TraceError, match="no trace"):
        player_document([])
    for steps in (0, 20_001):
        with pytest.raises(TraceError, match="1 to 20,000"):
            player_document([trace()], steps)


def test_integers_that_a_browser_would_round_are_texts():
    price = np.full(8, 2**53 + 1)
    made = player_document([trace(stream=stream_of(price=price))])
    assert made["events"]["attributes"]["price"][0] == "9007199254740993"


def test_a_page_carries_the_attributes_that_it_is_to_carry():
    text = "PATTERN SEQ(A a, B b) WHERE a.price < b.price AND a.who <> b.who WITHIN 9 s"
    played = trace(pattern=text, order="ab", stream=who_of(["anna", "bo", "anna", None]))
    assert json.loads(Player([played], attributes=["price"]).document)["events"][
        "attributes"
    ].keys() == {"price"}
    page = Player([played], redact=["who"]).document
    assert json.loads(page)["events"]["attributes"]["who"] == ["#1", "#2", "#1", None]
    assert "anna" not in page
    assert not json.loads(Player([played], attributes=[]).document)["events"]["attributes"]
    with pytest.raises(TraceError, match="no attribute 'wo'"):
        Player([played], redact=["wo"])


def test_keys_are_values_and_are_redacted_with_them():
    counted = simulate(
        who_of(["anna", "bo", "anna", "bo"]),
        "PATTERN SEQ(A a, B b) WITHIN 9 s PARTITION BY who",
        "prefix-counters",
    )
    assert "who anna" in Player([counted]).document
    for options in ({"attributes": []}, {"redact": ["who"]}):
        page = Player([counted], **options).document
        assert "anna" not in page
        assert '"key 1"' in page


def test_no_text_of_the_document_can_end_the_script(tmp_path):
    frame = pd.DataFrame({"ts": [0, 1], "type": [SCRIPT, "B"], "note": [SCRIPT, "\u2028"]})
    pattern = f"PATTERN SEQ({quoted(SCRIPT)} a, B b) WHERE a.note = b.note WITHIN 9 seconds"
    stream = events(frame, time="ts", type="type", unit="s")
    player = draw(simulate(stream, pattern, mechanism="chain-nfa"))
    html = player.to_html()
    assert html.count("<script") == html.count("</script>") == 1
    assert SCRIPT not in html
    assert "\u2028" not in html
    held = re.search(r"^const cepkitDocument = (.*);$", html, re.MULTILINE).group(1)
    assert json.loads(held) == json.loads(player.document)
    assert json.loads(embedded('"<!-- </script>"')) == "<!-- </script>"


def test_saved_page_makes_no_requests(tmp_path):
    path = draw([trace("cba"), trace("abc")]).save_html(tmp_path / "player.html")
    page = path.read_text(encoding="utf-8")
    assert "default-src 'none'" in page
    assert set(re.findall(r"https?://[^\"'\s)]+", page)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"^\s*import\b|\bfetch\(|XMLHttpRequest|@import|url\(", script(), re.M)
    assert [name.name for name in tmp_path.iterdir()] == ["player.html"]
    with pytest.raises(FileError, match="there is no folder"):
        draw(trace()).save_html(tmp_path / "nowhere" / "player.html")


def test_player_without_scripts_shows_the_totals():
    one = trace()
    player = draw(one)
    assert isinstance(player, Player)
    assert player.steps == len(one.steps)
    lines = repr(player).splitlines()
    assert lines[0] == "Player of 1 trace over 8 events."
    assert lines[2].split()[-4:] == [
        f"{one.totals.counts.evaluations}", f"{one.totals.peak_instances}",
        f"{one.totals.peak_stored}", f"{len(one.matches)}",
    ]  # fmt: skip
    fallback = player.to_html().split("<script")[0]
    assert "chain-nfa c → b → a" in fallback
    assert "PATTERN SEQ(A a, B b, C c)" in fallback


def test_players_in_one_page_have_different_ids():
    names = [re.search(r'data-cepkit="([^"]+)"', draw(trace()).to_html()).group(1) for _ in "12"]
    assert names[0] != names[1]


def test_draw_of_traces_refuses_unknown_figures_and_lists_known_ones():
    with pytest.raises(CepkitError, match="no figure 'diagram' of a list of MechanismTrace"):
        draw([trace(), trace()], of="diagram")
    with pytest.raises(CepkitError, match=r"no figure 'film'(.|\n)*player, counters, diagram"):
        draw(trace(), of="film")
    with pytest.raises(CepkitError, match=r"no option 'speed='(.|\n)*steps, start"):
        draw(trace(), speed=3)
