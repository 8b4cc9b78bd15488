"""Cache folders for what runs as code, compiled loops and parsers, and must be trusted.

Whoever can write there has their code run by this user. So a folder is used, and a file read, only
if it belongs to this user or to root and nobody else may write to it.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
import sys
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from mmap import mmap
from pathlib import Path

_DIGEST_BYTES = 32


class CacheWarning(UserWarning):
    """A warning that a cache cannot be kept on disk."""


@dataclass(frozen=True, slots=True)
class CacheFolder:
    """A folder of files that are trusted as the program itself is.

    Attributes:
        path: The folder; it need not exist.
        top: The highest folder, `path` or one above it, whose owner matters too.
        mode: The permissions with which missing folders are made.
    """

    path: Path
    top: Path
    mode: int = 0o700

    def read(self, name: str) -> bytes | None:
        """Return the content of a file; None if there is none, or another user's."""
        if self.refusal() is not None:
            return None
        try:
            with (self.path / name).open("rb") as file:
                trusted = _refusal(os.fstat(file.fileno())) is None
                return file.read() if trusted else None
        except OSError:
            return None

    def write(self, name: str, content: bytes) -> None:
        """Write a file: other processes see all of it, or what was there before.

        Raises:
            OSError: The file cannot be written, or others could change it.
        """
        refusal = self.refusal()
        if refusal is not None:
            raise PermissionError(refusal)
        self._make(self.path)
        draft = self.path / f".{name}.{secrets.token_hex(4)}"
        try:
            draft.touch(mode=0o644, exist_ok=False)  # whatever the umask
            draft.write_bytes(content)
            draft.replace(self.path / name)
        finally:
            draft.unlink(missing_ok=True)

    def refusal(self) -> str | None:
        """Return why this folder is not used, or None."""
        for folder in (self.path, *self.path.parents):
            try:
                status = folder.stat()
            except FileNotFoundError:
                pass
            except OSError as error:
                return f"{folder}: {error.strerror}"
            else:
                refusal = _refusal(status, above=folder != self.path)
                if refusal is not None:
                    return f"{folder} {refusal}"
            if folder == self.top:
                break
        return None

    def _make(self, folder: Path) -> None:
        if not folder.is_dir():
            self._make(folder.parent)
            folder.mkdir(self.mode, exist_ok=True)


def cache_folders(source: str) -> Iterator[CacheFolder]:
    """Yield the folders that are asked in turn for what was made of a source file.

    Args:
        source: The path of the file; anything else for what stands in none.
    """
    numba = sys.modules.get("numba")
    variable = numba.config.CACHE_DIR if numba else os.environ.get("NUMBA_CACHE_DIR", "")
    if variable:
        chosen = Path(variable)
        yield CacheFolder(chosen, top=chosen, mode=0o755)
        return
    # Beside Python's own: in a virtual environment, and in an image that was tried when it was
    # built.
    beside = Path(source).parent / "__pycache__"
    if beside.is_absolute() and beside.is_dir():
        yield CacheFolder(beside, top=beside)
    own = user_folder("loops")
    if own is not None:
        yield own


def kept(folders: Iterable[CacheFolder], name: str, made_of: bytes) -> bytes | None:
    """Return what is kept under a name and is whole and up to date; None for nothing.

    Args:
        name: Of the file.
        made_of: All that decides what is kept.
    """
    for folder in folders:
        content = folder.read(name) or b""
        if content[:_DIGEST_BYTES] == digest(made_of, content[_DIGEST_BYTES:]):
            return content[_DIGEST_BYTES:]
    return None


def keep(folders: Iterable[CacheFolder], name: str, made_of: bytes, content: bytes) -> list[str]:
    """Keep something in the first folder that takes it.

    Returns:
        Why it could not be kept; empty where it could.
    """
    refusals = []
    for folder in folders:
        try:
            folder.write(name, digest(made_of, content) + content)
        except OSError as error:
            refusals.append(folder.refusal() or f"{folder.path}: {error.strerror}")
        else:
            return []
    return refusals or ["there is no home folder"]


def digest(made_of: bytes, content: bytes) -> bytes:
    """Return what stands before a content that was made of something."""
    return hashlib.sha256(hashlib.sha256(made_of).digest() + content).digest()


def user_folder(name: str) -> CacheFolder | None:
    """Return the folder of this name in the user's cache, or None for a user without a home."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # The standard says that a relative path there is to be ignored.
    if not base.is_absolute():
        base = Path(os.path.expanduser("~"), ".cache")  # noqa: PTH111 (never raises)
    return CacheFolder(base / "cepkit" / name, top=base) if base.is_absolute() else None


def _refusal(status: os.stat_result, *, above: bool = False) -> str | None:
    """Return why a file or a folder is not trusted, or None.

    Args:
        status: What the system knows of it.
        above: Whether it is a folder above the one that is used. There a group may write, for many
            users are the only one of theirs, and everybody where files can be replaced by their
            owners alone, as in the folder for temporary files.
    """
    if not hasattr(os, "geteuid"):  # Windows: what lies in a profile is its user's
        return None
    if status.st_uid not in (0, os.geteuid()):
        return "belongs to another user"
    if above and status.st_mode & stat.S_ISVTX:
        return None
    return "can be written by others" if status.st_mode & (0o002 if above else 0o022) else None


_warned: bytearray | mmap = bytearray(1)


def warn_once(message: str) -> None:
    """Warn, unless this process has done so before."""
    if not _warned[0]:
        _warned[0] = 1
        warnings.warn(message, CacheWarning, stacklevel=2)


def warn_once_among_forks() -> None:
    """Let the processes that this one will fork warn once together, not once each."""
    global _warned  # noqa: PLW0603 - it is about the process
    _warned = mmap(-1, 1)  # memory that forks share
