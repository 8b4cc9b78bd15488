"""A page as a screen reader reads it: the browser's own accessibility tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

NAMED = {
    "button", "checkbox", "combobox", "image", "img", "link", "listbox", "option", "radio",
    "region", "searchbox", "slider", "spinbutton", "switch", "table", "textbox",
}  # fmt: skip
"""Roles that tell nothing without a name."""
_NONE = {"generic", "none", "paragraph", "cell", "row", "LabelText"}
"""Roles that say nothing: a screen reader announces no more than the name at them."""


def complaints(page: Page) -> list[str]:
    """Return the faults of a page for a screen reader: elements without a name or a role."""
    found = []
    for role, name, focusable in _nodes(page):
        if role in NAMED and not name:
            found.append(f"a {role} without a name")
        if focusable and role in _NONE:
            found.append(f"the keyboard comes to '{name}', which has no role ({role})")
    return found


def _nodes(page: Page) -> list[tuple[str, str, bool]]:
    """Return role, name and whether it takes the focus, for each node of the tree."""
    session = page.context.new_cdp_session(page)
    try:
        nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    finally:
        session.detach()
    found = []
    for node in nodes:
        if node["ignored"]:
            continue
        properties = {p["name"]: p["value"].get("value") for p in node.get("properties", ())}
        name = " ".join(str(node.get("name", {}).get("value", "")).split())
        found.append((node["role"]["value"], name, bool(properties.get("focusable"))))
    return found
