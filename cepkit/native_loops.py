"""Runs compiled loops without Numba, whose import takes longer than most detections.

Compiled code takes its arguments as a flat list of numbers: one for an integer, seven for a
one-dimensional array. When Numba has compiled a loop, its machine code is stored with an entry
function that reads these numbers from a block of memory, and arrays from NumPy's objects, whose
layout is a stable ABI. A later process passes the machine code to LLVM only, fills a block and
calls the entry. Loops that return more than a few numbers stay with Numba, and so do all loops
where `may_run` says no. Why: docs/decisions/0008-machine-code-without-numba.md
"""

from __future__ import annotations

import ctypes
import os
import re
import struct
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from cepkit.lazy import llvm

TESTED = ("0.62", "0.63", "0.64", "0.65", "0.66", "0.67", "0.68")
"""The releases of Numba whose inner layout these loops are tested with; others run their own."""

_WORD = 8
RESULTS = 4
"""The most numbers that a loop may return; they come first in the block, then the error slot."""

_C_ORDER, _ALIGNED, _WRITEABLE = 0x001, 0x100, 0x400
_ACCESS = _C_ORDER | _ALIGNED | _WRITEABLE

_FORMATS = {"bool": "?7x", "float64": "d", "int32": "q", "int64": "q", "uint64": "Q"}
_SCALARS: dict[type, str] = {int: "int64", float: "float64", bool: "bool", np.bool_: "bool"} | {
    getattr(np, name): name for name in _FORMATS if name != "bool"
}

_SUCCEEDED = (0, -2)
"""Status codes of success in Numba's code: for a value, and for None."""

_OF_C = (
    "ceil",
    "exp",
    "floor",
    "fmod",
    "free",
    "log",
    "malloc",
    "memcpy",
    "memmove",
    "memset",
    "pow",
)
"""State of this process."""

MEMORY = """
declare ptr @malloc(i64)
declare void @free(ptr)
define ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 %alignment) {
  %wide = zext i32 %alignment to i64
  %before = add i64 %wide, 48
  %whole = add i64 %size, %before
  %info = call ptr @malloc(i64 %whole)
  %failed = icmp eq ptr %info, null
  br i1 %failed, label %end, label %fill
fill:
  store i64 1, ptr %info
  %begin = ptrtoint ptr %info to i64
  %last = add i64 %begin, %before
  %mask = sub i64 0, %wide
  %aligned = and i64 %last, %mask
  %data = inttoptr i64 %aligned to ptr
  %place = getelementptr i64, ptr %info, i64 3
  store ptr %data, ptr %place
  br label %end
end:
  ret ptr %info
}
define void @NRT_MemInfo_call_dtor(ptr %info) {
  call void @free(ptr %info)
  ret void
}
"""
"""Our version of Numba's runtime for arrays that a loop allocates: a reference count and data."""

_MEMORY_AS = "{i64, i8*, i8*, i8*, i64}"
"""Numba's layout of that memory: the count, three pointers (the last to the data), the size."""

_lock = threading.Lock()
_entries: dict[str, Any] = {}


def may_run() -> bool:
    """Return whether loops may run without Numba.

    That is so for a tested release with default settings, until something imports Numba.
    """
    if not is_installed():
        return False
    known = ("NUMBA_CACHE_DIR", "NUMBA_NUM_THREADS")
    set_otherwise = any(name.startswith("NUMBA_") and name not in known for name in os.environ)
    return not (
        "numba" in sys.modules or set_otherwise or os.path.exists(".numba_config.yaml")  # noqa: PTH110
    ) and is_tested(numba_version())


def is_tested(version: str) -> bool:
    """Return whether loops of this version of Numba are tested to run without it."""
    return ".".join(version.split(".")[:2]) in TESTED


@cache
def is_installed() -> bool:
    """Return whether there is Numba; a browser has none."""
    return find_spec("numba") is not None


@cache
def numba_version() -> str:
    """Return the version of Numba, without importing it if possible."""
    spec = find_spec("numba")
    assert spec is not None
    assert spec.origin is not None
    source = Path(spec.origin).with_name("_version.py")
    text = source.read_text() if source.exists() else ""
    version = re.search(r'"version": "([^"]+)"', text)
    return version[1] if version else str(import_module("numba").__version__)


@dataclass(frozen=True, slots=True)
class NativeLoop:
    """A loop in machine code, for arguments of certain types.

    Attributes:
        entry: The function of the block.
        block: The type of the block.
        words: The format of the numbers in it.
        results: The format of the results at its beginning.
        single: Whether the result is a single number instead of a tuple.
    """

    entry: Any
    block: Any
    words: struct.Struct
    results: struct.Struct
    single: bool

    def __call__(self, words: Sequence[Any]) -> Any:
        """Run the loop with the numbers from `flatten`.

        Raises:
            struct.error: An integer has more than 64 bits.
            MemoryError: There is too little memory; loops fail for no other reason.
        """
        block = self.block()
        self.words.pack_into(block, 0, *words)
        status = self.entry(block)
        if status not in _SUCCEEDED:
            raise MemoryError("a compiled loop found no memory for its arrays")
        results = self.results.unpack_from(block)
        if self.single:
            return results[0]
        return results or None


def flatten(arguments: Sequence[Any], types: list[Any], words: list[Any]) -> bool:
    """Append the types of arguments, and their numbers for a block.

    Returns:
        Whether a native loop can take these arguments.
    """
    for argument in arguments:
        kind = type(argument)
        if kind is np.ndarray or kind is np.recarray:
            access = argument.flags.num & _ACCESS
            if not access & _C_ORDER or not access & _ALIGNED:
                return False
            types += (argument.dtype, argument.ndim, access)
            words.append(id(argument))
        elif kind in _SCALARS:
            types.append(kind)
            words.append(argument)
        elif isinstance(argument, tuple):
            types += (kind, len(argument))
            if not flatten(argument, types, words):
                return False
        else:
            return False
    return True


def kind_of(argument: Any) -> Any:
    """Return the type of an argument, equal in all processes."""
    if isinstance(argument, np.ndarray):
        return array_kind(argument.dtype, argument.ndim, writeable=argument.flags.writeable)
    if isinstance(argument, tuple):
        return tuple_kind(type(argument), [kind_of(each) for each in argument])
    return _SCALARS.get(type(argument)) or argument.kind


def array_kind(dtype: Any, dimensions: int, *, writeable: bool) -> Any:
    """Return the type of arrays in C order; those of records are the same for NumPy and Numba."""
    return str(dtype.descr if dtype.names else dtype), dimensions, writeable


def tuple_kind(container: type, kinds: list[Any]) -> Any:
    """Return the type of a tuple, with the names of its fields."""
    return container.__name__, getattr(container, "_fields", ()), kinds


@cache
def processor() -> tuple[str, str, str]:
    """Return the target machine, in Numba's terms."""
    try:
        features = llvm.get_host_cpu_features().flatten()
    except RuntimeError:
        features = ""
    return llvm.get_process_triple(), llvm.get_host_cpu_name(), features


def machine_code(compiled: Any, entry: str) -> bytes:
    """Return a loop as an object file with an entry; empty if it needs Numba to run.

    Nothing of Numba's inner layout is touched where its release is not tested.
    """
    if not is_tested(numba_version()):
        return b""
    from numba.core.runtime.nrtdynmod import _meminfo_struct_type

    results = _results(compiled.signature.return_type)
    library, name = compiled.library, compiled.fndesc.llvm_func_name
    source = library._get_module_for_linking()  # noqa: SLF001 - Numba has no other way
    types = [str(each.type) for each in source.get_function(name).arguments]
    text = entry_source(entry, name, types, _flat(compiled.signature.args))
    known = str(_meminfo_struct_type) == _MEMORY_AS and sys.byteorder == "little"
    if results is None or text is None or not known:
        return b""
    module = llvm.parse_assembly(text)
    # Link a clone, because linking consumes a module. Code that the entry does not need is dropped.
    module.link_in(source.clone())
    for function in module.functions:
        if function.is_declaration:
            if not function.name.startswith("llvm.") and function.name not in _OF_C:
                return b""
        elif function.name != entry:
            function.linkage = llvm.Linkage.internal
    if any(each.is_declaration for each in module.global_variables):
        return b""
    code: bytes = library.codegen._tm.emit_object(module)  # noqa: SLF001
    return f"{results}\n".encode() + code


def load(kept: bytes, entry: str, arguments: Sequence[Any]) -> NativeLoop:
    """Load the result of `machine_code`.

    Args:
        arguments: The types of its arguments.
    """
    results, code = kept.split(b"\n", 1)
    words = f"={(RESULTS + 1) * _WORD}x{''.join(map(_format, arguments))}"
    layout = struct.Struct(words)
    with _lock:
        if entry not in _entries:
            engine = _engine()
            engine.add_object_file(llvm.ObjectFileRef.from_data(code))
            engine.finalize_object()
            address = engine.get_function_address(entry)
            _entries[entry] = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(address)
    text = results.decode()
    single = len(text) == 1
    return NativeLoop(
        _entries[entry], ctypes.c_char * layout.size, layout, struct.Struct(f"={text}"), single
    )


def _format(argument: Any) -> str:
    if isinstance(argument, np.ndarray):
        return "q"
    if isinstance(argument, tuple):
        return "".join(map(_format, argument))
    return _FORMATS[_SCALARS[type(argument)]]


def members(kind: Any) -> Sequence[Any] | None:
    """Return the types of a tuple's elements, or None if Numba's type is not a tuple."""
    from numba import types

    return getattr(kind, "types", ()) if isinstance(kind, types.BaseTuple) else None


def _flat(kinds: Iterable[Any]) -> Iterator[Any]:
    """Yield Numba's types of arguments, with tuples flattened."""
    for kind in kinds:
        inside = members(kind)
        yield from (kind,) if inside is None else _flat(inside)


def _results(returned: Any) -> str | None:
    """Return the format of a loop's results, or None if it is not supported."""
    from numba import types

    formats = {types.int64: "q", types.uint64: "Q", types.float64: "d"}
    inside = members(returned)
    if inside is None:
        return (formats | {types.none: "", types.boolean: "?"}).get(returned)
    numbers = [formats[each] for each in inside if each in formats]
    # Only unnamed tuples with two or more numbers that fit.
    if hasattr(returned, "fields") or not len(numbers) == len(inside) in range(2, RESULTS + 1):
        return None
    return "".join(numbers)


def entry_source(entry: str, name: str, types: Sequence[str], kinds: Iterable[Any]) -> str | None:
    """Return the source of a function that calls a loop with the arguments in a block.

    Args:
        types: LLVM's types of its parameters: result pointer, error pointer, the arguments.
        kinds: Numba's types of the arguments.

    Returns:
        The source; None if the loop takes other arguments.
    """
    lines = [
        f'declare i32 @"{name}"({", ".join(types)})',
        f"define i32 @{entry}(ptr %block) {{",
        f"  %errors = getelementptr i64, ptr %block, i64 {RESULTS}",
    ]
    given = ["ptr %block", "ptr %errors"]
    for number, kind in enumerate(kinds):
        at = f"%a{number}"
        lines.append(f"  {at} = getelementptr i64, ptr %block, i64 {RESULTS + 1 + number}")
        if hasattr(kind, "ndim"):
            lines += _array_source(at, kind.ndim)
            given += [
                "ptr null",
                "ptr null",
                f"i64 {at}.size",
                f"i64 {_size(kind)}",
                f"ptr {at}.data",
            ]
            given += [f"i64 {at}.{part}{d}" for part in ("n", "s") for d in range(kind.ndim)]
        else:
            scalar = types[len(given)] if len(given) < len(types) else "i64"
            lines.append(f"  {at}.value = load {scalar}, ptr {at}")
            given.append(f"{scalar} {at}.value")
    if [each.split()[0] for each in given] != [*types]:
        return None
    lines += [f'  %status = call i32 @"{name}"({", ".join(given)})', "  ret i32 %status", "}"]
    return "\n".join((*lines, MEMORY))


def _array_source(at: str, dimensions: int) -> Iterator[str]:
    """Yield the source that reads an array: data, number of dimensions, lengths and strides."""
    yield f"  {at}.array = load ptr, ptr {at}"
    for part, place in (("data", 0), ("n", 16), ("s", 24)):
        begin = object.__basicsize__ + place
        yield f"  {at}.{part}.at = getelementptr i8, ptr {at}.array, i64 {begin}"
        yield f"  {at}.{part} = load ptr, ptr {at}.{part}.at"
    size = "1"
    for d in range(dimensions):
        for part in ("n", "s"):
            yield f"  {at}.{part}{d}.at = getelementptr i64, ptr {at}.{part}, i64 {d}"
            yield f"  {at}.{part}{d} = load i64, ptr {at}.{part}{d}.at"
        yield f"  {at}.size{d} = mul i64 {size}, {at}.n{d}"
        size = f"{at}.size{d}"
    yield f"  {at}.size = add i64 {size}, 0"


def _size(kind: Any) -> int:
    """Return the bytes of an element of Numba's type of arrays."""
    from numba.np.numpy_support import as_dtype

    return int(as_dtype(kind.dtype).itemsize)


@cache
def _engine() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine()
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
