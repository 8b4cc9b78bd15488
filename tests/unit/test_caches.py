"""Cache folders: the owners of files that are read, places to write, and no half-written files."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cepkit.caches import CacheFolder, keep, kept, user_folder
from tests.unprivileged import NOBODY

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the permissions of POSIX")

as_root = pytest.mark.skipif(
    os.name != "nt" and os.geteuid() != 0, reason="only root can give files to another user"
)


@pytest.fixture
def folder(tmp_path: Path) -> CacheFolder:
    return CacheFolder(tmp_path / "cache" / "cepkit" / "loops", top=tmp_path / "cache")


def test_written_files_have_mode_644_in_private_folders(folder: CacheFolder) -> None:
    before = os.umask(0)
    try:
        folder.write("loop", b"first")
        folder.write("loop", b"second")
    finally:
        os.umask(before)
    assert folder.read("loop") == b"second"
    assert [path.name for path in folder.path.iterdir()] == ["loop"], "no drafts are left"
    assert (folder.path / "loop").stat().st_mode & 0o777 == 0o644
    for made in (folder.path, folder.path.parent, folder.top):
        assert made.stat().st_mode & 0o777 == 0o700


def test_a_file_that_cannot_be_put_in_its_place_leaves_no_draft(
    folder: CacheFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError("no space")

    folder.write("loop", b"first")
    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="no space"):
        folder.write("loop", b"second")
    assert [path.name for path in folder.path.iterdir()] == ["loop"]
    assert folder.read("loop") == b"first"


def a_pipe(place: Path) -> None:
    os.mkfifo(place, 0o644)


def a_link_to_a_pipe(place: Path) -> None:
    os.mkfifo(place.with_name("pipe"), 0o644)
    place.symlink_to("pipe")


def an_empty_folder(place: Path) -> None:
    place.mkdir(0o755)


def a_folder_of_files(place: Path) -> None:
    place.mkdir(0o755)
    (place / "notes").write_text("mine")


def a_link_to_nowhere(place: Path) -> None:
    place.symlink_to("nowhere")


def a_link_to_itself(place: Path) -> None:
    place.symlink_to(place.name)


@pytest.mark.parametrize(
    "put",
    [
        a_pipe,
        a_link_to_a_pipe,
        an_empty_folder,
        a_folder_of_files,
        a_link_to_nowhere,
        a_link_to_itself,
    ],
)
def test_entry_that_is_no_file_is_neither_waited_for_nor_kept(
    folder: CacheFolder, put: Callable[[Path], None]
) -> None:
    folder.path.mkdir(parents=True)
    put(folder.path / "loop")
    contents: list[bytes | None] = []
    reading = threading.Thread(target=lambda: contents.append(folder.read("loop")), daemon=True)
    reading.start()
    reading.join(300)
    assert contents == [None], "it waits for a writer" if not contents else "it is a file"
    folder.write("loop", b"content")
    assert folder.read("loop") == b"content"
    notes = [path.read_text() for path in folder.path.glob("loop.*.folder/notes")]
    assert notes == (["mine"] if put is a_folder_of_files else [])


WRITE = """
import sys
from pathlib import Path
from cepkit.caches import CacheFolder, keep

folder = CacheFolder(Path(sys.argv[1]), top=Path(sys.argv[1]))
for number in range(1_000_000):
    keep([folder], "loop", b"made of", bytes([number % 256]) * (1 << 21))
    print(flush=True)
"""


def test_a_process_that_is_killed_as_it_writes_leaves_a_whole_file(tmp_path: Path) -> None:
    folder = CacheFolder(tmp_path, top=tmp_path)
    drafts: list[Path] = []
    for kill in range(12):
        with subprocess.Popen(
            [sys.executable, "-c", WRITE, str(tmp_path)], stdout=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(kill * 0.0007)  # a write takes some 5 ms
            process.kill()
        content = kept([folder], "loop", b"made of")
        assert content is not None
        assert content == content[:1] * (1 << 21)
        drafts = [path for path in tmp_path.iterdir() if path.name != "loop"]
    # Those that were killed long ago are removed by the next write.
    for draft in drafts:
        os.utime(draft, (0, 0))
    folder.write("loop", b"content")
    assert [path.name for path in tmp_path.iterdir()] == ["loop"]


@pytest.mark.parametrize("length", [0, 1, 31, 32, 33, 40])
def test_a_file_that_was_cut_is_not_used(folder: CacheFolder, length: int) -> None:
    keep([folder], "loop", b"made of", b"content of it")
    (folder.path / "loop").write_bytes((folder.path / "loop").read_bytes()[:length])
    assert kept([folder], "loop", b"made of") is None


def test_read_from_an_empty_folder_gives_none(folder: CacheFolder) -> None:
    assert folder.refusal() is None
    assert folder.read("loop") is None


def give_folder(folder: CacheFolder) -> None:
    os.chown(folder.path, NOBODY, NOBODY)


def give_folder_above(folder: CacheFolder) -> None:
    os.chown(folder.path.parent, NOBODY, NOBODY)


def give_top(folder: CacheFolder) -> None:
    os.chown(folder.top, NOBODY, NOBODY)


def open_to_group(folder: CacheFolder) -> None:
    folder.path.chmod(0o770)


def open_to_all(folder: CacheFolder) -> None:
    folder.path.chmod(0o1777)


def open_top_to_all(folder: CacheFolder) -> None:
    folder.top.chmod(0o777)


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(give_folder, marks=as_root),
        pytest.param(give_folder_above, marks=as_root),
        pytest.param(give_top, marks=as_root),
        open_to_group,
        open_to_all,
        open_top_to_all,
    ],
)
def test_a_folder_that_others_may_write_to_is_not_used(
    folder: CacheFolder, spoil: Callable[[CacheFolder], None]
) -> None:
    folder.write("loop", b"content")
    spoil(folder)
    refusal = folder.refusal()
    assert refusal is not None
    assert "another user" in refusal or "by others" in refusal
    assert folder.read("loop") is None
    with pytest.raises(PermissionError):
        folder.write("more", b"content")
    assert not (folder.path / "more").exists()


@as_root
def test_write_to_the_folder_of_another_user_is_refused(folder: CacheFolder) -> None:
    folder.top.mkdir()
    os.chown(folder.top, NOBODY, NOBODY)
    with pytest.raises(PermissionError):
        folder.write("loop", b"content")
    assert not list(folder.top.iterdir())


@as_root
def test_a_file_of_another_user_is_not_read(folder: CacheFolder) -> None:
    folder.write("loop", b"content")
    os.chown(folder.path / "loop", NOBODY, NOBODY)
    assert folder.read("loop") is None


def test_a_file_that_others_may_write_is_not_read_but_replaced(folder: CacheFolder) -> None:
    folder.write("loop", b"content")
    (folder.path / "loop").chmod(0o666)
    assert folder.read("loop") is None
    folder.write("loop", b"content")
    assert folder.read("loop") == b"content"


def test_a_folder_for_temporary_files_may_stand_above(folder: CacheFolder) -> None:
    """Everybody may write to it, but replace their own files only."""
    folder.write("loop", b"content")
    folder.top.chmod(0o1777)
    folder.path.parent.chmod(0o775)
    assert folder.read("loop") == b"content"


class TestTheUsersFolder:
    def test_user_folder_follows_xdg_cache_home(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        assert user_folder("loops") == CacheFolder(tmp_path / "cepkit" / "loops", top=tmp_path)

    @pytest.mark.parametrize("value", ["", "relative", "./cache"])
    def test_a_relative_cache_home_is_ignored(
        self, value: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", value)
        monkeypatch.setenv("HOME", str(tmp_path))
        expected = CacheFolder(tmp_path / ".cache" / "cepkit" / "loops", top=tmp_path / ".cache")
        assert user_folder("loops") == expected

    def test_a_user_without_a_home_has_none(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        monkeypatch.setattr(os.path, "expanduser", lambda path: path)
        assert user_folder("loops") is None


WARNING = """
import os, warnings
from cepkit.caches import warn_once, warn_once_among_forks

warnings.simplefilter("always")
{first}
for _ in range(3):
    if os.fork() == 0:
        warn_once("not kept")
        warn_once("not kept")
        os._exit(0)
    os.wait()
"""


@pytest.mark.parametrize(("first", "times"), [("", 3), ("warn_once_among_forks()", 1)])
def test_forks_warn_once_each_or_once_together(first: str, times: int) -> None:
    answer = subprocess.run(
        [sys.executable, "-c", WARNING.format(first=first)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stderr.count("CacheWarning: not kept") == times
