"""The time line of a match as SVG, with selectable marks."""

from __future__ import annotations

import math
from collections.abc import Sequence

from cepkit.figures.diagrams.timeline import letters
from cepkit.figures.kit.style import colour_of, ink
from cepkit.figures.kit.texts import cut, width_of
from cepkit.printing import html_text
from cepkit_widgets.matches.bars import Band, band_svg
from cepkit_widgets.matches.look import Around, Seen

_LANE, _TOP, _BOTTOM, _RIGHT = 32, 10, 26, 14
_MARK, _DOT = 10, 4
_APART = 14  # one above the other: less would hide a letter
_NAME = 12
_UNITS = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))


def timeline_svg(
    around: Around,
    variables: tuple[str, ...],
    width: float,
    *,
    action: str | None = "with",
    joined: bool = True,
    bands: Sequence[Band] = (),
) -> str:
    """Return the time line: a lane for each type, letters for the match's events, rings for others.

    Args:
        around: The match with the events around it.
        variables: In the pattern's order; they have colours.
        width: In pixels.
        action: The action of choosing an event; None for none.
        joined: Whether a line joins the match's events.
        bands: The bands below on the same time line; choosing a bar does "choose".
    """
    names = [cut(lane, 16) for lane in around.lanes]
    titles = [*names, *(text for band in bands for text in (band.name, band.note))]
    left = 16 + max(width_of(name, _NAME) for name in titles)
    below: float = _TOP + _LANE * len(names)
    height = below + sum(band.height for band in bands) + _BOTTOM
    span = max(around.end - around.begin, 1e-9)

    def x(at: float) -> float:
        return left + 12 + (at - around.begin) / span * (width - left - _RIGHT - 12)

    def y(lane: int) -> float:
        return _TOP + _LANE * (lane + 0.5)

    parts = [_axis(around, x, left, width, height - _BOTTOM)]
    for lane, name in enumerate(names):
        parts.append(
            f'<text x="{left:.1f}" y="{y(lane) + 4:.1f}" text-anchor="end" font-size="{_NAME}" '
            f'fill="currentColor">{html_text(name)}</text>'
            f'<path d="M{left + 8:.1f},{y(lane):.1f} H{width - 4:.1f}" stroke="var(--line)"/>'
        )
    for band in bands:
        parts.append(band_svg(band, x, left, below, width))
        below += band.height
    for absence in around.absences:
        begin, end = (
            x(max(around.begin, min(around.end, at))) for at in (absence.begin, absence.end)
        )
        parts.append(
            f'<g class="absent" role="img"><title>{html_text(absence.text)}</title>'
            f'<path d="M{begin:.1f},{y(absence.lane) + 7:.1f} H{end:.1f}"/></g>'
        )
    own = [seen for seen in around.events if seen.variable is not None]
    places = _apart(own, x, y)
    if joined and len(places) > 1:
        line = " L".join(f"{a:.1f},{b:.1f}" for a, b in places)
        parts.append(f'<path d="M{line}" stroke="var(--soft)" stroke-width="1.6"/>')
    for number, seen in enumerate(around.events):
        if seen.variable is None:
            text = html_text_of(seen, "takes no part")
            first = not own and not number
            parts.append(
                f'<circle class="dot"{_chosen_by(action, seen, first=first)} r="{_DOT}" '
                f'cx="{x(seen.at):.1f}" cy="{y(seen.lane):.1f}"><title>{text}</title></circle>'
            )
    names_of = dict(zip(variables, letters(variables), strict=True))
    for number, (seen, (a, b)) in enumerate(zip(own, places, strict=True)):
        assert seen.variable is not None
        colour = colour_of(variables.index(seen.variable))
        text = html_text_of(seen, seen.variable)
        parts.append(
            f'<g class="mark"{_chosen_by(action, seen, first=not number)}><title>{text}</title>'
            f'<circle cx="{a:.1f}" cy="{b:.1f}" r="{_MARK}" fill="{colour}"/>'
            f'<text x="{a:.1f}" y="{b + 4:.1f}" text-anchor="middle" font-size="11" '
            f'font-weight="600" fill="{ink(colour)}">{html_text(names_of[seen.variable])}</text>'
            "</g>"
        )
    summary = f"the first {len(around.events)} events, from {around.start}"
    if own:
        summary = (
            f"match from {around.start}: {len(own)} events, "
            f"{len(around.events) - len(own)} around that take no part"
        )
    return (
        f'<svg role="group" aria-label="{html_text(summary)}" data-rove '
        f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}" '
        f'fill="none">{"".join(parts)}</svg>'
    )


def key_of(variables: Sequence[str]) -> str:
    """Return which letter stands for which variable, escaped."""
    named = zip(letters(variables), variables, strict=True)
    texts = (letter if letter == name else f"{letter}: {name}" for letter, name in named)
    return html_text(f"● {', '.join(texts)}")


def _chosen_by(action: str | None, seen: Seen, *, first: bool) -> str:
    """Return the HTML attributes of a selectable event."""
    if action is None:
        # Screen readers skip events that are neither in the match nor selectable.
        return ' aria-hidden="true"' if seen.variable is None else ' role="img"'
    return (
        f' data-do="{action}" data-value="{seen.event}" data-at="{seen.at:.6f}" '
        f'role="button" tabindex="{0 if first else -1}"'
    )


def html_text_of(seen: Seen, what: str) -> str:
    """Return an event as a text on one line, escaped."""
    return html_text(f"{what}: {'; '.join(seen.text.splitlines())}")


def _apart(own: list[Seen], x: object, y: object) -> list[tuple[float, float]]:
    """Return the places of a match's marks, moved apart if they would overlap."""
    assert callable(x)
    assert callable(y)
    places: list[tuple[float, float]] = []
    for seen in own:
        a, b = float(x(seen.at)), float(y(seen.lane))
        shift = 0
        while any(abs(a - c) < 1.4 * _MARK and abs(b + shift - d) < _APART for c, d in places):
            shift = -shift + _APART if shift <= 0 else -shift
            if abs(shift) > _LANE / 2:
                break
        places.append((a, b + shift))
    return places


def _axis(around: Around, x: object, left: float, width: float, bottom: float) -> str:
    assert callable(x)
    span = around.end - around.begin
    size, unit = next(
        ((size, unit) for size, unit in _UNITS if span >= 2 * size), (_UNITS[-1][0], "µs")
    )
    most = max(2, int((width - left) / 90))
    raw = span / size / most
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * k for k in (1, 2, 5, 10) if power * k >= raw)
    parts = []
    i = math.ceil(around.begin / size / step)
    while i * step * size <= around.end:
        place = x(i * step * size)
        label = "start" if not i else f"{i * step:+g} {unit}"
        parts.append(
            f'<path d="M{place:.1f},{_TOP} V{bottom:.1f}" stroke="var(--line)" '
            'stroke-dasharray="2 3"/>'
            f'<text x="{place:.1f}" y="{bottom + 15:.1f}" text-anchor="middle" font-size="11" '
            f'fill="var(--soft)">{label}</text>'
        )
        i += 1
    return "".join(parts)
