"""Notebook apps over cepkit: the package with buttons.

An app that has much to know is a pair of modules: ``state`` (pure: what the app knows and how an
event changes it) and ``view`` (what shows the state).
"""

from cepkit_widgets.match_browser.view import MatchBrowser
from cepkit_widgets.plan_explorer.view import PlanExplorer
from cepkit_widgets.player.state import PlayerState
from cepkit_widgets.player.view import PlayerWidget
from cepkit_widgets.watching import WatchWidget

__all__ = ["MatchBrowser", "PlanExplorer", "PlayerState", "PlayerWidget", "WatchWidget"]
