"""Run every benchmark: `python -m benchmarks [NAME ...]`; options after `--` go to each."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

NAMES = (
    "engine",
    "peers",
    "operators",
    "threads",
    "larger_than_memory",
    "spark_batch",
    "spark_peers",
    "spark_large",
    "spark_profile",
    "spark_aggregation",
    "streaming",
    "intrusion",
    "learning",
    "stocks",
    "player",
    "planning",
    "fresh",
    "forecasts",
    "error_bounds",
    "join_study",
    "lazy_study",
    "aggregation",
    "aseq_study",
    "adaptation",
    "adapt_study",
    "adapt_distances",
    "several",
    "multi_study",
)


def main(arguments: Sequence[str]) -> int:
    """Run the benchmarks that are named, or all."""
    split = arguments.index("--") if "--" in arguments else len(arguments)
    names, options = arguments[:split], list(arguments[split + 1 :])
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        print(f"no benchmark '{unknown[0]}'; there are: {', '.join(NAMES)}", file=sys.stderr)
        return 2
    for name in names or NAMES:
        importlib.import_module(f"benchmarks.{name}").main(options)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
