"""Re-raises cepkit's errors from workers instead of Spark's report."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

from cepkit import errors

_OURS = re.compile(r"^cepkit\.errors\.(\w+): (.*)", re.MULTILINE | re.DOTALL)
_LACKING = re.compile(
    r"^ModuleNotFoundError: No module named '(cepkit|pyarrow|pandas|numpy|numba|lark)['.]",
    re.MULTILINE,
)
_NEXT = re.compile(
    r"^(?: SQLSTATE: |\s+at |Caused by: |Driver stacktrace|\tat |JVM stacktrace)", re.MULTILINE
)


@contextlib.contextmanager
def plain_errors() -> Iterator[None]:
    """Raise a worker's cepkit error without the Python and Java tracebacks around it."""
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:
        ours = error_of(str(error))
        if ours is None:
            raise
        raise ours from None


def error_of(report: str) -> errors.CepkitError | None:
    """Return the cepkit error at the end of Spark's report, or one if workers lack cepkit, or None.

    Args:
        report: Spark's text: a Python traceback, perhaps followed by a Java one.
    """
    match = _OURS.search(report)
    if match is None and (lacking := _LACKING.search(report)):
        return errors.SessionError(
            f"Spark's Python workers have no module '{lacking.group(1)}'",
            expected="workers that run the Python of this program, or one with cepkit",
            hint="os.environ['PYSPARK_PYTHON'] = sys.executable before the session starts"
            " (on one machine)",
        )
    kind = getattr(errors, match.group(1), None) if match else None
    if match is None or not (isinstance(kind, type) and issubclass(kind, errors.CepkitError)):
        return None
    text = _NEXT.split(match.group(2))[0].strip()
    text, _, hint = text.partition("\nHint: ")
    text, _, expected = text.partition("\nExpected: ")
    error: errors.CepkitError = kind(text, expected=expected or None, hint=hint or None)
    return error
