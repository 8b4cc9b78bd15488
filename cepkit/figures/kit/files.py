"""A text as a file that appears only when it is whole."""

from __future__ import annotations

import secrets
from pathlib import Path

from cepkit.errors import CepkitError


def write_whole(target: Path, text: str) -> Path:
    """Write `text` to `target`; an older file is replaced, or kept where that fails.

    Raises:
        CepkitError: The folder cannot be written.
    """
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        try:
            with part.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise CepkitError(
            f"'{target}' cannot be written: {error.strerror}",
            hint="name a file in a folder that exists",
        ) from error
    return target
