"""Interrupts of a command by Ctrl-C while it works."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path


def interrupted(
    command: Sequence[str], folder: Path, at_work: Callable[[subprocess.Popen[str]], None]
) -> tuple[int, str, str]:
    """Interrupt a command at work; return its exit code, and its output after the interrupt.

    Args:
        command: The command.
        folder: Its working directory.
        at_work: A function that returns when the command is at work.
    """
    with subprocess.Popen(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as ran:
        at_work(ran)
        os.killpg(ran.pid, signal.SIGINT)  # as a terminal does: to all of the group
        out, err = ran.communicate(timeout=500)
    return ran.returncode, out, err
