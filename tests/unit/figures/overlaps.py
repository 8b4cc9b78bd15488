"""Whether things on a canvas lie on each other, by their boxes."""

from itertools import combinations, pairwise

from cepkit.figures.kit.canvas import Canvas, Card, Circle, Line, Text


def overlap(first, second):
    """Whether two boxes have more in common than an edge."""
    return all(min(first[i + 2], second[i + 2]) - max(first[i], second[i]) > 1e-6 for i in (0, 1))


def inside(inner, outer):
    return (
        outer[0] <= inner[0] and outer[1] <= inner[1] and inner[2] <= outer[2]
        and inner[3] <= outer[3]
    )  # fmt: skip


def assert_nothing_overlaps(canvas: Canvas) -> None:
    """Texts lie apart or on a card that holds all of them; nothing else touches; all is drawn."""
    texts = [item for item in canvas.items if isinstance(item, Text)]
    shapes = [item for item in canvas.items if isinstance(item, Card | Circle)]
    whole = (-0.01, -0.01, canvas.width + 0.01, canvas.height + 0.01)
    for item in (*texts, *shapes):
        assert inside(item.box(), whole), item
    for first, second in combinations(texts, 2):
        assert not overlap(first.box(), second.box()), (first.lines, second.lines)
    for first, second in combinations(shapes, 2):
        assert not overlap(first.box(), second.box()), (first, second)
    for text in texts:
        for shape in shapes:
            if overlap(text.box(), shape.box()):
                assert inside(text.box(), room_on(shape)), (text.lines, shape)
    for line in canvas.items:
        if isinstance(line, Line):
            for begin, end in pairwise(along(line)):
                crossed = [t for t in texts if touches(begin, end, line.width, t.box())]
                assert not crossed, (line, crossed[0].lines)
                # A loop leaves its circle through a corner of the box around it.
                met = [] if line.curved else shapes
                assert not any(touches(begin, end, 0, room_on(s)) for s in met), line


def along(line):
    """The points of a line, some of them where it is curved."""
    if not line.curved:
        return line.points
    return [
        tuple(
            (1 - t) ** 3 * a + 3 * t * (1 - t) ** 2 * b + 3 * t**2 * (1 - t) * c + t**3 * d
            for a, b, c, d in zip(*line.points, strict=True)
        )
        for t in (i / 16 for i in range(17))
    ]


def room_on(shape):
    """The box of a shape, smaller by its edge, so that shapes that only touch do not overlap."""
    if isinstance(shape, Card):
        return shape.x + 0.1, shape.y + 0.1, shape.x + shape.width - 0.1, (
            shape.y + shape.height - 0.1
        )  # fmt: skip
    left, top, right, bottom = shape.box()
    return left + 0.1, top + 0.1, right - 0.1, bottom - 0.1


def touches(begin, end, width, box):
    """Whether a line of that width runs through a box."""
    left, top, right, bottom = (
        side + sign * width / 2 for side, sign in zip(box, (-1, -1, 1, 1), strict=True)
    )
    (x, y), (dx, dy) = begin, (end[0] - begin[0], end[1] - begin[1])
    first, last = 0.0, 1.0
    for at, step, least, most in ((x, dx, left, right), (y, dy, top, bottom)):
        if step == 0:
            if not least < at < most:
                return False
            continue
        enters, leaves = sorted(((least - at) / step, (most - at) / step))
        first, last = max(first, enters), min(last, leaves)
    return first < last
