"""Settings of the documentation's pages, which `make docs` builds."""

import contextlib
import io
import json
import os
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from cepkit.cli import parser
from cepkit.cli.verbs import VERBS

os.environ["COLUMNS"] = "88"  # how wide help is

project = "cepkit"
author = "cepkit"
html_show_copyright = False
release = version = version_of("cepkit")
html_title = "cepkit"

root_doc = "docs/index"
include_patterns = ["*.md", "docs/**.md", "notebooks/*.ipynb", "sample_data/*.md"]
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]

# GitHub shows the same pages: links go to files and headings as they do there.
myst_heading_anchors = 4
myst_enable_extensions = ["attrs_inline"]

# `docs/build.py` has run the notebooks; here they are shown as they were left.
nb_execution_mode = "off"
nb_ipywidgets_js: dict[str, object] = {}

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_type_aliases = {"Pattern": "Pattern"}
autodoc_default_options = {"members": True, "show-inheritance": False}
napoleon_numpy_docstring = False
python_use_unqualified_type_names = True

html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["pages.css"]
html_copy_source = False
html_show_sphinx = False
# Pages ask no other machine for anything.
html_use_opensearch = ""


SEARCHED = "searched.js"
"""The texts of all pages: from a file, the page of the search may load no other page."""


def setup(app: Any) -> None:
    """Add the directive `command-help`, and a search that reads a site opened as a file."""
    app.add_directive("command-help", CommandHelp)
    app.connect("html-page-context", _load_texts)
    app.connect("build-finished", _write_texts)


def _load_texts(app: Any, page: str, *_: Any) -> None:
    if page == "search":
        app.add_js_file(SEARCHED)


def _write_texts(app: Any, failure: Exception | None) -> None:
    if failure is not None or app.builder.name != "html":
        return
    texts = {
        app.builder.get_target_uri(page): app.env.get_doctree(page).astext()
        for page in sorted(app.env.found_docs)
    }
    script = Path(__file__).with_name("searched.js").read_text(encoding="utf-8")
    written = json.dumps(texts, ensure_ascii=False)
    place = Path(app.outdir) / "_static" / SEARCHED
    place.write_text(f"const TEXTS = {written};\n{script}", encoding="utf-8")


class CommandHelp(SphinxDirective):
    """The help of every command, each under its name."""

    def run(self) -> list[nodes.Node]:
        """Return a section for each command."""
        sections: list[nodes.Node] = []
        for verb, line in VERBS.items():
            section = nodes.section(ids=[f"cepkit-{verb}"])
            section += nodes.title(text=f"cepkit {verb}")
            section += nodes.paragraph(text=f"{line[0].upper()}{line[1:]}.")
            shown = io.StringIO()
            with contextlib.redirect_stdout(shown), contextlib.suppress(SystemExit):
                parser([verb]).parse_args([verb, "--help"])
            section += nodes.literal_block(shown.getvalue(), shown.getvalue(), language="none")
            sections.append(section)
        return sections
