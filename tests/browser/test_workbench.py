"""The apps in one JupyterLab notebook: every control works by mouse and by keyboard, in Python too.

They fit in both themes and two widths, have names, and are seen in the notebook exported as HTML.
"""

from __future__ import annotations

import re

import pytest

from tests.browser.accessibility import complaints
from tests.browser.apps import CLOUDFLARE, AppPage, assert_fits, exported
from tests.browser.controls import Census

expect = pytest.importorskip("playwright.sync_api", reason="make test-browser installs it").expect

STREAM = """
import dataclasses
import cepkit as ck
import cepkit_widgets as apps
stream = ck.events(ck.sample_stocks(20_000), time="ts", type="ticker")
pattern = ck.parse(
    "PATTERN SEQ(MSFT a, GOOG b, AAPL c) WHERE a.price < b.price AND b.price < c.price "
    "WITHIN 3 minutes"
)
statistics = ck.profile(stream, pattern)
"""
EXPLORER = "explorer = apps.PlanExplorer(pattern, statistics, stream=stream, events=2000)\nexplorer"
BROWSER = """
many = "PATTERN SEQ(MSFT a, GOOG b, AAPL c) WHERE a.price < b.price AND c.price > 0 WITHIN 1 minute"
browser = apps.MatchBrowser(ck.detect(stream, many))
browser"""
EDITOR = """
few = "PATTERN SEQ(MSFT a, GOOG b)\\nWITHIN 3 seconds"
editor = apps.PatternEditor(stream, few, events=2_000)
editor"""
STRATEGIES = "strategies = apps.StrategyComparison(stream, pattern, events=5_000)\nstrategies"
WATCH = """
from tests.unit.widgets.test_watch_widget import Query
watched = [apps.WatchWidget(Query()) for _ in range(2)]
from IPython.display import display
display(*watched)"""
WAYS = ("mouse", "keyboard")


class Desk:
    """The notebook, its apps, and what Python says of them."""

    def __init__(self, lab, page):
        self.lab, self.page = lab, page
        self.apps = [AppPage(page, number).wait() for number in range(4)]

    def says(self, expression, expected="True"):
        self.lab.wait_for(self.page, expression, expected)

    def run(self, code):
        self.lab.evaluate(self.page, "None", code)


@pytest.fixture(scope="module")
def desk(lab, open_page):
    page = open_page()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=lab.url)
    lab.write("workbench.ipynb", STREAM, EXPLORER, BROWSER, EDITOR, STRATEGIES, WATCH)
    lab.run(page, "workbench.ipynb")
    page.get_by_role("button", name="Stop the query").nth(1).wait_for(timeout=120_000)
    return Desk(lab, page)


def use(control, way, key="Enter"):
    """Click a control, or press a key where it has the focus."""
    if way == "mouse":
        control.click()
    else:
        control.press(key)


def take_the_code(desk, app, census, expression):
    """Unfold the cell that an app would write, and copy it."""
    for way in WAYS:
        code = app.host.locator("details").last
        use(code.locator("summary"), way)
        expect(code.locator("pre")).to_be_visible()
        desk.page.evaluate("navigator.clipboard.writeText('')")
        use(app.button("Copy"), way)
        desk.page.wait_for_function("async () => (await navigator.clipboard.readText()) !== ''")
        copied = desk.page.evaluate("navigator.clipboard.readText()")
        code_now = desk.lab.evaluate(desk.page, f"{expression}.encode().hex()")
        assert bytes.fromhex(code_now.strip("'")).decode().rstrip("\n") == copied
        census.used(way, "unfold", "copy")
        use(code.locator("summary"), way)
        expect(code.locator("pre")).to_be_hidden()


def judge(desk, app, census, *, mouse=frozenset(), keyboard=frozenset()):
    """All controls were used but for those named; all can be read, and all fit."""
    assert census.left_out("mouse", without=mouse) == set()
    assert census.left_out("keyboard", without=keyboard) == set()
    assert_fits(app)


def test_plan_explorer_answers_every_control(desk):
    app = desk.apps[0]
    census = Census(app.frame)
    costs = app.host.get_by_role("combobox", name="cost model")
    costs.select_option("blend")
    desk.says("explorer.outlook.state.cost", "'blend'")
    sliders = {
        "rate:c": "rate of AAPL c", "selectivity:a,b": "conditions a, b", "window": "window",
        "alpha": "alpha: weight of latency",
    }  # fmt: skip
    for name, label in sliders.items():
        slider = app.slider(label)
        value = f"explorer.outlook.state.parameter({name!r}).position("
        value += f"explorer.outlook.state.value({name!r}))"
        slider.click(position={"x": 12, "y": 15})
        desk.says(f"{value} < 0.2")
        slider.press("End")
        desk.says(f"{value} > 0.99")
        if name == "rate:c":
            expect(app.host.get_by_text("changed", exact=True).first).to_be_visible()
        assert slider.evaluate("e => e.getRootNode().activeElement === e")
        for way in WAYS:
            census.used(way, f"set {name.partition(':')[0]}")
    costs.press("Home")
    desk.says("explorer.outlook.state.cost", "'partial-matches'")
    reset = app.button("Reset to what was measured")
    for way, planner in zip(WAYS, ("dp-tree", "greedy"), strict=True):
        use(reset, way)
        desk.says("explorer.statistics == statistics")
        expect(reset).to_be_disabled()
        app.slider("window").press("End")
        expect(reset).to_be_enabled()
        use(app.button(planner), way, "Space")
        desk.says("explorer.plan.planner", repr(planner))
        for side in "AB":
            use(app.button(f"pin the plan of given-order as {side}"), way)
            desk.says(f"{side!r} in explorer.outlook.pinned")
            use(app.button(f"Unpin {side}"), way)
            desk.says(f"{side!r} in explorer.outlook.pinned", "False")
        desk.run("explorer.outlook = dataclasses.replace(explorer.outlook, measured={})")
        use(app.button("Run both on the first 2,000 events"), way)
        ran = app.host.get_by_role("region", name="measured on the first 2,000 events")
        expect(ran.locator("tbody tr")).to_have_count(2)
        desk.says("len(explorer.outlook.measured) > 0")
        census.used(way, "do reset", "do choose", "do pinA", "do pinB", "do unpin", "do run")
        census.used(way, "set cost")
    use(reset, "keyboard")
    cells = desk.page.locator(".jp-Notebook .jp-Cell").count()
    app.host.get_by_role("region", name="cost: partial-matches").focus()
    # In Lab letters insert and delete cells.
    app.press("End", "b", "d", "d", "a")
    desk.says("explorer.plan is explorer.outlook.comparison.by_plan[-1][0].plan")
    app.press("ArrowUp")
    desk.says("explorer.plan is explorer.outlook.comparison.by_plan[-2][0].plan")
    census.used("keyboard", "keys step")
    assert desk.page.locator(".jp-Notebook .jp-Cell").count() == cells
    code = "exec(explorer.as_code())"
    assert desk.lab.evaluate(desk.page, "plan.branches == explorer.plan.branches", code) == "True"
    take_the_code(desk, app, census, "explorer.as_code()")
    judge(desk, app, census, mouse={"keys step"})


def test_match_browser_answers_every_control(desk):
    app = desk.apps[1]
    census = Census(app.frame)
    rows = app.host.get_by_role("combobox", name="rows")
    rows.select_option("25")
    desk.says("browser.state.rows", "25")
    rows.press("Home")
    desk.says("browser.state.rows", "10")
    for way, wanted in zip(WAYS, ("10,000", "100,000"), strict=True):
        use(app.button(f"Look at {wanted}"), way)
        desk.says("browser.state.wanted", wanted.replace(",", ""))
        desk.run("browser._total = ''; browser.refresh()")
        use(app.button("Count all"), way)
        desk.says("'in all' in browser._total")
        heading = app.host.get_by_role("columnheader", name="c.price")
        for direction in ("ascending", "descending"):
            use(heading.get_by_role("button"), way)
            expect(heading).to_have_attribute("aria-sort", direction)
        desk.says("(browser.state.sort, browser.state.descending)", "(('c', 'price'), True)")
        use(app.button("sort by match"), way)
        desk.says("browser.state.sort == ('c', 'price')", "False")
        number = 2 if way == "mouse" else 5
        use(app.button(f"look at match {number}"), way)
        desk.says("browser.current", str(number))
        mark = app.host.get_by_role("checkbox", name=f"mark match {number}", exact=True)
        use(mark, way, "Space")
        desk.says(f"{number} in browser.state.marked")
        for name, page in (("next", 1), ("last", None), ("first", 0), ("next", 1), ("previous", 0)):
            use(app.button(f"{name} page"), way)
            desk.says("browser.state.page > 1" if page is None else f"browser.state.page == {page}")
        desk.run(f"browser.select({number})")
        for name, there in (("next", number + 1), ("previous", number)):
            use(app.button(f"{name} match"), way)
            desk.says("browser.current", str(there))
        census.used(way, "set rows", "do more", "do count", "do sort", "do choose", "set mark")
        census.used(way, "do page", "do step")
    desk.says("list(browser.selected.match)", "[2, 5]")
    table = app.host.get_by_role("region", name="matches; an arrow key chooses the next one")
    table.focus()
    app.press("Home", "ArrowDown", "ArrowDown", "b", "d", "d")
    desk.says("browser.current", "2")
    census.used("keyboard", "keys step")
    for way in WAYS:
        _one_event(desk, app, way)
        census.used(way, "do with", "do all")
    _filter(desk, app, census, table)
    judge(desk, app, census, mouse={"keys step"})


def _one_event(desk, app, way):
    """Only the matches of an event of the time line."""
    if way == "mouse":
        app.host.locator("svg .dot").first.click(force=True)
    else:
        app.host.locator("svg .mark").nth(1).focus()
        app.press("ArrowLeft", "ArrowRight", "Enter")
    desk.says("browser.state.event is None", "False")
    if way == "keyboard":
        bound = "browser._known.binding(int(i))['b']"
        desk.says(f"all(browser.state.event in {bound} for i in browser._order)")
    use(app.host.get_by_role("button", name="take away the filter: only with"), way)
    desk.says("browser.state.event", "None")


def _filter(desk, app, census, table):
    """What the filter refuses is said over the table, which stays where it is."""
    search = app.host.get_by_role("searchbox", name="filter")
    search.click()
    desk.page.keyboard.type("a.price > 1e9")
    app.press("Enter")
    expect(app.host.get_by_text("No match is chosen")).to_be_visible()
    assert search.input_value() == "a.price > 1e9"
    search.fill("")
    app.press("Enter")
    desk.says("browser.state.condition", "''")
    for way in WAYS:
        expect(app.host.locator("svg")).to_be_visible()
        place = table.bounding_box()
        search.fill("a.price >")
        app.press("Enter")
        alert = app.host.get_by_role("alert")
        expect(alert).to_be_visible()
        assert search.input_value() == "a.price >"
        assert search.evaluate("e => e.getRootNode().activeElement === e")
        assert table.bounding_box() == place
        assert alert.bounding_box()["y"] > search.bounding_box()["y"]
        census.look()
        use(app.button("Close"), way)
        expect(alert).to_have_count(0)
        search.fill("")
        app.press("Enter")
        desk.says("browser._typed", "''")
        census.used(way, "set filter", "do close")
    expect(app.host.locator("svg")).to_be_visible()


def test_pattern_editor_answers_every_control(desk):
    app = desk.apps[2]
    census = Census(app.frame)
    cells = desk.page.locator(".jp-Notebook .jp-Cell").count()
    area = app.host.get_by_role("textbox", name="pattern")
    words = app.host.get_by_role("listbox", name="completions")
    area.click()
    app.press("Control+End")
    desk.page.keyboard.type("\nWHERE a.pr")
    # The first arrow goes into the list, Enter takes the word.
    expect(words).to_be_visible()
    app.press("ArrowDown")
    expect(words.get_by_role("option", name="price")).to_have_attribute("aria-selected", "true")
    assert area.get_attribute("aria-activedescendant") == "text-0"
    census.used("keyboard", "option", "set text")
    app.press("Enter")
    desk.page.keyboard.type(" < b.prize")
    expect(area).to_have_attribute("aria-invalid", "true")
    expect(app.host.locator(".editor mark")).to_have_text("b.prize")
    expect(app.host.get_by_text("did you mean 'price'?")).to_be_visible()
    assert desk.lab.evaluate(desk.page, "editor.pattern") == "None"
    app.press("Backspace", "Backspace")
    expect(words).to_be_visible()
    app.press("Escape")
    expect(words).to_be_hidden()
    app.press("Backspace")
    words.get_by_role("option", name="price").click()
    census.used("mouse", "option", "set text")
    desk.page.keyboard.type(" ")
    app.press("Control+ ")
    expect(words.get_by_role("option").first).to_have_attribute("aria-selected", "true")
    desk.page.keyboard.type("a")
    expect(words.get_by_role("option", name="AND keyword")).to_be_visible()
    app.press("Escape", "Backspace", "Backspace")
    text = "'PATTERN SEQ(MSFT a, GOOG b)\\nWITHIN 3 seconds\\nWHERE a.price < b.price'"
    desk.says("editor.text", text)
    assert area.evaluate("e => e.getRootNode().activeElement === e")
    assert desk.page.locator(".jp-Notebook .jp-Cell").count() == cells
    desk.says("editor.wait()")
    first = app.host.get_by_role("region", name="the first matches on a time line")
    expect(first.locator("svg .mark").first).to_be_visible()
    expect(app.host.get_by_role("region", name="the automaton").locator("svg")).to_be_visible()
    for way in WAYS:
        for name, number in (("next", 1), ("previous", 0)):
            use(app.button(f"{name} match"), way)
            desk.says("editor._chosen", str(number))
        desk.run("editor._running = None; editor.refresh()")
        use(app.button("Run on everything"), way)
        desk.says("editor._running is not None and editor._running.count is not None")
        expect(app.host.get_by_text("matches in")).to_be_visible()
        census.used(way, "do choose", "do run")
    first.locator("svg .match").nth(1).click(force=True)
    desk.says("editor._chosen == 0", "False")
    take_the_code(desk, app, census, "editor.as_code()")
    assert_fits(app)
    area.fill("PATTERN SEQ(MSFT a, GOOG b) WHERE a.price < 0 WITHIN 3 seconds")
    expect(app.host.get_by_text("There is no match")).to_be_visible()
    assert_fits(app, "none")
    events = ", ".join(f"MSFT {name}" for name in "abcde")
    area.fill(f"PATTERN SEQ({events}) WHERE a.price + b.price + c.price + d.price + e.price < 0")
    # What it says of the sample moves what stands below.
    expect(app.host.get_by_text("It takes too long here")).to_be_visible()
    for way in WAYS:
        use(app.button("Run on everything"), way)
        expect(app.button("Stop")).to_be_visible()
        census.look()
        use(app.button("Stop"), way)
        expect(app.host.get_by_text("stopped after")).to_be_visible()
        desk.says("type(editor._running.error).__name__", "'KeyboardInterrupt'")
        census.used(way, "do stop")
        desk.run("editor._running = None; editor.refresh()")
    area.fill("PATTERN SEQ(MSFT a, GOOG b) WHER")
    expect(area).to_have_attribute("aria-invalid", "true")
    judge(desk, app, census)


def test_strategy_comparison_answers_every_control(desk):
    app = desk.apps[3]
    census = Census(app.frame)
    expect(app.host.get_by_text("over the first 5,000 of 20,000 events")).to_be_visible()
    # What cannot run is not offered.
    expect(app.button("partition-contiguity")).to_have_count(0)
    cells = desk.page.locator(".jp-Notebook .jp-Cell").count()
    table = app.host.get_by_role("region", name="strategies in the first 5,000 events; bars")
    for way in WAYS:
        for name in ("skip-till-next-match", "skip-till-any-match"):
            use(app.button(name), way, "Space")
            desk.says("str(strategies.chosen)", repr(name))
        only = app.host.get_by_role("button", name="matches that only skip-till-any-match has")
        assert re.search(r"^list the [\d,]+ matches", only.get_attribute("aria-label"))
        use(only, way)
        desk.says("set(strategies.matches['skip-till-next-match'])", "{False}")
        expect(only).to_have_attribute("aria-pressed", "true")
        why = app.host.get_by_role("region", name="why they lack it")
        expect(why.get_by_role("rowheader", name="skip-till-next-match")).to_be_visible()
        use(only, way)
        expect(only).to_have_attribute("aria-pressed", "false")
        desk.run("strategies.select(int(strategies.matches.match.iloc[0]))")
        first = int(desk.lab.evaluate(desk.page, "strategies.current"))
        use(app.button(f"look at match {first + 1}"), way)
        desk.says("strategies.current", str(first + 1))
        use(app.button("previous match"), way)
        desk.says("strategies.current", str(first))
        use(app.button("next match"), way)
        desk.says("strategies.current", str(first + 1))
        census.used(way, "do strategy", "do group", "do choose", "do step")
    # The matches of a strategy stand on the time line one beside the other.
    for way in WAYS:
        current = desk.lab.evaluate(desk.page, "strategies.current")
        if way == "mouse":
            app.host.locator("svg .match:not(.chosen) circle").first.click(force=True)
        else:
            app.host.locator("svg .match.chosen").first.focus()
            app.press("ArrowRight", "ArrowRight", "Enter")
        desk.says(f"strategies.current == {current}", "False")
    table.focus()
    app.press("Home", "ArrowDown", "b", "d", "d")
    desk.says("str(strategies.chosen)", "'skip-till-next-match'")
    assert desk.page.locator(".jp-Notebook .jp-Cell").count() == cells
    desk.says("bool(len(strategies.matches) == strategies.counts.matches[1])")
    app.host.get_by_role("region", name="matches of skip-till-next-match").focus()
    app.press("End")
    desk.says("bool(strategies.current == strategies.matches.match.iloc[-1])")
    census.used("keyboard", "keys step-strategy", "keys step")
    desk.run("strategies.choose('skip-till-any-match')")
    code = "exec(strategies.as_code())"
    count = "bool(matches.count() == strategies.counts.matches[0])"
    assert desk.lab.evaluate(desk.page, count, code) == "True"
    take_the_code(desk, app, census, "strategies.as_code()")
    judge(desk, app, census, mouse={"keys step", "keys step-strategy"})


def test_watch_widget_stops_its_query(desk):
    for number, way in enumerate(WAYS):
        stop = desk.page.get_by_role("button", name="Stop the query").nth(number)
        use(stop, way)
        desk.says(f"watched[{number}].watched.query.isActive", "False")
        expect(stop).to_be_disabled()


def test_controls_of_apps_have_names_and_roles(desk):
    trees = [app.frame.aria_snapshot() for app in desk.apps]
    explorer, browser, editor, strategies = trees
    for tree, lines in (
        (explorer, ('combobox "cost model"', 'slider "rate of MSFT a"', 'columnheader "planners"')),
        (browser, ('searchbox "filter"', 'button "next page"', "region")),
        (editor, ('textbox "pattern"', 'button "Run on everything"')),
        (strategies, ('columnheader "lacks"', 'region "the strategies on one time line"')),
    ):
        for line in lines:
            assert line in tree, tree
    roles = ("button", "slider", "combobox", "textbox", "img")
    unnamed = [line for tree in trees for line in tree.splitlines() if line.strip(" -:") in roles]
    assert not unnamed
    # JupyterLab's own parts have no names everywhere.
    assert [text for text in complaints(desk.page) if "match" in text] == []


def test_exported_notebook_shows_the_apps_offline(lab, page, context, elsewhere):
    path = exported(lab.write("exported.ipynb", STREAM, EXPLORER, BROWSER, EDITOR, STRATEGIES))
    context.set_offline(True)
    try:
        page.goto(path.as_uri())
        explorer, browser, editor, strategies = page.locator(".cepkit-app").all()
        for app in (explorer, browser, editor, strategies):
            expect(app.get_by_text("controls need a running notebook")).to_be_visible()
            expect(app.locator("svg").first).to_be_visible()
        for app in (browser, editor, strategies):
            expect(app.locator("svg .mark").first).to_be_visible()
        expect(explorer.get_by_role("slider").first).to_be_disabled()
        assert explorer.locator("tbody tr").count() == 5
        # The page's own rules would move texts to the right.
        assert explorer.locator("tbody th").first.evaluate(_ALIGNED) == "left"
        assert browser.locator("tbody").first.locator("tr").count() == 10
        expect(editor.get_by_role("textbox")).to_be_disabled()
        assert editor.get_by_role("textbox").input_value().startswith("PATTERN SEQ(MSFT a")
    finally:
        context.set_offline(False)
    # The frame that nbconvert puts around every notebook asks for these; the apps do not.
    elsewhere[:] = [url for url in elsewhere if CLOUDFLARE not in url]


_ALIGNED = "e => getComputedStyle(e).textAlign"
