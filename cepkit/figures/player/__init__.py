"""The player: traces of evaluation mechanisms, event by event, in a notebook or a file.

`player.js` shows what `document.py` collects; `page.py` puts the HTML around both. The same
file drives the object that `draw` returns, the pages that it saves and the notebook widget.
"""

from cepkit.figures.player.document import DEFAULT_STEPS, MOST_STEPS, player_document
from cepkit.figures.player.page import script
from cepkit.figures.player.shown import Player

__all__ = ["DEFAULT_STEPS", "MOST_STEPS", "Player", "player_document", "script"]
