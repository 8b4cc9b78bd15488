"""Atomic file writes that replace nothing unless asked: one rule for all files.

- The ending must fit the kind of file: `notes.txt` cannot hold Parquet.
- An existing file is replaced only on request, and only if it is a regular file; never folders,
  pipes, devices or links (the link or its target might be meant). Links among the folders of a path
  are followed.
- The new file is written beside its target as `.NAME.01234567.cepkit-part`, synced to disk, and
  replaces the target in one step. If that fails, the old file is unchanged.
- A part left by a killed process is removed by the next write to the same target. Parts that are
  still being written are locked.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import re
import secrets
import shutil
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from cepkit.errors import FileError

_IN_BROWSER = sys.platform == "emscripten"
fcntl: Any = importlib.import_module("fcntl") if os.name == "posix" and not _IN_BROWSER else None
"""For locks. Elsewhere open files cannot be removed anyway."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of file.

    Attributes:
        endings: The endings of such files.
    """

    name: str
    endings: tuple[str, ...]


PARQUET = Kind("Parquet", (".parquet", ".pq"))
CSV = Kind("CSV", (".csv",))
HTML = Kind("HTML", (".html", ".htm"))
JSON = Kind("JSON", (".json",))
SVG = Kind("SVG", (".svg",))
PNG = Kind("PNG", (".png",))

_SPARK_IS_DONE = "_SUCCESS"


def check_target(
    path: str | os.PathLike[str],
    *kinds: Kind,
    overwrite: bool,
    option: str = "overwrite=True",
    folders: bool = False,
) -> Path:
    """Return the path of a file that may be written.

    Args:
        path: As the user wrote it.
        kinds: The allowed kinds.
        overwrite: Whether to replace an existing file.
        option: The name of that option for the user.
        folders: Whether a folder of files that Spark wrote counts as a file.

    Raises:
        FileError: It cannot, or must not, be written.
    """
    name = os.fspath(path)
    with _errors(name):
        target = Path(name).expanduser()
        _check_ending(target, kinds)
        if not target.parent.is_dir():
            raise FileError(
                f"cannot write '{name}': there is no folder '{target.parent}'",
                hint="make the folder, or name another",
            )
        if not os.access(target.parent, os.W_OK | os.X_OK):
            raise FileError(f"cannot write '{name}': no permission in '{target.parent}'")
        if os.path.lexists(target):
            _check_old(target, name, overwrite=overwrite, option=option, folders=folders)
    return target


def check_apart(target: Path, source: Path) -> None:
    """Refuse to write to the input, or into it, where the next run would read it.

    Args:
        target: From `check_target`.
        source: A file of events, or a folder of them.

    Raises:
        FileError: The target is the source, or contains it or lies inside it.
    """
    there, source = target.resolve(), source.resolve()
    if there == source or there in source.parents or source in there.parents:
        raise FileError(
            f"'{target}' is the file of the events, or one of them", hint="name another place"
        )


@contextlib.contextmanager
def whole_file(target: Path, *, overwrite: bool) -> Iterator[BinaryIO]:
    """Yield a file that replaces `target` when the block succeeds.

    Args:
        target: From `check_target`.

    Raises:
        FileError: It cannot be written; the old file, if any, is unchanged.
    """
    _remove_parts(target)
    path = _part(target)
    with _errors(target):
        raw = _Part(path, target)
    file = io.BufferedWriter(raw, 1 << 20)
    try:
        yield cast("BinaryIO", file)
        with _errors(target):
            file.flush()
            if target.is_file():
                path.chmod(stat.S_IMODE(target.stat().st_mode))
            os.fsync(raw.fileno())
            file.close()
            _put(path, target, overwrite=overwrite)
    finally:
        with contextlib.suppress(OSError):
            file.close()  # on a full disk it still has something to write
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)


@contextlib.contextmanager
def whole_folder(target: Path, *, overwrite: bool) -> Iterator[Path]:
    """Yield a path for a folder that replaces `target` when the block succeeds.

    Like `whole_file`, for Spark's output; nothing exists at that path yet.
    """
    _remove_parts(target)
    part = _part(target)
    with _errors(target):
        part.mkdir()
    lock = _locked(part)
    try:
        # An absolute path: Spark may have started in another folder.
        draft = part.resolve() / target.name
        yield draft
        with _errors(target):
            _put(draft, target, overwrite=overwrite)
    finally:
        if lock is not None:
            os.close(lock)
        shutil.rmtree(part, ignore_errors=True)


def write_text(
    path: str | os.PathLike[str],
    text: str,
    kind: Kind,
    *,
    overwrite: bool = False,
    option: str = "overwrite=True",
) -> Path:
    """Write a text to a file atomically.

    Args:
        path: As the user wrote it.
        overwrite: Whether to replace an existing file.

    Returns:
        The path.

    Raises:
        FileError: It cannot, or must not, be written.
    """
    target = check_target(path, kind, overwrite=overwrite, option=option)
    with whole_file(target, overwrite=overwrite) as file:
        file.write(text.encode())
    return target


class _Part(io.FileIO):
    """A file being written; errors name its final target."""

    def __init__(self, path: Path, target: Path) -> None:
        super().__init__(path, "x")
        self._target = target
        _lock(self.fileno())

    def write(self, data: Any, /) -> int:
        with _errors(self._target):
            return super().write(data)


def _check_ending(target: Path, kinds: tuple[Kind, ...]) -> None:
    ending = target.suffix
    if ending.casefold() in {known for kind in kinds for known in kind.endings}:
        return
    problem = f"'{ending}' files" if ending else f"'{target.name}', a name without an ending"
    right = ", ".join(f"{kind.name} files end in '{kind.endings[0]}'" for kind in kinds)
    raise FileError(f"cannot write {problem}: {right}")


def _check_old(target: Path, name: str, *, overwrite: bool, option: str, folders: bool) -> None:
    """Check that an existing file may be replaced."""
    mode = target.lstat().st_mode
    if stat.S_ISLNK(mode):
        raise FileError(
            f"'{name}' is a symbolic link to '{target.readlink()}'",
            hint="name the file itself, or remove the link",
        )
    if stat.S_ISDIR(mode) and not (folders and (target / _SPARK_IS_DONE).exists()):
        by = " that cepkit did not write" if folders else ""
        raise FileError(f"'{name}' is a folder{by}", hint="name another place, or remove it")
    if not stat.S_ISDIR(mode) and not stat.S_ISREG(mode):
        raise FileError(f"'{name}' is a pipe or a device, not a file", hint="name a file")
    if not overwrite:
        raise _exists(name, option)
    if not os.access(target, os.W_OK):
        raise FileError(f"cannot write '{name}': it is read-only", hint="name another file")


def _exists(name: str, option: str = "overwrite=True") -> FileError:
    return FileError(f"'{name}' exists", hint=f"pass {option} to replace it")


@contextlib.contextmanager
def _errors(target: str | Path) -> Iterator[None]:
    """Add the name of the file to the system's errors."""
    try:
        yield
    except FileError:
        raise
    except OSError as error:
        raise FileError(
            f"cannot write '{target}': {error.strerror or error}", cause=error
        ) from error
    except (ValueError, RuntimeError) as error:  # a null character, an unknown home
        raise FileError(f"cannot write '{target}': {error}") from error


def _part(target: Path) -> Path:
    return target.with_name(f".{target.name}.{secrets.token_hex(4)}.cepkit-part")


def _put(part: Path, target: Path, *, overwrite: bool) -> None:
    """Move the part to its target; replace an existing file only if wanted."""
    if not overwrite and os.path.lexists(target):
        raise _exists(str(target))
    if not overwrite and part.is_file():
        # Unlike a rename, a link fails if another process has just created the file.
        try:
            os.link(part, target)
        except FileExistsError:
            raise _exists(str(target)) from None
        except OSError:  # not every file system has links
            part.replace(target)
    elif target.exists() and (target.is_dir() or part.is_dir()):
        _exchange(part, target)
    else:
        part.replace(target)
    _to_disk(target.parent)


def _exchange(part: Path, target: Path) -> None:
    """Replace a folder, or replace a file by a folder."""
    aside = _part(target)
    target.rename(aside)
    try:
        part.rename(target)
    except OSError:
        aside.rename(target)
        raise
    if aside.is_dir():
        shutil.rmtree(aside)
    else:
        aside.unlink()


def _to_disk(folder: Path) -> None:
    """Sync the names in a folder to disk, if the system can."""
    with contextlib.suppress(OSError):
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def _remove_parts(target: Path) -> None:
    """Remove the parts that killed writes to the same target left behind."""
    name = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{8}}\.cepkit-part")
    with contextlib.suppress(OSError):
        left = [path for path in target.parent.iterdir() if name.fullmatch(path.name)]
        for path in left:
            lock = _locked(path)
            if fcntl is not None and lock is None:
                continue  # it is being written
            with contextlib.suppress(OSError):
                if path.is_dir():
                    shutil.rmtree(path)
                else:
                    path.unlink()
            if lock is not None:
                os.close(lock)


def _locked(path: Path) -> int | None:
    """Return a descriptor that holds the lock of a part; None if it cannot be locked."""
    if fcntl is None:
        return None
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return None
    if _lock(opened):
        return opened
    os.close(opened)
    return None


def _lock(opened: int) -> bool:
    """Lock an open file or folder until the process ends; return whether that worked."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # locked by another process, or the file system has no locks
        return False
    return True
