"""``python -m cepkit.cli``, if the command is not on the path."""

import sys

from cepkit.cli import main

sys.exit(main())
