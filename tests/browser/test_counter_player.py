"""Prefix counters in a saved page: each step shows the counts of the trace, and their sums."""

from __future__ import annotations

import pytest

from cepkit.figures.player.moments import counts_at, moments_of
from tests.browser import cases
from tests.browser.accessibility import complaints

pytest.importorskip("playwright.sync_api", reason="make test-browser installs it")


@pytest.mark.parametrize("name", ["figure_6", "figure_7", "figure_10"])
def test_every_step_shows_the_counters_of_the_trace(opened, name):
    found = getattr(cases, name)()
    traces = found if isinstance(found, list) else [found]
    player = opened(traces)
    moments = moments_of(traces)
    for step, moment in enumerate(moments):
        player.press("ArrowRight")
        assert player.step == step + 1
        for card, trace in enumerate(traces):
            counts = counts_at(trace, card, moments)[step]
            names = ["matches", "new", "rows", "updates"] + ["saved"] * (len(trace.pieces) > 1)
            shown = {name: player.counter(name, card) for name in names}
            assert shown == {name: getattr(counts, name) for name in names}
            if moment.steps[card] is None:
                continue
            for piece in range(len(trace.pieces)):
                rows = [r for r in trace.steps[moment.steps[card]].counters if r.piece == piece]
                seen = player.counts(card, piece)
                assert seen == {row.start: list(row.counts) for row in rows}
                for row in rows:
                    saved = {one.start: one.count for one in row.snapshot}
                    assert not piece or player.snapshot(row.start, card, piece) == saved


def test_figure_6_shows_each_step_in_a_sentence(opened):
    player = opened(cases.figure_6())
    player.press("ArrowRight")
    assert "it starts: a row of its own, live for 7 s, with one a." in player.sentence
    player.press(*["ArrowRight"] * 5)
    assert player.sentence == (
        "Step 5: b2 (B) arrives at 6 s; it extends: every live START adds its count of a to that "
        "of a b (a1 1 + 1 = 2, a2 0 + 1 = 1)."
    )
    assert player.changed() == ["1 + 1 = 2", "0 + 1 = 1"]
    # What was added is marked where it stands.
    sources = player.card().locator(".source").all_inner_texts()
    assert sources == ["1", "1"]
    player.press("n")
    assert player.step == 7
    assert player.total() == "Output: live matches a1 2 + a2 0 = 2, 2 new"
    assert "live matches: a1 2 + a2 0 = 2, 2 new." in player.sentence
    player.press("ArrowRight")
    assert player.sentence == "Step 7: a1 expires at 8 s; its row goes; live matches: 2 → 0."
    gone = player.card().locator("tr.gone")
    assert gone.get_attribute("data-row") == "a1"
    assert gone.locator(".left").inner_text() == "expired"
    player.press("ArrowLeft")
    assert player.counts() == {"a1": [1, 2, 2, 2], "a2": [1, 1, 0, 0]}


def test_figure_7_shows_the_negated_event_in_its_column(opened):
    player = opened(cases.figure_7())
    player.press("ArrowRight", "ArrowRight", "ArrowRight")
    heads = [" ".join(text.split()) for text in player.card().locator("th").all_inner_texts()]
    assert heads == ["START", "left", "a", "a b", "¬c", "a b d"]
    assert player.sentence == (
        "Step 2: c1 (C) arrives at 3 s; no c may come between b and d: every live START sets its "
        "count of a b to 0 (a1 1 → 0)."
    )
    assert player.changed() == ["1 → 0"]
    assert player.card().locator("td.absent").all_inner_texts() == ["✗"]
    assert player.host.locator(".pattern .failed").all_inner_texts() == ["NOT(C c)"]


def test_figure_10_takes_snapshots_in_step_with_the_whole(opened):
    player = opened(cases.figure_10())
    player.host.locator('.event[data-event="9"]').click()
    assert player.step == 10
    assert player.changed(0) == ["1 + 3 = 4", "0 + 1 = 1"]
    assert player.snapshot("d2", 1) == {"a1": 3, "a2": 1, "a3": 0}
    assert "keeps a snapshot of how many a b c there are now, by START (a1 3, a2 1, a3 0)" in (
        player.sentence
    )
    player.press("ArrowRight")
    assert player.host.locator('.event[aria-current="step"]').inner_text().split() == [
        "a1", "expires", "10", "s",
    ]  # fmt: skip
    assert "and what the snapshots of d1, d2 had of it" in player.sentence
    player.press("n")
    assert player.total(0) == "Output: live matches a2 1 + a3 0 = 1, 1 new"
    assert player.total(1) == "Output: live matches d1 0 × 1 + d2 (1 + 0) × 1 = 1, 1 new"


def test_snapshots_of_three_pieces_multiply_the_counts_before(opened):
    pattern = "PATTERN SEQ(A a, B b, C c) WITHIN 1 min"
    player = opened(cases.counted("a a b b c", pattern, "a|b|c"))
    player.press("n")
    assert player.snapshot("c1", piece=2) == {"a1": 2, "a2": 2}
    origins = player.card().locator(".snapshot .sum").all_inner_texts()
    assert [" ".join(text.split()) for text in origins] == ["1 × 1 + 1 × 1 ="] * 2
    assert player.total() == "Output: live matches c1 (2 + 2) × 1 = 4, 4 new"


def test_without_a_window_one_row_serves_all(opened):
    player = opened(cases.counted("a a b x a b", "PATTERN SEQ(A a, B b)"))
    player.press("End")
    assert player.counts() == {"all": [3, 5]}
    assert player.changed() == ["2 + 3 = 5"]
    assert player.total() == "Output: live matches 5, 3 new"
    assert "the count of a is added to that of a b (2 + 3 = 5)" in player.sentence
    player.press("ArrowLeft", "ArrowLeft")
    assert "X1 arrives at 4 s; no place in the pattern takes it" in player.sentence


def test_an_event_at_two_places_makes_two_steps(opened):
    pattern = "PATTERN SEQ(A a, B b, A c) WITHIN 5 s"
    player = opened(cases.counted("a@1 b@2 b@3 a@3", pattern))
    player.press(*["ArrowRight"] * 4)
    # Nothing follows an event of its own time: the last place comes first.
    assert player.sentence == (
        "Step 3: a2 (A) arrives at 3 s, operation 1 of 2; it extends: every live START adds its "
        "count of a b to that of a b c (a1 0 + 1 = 1); live matches: a1 1 = 1, 1 new."
    )
    player.press("ArrowRight", "ArrowRight")
    assert "a2 (A) arrives at 3 s, operation 2 of 2; it starts" in player.sentence
    assert player.counts() == {"a1": [1, 2, 1], "a2": [1, 0, 0]}
    player.press("ArrowRight")
    # A window that is not EXCLUSIVE includes its edge.
    assert "Step 6: a1 expires right after 6 s" in player.sentence


def test_rows_of_the_key_of_a_step_stand_first(opened):
    pattern = "PATTERN SEQ(A a, B b) WITHIN 1 min PARTITION BY customer"
    player = opened(cases.counted("a a b b b", pattern, customer=[7, 8, 8, 7, 9]))
    player.press("ArrowRight", "ArrowRight", "ArrowRight")
    keys = player.card().locator("tbody > tr > td:first-child").all_inner_texts()
    assert keys == ["customer 8", "customer 7"]
    assert "every live START of customer 8 adds" in player.sentence
    player.press("End", "ArrowLeft", "ArrowLeft")
    assert "of customer 9 adds its count of a to that of a b, but there is no a to add" in (
        player.sentence
    )


def test_stepping_back_shows_the_same_as_stepping_forward(opened):
    traces = cases.figure_10()
    player = opened(traces)
    seen = []
    for _ in range(16):
        seen.append((player.card(0).inner_text(), player.card(1).inner_text(), player.sentence))
        player.press("ArrowRight")
    for expected in reversed(seen):
        player.press("ArrowLeft")
        now = (player.card(0).inner_text(), player.card(1).inner_text(), player.sentence)
        assert now == expected


def test_a_start_tells_how_its_numbers_arose(opened):
    player = opened(cases.figure_6())
    player.press("n")
    player.card().get_by_role("button", name="a1", exact=True).click()
    history = player.card().locator(".lineage")
    told = [" ".join(text.split()) for text in history.locator("li").all_inner_texts()]
    assert told[:2] == ["step 0, a1: a 0 + 1 = 1", "step 1, b1: a b 0 + 1 = 1"]
    assert told[-1] == "step 6, d1: a b c d 0 + 2 = 2"
    assert "It expires in step 7." in history.inner_text()
    history.get_by_role("button", name="step 4").click()
    assert player.step == 5
    player.press("Escape")
    assert not history.is_visible()


def test_table_of_many_rows_shows_twenty_and_counts_the_rest(opened):
    rows = 60
    player = opened(cases.counted("a " * rows + "b", "PATTERN SEQ(A a, B b) WITHIN 1 h"))
    player.press("n")
    assert player.counter("rows") == rows
    assert len(player.counts()) == 20
    assert "and 40 rows more" in player.card().inner_text()
    assert "… = 60, 60 new" in player.total()


def test_counts_of_any_size_are_exact(opened):
    wide = "PATTERN SEQ(" + ", ".join(f"{t} {t}{n}" for t in "ABCDE" for n in range(4)) + ")"
    trace = cases.counted(" ".join("abcde"[n // 40] for n in range(200)), wide)
    player = opened(trace)
    player.press("End")
    count = trace.steps[-1].count
    last = player.card().locator("td.number").last
    assert last.get_attribute("title") == str(count)
    assert last.inner_text().endswith(f"e+{len(str(count)) - 1}")


def test_empty_stream_has_nothing_to_play(opened):
    player = opened(cases.counted("", "PATTERN SEQ(A a, B b)"))
    assert "nothing to play" in player.sentence
    player.press("End", "n", "Space")
    assert player.step == 0


@pytest.mark.parametrize("width", [360, 1100])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_player_fits_the_page_with_readable_contrast(opened, page, width, scheme):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    player = opened(cases.figure_10(), steps=13)
    player.press("n")
    assert player.host.get_attribute("data-theme") == scheme
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert "first 13 of 16 steps" in player.host.locator(".banner").inner_text()
    boxes = [player.card(i).bounding_box() for i in (0, 1)]
    assert (boxes[1]["x"] > boxes[0]["x"] + 50) == (width > 720)
    regions = player.host.get_by_role("region").all()
    assert all(region.get_attribute("aria-label") for region in regions)
    assert complaints(page) == []
    snapshot = player.frame.aria_snapshot()
    assert 'region "Piece 2: d e: chop-connect a b c | d e"' in snapshot
    assert 'columnheader "before it"' in snapshot
    for place in (".total", ".changed", ".counts td.zero", ".facts dt"):
        assert player.contrast(place) >= 4.5, place
    page.set_viewport_size({"width": 1000, "height": 900})
