"""The verb `studio`: one page for a pattern over a file, in a browser, on this machine alone."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import secrets
import socket
import subprocess
import sys
import time
import webbrowser
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import cepkit as ck
from cepkit.cli.inputs import open_stream
from cepkit.cli.options import add, stream_options
from cepkit.cli.terminal import note, say
from cepkit.errors import CepkitError, MissingPackageError
from cepkit.progress import PAGE

_HOST = "127.0.0.1"
# The page asks no other machine for anything, and no browser lets it.
_POLICY = (
    "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; "
    "connect-src 'self' data: blob: ws://{host}; frame-ancestors 'none'"
)
_CELL = "from cepkit.cli.verbs.studio import shown\nshown({options!r})"
_MOST_SECONDS = 120


def options(command: argparse.ArgumentParser) -> None:
    """Add the options."""
    command.description = (
        "Open a page in a browser: write a pattern and see its matches, plan and steps. It runs on "
        "this machine, at an address with a secret, until Ctrl-C."
    )
    add(command, "file FILE", "the events, as for --events", nargs="?")
    stream_options(command, required=False)
    page = command.add_argument_group("the page")
    add(page, "--pattern FILE", "a pattern to begin with, or what a studio saved (.json)")
    add(page, "--pattern-text TEXT", "the pattern itself")
    searched = "how many events are searched while you type; default: 5000"
    add(page, "--sample N", searched, default=5_000)
    add(page, "--port N", "default: one that is free")
    add(page, "--dark", "light letters on a dark page")
    add(page, "--no-browser", "print the address, and open nothing")


def run(arguments: argparse.Namespace) -> None:
    """Open the page, and serve it until it is stopped."""
    arguments.events = arguments.events or arguments.file
    if not arguments.events or not arguments.time:
        arguments.refuse("the following arguments are required: FILE, --time")
    if arguments.events == "-":
        arguments.refuse("the page cannot read standard input: write it to a file first")
    if find_spec("voila") is None:
        raise MissingPackageError("voila is not installed", hint="pip install 'cepkit[studio]'")
    open_stream(arguments)  # its errors belong here, not to the page
    if "://" not in arguments.events:
        arguments.events = str(Path(arguments.events).absolute())
    if arguments.pattern is not None:
        arguments.pattern = str(Path(arguments.pattern).absolute())
    given = {name: value for name, value in vars(arguments).items() if _is_plain(value)}
    with TemporaryDirectory(prefix="cepkit-studio-") as folder:
        _serve(Path(folder), given, arguments)


def shown(given: dict[str, Any]) -> Any:
    """Return the page of a command line; its notebook calls this."""
    arguments = argparse.Namespace(**given)
    pattern = arguments.pattern_text
    if arguments.pattern is not None:
        saved = arguments.pattern.endswith(".json")
        pattern = arguments.pattern if saved else Path(arguments.pattern).read_text("utf-8")
    with contextlib.redirect_stderr(io.StringIO()):  # a terminal's notes are nothing for a page
        return ck.studio(open_stream(arguments), pattern, events=arguments.sample)


def _is_plain(value: object) -> bool:
    try:
        json.dumps(value)
    except TypeError:
        return False
    return True


def _serve(folder: Path, given: dict[str, Any], arguments: argparse.Namespace) -> None:
    token = secrets.token_urlsafe(24)
    port = arguments.port or _free_port()
    cell: dict[str, Any] = {
        "cell_type": "code", "execution_count": None, "id": "studio", "metadata": {}, "outputs": [],
        "source": _CELL.format(options=given),
    }  # fmt: skip
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook = {
        "cells": [cell], "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5,
    }  # fmt: skip
    (folder / "studio.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    # In a file: others on this machine could read a command line.
    settings = {
        "Voila": {
            "ip": _HOST,
            "port": port,
            "port_retries": 0,
            "token": token,
            "open_browser": False,
            "tornado_settings": {
                "headers": {"Content-Security-Policy": _POLICY.format(host=f"{_HOST}:{port}")}
            },
        },
        "VoilaConfiguration": {
            "theme": "dark" if arguments.dark else "light",
            "show_tracebacks": True,
        },
    }
    (folder / "voila.json").write_text(json.dumps(settings), encoding="utf-8")
    with (folder / "log.txt").open("w") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "voila", "studio.ipynb"],
            cwd=folder, stdout=log, stderr=log, env={**os.environ, PAGE: "1"},
        )  # fmt: skip
    try:
        _wait_for(server, port, folder / "log.txt")
        address = f"http://{_HOST}:{port}/?token={token}"
        say(f"The studio is at {address}")
        sys.stdout.flush()
        note("Ctrl-C ends it")
        if not arguments.no_browser:
            webbrowser.open(address)
        server.wait()
    finally:
        server.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(10)
        server.kill()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_for(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + _MOST_SECONDS
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection((_HOST, port), 1):
            return
        if server.poll() is not None:
            break
        time.sleep(0.2)
    last = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
    raise CepkitError("the page did not start", hint=last[0] if last else "is the port free?")
