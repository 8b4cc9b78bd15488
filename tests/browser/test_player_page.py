"""The saved page plays without a network: each step shows that of the trace."""

from __future__ import annotations

import pytest

from tests.browser import cases
from tests.browser.accessibility import complaints

expect = pytest.importorskip("playwright.sync_api", reason="make test-browser installs it").expect


def test_keys_step_through_the_example(opened):
    player = opened(cases.example())
    assert player.step == 0
    assert "Before the first event" in player.sentence
    player.press("ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight")
    assert player.step == 5
    # The chain that waits for a c only stores; the other has begun three times, and five pairs.
    assert player.tokens(0) == ["instance 0: start"]
    assert sorted(t.split(": ")[1] for t in player.tokens(1)) == sorted(
        [
            "start",
            "A 0",
            "A 1",
            "A 2",
            "A 0 → B 3",
            "A 1 → B 3",
            "A 0 → B 4",
            "A 1 → B 4",
            "A 2 → B 4",
        ]
    )
    player.press("n")
    assert player.step == 6
    assert "MATCH A 0 → B 3 → C 5; MATCH A 1 → B 3 → C 5" in player.sentence
    player.press("End")
    assert player.step == 7
    assert "Step 6: the stream ends" in player.sentence
    assert player.host.locator(".transport output").inner_text() == "6 / 6"
    player.press("ArrowRight", "PageUp")
    assert player.step == 0
    player.press("End", "p", "ArrowLeft", "Home")
    assert player.step == 0


def test_every_step_shows_the_counters_of_the_traces(opened):
    traces = cases.example()
    player = opened(traces)
    for step in range(len(traces[0].steps)):
        player.press("ArrowRight")
        for card, trace in enumerate(traces):
            shown = {n: player.counter(n, card) for n in ("evaluations", "instances", "stored")}
            counts = trace.counters[step]
            assert shown == {name: getattr(counts, name) for name in shown}


def test_every_mechanism_is_played_as_it_counts(opened):
    traces = cases.rich()
    player = opened(traces)
    for step in range(0, 61, 4):
        player.host.locator("input[type=range]").fill(str(step + 1))
        for card, trace in enumerate(traces):
            counts = trace.counters[step]
            assert player.counter("instances", card) == counts.instances
            # What is alive and stored is found from the operations alone.
            assert player.alive(card) == counts.instances
            assert player.kept(card) == counts.stored
        assert len({player.counter("matches", card) for card in range(len(traces))}) == 1


def test_patterns_that_begin_alike_share_states_and_keep_separate_matches(opened):
    traces = cases.shared()
    player = opened(traces)
    assert player.host.locator(".card").count() == 2
    states = player.host.locator(".card").first.locator(".node")
    assert player.host.locator(".card").first.locator(".node.shared").count() == 3
    assert states.locator("> text").all_text_contents() == [
        "q0 ×2", "q1 ×2", "q2 ×2", "then D", "then C",
    ]  # fmt: skip
    player.press("ArrowRight")
    # What is taken once is an event of both patterns.
    assert player.host.locator(".pattern .held").all_inner_texts() == ["A a", "A x"]
    player.press("ArrowRight")
    held = player.host.locator(".pattern .held").all_inner_texts()
    assert held == ["B b", "a.price < b.price", "B y", "x.price < y.price"]
    player.press("n")
    matched = player.host.locator(".card").first.locator(".node.matched > text")
    assert matched.all_text_contents() == ["then C"]
    assert "MATCH of then C: A 0 → B 1 → C 2" in player.sentence
    for step in range(9):
        player.host.locator("input[type=range]").fill(str(step + 1))
        for card, trace in enumerate(traces):
            assert player.alive(card) == trace.counters[step].instances
            assert player.kept(card) == trace.counters[step].stored


def test_stepping_back_shows_the_same_as_stepping_forward(opened):
    player = opened(cases.long(150))
    seen = []
    for _ in range(60):
        seen.append((player.tokens(0), player.tokens(1), player.sentence))
        player.press("ArrowRight")
    for expected in reversed(seen):
        player.press("ArrowLeft")
        assert (player.tokens(0), player.tokens(1), player.sentence) == expected


def test_buttons_slider_events_and_charts_go_to_a_step(opened, page):
    player = opened(cases.long(300))
    total = int(player.host.locator("input[type=range]").get_attribute("max"))
    player.click("next")
    player.click("next")
    player.click("back")
    assert player.step == 1
    player.click("last")
    assert player.step == total
    player.click("matchBack")
    assert "MATCH" in player.sentence
    player.click("first")
    player.host.locator('.event[data-event="6"]').click()
    assert player.step == 7
    player.host.locator("input[type=range]").fill("40")
    assert player.step == 40
    box = player.host.locator('[data-chart="instances"] .plot').bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 20)
    assert abs(player.step - total / 2) <= 1


def test_playing_stops_at_the_end(opened):
    player = opened(cases.example())
    player.host.get_by_label("events per second").select_option("30")
    player.press("Space")
    button = player.host.locator('[data-action="play"]')
    expect(button).to_have_attribute("aria-label", "Pause")
    expect(button).to_have_attribute("aria-label", "Play")
    assert player.step == 7


def test_click_on_a_token_shows_the_lineage_of_its_instance(opened):
    player = opened(cases.example())
    player.press("n", "ArrowLeft")
    player.card(1).locator(".token", has_text="A 1 → B 3").first.click()
    lineage = player.card(1).locator(".lineage")
    told = " ".join(lineage.inner_text().split())
    assert "takes A 1 for a in step 1" in told
    assert "takes B 3 for b in step 3" in told
    # On the tape its events carry the names of their variables.
    badges = player.host.locator(".event .badge").all_inner_texts()
    assert badges == ["", "a", "", "b", "", ""]
    lineage.get_by_role("button", name="step 1").click()
    assert player.step == 2
    player.press("Escape")
    assert not lineage.is_visible()


def test_clauses_that_held_in_a_step_are_marked(opened):
    player = opened(cases.example())
    player.press("n")
    assert "b.price < c.price" in player.host.locator(".pattern .held").all_inner_texts()
    player.press("ArrowLeft")
    assert player.host.locator(".pattern .held").all_inner_texts() == ["B b", "a.price < b.price"]


def test_repetitions_of_a_group_have_numbers_and_mark_its_events(opened):
    player = opened([cases.repeated()])
    names = " ".join(player.card().locator(".diagram .label.name").all_text_contents())
    assert all(name in names for name in ("A a[1]", "B b[1]", "A a[2]", "B b[2]"))
    player.press("ArrowRight")
    assert player.host.locator(".pattern .held").all_inner_texts() == ["A a"]
    assert player.card().locator(".edge.store.fired").count() == 2


def test_player_lists_its_keys_and_controls_have_names(opened, page):
    player = opened(cases.example())
    player.press("?")
    assert player.host.locator(".keys").is_visible()
    assert "previous or next match" in player.host.locator(".keys").inner_text()
    player.press("Escape")
    assert not player.host.locator(".keys").is_visible()
    controls = player.host.locator(".transport button, .transport select, .transport input").all()
    assert len(controls) == 12
    for control in controls:
        assert control.get_attribute("aria-label")
        box = control.bounding_box()
        assert box["height"] >= 26
        assert box["width"] >= 28
    assert player.host.locator(".sentence").get_attribute("aria-live") == "polite"
    snapshot = player.frame.aria_snapshot()
    assert 'button "Next match"' in snapshot
    assert 'slider "step"' in snapshot
    player.press("n")
    assert complaints(page) == []


@pytest.mark.parametrize("width", [400, 1000])
def test_player_fits_the_width_of_the_page(opened, page, width):
    page.set_viewport_size({"width": width, "height": 900})
    player = opened(cases.example())
    player.press("n")
    boxes = [player.card(i).bounding_box() for i in (0, 1)]
    side_by_side = boxes[1]["x"] > boxes[0]["x"] + 50
    assert side_by_side == (width > 720)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.set_viewport_size({"width": 1000, "height": 900})


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_on_light_and_dark(opened, page, scheme):
    page.emulate_media(color_scheme=scheme)
    player = opened(cases.example())
    player.press("n")
    assert player.host.get_attribute("data-theme") == scheme
    for place in (".sentence", ".facts dt", ".node.final > text", ".outcome"):
        assert player.contrast(place) >= 4.5, place


def test_banner_says_how_many_steps_of_a_cut_trace_are_shown(opened):
    player = opened(cases.long(300), steps=50)
    assert "first 50 of 301 steps" in player.host.locator(".banner").inner_text()
    player.press("End")
    assert player.step == 50


def test_empty_stream_has_nothing_to_play(opened):
    player = opened([cases.empty()])
    assert "nothing to play" in player.sentence or "Before the first" in player.sentence
    player.press("End", "n", "Space")
    assert player.counter("matches") == 0


def test_texts_of_streams_and_patterns_stay_texts(opened, page):
    player = opened(cases.hostile())
    player.press("End", "ArrowLeft")
    assert page.evaluate("window.broken") is None
    assert cases.SCRIPT in player.sentence
    assert cases.SCRIPT in player.host.locator(".pattern").inner_text()


@pytest.mark.parametrize("width", [420, 1200])
def test_the_numbers_of_events_are_not_cut_off(opened, page, width):
    page.set_viewport_size({"width": width, "height": 800})
    names = opened(cases.wide_names()).host.locator(".event b")
    assert names.first.inner_text() == "MMMM 0"
    assert names.evaluate_all("all => all.every((one) => one.scrollWidth <= one.clientWidth)")


def test_playing_stops_at_the_chosen_condition(opened):
    player = opened(cases.example()[1])
    stop = player.host.get_by_role("combobox", name="stop at")
    stop.select_option("a match")
    player.host.get_by_role("combobox", name="events per second").select_option("30/s")
    player.focus()
    player.press("Space")
    expect(player.host.get_by_role("button", name="Pause")).to_have_count(0)
    assert player.step == 6
    assert "MATCH" in player.sentence
    for what, step in (("more than 1 instance in one state", 2), ("a condition fails", None)):
        stop.select_option(what)
        player.focus()
        player.press("Home", "b")
        assert step is None or player.step == step
    states = [text for text in stop.locator("option").all_inner_texts() if "is reached" in text]
    assert states
    stop.select_option(states[0])
    player.focus()
    player.press("Home", "b")
    assert player.step == 1


def test_key_g_goes_to_a_step_or_an_event(opened):
    player = opened(cases.example())
    player.focus()
    player.press("g")
    jump = player.host.get_by_role("textbox", name="go to a step or an event")
    jump.fill("4")
    player.press("Enter")
    assert player.step == 5
    jump.fill("b 3")
    player.press("Enter")
    assert player.step == 4
    jump.fill("nothing")
    player.press("Enter")
    expect(jump).to_have_attribute("aria-invalid", "true")
    assert player.step == 4


def test_a_diagram_is_made_larger_smaller_and_whole(opened, page):
    page.set_viewport_size({"width": 800, "height": 900})
    player = opened(cases.rich())
    diagram = player.card(0).locator(".diagram")
    width = "element => element.firstChild.getBoundingClientRect().width"
    begin = diagram.evaluate(width)
    player.card(0).get_by_role("button", name="Larger").click()
    assert diagram.evaluate(width) == pytest.approx(1.4 * begin, rel=0.01)
    player.focus()
    player.press("x", "x", "x")
    assert diagram.evaluate(width) == pytest.approx(0.5 * begin, rel=0.01)
    player.press("z", "z", "z", "z", "z", "f")
    for card in range(player.host.locator(".card").count()):
        over = "element => element.scrollWidth - element.clientWidth"
        assert player.card(card).locator(".diagram").evaluate(over) <= 1


def test_players_of_one_link_go_together(page, tmp_path):
    from cepkit.figures import draw
    from cepkit.figures.player.page import page as whole_page
    from tests.browser.reading import Reading

    eager, lazy = cases.example()
    shown = [draw(one, link="both").to_html() for one in (eager, lazy)]
    path = tmp_path / "linked.html"
    path.write_text(whole_page("linked", "".join([*shown, draw(lazy).to_html()])), "utf-8")
    page.goto(path.as_uri())
    players = [Reading(page, number).wait() for number in range(3)]
    players[0].focus()
    players[0].press("ArrowRight", "ArrowRight")
    assert [player.step for player in players] == [2, 2, 0]
    players[1].focus()
    players[1].press("End")
    assert [player.step for player in players] == [7, 7, 0]


_OVERLAPS = """(host) => {
  const labels = [...host.shadowRoot.querySelectorAll(".diagram .label")]
    .filter((e) => e.textContent);
  const boxes = labels.map((e) => e.getBoundingClientRect());
  const said = (e) => [...e.childNodes].at(-1).data;
  const found = [];
  boxes.forEach((a, i) => boxes.slice(i + 1).forEach((b, j) => {
    const [across, down] = ["x", "y"].map((side) => {
      const size = side === "x" ? "width" : "height";
      return Math.min(a[side] + a[size], b[side] + b[size]) - Math.max(a[side], b[side]);
    });
    // Lines of one text stand close together.
    if (across > 1 && down > 4) found.push(`${said(labels[i])} | ${said(labels[i + 1 + j])}`);
  }));
  for (const path of host.shadowRoot.querySelectorAll(".edge .line")) {
    const [to, length] = [path.getScreenCTM(), path.getTotalLength()];
    for (let at = 0; at <= length; at += 2) {
      const { x, y } = path.getPointAtLength(at).matrixTransform(to);
      boxes.forEach(({ left, right, top, bottom }, i) => {
        const inside = x > left + 1 && x < right - 1 && y > top + 3 && y < bottom - 3;
        if (inside) found.push(`${said(labels[i])} lies on an edge`);
      });
    }
  }
  return [...new Set(found)];
}"""


@pytest.mark.parametrize("width", [800, 1000, 1240, 1400])
@pytest.mark.parametrize("name", ["chains", "tree_nfas"])
def test_labels_of_diagrams_overlap_no_label_and_no_edge(opened, page, name, width):
    page.set_viewport_size({"width": width, "height": 900})
    player = opened(getattr(cases, name)())
    for _ in range(8):
        player.press("ArrowRight")
        assert player.host.evaluate(_OVERLAPS) == []
    page.set_viewport_size({"width": 1000, "height": 900})
