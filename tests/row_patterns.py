"""The judge of MATCH_RECOGNIZE, from its definition: the preferred match of each start.

A pattern is nested tuples: a row of a variable, a sequence of any length, alternatives, a
permutation, a loop with its least and greatest number of times (None: any) and whether it is
greedy, a hidden part, `^` and `$`. A condition is a function of the rows of the partition and of
the variables mapped so far; the last of these is that of the row itself.
"""

from __future__ import annotations

from itertools import permutations


def ways(pattern, holds, rows, start, labels):
    """Yield the labels after each way to match the pattern, preferred ways first."""
    kind, *rest = pattern
    at = start + len(labels)
    match kind:
        case "row":
            if at < len(rows) and holds(rows, start, [*labels, rest[0]]):
                yield [*labels, rest[0]]
        case "^":
            if at == 0:
                yield labels
        case "$":
            if at == len(rows):
                yield labels
        case "seq":
            if not rest:
                yield labels
            else:
                for way in ways(rest[0], holds, rows, start, labels):
                    yield from ways(("seq", *rest[1:]), holds, rows, start, way)
        case "or":
            for part in rest:
                yield from ways(part, holds, rows, start, labels)
        case "permute":
            for order in permutations(rest):
                yield from ways(("seq", *order), holds, rows, start, labels)
        case "hide":
            yield from ways(rest[0], holds, rows, start, labels)
        case "loop":
            yield from _loop(*rest, holds, rows, start, labels)


def _loop(part, least, most, greedy, holds, rows, start, labels):
    def once_more():
        if most == 0:
            return
        for way in ways(part, holds, rows, start, labels):
            taken = len(way) > len(labels)
            if most is None and not taken and least <= 1:
                # An iteration without a row ends the loop after its last mandatory iteration.
                yield from [way] if least else []
            else:
                more = None if most is None else most - 1
                yield from _loop(part, max(least - 1, 0), more, greedy, holds, rows, start, way)

    if least > 0:
        yield from once_more()
    elif greedy:
        yield from once_more()
        yield labels
    else:
        yield labels
        yield from once_more()


def matches(pattern, holds, rows, skip=("past last row", None)):
    """Return (start, labels) of the matches of a partition; (row, None) for an unmatched row.

    Returns:
        The pairs; None if SKIP TO has no valid row.
    """
    result, start, covered = [], 0, 0
    while start < len(rows):
        labels = next(ways(pattern, holds, rows, start, []), None)
        if labels is None and start >= covered:
            result.append((start, None))
        then = start + 1
        if labels is not None:
            result.append((start, labels))
            covered = max(covered, start + len(labels))
            places = [start + i for i, label in enumerate(labels) if label == skip[1]]
            if labels and skip[0] == "past last row":
                then = start + len(labels)
            elif labels and skip[0] in ("first", "last"):
                if not places or places[0 if skip[0] == "first" else -1] == start:
                    return None
                then = places[0 if skip[0] == "first" else -1]
        start = then
    return result


def written(pattern):
    """Return a pattern as PATTERN writes it."""
    kind, *rest = pattern
    match kind:
        case "row":
            return rest[0]
        case "^" | "$":
            return kind
        case "seq":
            return f"({' '.join(map(written, rest))})"
        case "or":
            return f"({' | '.join(map(written, rest))})"
        case "permute":
            return f"PERMUTE({', '.join(map(written, rest))})"
        case "hide":
            return f"{{- {written(rest[0])} -}}"
        case "loop":
            part, least, most, greedy = rest
            signs = {(0, None): "*", (1, None): "+", (0, 1): "?"}
            bounds = signs.get((least, most), f"{{{least},{'' if most is None else most}}}")
            return f"({written(part)}){bounds}{'' if greedy else '?'}"
