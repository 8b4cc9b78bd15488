"""A quiz is answered in a saved page: by click, in the figure, by keys; it judges as the trace."""

from __future__ import annotations

import pytest

from tests.browser import cases
from tests.browser.accessibility import complaints

pytest.importorskip("playwright.sync_api", reason="make test-browser installs it")


@pytest.fixture
def asked(opened):
    """Open the eager order of the example with a quiz of all its steps; it begins at step 2."""

    def open_(**options):
        return opened(cases.example()[1], quiz=9, start=2, **options)

    return open_


def quiz_of(player):
    return player.host.locator(".quiz")


def test_player_goes_no_further_than_a_question_without_an_answer(asked):
    player = asked()
    assert player.step == 2
    for key in ("ArrowRight", "End", "n", "PageDown"):
        player.press(key)
        assert player.step == 2
    assert "Next comes A 2 (price 8)" in quiz_of(player).inner_text()
    player.press("Home")
    assert player.step == 0
    player.press("Enter")
    assert player.step == 2


def test_keys_pick_instances_and_the_page_says_why(asked):
    player = asked()
    player.press("1", "Enter")
    assert player.step == 3
    assert "Next comes" not in quiz_of(player).inner_text()
    text = quiz_of(player).inner_text()
    assert "✓ Right" in text
    assert "1 right of 1" in text
    # B 3 costs 7: more than the first two A.
    player.press("Enter", "1", "2", "Enter")
    text = quiz_of(player).inner_text()
    assert "✗ Not right" in text
    assert "it extends 2 instances" in text
    assert "1 right of 2" in text
    rows = [" ".join(row.split()) for row in quiz_of(player).locator("tr").all_inner_texts()]
    assert rows == [
        "– the beginning q0 not extended: it waits for A a your answer, wrong",
        "✓ A 0 q1 extended: it takes B 3 for b, as 3 < 7 holds your answer",
        "✓ A 1 q1 extended: it takes B 3 for b, as 5 < 7 holds missed",
        "– A 2 q1 not extended: 8 < 7 does not hold",
    ]


def test_answers_picked_in_the_figure_are_taken_back_by_another_click(asked):
    player = asked()
    player.host.locator('.token[data-instance="1"] circle:last-child').click()
    pressed = quiz_of(player).locator('.option[aria-pressed="true"]')
    assert [" ".join(text.split()) for text in pressed.all_inner_texts()] == ["2 A 0 q1"]
    assert player.host.locator(".token.chosen").count() == 1
    assert player.host.locator(".lineage").is_hidden()
    player.host.locator('.token[data-instance="1"] circle:last-child').click()
    assert pressed.count() == 0
    assert quiz_of(player).get_by_role("button", name="Check").is_disabled()
    player.host.get_by_role("table", name="instances").get_by_role("button", name="0").click()
    quiz_of(player).get_by_role("button", name="Check").click()
    assert "✓ Right" in quiz_of(player).inner_text()


def test_answers_that_are_only_shown_count_as_wrong_and_it_begins_again(asked):
    player = asked()
    total = quiz_of(player).locator(".dots i").count()
    for _ in range(total):
        player.press("Enter")
        quiz_of(player).get_by_role("button", name="Show the answer").click()
        assert "your answer" not in quiz_of(player).inner_text()
    assert f"0 right of {total}" in quiz_of(player).inner_text()
    quiz_of(player).get_by_role("button", name="Begin again").click()
    assert player.step == 2
    assert quiz_of(player).locator(".dots .wrong").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [800, 1400])
def test_quiz_fits_the_page_with_readable_contrast(asked, page, width, scheme):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    player = asked()
    assert complaints(page) == []
    for place in (".quiz h3", ".asks", ".quiz .option", ".quiz kbd", ".quiz .soft"):
        assert player.contrast(place) >= 4.5, place
    player.press("2", "Enter")
    assert complaints(page) == []
    for place in (".verdict b", ".quiz td", ".quiz .next", ".quiz td.soft", ".score"):
        assert player.contrast(place) >= 4.5, place
    assert page.evaluate("document.documentElement.scrollWidth") <= width
