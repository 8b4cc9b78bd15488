"""The HTML of a studio around its panels."""

from __future__ import annotations

from cepkit.printing import html_text
from cepkit_widgets.kit.parts import ERROR_PLACE, button
from cepkit_widgets.studio.state import TABS, StudioState


def studio_html(
    state: StudioState, editor: str, content: str, *, panel: str, doing: str, stale: bool
) -> str:
    """Return the studio as HTML.

    Args:
        editor: The HTML of the editor.
        content: The HTML of the open tab.
        panel: The name of its panel; empty if the studio itself answers.
        doing: What is being done, in words; empty if nothing is.
        stale: Whether the content is of an earlier text.
    """
    tabs = "".join(
        f'<button type="button" role="tab" data-do="tab" data-value="{name}" data-at="{i}" '
        f'aria-selected="{str(name == state.tab).lower()}" aria-controls="tab-panel" '
        f'tabindex="{0 if name == state.tab else -1}">{name}</button>'
        for i, name in enumerate(TABS)
    )
    busy = ""
    if doing:
        busy = f'<span role="status">{html_text(doing)} …</span>{button("stop", "Stop")}'
    owner = f' data-panel="{panel}"' if panel else ""
    return (
        '<div class="bar" data-link><h3>Studio</h3>'
        f'<button type="button" data-copy="{state.fragment}">Copy link</button></div>'
        f'<div class="panel" data-panel="editor">{editor}</div>'
        f'<div class="bar apart"><div class="tabs" role="tablist" aria-label="about the pattern" '
        f'data-rove>{tabs}</div><span class="busy">{busy}</span></div>{ERROR_PLACE}'
        f'<div id="tab-panel" role="tabpanel" aria-label="{state.tab}" data-key="{state.tab}" '
        f'class="panel{" stale" if stale else ""}"{owner}>{content}</div>'
    )
