"""The player: traces of mechanisms and of counters, event by event, in a notebook or a file.

The files in `parts`, joined, show what `document.py` collects; `page.py` puts the HTML around
both. The same module drives the object that `draw` returns, the pages that it saves and the
notebook widget.
"""

from cepkit.figures.player.document import DEFAULT_STEPS, MOST_STEPS, Traces, player_document
from cepkit.figures.player.page import script
from cepkit.figures.player.shown import Player

__all__ = ["DEFAULT_STEPS", "MOST_STEPS", "Player", "Traces", "player_document", "script"]
