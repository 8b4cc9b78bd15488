"""Files are written whole or not at all, and never replace others unasked, by any writer."""

from __future__ import annotations

import errno
import os
import pickle
import shutil
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

import cepkit as ck
from benchmarks.streams import main as generate
from cepkit import files
from cepkit.errors import CepkitError, FileError
from cepkit.files import HTML, JSON, PARQUET, check_target, whole_file, whole_folder, write_text

TEXT = "PATTERN SEQ(A a, B b)"


def stream() -> ck.api.Stream:
    frame = pd.DataFrame({"t": range(40), "kind": ["A", "B"] * 20})
    return ck.events(frame, time="t", type="kind", unit="s")


def generated(path: Path, *, overwrite: bool = False) -> None:
    try:
        generate(["zipf", "--events", "9", "--out", str(path)] + ["--overwrite"] * overwrite)
    except SystemExit as stop:
        raise FileError(f"exit {stop.code}") from stop


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def played(path: Path, **options: bool) -> None:
    ck.draw(ck.simulate(stream(), TEXT)).save_html(path, **options)


WRITERS = {
    "matches": (".parquet", lambda path, **o: ck.detect(stream(), TEXT).write_parquet(path, **o)),
    "player": (".html", played),
    "trace": (".json", lambda path, **o: ck.simulate(stream(), TEXT).to_json(path, **o)),
    "counters": (
        ".json",
        lambda path, **o: ck.simulate(stream(), TEXT, "prefix-counters").to_json(path, **o),
    ),
    "statistics": (".json", lambda path, **o: ck.profile(stream(), TEXT).to_json(path, **o)),
    "generated": (".csv", generated),
}
"""All that writes a file: its ending, and how it is called."""

every_writer = pytest.mark.parametrize(("ending", "write"), WRITERS.values(), ids=WRITERS)


@every_writer
def test_a_file_of_another_kind_is_left_alone(tmp_path, ending, write):
    for name in ("notes.txt", "notes", f"notes{ending}.gz"):
        path = tmp_path / name
        path.write_text("precious", encoding="utf-8")
        with pytest.raises(FileError):
            write(path, overwrite=True)
        assert path.read_text(encoding="utf-8") == "precious"


@every_writer
def test_existing_file_is_replaced_only_with_overwrite(tmp_path, ending, write):
    path = tmp_path / f"out{ending.upper()}"
    path.write_text("precious", encoding="utf-8")
    with pytest.raises(FileError):
        write(path)
    assert path.read_text(encoding="utf-8") == "precious"
    write(path, overwrite=True)
    assert path.read_bytes() != b"precious"
    assert names(tmp_path) == [path.name]


def test_refused_targets_have_a_message_and_a_hint(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("notes.html").touch()
    for path, kinds, told in (
        ("notes.html", [HTML], "'notes.html' exists\nHint: pass overwrite=True to replace it"),
        ("notes.txt", [PARQUET], "cannot write '.txt' files: Parquet files end in '.parquet'"),
        (
            "notes",
            [PARQUET, files.CSV],
            (
                "cannot write 'notes', a name without an ending: Parquet files end in '.parquet', "
                "CSV files end in '.csv'"
            ),
        ),
        (
            "no/x.json",
            [JSON],
            (
                "cannot write 'no/x.json': there is no folder 'no'\n"
                "Hint: make the folder, or name another"
            ),
        ),
    ):
        with pytest.raises(FileError) as error:
            check_target(path, *kinds, overwrite=False)
        assert str(error.value) == told
    assert not list(tmp_path.glob("*/"))


def test_an_error_is_one_of_ours_and_of_the_systems(monkeypatch, tmp_path):
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(OSError, match="No space left") as error:
        write_text(tmp_path / "x.json", "{}", JSON)
    assert isinstance(error.value, CepkitError)
    assert error.value.errno == errno.ENOSPC
    assert str(pickle.loads(pickle.dumps(error.value))) == str(error.value)
    assert not names(tmp_path)


@every_writer
def test_links_are_neither_followed_nor_replaced(tmp_path, ending, write):
    target = tmp_path / "precious"
    target.write_text("precious", encoding="utf-8")
    for points_to in (target, tmp_path / "nowhere", tmp_path / f"link{ending}"):
        link = tmp_path / f"link{ending}"
        link.symlink_to(points_to)
        for overwrite in (False, True):
            with pytest.raises(FileError):
                write(link, overwrite=overwrite)
        assert link.readlink() == points_to
        link.unlink()
    assert names(tmp_path) == ["precious"]
    assert target.read_text(encoding="utf-8") == "precious"


def test_symbolic_link_is_refused_with_its_target(tmp_path):
    (tmp_path / "latest.json").symlink_to("march.json")
    with pytest.raises(FileError, match=r"latest.json' is a symbolic link to 'march.json'"):
        write_text(tmp_path / "latest.json", "{}", JSON, overwrite=True)


def test_links_among_the_folders_are_followed(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    write_text(tmp_path / "link" / "x.json", "{}", JSON)
    assert (tmp_path / "real" / "x.json").read_text(encoding="utf-8") == "{}"


@every_writer
def test_folders_and_pipes_are_left_alone(tmp_path, ending, write):
    (tmp_path / f"folder{ending}").mkdir()
    os.mkfifo(tmp_path / f"pipe{ending}")
    for name in (f"folder{ending}", f"pipe{ending}"):
        with pytest.raises(FileError):
            write(tmp_path / name, overwrite=True)
    assert names(tmp_path) == [f"folder{ending}", f"pipe{ending}"]
    assert stat.S_ISFIFO((tmp_path / f"pipe{ending}").stat().st_mode)


def test_a_socket_is_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # names of sockets are short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("x.json")
        with pytest.raises(FileError, match=r"'x.json' is a pipe or a device, not a file"):
            write_text("x.json", "{}", JSON, overwrite=True)


def test_a_device_is_no_file(tmp_path):
    try:
        os.mknod(tmp_path / "x.json", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except (OSError, AttributeError) as error:
        pytest.skip(f"devices cannot be made here: {error}")
    with pytest.raises(FileError, match="is a pipe or a device, not a file"):
        write_text(tmp_path / "x.json", "{}", JSON, overwrite=True)


@pytest.mark.parametrize("name", ["\0.json", "~no such user/x.json", "x" * 300 + ".json", ".json"])
def test_names_that_cannot_be(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileError, match="cannot write"):
        write_text(name, "{}", JSON)
    assert not names(tmp_path)


def test_the_new_file_has_the_permissions_of_the_old(tmp_path):
    path = tmp_path / "x.json"
    mask = os.umask(0o027)
    try:
        write_text(path, "{}", JSON)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        path.chmod(0o600)
        write_text(path, "{}", JSON, overwrite=True)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    finally:
        os.umask(mask)


class Stop(BaseException):
    """Stops a writer in the middle: like that of Ctrl-C, it is no Exception."""


def test_a_writer_that_is_stopped_leaves_the_old_file(tmp_path):
    path = tmp_path / "x.json"
    path.write_text("old", encoding="utf-8")

    def stopped() -> None:
        with whole_file(path, overwrite=True) as file:
            file.write(b"x" * (3 << 20))
            raise Stop

    with pytest.raises(Stop):
        stopped()
    assert path.read_text(encoding="utf-8") == "old"
    assert names(tmp_path) == ["x.json"]


def test_error_of_the_computation_is_not_reported_as_a_file_error(tmp_path):
    def broken() -> None:
        with whole_file(tmp_path / "x.json", overwrite=False):
            raise FileNotFoundError(2, "No such file or directory", "events.csv")

    with pytest.raises(FileNotFoundError, match=r"events.csv") as error:
        broken()
    assert not isinstance(error.value, CepkitError)


def test_a_file_that_came_to_be_meanwhile_is_not_replaced(tmp_path):
    path = tmp_path / "x.json"

    def late() -> None:
        with whole_file(path, overwrite=False) as file:
            file.write(b"late")
            write_text(path, "first", JSON)

    with pytest.raises(FileError, match="exists"):
        late()
    assert path.read_text(encoding="utf-8") == "first"
    assert names(tmp_path) == ["x.json"]


def test_a_file_system_without_hard_links_will_do(tmp_path, monkeypatch):
    def refused(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(files.os, "link", refused)
    write_text(tmp_path / "x.json", "{}", JSON)
    assert (tmp_path / "x.json").read_text(encoding="utf-8") == "{}"


FULL = """
import resource, signal, sys
from pathlib import Path
from tests.unit.test_files import WRITERS
from cepkit.errors import FileError

ending, write = WRITERS[sys.argv[1]]
path = Path(f"out{ending}")
write(path, overwrite=True)  # what is compiled and kept on disk is there now
path.write_text("old")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
try:
    write(path, overwrite=True)
except FileError as error:
    print(error, error.errno)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits the size of files by ulimit")
@pytest.mark.parametrize(
    "writer",
    [
        "matches",
        *(
            pytest.param(n, marks=pytest.mark.slow)
            for n in WRITERS
            if n not in ("matches", "generated")
        ),
    ],
)
def test_on_a_full_disk_the_old_file_stays(tmp_path, writer):
    root = str(Path(__file__).parents[2])
    ran = subprocess.run(
        [sys.executable, "-c", FULL, writer],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([root, *sys.path])},
        check=False,
        capture_output=True,
        text=True,
    )
    name = f"out{WRITERS[writer][0]}"
    assert ran.stdout == f"cannot write '{name}': File too large {errno.EFBIG}\n", ran.stderr
    assert (tmp_path / name).read_text(encoding="utf-8") == "old"
    assert names(tmp_path) == [name]


WRITING = """
import sys
from pathlib import Path
from cepkit.files import whole_file, whole_folder
target = Path(sys.argv[1])
with globals()[sys.argv[2]](target, overwrite=True) as there:
    if isinstance(there, Path):
        there.mkdir()
        (there / "part-0").write_text("new")
    else:
        there.write(b"new")
        there.flush()
    print("writing", flush=True)
    sys.stdin.read()
"""


def writing(target: Path, how: str) -> subprocess.Popen[str]:
    """Return a process that is in the middle of writing, until its input is closed."""
    command = [sys.executable, "-c", WRITING, str(target), how]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "writing\n"
    return process


@pytest.mark.skipif(sys.platform == "win32", reason="kills by a signal")
@pytest.mark.parametrize("how", ["whole_file", "whole_folder"])
def test_draft_of_a_killed_writer_is_removed_by_the_next(tmp_path, how):
    target, other = tmp_path / "x.json", tmp_path / ".x.json.0123456.cepkit-part"
    target.write_text("old", encoding="utf-8")
    other.write_text("not ours: seven digits", encoding="utf-8")
    with writing(target, how) as process:
        process.send_signal(signal.SIGKILL)
    assert target.read_text(encoding="utf-8") == "old"
    [part] = [name for name in names(tmp_path) if name not in (target.name, other.name)]
    assert part.endswith(".cepkit-part")
    write_text(tmp_path / "y.json", "{}", JSON)
    assert part in names(tmp_path)  # it is of another target
    write_text(target, "{}", JSON, overwrite=True)
    assert names(tmp_path) == [other.name, "x.json", "y.json"]


@pytest.mark.skipif(sys.platform == "win32", reason="locks are POSIX's")
@pytest.mark.parametrize("how", ["whole_file", "whole_folder"])
def test_draft_of_a_running_writer_is_not_removed(tmp_path, how):
    target = tmp_path / "x.json"
    with writing(target, how) as process:
        write_text(target, "first", JSON)
        assert len(names(tmp_path)) == 2
        assert target.read_text(encoding="utf-8") == "first"
    assert process.returncode == 0
    assert names(tmp_path) == ["x.json"]
    new = target if how == "whole_file" else target / "part-0"
    assert new.read_text(encoding="utf-8") == "new"


def spark_writes(folder: Path, content: str) -> None:
    folder.mkdir()
    (folder / "_SUCCESS").touch()
    (folder / "part-0").write_text(content, encoding="utf-8")


def test_folders_take_the_place_of_files_and_files_that_of_folders(tmp_path):
    target = tmp_path / "m.parquet"
    with whole_folder(target, overwrite=False) as folder:
        spark_writes(folder, "one")
    with pytest.raises(FileError, match="is a folder"):
        check_target(target, PARQUET, overwrite=True)
    with pytest.raises(FileError, match="exists"):
        check_target(target, PARQUET, overwrite=False, folders=True)
    assert check_target(target, PARQUET, overwrite=True, folders=True) == target
    with whole_folder(target, overwrite=True) as folder:
        spark_writes(folder, "two")
    assert (target / "part-0").read_text(encoding="utf-8") == "two"
    with whole_file(target, overwrite=True) as file:
        file.write(b"three")
    assert target.read_text(encoding="utf-8") == "three"
    with whole_folder(target, overwrite=True) as folder:
        spark_writes(folder, "four")
    assert (target / "part-0").read_text(encoding="utf-8") == "four"
    assert names(tmp_path) == ["m.parquet"]


def test_a_folder_that_cannot_take_its_place_leaves_the_old(tmp_path, monkeypatch):
    target = tmp_path / "m.parquet"
    target.write_text("old", encoding="utf-8")

    def nothing_is_written() -> None:
        with whole_folder(target, overwrite=True):
            pass

    with pytest.raises(FileError, match="No such file"):
        nothing_is_written()
    assert target.read_text(encoding="utf-8") == "old"
    assert names(tmp_path) == ["m.parquet"]


AS_NOBODY = """
import os, sys
from cepkit.errors import FileError
from cepkit.files import JSON, write_text
for name in ("theirs/x.json", "read-only.json"):
    try:
        write_text(name, "{}", JSON, overwrite=True)
    except FileError as error:
        print(error)
"""


def test_target_without_permission_is_refused(tmp_path):
    (tmp_path / "theirs").mkdir()
    (tmp_path / "read-only.json").write_text("old", encoding="utf-8")
    tmp_path.chmod(0o777)
    (tmp_path / "theirs").chmod(0o555)
    (tmp_path / "read-only.json").chmod(0o444)
    command = [sys.executable, "-c", AS_NOBODY]
    if os.geteuid() == 0:
        command = [*unprivileged(), *command]
    ran = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert ran.stdout.splitlines() == [
        "cannot write 'theirs/x.json': no permission in 'theirs'",
        "cannot write 'read-only.json': it is read-only",
        "Hint: name another file",
    ], ran.stderr
    assert (tmp_path / "read-only.json").read_text(encoding="utf-8") == "old"


def unprivileged() -> list[str]:
    """Return a command prefix that runs as a user who may read everything and write little."""
    may_read = "+dac_read_search"
    command = [
        "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", f"--inh-caps={may_read}",
        f"--ambient-caps={may_read}", f"--bounding-set=-all,{may_read}",
    ]  # fmt: skip
    if shutil.which("setpriv") is None:
        pytest.skip("no setpriv here")
    if subprocess.run([*command, "true"], check=False, capture_output=True).returncode:
        pytest.skip("setpriv cannot take privileges away here")
    return command


def test_statistics_are_read_from_where_they_were_saved(tmp_path):
    saved = ck.profile(stream(), TEXT)
    path = tmp_path / "s.json"
    assert saved.to_json(path) == path.read_text(encoding="utf-8")
    assert ck.Statistics.from_json(path) == ck.Statistics.from_json(str(path)) == saved
    with pytest.raises(CepkitError, match=r"there is no file 'nowhere.json'"):
        ck.Statistics.from_json("nowhere.json")


def test_matches_are_read_from_where_they_were_written(tmp_path):
    matches = ck.detect(stream(), TEXT)
    assert matches.write_parquet(tmp_path / "m.parquet") == matches.count()
    assert pq.read_table(tmp_path / "m.parquet").equals(matches.to_arrow())
