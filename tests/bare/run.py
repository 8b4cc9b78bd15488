"""An install without extras, in an environment of its own: `make test-bare`.

    python -m tests.bare.run

It holds what `pip install cepkit` brings, at the versions and with the hashes of the lock, and the
wheel of this checkout. The environment is kept until the lock changes.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from importlib.metadata import requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "bare"


def main() -> None:
    """Make the environment, install the wheel there and run `inside.py`."""
    python = _environment(FOLDER / "venv", locked(_needed()))
    with tempfile.TemporaryDirectory(prefix="cepkit-bare-") as folder:
        _pip(sys.executable, "wheel", "--no-deps", "--no-build-isolation", "-w", folder, str(ROOT))
        (wheel,) = Path(folder).glob("*.whl")
        _pip(python, "install", "--no-deps", "--no-index", "--force-reinstall", str(wheel))
        # Its loops are kept here, as those of make test are beside the sources.
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(FOLDER / "loops")}
        environment.pop("PYTHONPATH", None)
        inside = Path(__file__).with_name("inside.py")
        subprocess.run([python, inside], cwd=folder, env=environment, check=True)


def locked(names: set[str]) -> str:
    """Return the entries of the lock for some packages, with their hashes."""
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    entries = re.split(r"\n(?! )", lock.rstrip("\n"))
    return "\n".join(entry for entry in entries if entry.partition("==")[0] in names) + "\n"


def _needed() -> set[str]:
    """Return the packages that cepkit needs without extras, and what these need."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names: set[str] = set()
    left = [Requirement(each) for each in project["dependencies"]]
    while left:
        requirement = left.pop()
        marker = requirement.marker
        name = canonicalize_name(requirement.name)
        if name not in names and (marker is None or marker.evaluate({"extra": ""})):
            names.add(name)
            left += [Requirement(each) for each in requires(name) or ()]
    return names


def _environment(folder: Path, lock: str) -> Path:
    """Return the Python of an environment with these packages alone."""
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    lock_file = folder / "installed.lock"
    if not lock_file.exists() or lock_file.read_text(encoding="utf-8") != lock:
        print(f"Installing what cepkit needs without extras into {folder.relative_to(ROOT)}")
        venv.create(folder, clear=True, with_pip=True)
        wanted = folder / "wanted.lock"
        wanted.write_text(lock, encoding="utf-8")
        _pip(python, "install", "--require-hashes", "-r", str(wanted))
        wanted.rename(lock_file)
    return python


def _pip(python: str | Path, *arguments: str) -> None:
    options = ("--disable-pip-version-check", "--quiet")
    subprocess.run([python, "-m", "pip", *options, *arguments], check=True)


if __name__ == "__main__":
    main()
