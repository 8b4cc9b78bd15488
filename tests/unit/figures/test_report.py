from html.parser import HTMLParser

import pytest

from cepkit.errors import FileError
from cepkit.figures.report import write_report
from cepkit.plan.checks import as_plan
from cepkit.planners.choose import cost_plan
from cepkit.planners.compare import compare_plans
from cepkit.statistics import Selectivity, Statistics
from tests.unit.figures.cases import NASTY, NONE, ROWS, SCRIPT, THREE, find, sequence


class Page(HTMLParser):
    """The page as a browser would read it: tags, their attributes, and the text."""

    VOID = ("meta",)

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.text, self.open = [], [], "", []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def whole_report(path, **options):
    statistics = Statistics(
        {"a": 5.0, "b": 4.0, "c": 0.1}, selectivities={frozenset("ab"): Selectivity(0.4, 1000)},
        events=1000, first=0, last=10**8,
    )  # fmt: skip
    plan = cost_plan(as_plan(["c", "a", "b"], THREE), THREE, statistics)
    matches = find(THREE, ROWS, ["c", "a", "b"])
    return write_report(
        path,
        query=THREE,
        statistics=statistics,
        comparison=compare_plans(THREE, statistics),
        plan=plan,
        explanation=matches.explain(),
        matches_frame=matches.head(20),
        facts={"events": "5", "matches": "1"},
        title="A test",
        **options,
    )


def test_report_has_all_parts_and_a_table_for_each_picture(tmp_path):
    path = whole_report(tmp_path / "report.html")
    page = Page(path.read_text(encoding="utf-8"))
    for heading in (
        "Pattern", "Plan", "Plans compared", "Expected and actual", "Timeline", "First matches",
        "The stream",
    ):  # fmt: skip
        assert heading in page.text
    for text in ("SEQ(A a, B b, C c)", "a → b → c", "a.price + c.price > 5", "greedy (", " ★"):
        assert text in page.text
    assert "as a tree" in page.text
    # The plan is laid out for four widths; the time line is for one, and clips an inner picture.
    assert page.tags.count("svg") == 6
    assert page.tags.count("table") == page.tags.count("caption") == 6
    assert page.tags.count("h1") == 1
    scopes = [value for name, value in page.attributes if name == "scope"]
    assert set(scopes) == {"col", "row"}


def test_timeline_of_a_report_has_the_colours_of_the_page_and_texts_at_marks(tmp_path):
    html = whole_report(tmp_path / "report.html").read_text(encoding="utf-8")
    picture = html[html.index("timeline of the first matches") :]
    picture = picture[: picture.index("</figure>")]
    assert "<title>a: A 2024-03-04 10:00:00 price = 1.0</title>" in picture
    assert 'fill="currentColor"' in picture
    assert "#767676" not in picture


def test_report_of_a_tree_lists_steps_from_variables_to_matches(tmp_path):
    matches = find(THREE, ROWS, (("a", "c"), "b"))
    path = write_report(
        tmp_path / "report.html", query=THREE, plan=matches.plan, matches_frame=matches.head()
    )
    page = Page(path.read_text(encoding="utf-8"))
    assert page.tags.count("svg") == 3
    steps = (
        "A a",
        "c.price > 3",
        "a ⋈ c",
        "a.price + c.price > 5",
        "a, c ⋈ b",
        "a.price < b.price",
    )
    table = page.text[page.text.index("The steps in words") :]
    assert sorted(steps, key=table.index) == list(steps)
    assert "At every join: within 1 hour." in table


def test_report_needs_no_network_and_no_scripts(tmp_path):
    text = whole_report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "://" not in text
    assert "url(" not in text
    page = Page(text)
    assert not {"script", "img", "link", "iframe", "object"} & set(page.tags)
    assert not any(name in ("src", "href") or name.startswith("on") for name, _ in page.attributes)
    assert "default-src 'none'" in text
    assert len(text.encode()) < 100_000


def test_report_escapes_names_and_values(tmp_path):
    query = sequence([*NASTY, SCRIPT], ["<b>T</b>", SCRIPT, "C", "D"], 'WHERE "<b>x</b>".price > 0')
    rows = [(i, kind, 1.0) for i, kind in enumerate(["<b>T</b>", SCRIPT, "C", "D"])]
    matches = find(query, rows)
    statistics = Statistics(dict.fromkeys(matches.variables, 1.0))
    path = write_report(
        tmp_path / "report.html",
        query=query,
        statistics=statistics,
        comparison=compare_plans(query, statistics),
        plan=matches.plan,
        explanation=matches.explain(),
        matches_frame=matches.head(20),
        facts={SCRIPT: SCRIPT},
        title=SCRIPT,
    )
    text = path.read_text(encoding="utf-8")
    assert len(matches.head()) == 1
    assert "<script" not in text
    assert "<b>" not in text
    assert Page(text).text.count(SCRIPT) > 5


def test_values_of_events_are_escaped_too(tmp_path):
    query = sequence(["a", "b"], ["A", "B"], "WHERE a.price != b.price")
    matches = find(query, [(0, "A", SCRIPT), (1, "B", '"><img src=x onerror=alert(1)>')])
    path = write_report(
        tmp_path / "report.html", query=query, plan=matches.plan, matches_frame=matches.head()
    )
    page = Page(path.read_text(encoding="utf-8"))
    assert SCRIPT in page.text
    assert "img" not in page.tags


def test_report_without_matches_says_so(tmp_path):
    matches = find(THREE, NONE)
    path = write_report(
        tmp_path / "report.html", query=THREE, plan=matches.plan, matches_frame=matches.head()
    )
    assert "There are no matches." in path.read_text(encoding="utf-8")


def test_report_replaces_an_existing_file_only_with_overwrite(tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old", encoding="utf-8")
    with pytest.raises(FileError, match="exists"):
        whole_report(path)
    assert path.read_text(encoding="utf-8") == "old"
    whole_report(path, overwrite=True)
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_report_into_a_missing_folder_is_refused(tmp_path):
    with pytest.raises(FileError, match="there is no folder"):
        whole_report(tmp_path / "nowhere" / "report.html")
