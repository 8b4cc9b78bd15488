"""Notebook apps over cepkit: the package with buttons.

Each app will be a pair of modules: ``state`` (pure: what the app knows and how an event changes
it) and ``view`` (ipywidgets that show the state). No app has been released yet, so there is
nothing to import from here.
"""

__all__: list[str] = []
