"""Results show as the text that they print, at a prompt as well."""

from __future__ import annotations


class Printed:
    """For dataclasses with `repr=False` and a `__str__` that is made to be read.

    IPython prefers the `repr` that a dataclass makes to what its base says, hence `repr=False`.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)
