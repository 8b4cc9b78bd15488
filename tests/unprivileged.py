"""Commands as another user, for tests of permissions."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys

import pytest

NOBODY = 65534
"""A user who owns nothing."""

_READS = "+dac_read_search"
_BECOME_NOBODY = [
    "setpriv",
    f"--reuid={NOBODY}",
    f"--regid={NOBODY}",
    "--clear-groups",
    f"--inh-caps={_READS}",
    f"--ambient-caps={_READS}",
    f"--bounding-set=-all,{_READS}",
]


def python_as_nobody() -> list[str]:
    """Return the command of a Python that may read all files but write almost none.

    Skips the test where this process cannot become another user.
    """
    if not _can_become_nobody():
        pytest.skip("needs root, and setpriv with the right to read other users' files")
    return [*_BECOME_NOBODY, sys.executable]


@functools.cache
def _can_become_nobody() -> bool:
    if os.name == "nt" or os.geteuid() != 0 or shutil.which("setpriv") is None:
        return False
    command = [*_BECOME_NOBODY, sys.executable, "-c", ""]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0
