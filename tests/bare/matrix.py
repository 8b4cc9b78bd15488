"""The quick tests without Spark on old and new packages: `make test-matrix`.

    python -m tests.bare.matrix UV [PYTEST ARGUMENT ...]

The oldest Python that is supported and found takes the lower bounds of pyproject.toml, the newest
one the newest releases; uv resolves both.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "matrix"
MINORS = (11, 12, 13, 14)
NAMED = ("numba", "numpy", "pandas", "plotly", "pyarrow")
TESTS = ("hypothesis", "packaging", "pytest", "pytest-xdist", "pyyaml")


def main(uv: str, *options: str) -> int:
    """Run the tests in both environments; return how many failed."""
    pythons = found()
    if not pythons:
        print(f"No Python was found of 3.{MINORS[0]} to 3.{MINORS[-1]}", file=sys.stderr)
        return 1
    minors = sorted(pythons)
    failed = [
        name
        for name, minor, resolution in (
            ("oldest", minors[0], "lowest-direct"),
            ("newest", minors[-1], "highest"),
        )
        if not _passes(uv, name, pythons[minor], resolution, options)
    ]
    print(f"failed: {', '.join(failed)}" if failed else "both passed")
    return len(failed)


def found() -> dict[int, str]:
    """Return the Pythons of this machine that run, by their minor version."""
    pythons = {}
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for minor in MINORS:
        paths = [shutil.which(f"python3.{minor}"), *versions.glob(f"3.{minor}.*/bin/python")]
        for path in filter(None, paths):
            ran = subprocess.run([path, "-V"], capture_output=True, text=True, check=False)
            if f"Python 3.{minor}." in ran.stdout:  # a shim of pyenv may have nothing behind it
                pythons[minor] = str(path)
                break
    return pythons


def _passes(uv: str, name: str, python: str, resolution: str, options: tuple[str, ...]) -> bool:
    environment = FOLDER / name
    inside = environment / ("Scripts" if os.name == "nt" else "bin") / "python"
    pinned = FOLDER / f"{name}.txt"
    subprocess.run([uv, "venv", "--quiet", "--clear", "--python", python, environment], check=True)
    compile_it = [uv, "pip", "compile", "--quiet", "--no-header", "--no-annotate"]
    compile_it += ["--resolution", resolution, "--python", inside, "-o", pinned]
    subprocess.run([*compile_it, ROOT / "pyproject.toml"], check=True)
    install = [uv, "pip", "install", "--quiet", "--python", inside]
    subprocess.run([*install, "-r", pinned, *_for_tests()], check=True)
    subprocess.run([*install, "--no-deps", "-e", ROOT], check=True)
    pins = re.findall(rf"(?m)^({'|'.join(NAMED)})==(\S+)", pinned.read_text(encoding="utf-8"))
    version = subprocess.run([inside, "-V"], capture_output=True, text=True, check=True).stdout
    print(f"== {name}: {version.strip()}, " + ", ".join(" ".join(pin) for pin in pins), flush=True)
    ran = subprocess.run(
        [inside, "-m", "pytest", "-q", "-m", "not slow and not browser and not spark", *options],
        cwd=ROOT,
        env={
            **os.environ,
            "HYPOTHESIS_PROFILE": "quick",
            "NUMBA_CACHE_DIR": str(FOLDER / f"{name}-loops"),
        },
        check=False,
    )
    return ran.returncode == 0


def _for_tests() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]["dev"]
    return [each for each in extras if re.match(r"[\w-]+", each)[0] in TESTS]


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
