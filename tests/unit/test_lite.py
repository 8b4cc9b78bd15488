"""The lessons of the site of `make lite`: what is left out, and what it says it needs."""

from __future__ import annotations

import json
import re
import runpy
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LITE = runpy.run_path(str(ROOT / "docs" / "lite.py"))
PINNED = dict(re.findall(r"(?m)^([a-z-]+)==([\d.]+)$", (ROOT / "docs" / "lite.txt").read_text()))


def distribution(folder: Path, version: str = LITE["PYODIDE"]) -> Path:
    """Write what looks like a distribution of Pyodide, and return its folder."""
    folder.mkdir()
    packages = {name: {"file_name": f"{name}.whl"} for name in LITE["NEEDED"]}
    lock = {"info": {"version": version}, "packages": packages}
    (folder / "pyodide-lock.json").write_text(json.dumps(lock))
    for name in LITE["NEEDED"]:
        (folder / f"{name}.whl").touch()
    return folder


@pytest.mark.parametrize("name", LITE["LESSONS"])
def test_lesson_begins_with_the_install_and_has_no_cell_that_cannot_run(name: str) -> None:
    import nbformat

    path = ROOT / "notebooks" / f"{name}.ipynb"
    lesson = LITE["lesson"](path)
    nbformat.validate(lesson)
    assert lesson == LITE["lesson"](path), "the same lesson is the same file"
    code = [cell for cell in lesson.cells if cell.cell_type == "code"]
    assert lesson.cells[0] is code[0]
    assert code[0].source.startswith("%pip install -q cepkit ")
    for cell in code:
        assert "spark" not in cell.source.lower()
        assert "px." not in cell.source
        assert "raises-exception" not in cell.metadata.get("tags", ())
        assert not cell.outputs
        events = [int(n) for n in re.findall(r"ck\.sample_\w+\(([\d_]+)", cell.source)]
        assert max(events, default=0) <= LITE["MOST_EVENTS"]


def test_cells_of_spark_and_intended_errors_are_left_out_and_samples_are_smaller(tmp_path) -> None:
    from nbformat import v4 as new
    from nbformat import write

    cells = [
        new.new_markdown_cell("Now on Spark."),
        new.new_code_cell("spark = ck.get_session()"),
        new.new_code_cell("ck.parse('')", metadata={"tags": ["raises-exception"]}),
        new.new_code_cell("a = ck.sample_stocks(200_000, seed=7); b = ck.sample_clicks(3_000)"),
        new.new_code_cell("ck.compare_plans(p, s, run=True, stream=stream, events=50_000)"),
    ]
    path = tmp_path / "some.ipynb"
    write(new.new_notebook(cells=cells), path)
    assert [cell.source for cell in LITE["lesson"](path).cells[2:]] == [
        "Now on Spark.",
        "a = ck.sample_stocks(20_000, seed=7); b = ck.sample_clicks(3_000)",
        "ck.compare_plans(p, s, run=True, stream=stream, events=4_000)",
    ]


def test_gallery_is_one_notebook_whose_patterns_are_drawn() -> None:
    import nbformat

    gallery = LITE["gallery"]()
    nbformat.validate(gallery)
    assert gallery.metadata.language_info.name == "python", "else JupyterLab asks for a kernel"
    code = [cell.source for cell in gallery.cells if cell.cell_type == "code"]
    pages = len([*(ROOT / "docs" / "gallery").glob("*.md")])
    assert len(code) == 1 + 2 * pages
    assert sum("ck.draw(matches)" in source for source in code) >= pages
    assert not any("```python" in cell.source for cell in gallery.cells)


def test_evaluator_loads_the_packages_of_the_site(tmp_path) -> None:
    (tmp_path / "cepkit-0.0-py3-none-any.whl").touch()
    script = LITE["evaluator"](tmp_path)
    assert '"pyarrow", "pypi/cepkit-0.0-py3-none-any.whl"].map' in script
    assert "http" not in script


def test_kernel_takes_all_from_the_site(tmp_path) -> None:
    path = tmp_path / "jupyter-lite.json"
    wheels = {LITE["settle"].__globals__["_KERNEL"]: {"pipliteUrls": ["./pypi/all.json"]}}
    path.write_text(json.dumps({"jupyter-config-data": {"litePluginSettings": wheels}}))
    LITE["settle"](path)
    (kernel,) = json.loads(path.read_text())["jupyter-config-data"]["litePluginSettings"].values()
    assert kernel == {
        "pipliteUrls": ["./pypi/all.json"],
        "pyodideUrl": "./static/pyodide/pyodide.js",
        "disablePyPIFallback": True,
    }


def test_wheels_are_pinned_and_the_kernel_goes_with_pyodide() -> None:
    assert set(LITE["WHEELS"]) <= set(PINNED)
    assert PINNED["jupyterlite-pyodide-kernel"].startswith("0.6.")
    assert LITE["PYODIDE"].startswith("0.27.")


def test_make_names_the_release_and_stops_without_it() -> None:
    done = subprocess.run(
        ["make", "lite", "PYODIDE="], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode
    assert f"pyodide-{LITE['PYODIDE']}.tar.bz2" in done.stderr


@pytest.mark.parametrize("archived", [False, True])
def test_distribution_is_copied_from_a_folder_and_from_an_archive(tmp_path, archived) -> None:
    source = distribution(tmp_path / "pyodide")
    named = source
    if archived:
        named = Path(shutil.make_archive(str(source), "bztar", tmp_path, source.name))
    LITE["unpack"](named, tmp_path / "site")
    copied, files = ({file.name for file in f.iterdir()} for f in (tmp_path / "site", source))
    assert copied == files


def test_distribution_of_another_release_is_refused(tmp_path) -> None:
    source = distribution(tmp_path / "pyodide", "0.28.0")
    with pytest.raises(SystemExit, match=r"is Pyodide 0\.28\.0; the kernel needs 0\.27"):
        LITE["unpack"](source, tmp_path / "site")


def test_distribution_without_packages_is_refused(tmp_path) -> None:
    source = distribution(tmp_path / "pyodide")
    (source / "pandas.whl").unlink()
    with pytest.raises(SystemExit, match="lacks pandas: take the full distribution"):
        LITE["unpack"](source, tmp_path / "site")
    (source / "pyodide-lock.json").unlink()
    with pytest.raises(SystemExit, match=r"has no pyodide-lock\.json"):
        LITE["unpack"](source, tmp_path / "site")
