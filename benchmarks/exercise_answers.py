"""Wrong and right answers to the exercises that ask for a pattern, and what they get.

Wrong answers are mutants of the solutions: another operator, order, type, window, constant or
condition. Right ones are rewrites that keep the meaning. Run it as `python -m benchmarks
exercise_answers -- --wrong 200`: it prints how many mutants get a counterexample, and which do not.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator, Sequence
from random import Random
from time import process_time

from cepkit.errors import CepkitError
from cepkit.pattern.builder import as_query
from cepkit.teaching.exercises import Exercise, exercises

Change = Callable[[str, Random], str]


def _swapped(text: str, random: Random, *signs: str) -> str:
    """Return a text with one of some signs in the place of another one."""
    places = [m for sign in signs for m in re.finditer(rf" {re.escape(sign)} ", text)]
    if not places:
        return text
    place = random.choice(places)
    other = random.choice([sign for sign in signs if sign != place[0].strip()])
    return f"{text[: place.start()]} {other} {text[place.end() :]}"


def _numbers(text: str, random: Random, after: str, change: Callable[[int], int]) -> str:
    places = [*re.finditer(rf"({after})(\d+)", text)]
    if not places:
        return text
    place = random.choice(places)
    number = max(1, change(int(place[2])))
    return f"{text[: place.start()]}{place[1]}{number}{text[place.end() :]}"


def _other_operator(text: str, random: Random) -> str:
    return _swapped(text, random, "<", "<=", "=", ">", ">=", "!=")


def _other_structure(text: str, _: Random) -> str:
    if "AND(" in text:
        return text.replace("AND(", "SEQ(")
    return text.replace("SEQ(", "AND(")


def _other_order(text: str, random: Random) -> str:
    inside = re.search(r"(?:SEQ|AND)\((.*)\) (?:WHERE|WITHIN)", text)
    assert inside is not None
    items = re.split(r", (?![^{]*})", inside[1])
    at = random.randrange(len(items) - 1)
    items[at], items[at + 1] = items[at + 1], items[at]
    if "AND(" in text:
        return text
    return text.replace(inside[1], ", ".join(items))


def _other_type(text: str, random: Random) -> str:
    types = re.findall(r"(\w+) [abcx]\b(?=[,)])", text)
    one, other = random.sample([*types, "note"], 2)
    return re.sub(rf"\b{one} (?=[abcx]\b)", f"{other} ", text, count=1)


def _other_window(text: str, random: Random) -> str:
    change = random.choice([lambda n: 2 * n, lambda n: n + 1, lambda n: n - 1])
    return _numbers(text, random, "WITHIN ", change)


def _other_constant(text: str, random: Random) -> str:
    change = random.choice([lambda n: n + 1, lambda n: n - 1])
    return _numbers(text, random, "> |{|,(?=[0-9])", change)


def _fewer_conditions(text: str, random: Random) -> str:
    where = re.search(r" WHERE (.*) WITHIN", text)
    if where is None:
        return text
    parts = where[1].split(" AND ")
    parts.pop(random.randrange(len(parts)))
    return text.replace(where[0], f"{' WHERE ' if parts else ''}{' AND '.join(parts)} WITHIN")


def _other_word(text: str, random: Random) -> str:
    repeated = r"KL\((\w+ b)\){2,3}"
    words = (
        (r"NOT\((\w+ x)\), ", ""),
        (r", NOT\(\w+ x\)", ""),
        ("FIRST ", ""),
        ("FIRST ", "NEXT "),
        (repeated, r"KL(\1)"),
        (repeated, r"KL(FIRST \1){2,3}"),
        (r"(WITHIN \d+ minutes)", r"\1 EXCLUSIVE"),
    )
    pattern, other = random.choice([one for one in words if re.search(one[0], text)])
    return re.sub(pattern, other, text)


MUTATIONS: tuple[Change, ...] = (
    _other_operator, _other_structure, _other_order, _other_type, _other_window, _other_constant,
    _fewer_conditions, _other_word,
)  # fmt: skip


def _flipped(text: str, _: Random) -> str:
    sides = {"<": ">", ">": "<", "=": "="}

    def flip(found: re.Match[str]) -> str:
        return f"{found[3]} {sides[found[2]]} {found[1]}"

    return re.sub(r"(\w+\.\w+) ([<>=]) ([\w.]+)", flip, text)


def _turned_conditions(text: str, _: Random) -> str:
    where = re.search(r"WHERE (.*) WITHIN", text)
    if where is None:
        return text
    return text.replace(where[1], " AND ".join(reversed(where[1].split(" AND "))))


def _negated(text: str, _: Random) -> str:
    others = {"<": ">=", ">": "<=", "=": "!="}
    return re.sub(
        r"(\w+\.\w+) ([<>=]) ([\w.]+)", lambda m: f"NOT ({m[1]} {others[m[2]]} {m[3]})", text
    )


def _in_seconds(text: str, _: Random) -> str:
    return re.sub(r"(\d+) minutes", lambda m: f"{60 * int(m[1])} seconds", text)


def _renamed(text: str, _: Random) -> str:
    return re.sub(r"\b([abcx])\b", r"\1\1", text)


def _partitioned(text: str, _: Random) -> str:
    """Return a text with a partition for conditions that all events have one key."""
    keys = re.findall(r"\w\.(\w+) = \w\.\1\b", text)
    if not keys or re.search("[<>]", text):
        return text
    return f"{re.sub(' WHERE .* WITHIN', ' WITHIN', text)} PARTITION BY {keys[0]}"


def _by_difference(text: str, _: Random) -> str:
    if "NOT" in text or "FIRST" in text or "c)" in text or "AND(" in text:
        return text
    window = re.search(r"WITHIN (\d+ minutes)", text)
    assert window is not None
    return text.replace(f" {window[0]}", f" AND b.ts - a.ts <= {window[1]}")


REWRITES: tuple[Change, ...] = (
    _flipped, _turned_conditions, _negated, _in_seconds, _renamed, _partitioned, _by_difference,
)  # fmt: skip


def answers(
    tasks: Sequence[Exercise], changes: Sequence[Change], random: Random
) -> Iterator[tuple[Exercise, str]]:
    """Yield changed solutions without end, each for one of some exercises, none unchanged."""
    while True:
        task, change = random.choice(tasks), random.choice(changes)
        text = change(str(task.solution), random)
        try:
            same = as_query(text) == as_query(task.solution)
        except CepkitError:
            continue
        if text != task.solution and (not same or changes is REWRITES):
            yield task, text


def asked(seed: int | str) -> list[Exercise]:
    """Return the exercises of a seed that ask for a pattern."""
    return [task for task in exercises(seed) if task.name.startswith("write")]


def main(arguments: Sequence[str] = ()) -> None:
    """Print how many wrong answers get a counterexample, and how many right ones are refused."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wrong", type=int, default=200)
    parser.add_argument("--right", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    random = Random(given.seed)
    tasks = [task for seed in range(5) for task in asked(f"{given.seed}/{seed}")]
    for word, changes, count in (
        ("wrong", MUTATIONS, given.wrong), ("right", REWRITES, given.right),
    ):  # fmt: skip
        begin, sizes, odd = process_time(), [], []
        for (task, text), _ in zip(answers(tasks, changes, random), range(count), strict=False):
            marked = task.check(text)
            if marked.right == (word == "wrong"):
                odd.append(f"  {task.name}: {text}   (of {task.solution})\n{marked}")
            elif marked.difference is not None:
                sizes.append(len(marked.difference.to_pandas()))
        seconds = (process_time() - begin) / max(1, count)
        print(f"{count} {word} answers, {count - len(odd)} judged so, {seconds:.2f} s each")
        if sizes:
            print(
                f"  counterexamples of {sum(sizes) / len(sizes):.1f} events, at most {max(sizes)}"
            )
        print("\n".join(odd))


if __name__ == "__main__":
    main()
