"""Notebook apps over cepkit: the package with buttons.

An app that has much to know is a pair of modules: ``state`` (pure: what the app knows and how an
event changes it) and ``view`` (what shows the state).
"""

from importlib.util import find_spec

from cepkit.errors import MissingPackageError

if find_spec("anywidget") is None or find_spec("ipywidgets") is None:
    raise MissingPackageError(
        "anywidget and ipywidgets are not installed", hint="pip install 'cepkit[notebook]'"
    )

from cepkit_widgets.player.state import PlayerState
from cepkit_widgets.player.view import PlayerWidget
from cepkit_widgets.watching import WatchWidget

__all__ = ["PlayerState", "PlayerWidget", "WatchWidget"]
