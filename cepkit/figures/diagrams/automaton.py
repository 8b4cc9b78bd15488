"""The picture of an order plan: the chain of states through which its matches grow.

Where there is little room, states move together; a long chain is broken into rows, and the state at
a break is drawn twice, dashed the first time. Labels are cut to fit; hovering shows the whole text.
"""

from __future__ import annotations

import math

from cepkit.figures.diagrams.chain import Chain, State, Take
from cepkit.figures.kit import canvas
from cepkit.figures.kit.strokes import Strokes, carried
from cepkit.figures.kit.style import FINAL, PLAIN, SIZE, SMALL
from cepkit.figures.kit.texts import fitted, width_of, wrapped
from cepkit.pattern.names import variable_text
from cepkit.printing import plain
from cepkit.tables import number

RADIUS = 20
SPACING, _LEAST = 212, 140
"""The distance between two states: what texts like, and with what they can still be read."""

_EDGE = 6
_LOOP = 30
_LABEL_GAP = 8
_MOST_LINES = 6
_LEAN = 0.72
_OPEN = 0.36
"""The lean of a loop, and half its width at the foot, in radians."""


def layout(
    chain: Chain, room: float, strokes: Strokes, per_row: int | None = None
) -> canvas.Canvas:
    """Return the picture of an automaton.

    Args:
        chain: From `pictures.pictures`.
        room: The width to fit into, in pixels; wider where not even one edge does.
        per_row: The most edges in a row, however wide; None for as many as fit, in like rows.
    """
    spacing: float = SPACING
    edges = max(1, len(chain.takes))
    if per_row is None:
        # Beyond the last states half a distance is free, for what their loops say.
        inner = room - 2 * _EDGE
        rows = math.ceil(edges / max(1, int(inner / _LEAST) - 1))
        per_row = math.ceil(edges / rows)
        spacing = min(SPACING, max(_LEAST, inner / (per_row + 1)))
    width = 2 * _EDGE + (min(per_row, edges) + 1) * spacing
    items: list[canvas.Item] = []
    y = 0.0
    if chain.name:
        items.append(canvas.Text(8, y + 4, (chain.name,), "left", SIZE, bold=True))
        y += 22
    for begin in range(0, max(1, len(chain.takes)), per_row):
        row, height = _row(chain, begin, begin + per_row, y, strokes, spacing)
        items += row
        y += height
    for absence in chain.absences:
        lines = tuple(wrapped(absence, SMALL, width - 16, 3))
        note = canvas.Text(8, y - 6, lines, "left", SMALL, hover=absence)
        items.append(note)
        y += note.height + 6
    return canvas.Canvas(width, y, tuple(items), summary(chain))


def summary(chain: Chain) -> str:
    """Return the automaton in words, for screen readers."""
    steps = (
        f"{take.event}" + (f" where {' and '.join(take.conditions)}" if take.conditions else "")
        for take in chain.takes
    )
    return f"{chain.name or 'automaton'}: take {', then '.join(steps)}"


def _row(
    chain: Chain, begin: int, end: int, top: float, strokes: Strokes, spacing: float
) -> tuple[list[canvas.Item], float]:
    """Return the items of one row of a chain, and its height."""
    takes = chain.takes[begin:end]
    states = chain.states[begin : end + 1]
    loops = 2 * SMALL * canvas.LINE_HEIGHT + _LOOP + 10
    y = top + loops + RADIUS
    first = _EDGE + spacing / 2
    items: list[canvas.Item] = []
    if begin == 0:
        items.append(canvas.Line(((first - RADIUS - 34, y), (first - RADIUS, y)), arrow=True))
    lowest = y + RADIUS
    for i, take in enumerate(takes):
        left = first + i * spacing + RADIUS
        right = first + (i + 1) * spacing - RADIUS
        stroke = strokes.width(take.log_alive)
        items.append(canvas.Line(((left, y), (right, y)), arrow=True, width=stroke))
        labels = _labels(take, (left + right) / 2, y, (stroke - canvas.THIN) / 2, right - left - 16)
        items += labels
        lowest = max(lowest, *(text.y + text.height for text in labels))
    for i, state in enumerate(states):
        x = first + i * spacing
        continues = begin + i < len(chain.takes) and i == len(takes)
        items += _state(state, x, y, spacing, continues=continues)
    return items, lowest + 18 - top


def _labels(take: Take, x: float, y: float, away: float, room: float) -> list[canvas.Text]:
    """Return the labels above and below an edge, moved `away` from it if it is wide."""
    hover = _hover(take)
    # The loops of the states at both ends lean over the edge.
    above = room - 26
    fits = width_of(plain(take.event), SIZE * canvas.BOLD) <= above
    event = fitted(take.event if fits else variable_text(take.variable), SIZE * canvas.BOLD, above)
    top = y - SIZE * canvas.LINE_HEIGHT - 3 - away
    title = canvas.Text(x + 4, top, (event,), size=SIZE, bold=True, hover=hover)
    lines = [] if fits else wrapped(take.event, SMALL, room, 1)
    if take.scope:
        lines += wrapped(take.scope, SMALL, room, 2)
    for i, condition in enumerate(take.conditions):
        others = len(take.conditions) - i - 1
        left = _MOST_LINES - len(lines) - bool(others)
        if left < 1:
            lines.append(f"… and {others + 1} more")
            break
        lines += wrapped(condition, SMALL, room, min(3, left))
    if take.expected is not None:
        kept = f"keeps ~{number(take.expected.partial_matches)}"
        lines += wrapped(kept, SMALL, room, 2)
    if take.log_alive is not None:
        lines += wrapped(f"{carried(take.log_alive)} in a window", SMALL, room, 2)
    below = canvas.Text(x, y + 6 + away, tuple(lines), hover=hover, size=SMALL)
    return [title, below] if lines else [title]


def _hover(take: Take) -> str:
    lines = [f"take {take.event}", *([take.scope] if take.scope else []), *take.conditions]
    if take.expected is not None:
        step = take.expected
        lines += [
            f"expected candidates: {number(step.candidates)}",
            f"expected partial matches: {number(step.partial_matches)}",
        ]
    if take.log_alive is not None:
        lines.append(f"expected to be alive in a window: {carried(take.log_alive)}")
    return "\n".join(lines)


def _state(
    state: State, x: float, y: float, spacing: float, *, continues: bool
) -> list[canvas.Item]:
    final = state.name == "F"
    hover = [f"state {state.name}"]
    if final:
        hover.append("a match")
    if state.stored:
        hover.append(f"store {', '.join(state.stored)}")
    if state.ignored:
        hover.append(f"ignore {', '.join(state.ignored)}")
    if continues:
        hover.append("goes on in the next row")
    fill = None if continues else FINAL if final else PLAIN
    dash: canvas.Dash = "dot" if continues else "solid"
    circle = canvas.Circle(x, y, RADIUS, "\n".join(hover), fill, dash, double=final)
    name = canvas.Text(x, y - SIZE * canvas.LINE_HEIGHT / 2, (state.name,), size=SIZE, bold=True)
    if continues:
        return [circle, name]
    return [*_loops(state, x, y, spacing), circle, name]


def _loops(state: State, x: float, y: float, spacing: float) -> list[canvas.Item]:
    """Return the self-loops: to store, dashed, leaning right; to ignore, dotted, leaning left."""
    kinds: list[tuple[str, tuple[str, ...], canvas.Dash, int]] = []
    if state.ignored:
        kinds.append(("ignore", state.ignored, "dot", -1))
    if state.stored:
        kinds.append(("store", state.stored, "dash", 1))
    items: list[canvas.Item] = []
    for word, names, dash, side in kinds:
        lean = side * _LEAN if len(kinds) == 2 else 0.0
        far = RADIUS + 1.35 * _LOOP

        def at(angle: float, distance: float) -> tuple[float, float]:
            return x + distance * math.sin(angle), y - distance * math.cos(angle)

        angles = (lean - _OPEN, lean - _OPEN * 1.5, lean + _OPEN * 1.5, lean + _OPEN)
        points = tuple(map(at, angles, (RADIUS, far, far, RADIUS)))
        items.append(canvas.Line(points, curved=True, dash=dash, arrow=True))
        room = (spacing if lean == 0 else spacing / 2) - 2 * _LABEL_GAP
        label = fitted(", ".join(names), SMALL, room)
        # Above the tip of the loop, on the loop's side of the state.
        half = max(width_of(label, SMALL), width_of(word, SMALL)) / 2
        middle = x if lean == 0 else x + side * max(abs(at(lean, far)[0] - x), half + _LABEL_GAP)
        top = y - RADIUS - _LOOP - 2 * SMALL * canvas.LINE_HEIGHT
        text = f"{word} {', '.join(names)}"
        items.append(canvas.Text(middle, top, (word, label), size=SMALL, hover=text))
    return items
