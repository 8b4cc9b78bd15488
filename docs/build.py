"""Builds the documentation's pages in build/site: `make docs`.

Notebooks are run, each in a kernel of its own; what they showed is kept in build/executed and used
again until the notebook or the package changes. Pages of the gallery get their figures. Sphinx then
makes pages of docs/, the notebooks and the docstrings. A link that leads nowhere is an error, and
so is a cell that fails unasked.
"""

from __future__ import annotations

import hashlib
import os
import runpy
import shutil
import sys
import tempfile
from pathlib import Path

import nbformat
import plotly.io
import plotly.offline
from nbclient import NotebookClient
from sphinx.cmd.build import build_main

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build"
EXECUTED = BUILD / "executed"
SOURCES = BUILD / "docs-source"
SITE = BUILD / "site"
NOTEBOOKS = ROOT / "notebooks"

_SECONDS = 600
_PAGES = ("docs", "sample_data")
_LINKED = ("LICENSE", "Makefile", "benchmarks", "cepkit", "widgets", "tests", "tools")
"""What pages point at."""
_KEY = "cepkit_sources"
_COMPILING = "compiling loops, once on this machine"
"""What the first run after an install says, and no page."""
_WIDGET = "application/vnd.jupyter.widget-view+json"
_PLOTLY = "application/vnd.plotly.v1+json"


class CellError(Exception):
    """A cell that failed unasked, did not fail as it should, or wrote to stderr."""


def executed(path: Path, folder: Path = EXECUTED) -> nbformat.NotebookNode:
    """Return a notebook with what its cells show; run it unless that is known.

    Args:
        path: The notebook.
        folder: Where executed notebooks are kept.

    Raises:
        CellError: A cell did what no reader should see.
    """
    key = _fingerprint(path)
    kept = folder / path.name
    if kept.exists():
        notebook = nbformat.read(kept, as_version=4)
        if notebook.metadata.get(_KEY) == key:
            return notebook
    notebook = nbformat.read(path, as_version=4)
    # Elsewhere than in the folder of the notebooks, so that nothing is left there.
    with tempfile.TemporaryDirectory(prefix="cepkit-") as place:
        NotebookClient(
            notebook,
            timeout=_SECONDS,
            kernel_name="python3",
            resources={"metadata": {"path": place}},
        ).execute()
    _check(path, notebook)
    notebook.metadata[_KEY] = key
    folder.mkdir(parents=True, exist_ok=True)
    part = kept.with_suffix(f".{os.getpid()}.part")
    nbformat.write(notebook, part)
    part.replace(kept)
    return notebook


def _check(path: Path, notebook: nbformat.NotebookNode) -> None:
    for cell in notebook.cells:
        if "outputs" in cell:
            cell.outputs = [
                o for o in cell.outputs if o.get("data", {}).get("text/plain") != _COMPILING
            ]
        outputs = cell.get("outputs", ())
        errors = [output for output in outputs if output.output_type == "error"]
        fails = "raises-exception" in cell.metadata.get("tags", ())
        if bool(errors) != fails:
            raise CellError(f"{path.name}: {'no error' if fails else 'an error'} in {cell.source}")
        # What Spark and others write there has no place in front of a reader.
        noise = [output.text for output in outputs if output.get("name") == "stderr"]
        if noise:
            raise CellError(f"{path.name}: {noise[0]} from {cell.source}")


def _fingerprint(path: Path) -> str:
    """Return a hash of what a notebook shows depends on: itself and the package."""
    content = hashlib.sha256(path.read_bytes())
    for folder in ("cepkit", "widgets", "sample_data"):
        for file in sorted((ROOT / folder).rglob("*")):
            if file.suffix in (".py", ".js", ".css", ".csv", ".lark", ".html"):
                content.update(file.read_bytes())
    return content.hexdigest()


def _for_a_page(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Return a notebook that shows what a page can: figures as HTML, no widgets of a kernel."""
    script: str | bool = "../_static/plotly.min.js"
    notebook.metadata.pop("widgets", None)
    for cell in notebook.cells:
        if "outputs" in cell:
            cell.outputs = [o for o in cell.outputs if not _needs_a_kernel(o)]
        for output in cell.get("outputs", ()):
            output.get("data", {}).pop(_WIDGET, None)  # its HTML is shown
            figure = output.get("data", {}).pop(_PLOTLY, None)
            if figure is not None:
                output.data["text/html"] = plotly.io.to_html(
                    figure, config=figure.get("config"), include_plotlyjs=script, full_html=False
                )
                script = False  # the page has it
    return notebook


def _needs_a_kernel(output: nbformat.NotebookNode) -> bool:
    """Return whether an output is a widget that has no other form: a bar of progress."""
    data = output.get("data", {})
    return _WIDGET in data and "text/html" not in data


def main() -> int:
    """Run the notebooks, and build the pages."""
    shutil.rmtree(SOURCES, ignore_errors=True)
    (SOURCES / "notebooks").mkdir(parents=True)
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        nbformat.write(_for_a_page(executed(path)), SOURCES / "notebooks" / path.name)
    for name in _PAGES:
        shutil.copytree(ROOT / name, SOURCES / name)
    runpy.run_path(str(ROOT / "docs" / "gallery.py"))["draw"](SOURCES / "docs" / "gallery")
    for page in ROOT.glob("*.md"):
        shutil.copy(page, SOURCES)
    for name in _LINKED:
        (SOURCES / name).symlink_to(ROOT / name)
    (SOURCES / "docs" / "static" / "plotly.min.js").write_text(
        plotly.offline.get_plotlyjs(), encoding="utf-8"
    )
    strictly = ["--fail-on-warning", "--keep-going", "--quiet"]
    return build_main([*strictly, "-c", str(SOURCES / "docs"), str(SOURCES), str(SITE)])


if __name__ == "__main__":
    sys.exit(main())
