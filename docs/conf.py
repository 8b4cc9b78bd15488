"""Settings of the documentation's pages, which `make docs` builds."""

import contextlib
import io
import os
from importlib.metadata import version as version_of
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


def setup(app: Any) -> None:
    """Add the directive `command-help`: what each command of `cepkit` says of itself."""
    app.add_directive("command-help", CommandHelp)


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
