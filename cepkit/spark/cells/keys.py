"""Keys: columns on which all events of a match agree, and their hashes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cepkit.columnar.compile.program import RUN, Program
from cepkit.columnar.compile.query import CompiledQuery
from cepkit.lazy import pd
from cepkit.stream.columns import Column


@dataclass(frozen=True, slots=True)
class Key:
    """Columns on which all events of a match agree.

    Attributes:
        columns: Their names.
        missing_agree: Whether events without a value agree with each other, as in PARTITION BY; if
            not, they are in no match.
    """

    columns: tuple[str, ...]
    missing_agree: bool


def key_of(query: CompiledQuery) -> Key | None:
    """Return the columns whose values can be searched separately; None if there are none.

    AFTER MATCH SKIP lets a match exclude others of its partition, regardless of other keys.
    """
    if query.after_match is not None and not query.programs[0].partition_by:
        return None
    return common_key(query.programs)


def common_key(programs: Sequence[Program]) -> Key | None:
    """Return the key of all events of every match: PARTITION BY, or a chain of equalities.

    `a.k = b.k AND b.k = c.k` makes a key if the same attribute links all variables in every branch,
    including those under NOT; otherwise an event that breaks a match could be in another bucket.
    """
    partitions = {program.partition_by for program in programs}
    if len(partitions) == 1 and programs[0].partition_by:
        return Key(programs[0].partition_by, missing_agree=True)
    names = set.intersection(*map(_agreed, programs))
    if not names:
        return None
    return Key((min(names),), missing_agree=any(program.partition_by for program in programs))


def _agreed(program: Program) -> set[str]:
    """Return the columns on which all events of every match of a program agree."""
    if program.partition_by:
        return set(program.partition_by)
    return {
        name
        for members in program.classes[: program.linked]
        for _, name in members
        if name is not None
        and name != RUN
        and all((variable, name) in members for variable in program.variables)
        and all(_is_linked(program, step.variable, name) for step in program.negated)
    }


def _is_linked(program: Program, negated: str, name: str) -> bool:
    """Whether a negated variable must agree in an attribute with a variable of the match."""
    return any(
        (negated, name) in members
        and any((variable, name) in members for variable in program.variables)
        for members in program.classes[program.linked :]
    )


def key_hashes(columns: Sequence[Column]) -> npt.NDArray[np.uint64]:
    """Return a hash of each event's keys, the same in every process.

    Missing values (null and NaN) have the same hash, because they form one partition.
    """
    hashes = np.zeros(len(columns[0].values), dtype=np.uint64)
    for column in columns:
        match column.kind:
            case "text":
                texts = pd.util.hash_array(np.append(column.dictionary, ""), categorize=False)
                values = texts[column.values]
            case "float":
                values = (column.values.astype(np.float64) + 0.0).view(np.uint64)  # no -0.0
            case _:
                values = column.values.astype(np.int64).view(np.uint64)
        if column.has_missing:
            values = np.where(column.missing(), np.uint64(0x9E3779B97F4A7C15), values)
        hashes = _mixed(hashes ^ values)
    return hashes


def _mixed(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return splitmix64's finaliser of the values, which spreads neighbours."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(values ^ (values >> np.uint64(31)))
