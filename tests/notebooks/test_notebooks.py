"""Every notebook runs from top to bottom, and is stored without outputs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.notebooks.apps import STATE, emptied

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
MOST_BYTES = 1_000_000


@pytest.mark.quick
def test_there_are_notebooks():
    assert NOTEBOOKS


@pytest.mark.notebook
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs(path: Path):
    from docs.build import executed

    notebook = executed(path)
    assert notebook.cells
    assert not list(emptied(notebook)), "an app shows nothing"


@pytest.mark.quick
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_stored_without_outputs(path: Path):
    import nbformat

    assert path.stat().st_size < MOST_BYTES
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert "widgets" not in notebook.metadata
    for cell in notebook.cells:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


@pytest.mark.quick
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_imports_only_cepkit_itself(path: Path):
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    source = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    assert "import cepkit as ck" in source
    assert "from cepkit" not in source
    assert "import cepkit." not in source


@pytest.mark.quick
@pytest.mark.parametrize(
    ("html", "is_empty"),
    [
        ("<h3>Match browser</h3><p>0 of the first 1,000 matches found</p>", True),
        ("<table><tbody></tbody></table><p>of 3</p>", True),
        ("", True),
        ("<p>10 of the first 1,000</p><table><tbody><tr><td>1</td></tr></tbody></table>", False),
    ],
)
def test_an_app_without_rows_or_matches_is_empty(html, is_empty):
    import nbformat

    models = {"1": {"state": {"html": html}}, "2": {"state": {}}}
    notebook = nbformat.v4.new_notebook(metadata={"widgets": {STATE: {"state": models}}})
    assert bool([*emptied(notebook)]) == is_empty
