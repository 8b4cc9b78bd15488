"""``python -m cepkit.cli``: where the command is not on the path."""

import sys

from cepkit.cli import main

sys.exit(main())
