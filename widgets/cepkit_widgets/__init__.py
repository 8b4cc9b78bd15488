"""Notebook apps over cepkit: the package with buttons.

A larger app has two modules: ``state`` (pure: the data of the app and how an event changes it) and
``view`` (it shows the state).
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from cepkit.errors import MissingPackageError

_IN_BROWSER = sys.platform == "emscripten"  # pages are answered there, without buttons
if not _IN_BROWSER and (find_spec("anywidget") is None or find_spec("ipywidgets") is None):
    raise MissingPackageError(
        "anywidget and ipywidgets are not installed", hint="pip install 'cepkit[notebook]'"
    )

if TYPE_CHECKING:
    from cepkit_widgets.match_browser.view import MatchBrowser as MatchBrowser
    from cepkit_widgets.pattern_editor.view import PatternEditor as PatternEditor
    from cepkit_widgets.plan_explorer.view import PlanExplorer as PlanExplorer
    from cepkit_widgets.player.state import PlayerState as PlayerState
    from cepkit_widgets.player.view import PlayerWidget as PlayerWidget
    from cepkit_widgets.strategy_comparison.view import StrategyComparison as StrategyComparison
    from cepkit_widgets.studio.view import Studio as Studio
    from cepkit_widgets.watching import WatchWidget as WatchWidget

_HOMES = {
    "MatchBrowser": "cepkit_widgets.match_browser.view",
    "PatternEditor": "cepkit_widgets.pattern_editor.view",
    "PlanExplorer": "cepkit_widgets.plan_explorer.view",
    "PlayerState": "cepkit_widgets.player.state",
    "PlayerWidget": "cepkit_widgets.player.view",
    "StrategyComparison": "cepkit_widgets.strategy_comparison.view",
    "Studio": "cepkit_widgets.studio.view",
    "WatchWidget": "cepkit_widgets.watching",
}
"""An app is loaded on first use."""

__all__ = [*_HOMES]  # noqa: PLE0604 - the names of the table


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'cepkit_widgets' has no attribute '{name}'")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
