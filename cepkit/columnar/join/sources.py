"""Generated source as modules, so that Numba can cache the compiled code.

A module's name is derived from its content, so later processes find its cached loops. The source
itself is never on disk, where somebody could replace it.
"""

from __future__ import annotations

import hashlib
import sys
import types
from functools import cache
from importlib.abc import ExecutionLoader
from importlib.util import module_from_spec, spec_from_loader

from cepkit.pattern.evaluation.source import helpers_in

_HEAD = '''"""An inner loop that cepkit wrote (cepkit/columnar/join/generated.py)."""

from numpy import uintp

from cepkit.compiling import addressed
from cepkit.compiling import compiled as helper
'''


def module_text(text: str) -> str:
    """Return the source of a module: the output of `generated`, and the functions that it calls."""
    lines = [_HEAD]
    for name, function in helpers_in(text).items():
        lines += [f"from {function.__module__} import {name}", f"{name} = helper({name})"]
    return "\n".join((*lines, "", text))


@cache
def load(text: str) -> types.ModuleType:
    """Return the module with the output of `generated`."""
    source = module_text(text)
    name = f"cepkit_loop_{hashlib.sha256(source.encode()).hexdigest()[:24]}"
    if name not in sys.modules:
        loader = _Source(source)
        spec = spec_from_loader(name, loader)
        assert spec is not None
        module = module_from_spec(spec)
        # Register it before its code runs: Numba looks up a cached function's module by name.
        sys.modules[name] = module
        loader.exec_module(module)
    return sys.modules[name]


class _Source(ExecutionLoader):
    """Loads a module from a text without a file."""

    def __init__(self, source: str) -> None:
        self._source = source

    def get_source(self, fullname: str) -> str:  # noqa: ARG002 - the name of the module
        return self._source

    def get_filename(self, fullname: str) -> str:
        return f"<{fullname}>"
