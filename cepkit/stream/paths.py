"""Checks of users' paths before the files are opened."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TypeVar

from cepkit.errors import CepkitError, StreamError, nearest

Error = TypeVar("Error", bound=CepkitError)

_SHOWN = 200


def path_of(path: str | os.PathLike[str], kind: type[CepkitError] = CepkitError) -> Path:
    """Return a user's path with ``~`` expanded; it need not exist.

    Raises:
        CepkitError: The path is invalid.
    """
    text = os.fspath(path)
    if not isinstance(text, str):
        raise kind(f"a path of the type {type(text).__name__}", expected="a text, or a Path")
    if not text:
        raise kind("an empty path", hint="the folder where Python runs is '.'")
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        raise kind(
            f"the path {shown(text)}", expected="characters that a file's name can have"
        ) from None
    if "\0" in text:
        raise kind(f"the path {shown(text)}", expected="a path without NUL characters")
    try:
        return Path(text).expanduser()
    except RuntimeError:
        user = text.split("/")[0]
        raise kind(
            f"the path {shown(text)}",
            expected="after ~ the name of a user of this computer",
            hint=f"a file that is called so is './{user}'",
        ) from None


def status_of(path: Path, kind: type[CepkitError] = CepkitError) -> os.stat_result:
    """Return the status of a path.

    Raises:
        CepkitError: It does not exist, or cannot be accessed.
    """
    try:
        return path.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise _missing(path, kind) from None
    except OSError as error:
        raise cannot_read(path, error, kind) from None


def check_file(path: Path, status: os.stat_result, kind: type[CepkitError] = CepkitError) -> None:
    """Check that a path is a regular file: reading a pipe could wait forever.

    Raises:
        CepkitError: The path is not a file.
    """
    what = _what(status.st_mode)
    if what is not None:
        raise kind(
            f"{shown(path)} is {what}",
            expected="a file",
            hint=None if what == "a folder" else "write its output to a file first",
        )


def read_text(
    path: Path, most: int, kind: type[CepkitError] = CepkitError, *, waits: bool = False
) -> str:
    """Return the text of a file in UTF-8.

    Args:
        most: The greatest number of bytes.
        kind: The error to raise.
        waits: Whether a pipe or a device, as `<(...)` in a shell, is allowed.

    Raises:
        CepkitError: The file does not exist, is too large, or is not a text.
    """
    status = status_of(path, kind)
    if not waits or stat.S_ISDIR(status.st_mode):
        check_file(path, status, kind)
    try:
        with path.open("rb") as file:
            content = file.read(most + 1)
    except OSError as error:
        raise cannot_read(path, error, kind) from None
    return decoded(content, most, shown(path), kind)


def decoded(content: bytes, most: int, name: str, kind: type[CepkitError] = CepkitError) -> str:
    """Return bytes as a text in UTF-8.

    Args:
        content: The first `most` + 1 bytes, or all of fewer.
        most: The most bytes allowed.
        name: The name of the source for errors.
        kind: The error to raise.

    Raises:
        CepkitError: There are more bytes, or they are not a text.
    """
    if len(content) > most:
        raise kind(f"{name} is larger than {most:,} bytes", hint="is it the right file?")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise kind(f"{name} is not a text in UTF-8") from None


def cannot_read(path: Path, error: OSError, kind: type[Error]) -> Error:
    """Return the error for a file that the operating system does not let us read."""
    return kind(f"{shown(path)} cannot be read: {error.strerror or error}")


def broken(path: Path, error: BaseException) -> StreamError:
    """Return the error for a file that a reader cannot read."""
    if isinstance(error, OSError) and error.strerror:
        return cannot_read(path, error, StreamError)
    return StreamError(f"{shown(path)} cannot be read: {str(error).splitlines()[0]}")


def shown(path: str | Path) -> str:
    """Return a path in quotes for a message; a long one is shortened in the middle."""
    text = str(path)
    if len(text) > _SHOWN:
        text = f"{text[: _SHOWN // 2]}...{text[-_SHOWN // 2 :]}"
    return f"'{text}'" if text.isprintable() else ascii(text)


def _what(mode: int) -> str | None:
    """Return the kind of a path that is not a file; None for a file."""
    if stat.S_ISREG(mode):
        return None
    kinds = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    return kinds.get(stat.S_IFMT(mode), "a device")


def _missing(path: Path, kind: type[CepkitError]) -> CepkitError:
    """Return the error for a path that does not exist."""
    if path.is_symlink():
        return kind(f"{shown(path)} is a link to '{path.readlink()}', which is not there")
    if any(wildcard in path.name for wildcard in "*?["):
        return kind(
            f"there is no file {shown(path)}",
            hint="wildcards are not expanded: name the folder, or pass each of the files",
        )
    folder = path.parent
    try:
        hint = nearest(path.name, (file.name for file in folder.iterdir()))
    except NotADirectoryError:
        hint = f"{shown(folder)} is a file"
    except FileNotFoundError:
        hint = f"there is no folder {shown(folder)} either"
    except OSError:
        hint = None
    return kind(f"there is no file {shown(path)}", hint=hint)
