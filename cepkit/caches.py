"""Cache folders for compiled loops and parsers, which run as code and must be trusted.

Anybody who can write there can run code as this user. So a folder or a file is used only if it
belongs to this user or to root and nobody else may write to it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import stat
import sys
import time
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from mmap import mmap
from pathlib import Path
from typing import Any

_DIGEST_BYTES = 32
_DRAFT_SECONDS = 3_600
"""No process writes a file for so long."""


class CacheWarning(UserWarning):
    """A warning that a cache cannot be kept on disk."""


@dataclass(frozen=True, slots=True)
class CacheFolder:
    """A folder of files that are trusted like the program itself.

    Attributes:
        path: The folder; it need not exist.
        top: The highest folder, `path` or one above it, whose owner matters too.
        mode: The permissions with which missing folders are made.
    """

    path: Path
    top: Path
    mode: int = 0o700

    def read(self, name: str) -> bytes | None:
        """Return the content of a file; None if it is missing or belongs to another user.

        What is no regular file counts as missing. A pipe must not make us wait for a writer.
        """
        if self.refusal() is not None:
            return None
        try:
            with open(self.path / name, "rb", opener=_open_at_once) as file:
                status = os.fstat(file.fileno())
                trusted = stat.S_ISREG(status.st_mode) and _refusal(status) is None
                return file.read() if trusted else None
        except OSError:
            return None

    def write(self, name: str, content: bytes) -> None:
        """Write a file atomically: other processes see all of it, or the old one.

        A folder of this name goes aside with its content.

        Raises:
            OSError: The file cannot be written, or others could change it.
        """
        refusal = self.refusal()
        if refusal is not None:
            raise PermissionError(refusal)
        self._make(self.path)
        self._remove_drafts(name)
        target, draft = self.path / name, self.path / f".{name}.{secrets.token_hex(4)}"
        try:
            draft.touch(mode=0o644, exist_ok=False)  # whatever the umask
            draft.write_bytes(content)
            if target.is_dir() and not target.is_symlink():
                target.rename(self.path / f"{name}.{secrets.token_hex(4)}.folder")
            draft.replace(target)
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

    def _remove_drafts(self, name: str) -> None:
        """Remove the drafts of this name that killed processes have left."""
        oldest = time.time() - _DRAFT_SECONDS
        for draft in self.path.iterdir():
            if draft.name.startswith(f".{name}."):
                with contextlib.suppress(OSError):
                    if draft.lstat().st_mtime < oldest:
                        draft.unlink()

    def _make(self, folder: Path) -> None:
        if not folder.is_dir():
            self._make(folder.parent)
            folder.mkdir(self.mode, exist_ok=True)


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # Windows has no such pipes


def numba_setting(name: str) -> Any:
    """Return a setting of Numba's: that of the environment until its configuration is imported."""
    # While another thread imports Numba, the module is there, but its configuration may not be.
    config = getattr(sys.modules.get("numba"), "config", None)
    return getattr(config, name) if config else os.environ.get(f"NUMBA_{name}", "")


def cache_folders(source: str) -> Iterator[CacheFolder]:
    """Yield the folders to search, in turn, for the compiled code of a source file.

    Args:
        source: The path of the file; anything else for code without a file.
    """
    variable = numba_setting("CACHE_DIR")
    if variable:
        chosen = Path(variable)
        yield CacheFolder(chosen, top=chosen, mode=0o755)
        return
    # Beside Python's own caches: for a virtual environment, or an image that was warmed up when
    # built.
    beside = Path(source).parent / "__pycache__"
    if beside.is_absolute() and beside.is_dir():
        yield CacheFolder(beside, top=beside)
    own = user_folder("loops")
    if own is not None:
        yield own


def kept(folders: Iterable[CacheFolder], name: str, made_of: bytes) -> bytes | None:
    """Return the cached content of a name if it is complete and up to date; else None.

    Args:
        made_of: All that the contents depend on.
    """
    for folder in folders:
        content = folder.read(name) or b""
        if content[:_DIGEST_BYTES] == digest(made_of, content[_DIGEST_BYTES:]):
            return content[_DIGEST_BYTES:]
    return None


def keep(folders: Iterable[CacheFolder], name: str, made_of: bytes, content: bytes) -> list[str]:
    """Store a content in the first folder that takes it.

    Returns:
        Why it could not be stored; empty if it was.
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
    """Return the digest that precedes a content made of `made_of`."""
    return hashlib.sha256(hashlib.sha256(made_of).digest() + content).digest()


def user_folder(name: str) -> CacheFolder | None:
    """Return the folder of this name in the user's cache, or None for a user without a home."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # The standard says to ignore relative paths there.
    if not base.is_absolute():
        base = Path(os.path.expanduser("~"), ".cache")  # noqa: PTH111 (never raises)
    return CacheFolder(base / "cepkit" / name, top=base) if base.is_absolute() else None


def _refusal(status: os.stat_result, *, above: bool = False) -> str | None:
    """Return why a file or a folder is not trusted, or None.

    Args:
        above: Whether it is a parent of the used folder. A group may write to a parent, because
            many users have a group of their own, and so may everybody if only owners can replace
            files there, as in the folder for temporary files.
    """
    if not hasattr(os, "geteuid"):  # Windows: files in a profile belong to its user
        return None
    if status.st_uid not in (0, os.geteuid()):
        return "belongs to another user"
    if above and status.st_mode & stat.S_ISVTX:
        return None
    return "can be written by others" if status.st_mode & (0o002 if above else 0o022) else None


_warned: bytearray | mmap = bytearray(1)


def warn_once(message: str) -> None:
    """Warn once in this process."""
    if not _warned[0]:
        _warned[0] = 1
        warnings.warn(message, CacheWarning, stacklevel=2)


def warn_once_among_forks() -> None:
    """Let the processes that this one will fork warn only once in total."""
    global _warned  # noqa: PLW0603 - it is about the process
    _warned = mmap(-1, 1)  # memory that forks share
