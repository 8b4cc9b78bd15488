"""Builds a JupyterLite site of lessons and the gallery in build/lite: `make lite PYODIDE=...`.

They run in the reader's browser: the site brings Python as WebAssembly, cepkit and the packages
that it needs. Once it is built nothing is asked of another server. Pages that a studio saves with
`editable=True` are answered there, too.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import nbformat

ROOT = Path(__file__).parents[1]
SITE = ROOT / "build" / "lite"
SOURCES = ROOT / "build" / "lite-source"
PINNED = Path(__file__).with_suffix(".txt")
EVALUATOR = Path(__file__).with_name("lite-evaluator.js")
"""Answers a page in which the pattern may be changed."""

PYODIDE = "0.27.7"
"""The release that belongs to the kernel in lite.txt."""
NEEDED = ("jinja2", "micropip", "numpy", "packaging", "pandas", "pyarrow")
"""What a distribution must have; the package of npm has none of it."""
WHEELS = ("comm", "lark", "narwhals", "networkx", "plotly", "tqdm", "tzdata")
"""Beside those of Pyodide, pinned in lite.txt; the kernel itself needs comm."""
LESSONS = (
    "01_first_match",
    "02_operators_and_strategies",
    "03_comparing_plans",
    "04_lazy_automata",
    "05_counting_without_matches",
)
"""Those that run to their end there."""
MOST_EVENTS = 20_000
"""Of sample data: loops run as plain Python."""
_SIZES = {
    "(6, 10, 14, 18)": "(6, 8, 10, 12)",
    "large(18)": "large(12)",
    f"run=True, stream=stream, events={MOST_EVENTS:_}": "run=True, stream=stream, events=4_000",
}
"""What is smaller in the lesson that compares plans: it runs all orders, and searches for long."""

_INSTALL = "%pip install -q cepkit tzdata jinja2"
_NOTE = f"""*In the browser: the first cell installs cepkit from this site. Samples have at most
{MOST_EVENTS:,} events and plans fewer variables, so numbers in the text may differ. Cells that need
Spark or nbformat, and those that fail on purpose, are left out.*"""
_ABSENT = re.compile(r"spark|get_session|\bpx\.", re.IGNORECASE)
"""Spark, and figures that are Plotly's own: to be shown they need nbformat."""
_SAMPLE = re.compile(r"(\bck\.sample_\w+\(|\bevents=)(\d[\d_]*)")
_PYTHON = {"language_info": {"name": "python"}}
"""Without it JupyterLab asks for a kernel."""
_KERNEL = "@jupyterlite/pyodide-kernel-extension:kernel"


def lesson(path: Path) -> nbformat.NotebookNode:
    """Return a notebook for a browser: without Spark and intended errors, on less data."""
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type != "code" or _runs(cell)]
    for cell in cells:
        if cell.cell_type == "code":
            cell.source = _SAMPLE.sub(_smaller, cell.source)
            for size, smaller in _SIZES.items():
                cell.source = cell.source.replace(size, smaller)
            cell.outputs, cell.execution_count = [], None
    notebook.cells = [*_start(), *cells]
    return notebook


def gallery() -> nbformat.NotebookNode:
    """Return the gallery as one notebook: each pattern with its data and the figure of matches."""
    from nbformat import v4 as new

    cells = _start()
    for path in sorted((ROOT / "docs" / "gallery").glob("*.md")):
        text = re.sub(r"(?m)^#", "##", path.read_text(encoding="utf-8"))
        texts = re.split(r"```python\n(.*?)```\n\n```text\n.*?```\n", text, flags=re.DOTALL)
        for place, part in enumerate(texts):
            make = new.new_code_cell if place % 2 else new.new_markdown_cell
            cells.append(make(part.strip(), id=f"{path.stem}-{place}"))
    return new.new_notebook(cells=cells, metadata=_PYTHON)


def evaluator(folder: Path) -> str:
    """Return the script that answers pages, with the wheels that a folder has."""
    packages = [*NEEDED, *(f"pypi/{wheel.name}" for wheel in sorted(folder.glob("*.whl")))]
    return EVALUATOR.read_text(encoding="utf-8").replace(
        "PACKAGES.map", f"{json.dumps(packages)}.map"
    )


def _start() -> list[nbformat.NotebookNode]:
    """Return the cells that each notebook begins with, always under the same names."""
    from nbformat import v4 as new

    install = new.new_code_cell(_INSTALL, id="lite-install")
    return [install, new.new_markdown_cell(_NOTE, id="lite-note")]


def _runs(cell: nbformat.NotebookNode) -> bool:
    """Return whether a cell of code runs to its end in a browser."""
    return not (_ABSENT.search(cell.source) or "raises-exception" in cell.metadata.get("tags", ()))


def _smaller(call: re.Match[str]) -> str:
    return call[1] + (call[2] if int(call[2]) <= MOST_EVENTS else f"{MOST_EVENTS:_}")


def unpack(source: Path, target: Path) -> None:
    """Copy a distribution of Pyodide, a folder or an archive, to a folder.

    Raises:
        SystemExit: It is another release, or lacks packages.
    """
    with tempfile.TemporaryDirectory() as place:
        if source.is_file():
            with tarfile.open(source) as archive:
                archive.extractall(place, filter="data")
        folder = Path(place) if source.is_file() else source
        lock = next(iter(sorted(folder.rglob("pyodide-lock.json"))), None)
        if lock is None:
            sys.exit(f"{source} is no distribution of Pyodide: it has no pyodide-lock.json")
        content = json.loads(lock.read_text(encoding="utf-8"))
        version, packages = content["info"]["version"], content["packages"]
        if version != PYODIDE:
            sys.exit(f"{source} is Pyodide {version}; the kernel needs {PYODIDE}")
        missing = [
            name
            for name in NEEDED
            if name not in packages or not (lock.parent / packages[name]["file_name"]).exists()
        ]
        if missing:
            sys.exit(f"{source} lacks {', '.join(missing)}: take the full distribution")
        shutil.copytree(lock.parent, target)


def wheels(folder: Path) -> None:
    """Build the wheel of cepkit, and let pip fetch the others."""
    pip = ["-m", "pip", "--disable-pip-version-check", "--quiet"]
    plain = ["--no-deps", "--only-binary=:all:", "--dest", str(folder)]
    _python(*pip, "download", *plain, "--constraint", str(PINNED), *WHEELS)
    ours = ["--no-deps", "--no-build-isolation", "--wheel-dir", str(folder)]
    _python(*pip, "wheel", *ours, str(ROOT))


def settle(path: Path) -> None:
    """Have a site's kernel take Pyodide and all packages from the site, and from nowhere else."""
    content = json.loads(path.read_text(encoding="utf-8"))
    settings = content["jupyter-config-data"].setdefault("litePluginSettings", {})
    kernel = settings.setdefault(_KERNEL, {})
    kernel |= {"pyodideUrl": "./static/pyodide/pyodide.js", "disablePyPIFallback": True}
    path.write_text(json.dumps(content, indent=1), encoding="utf-8")


def _python(*arguments: str) -> None:
    """Run a module of this Python; what it says is shown where it fails."""
    done = subprocess.run(  # noqa: S603 - ours
        [sys.executable, *arguments],
        check=False,
        capture_output=True,
        text=True,
        cwd=SOURCES,  # JupyterLite notes there what it need not build again
    )
    if done.returncode:
        sys.exit(done.stdout + done.stderr)


def main() -> None:
    """Build the site."""
    import nbformat

    if len(sys.argv) != 2 or not Path(sys.argv[1]).exists():
        sys.exit("docs/lite.py takes the folder or the archive of a distribution of Pyodide")
    for folder in (SOURCES, SITE):
        shutil.rmtree(folder, ignore_errors=True)
    (SOURCES / "files").mkdir(parents=True)
    unpack(Path(sys.argv[1]), SOURCES / "static" / "pyodide")
    wheels(SOURCES / "pypi")
    for name in LESSONS:
        file = f"{name}.ipynb"
        nbformat.write(lesson(ROOT / "notebooks" / file), SOURCES / "files" / file)
    nbformat.write(gallery(), SOURCES / "files" / "gallery.ipynb")
    places = ["--lite-dir", str(SOURCES), "--output-dir", str(SITE)]
    _python("-m", "jupyterlite_core", "build", "--no-sourcemaps", *places)
    settle(SITE / "jupyter-lite.json")
    (SITE / EVALUATOR.name.removeprefix("lite-")).write_text(
        evaluator(SITE / "pypi"), encoding="utf-8"
    )
    sys.stdout.write(
        "The site is in build/lite. Serve it:\n"
        "  python -m http.server --bind 127.0.0.1 --directory build/lite\n"
    )


if __name__ == "__main__":
    main()
