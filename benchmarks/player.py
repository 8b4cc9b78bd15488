"""How long the player takes to appear and to step, in a real browser.

By the length of a mechanism's trace, and by how many STARTs of prefix counters are live.

python -m benchmarks.player [--steps 2000 20000] [--live 10 100] [--out FOLDER]
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.results import show, write
from cepkit import simulate
from cepkit.figures.player import Player, script
from cepkit.figures.player.page import embedded
from cepkit.stream.stream import events
from cepkit.tracing import CounterTrace, MechanismTrace

PATTERN = """PATTERN SEQ(A a, B b, C c)
WHERE a.price < b.price AND b.price < c.price
WITHIN 10 seconds"""
ORDERS = ("cba", "abc")
PIECES = (None, (("a", "b"), ("c", "d")))
COUNTED_EVENTS = 1_200
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
)

_MEASURE = """async (total) => {
  const player = window.player;
  const timed = (go) => { const t = performance.now(); go(); return performance.now() - t; };
  const painted = async (go) => {
    const t = performance.now();
    go();
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
    return performance.now() - t;
  };
  const range = (n) => [...Array(n).keys()];
  const middle = Math.floor(total / 2);
  let seed = 12345;
  const random = () => (seed = (seed * 1103515245 + 12345) % 2147483648) % total;
  const forward = range(300).map((i) => timed(() => player.seek(middle + i)));
  const back = range(300).map((i) => timed(() => player.seek(middle + 300 - i)));
  const scrub = range(300).map(() => { const to = random(); return timed(() => player.seek(to)); });
  const shown = [];
  for (const i of range(100)) shown.push(await painted(() => player.seek(middle + i)));
  return { mount: [window.mounted], forward, back, scrub, shown };
}"""


def traces(count: int) -> list[MechanismTrace]:
    """Return a lazy and an eager order over a random stream with one event a step."""
    random = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "ts": np.cumsum(random.integers(0, 4, count)),
            "type": random.choice(list("ABCX"), count, p=[0.4, 0.4, 0.1, 0.1]),
            "price": random.integers(1, 99, count),
        }
    )
    stream = events(frame, time="ts", type="type", unit="s")
    return [
        simulate(stream, PATTERN, mechanism="chain-nfa", plan=list(order), max_steps=count)
        for order in ORDERS
    ]


def counters(live: int) -> list[CounterTrace]:
    """Return the counters of a sequence in one piece and in two, with so many live STARTs."""
    random = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "ts": np.arange(COUNTED_EVENTS),
            "type": random.choice(list("ABCD"), COUNTED_EVENTS),
        }
    )
    stream = events(frame, time="ts", type="type", unit="s")
    pattern = f"PATTERN SEQ(A a, B b, C c, D d) WITHIN {4 * live} seconds"
    return [simulate(stream, pattern, "prefix-counters", plan=pieces) for pieces in PIECES]


def measured(browser: Any, player: Player, folder: Path, **about: int) -> dict[str, Any]:
    """Return sizes and times of a player, in milliseconds."""
    path = folder / "player.html"
    path.write_text(
        f"<!DOCTYPE html><body><script type='module'>{script()}\n"
        f"const data = {embedded(player.document)};\nconst began = performance.now();\n"
        "window.player = mount(document.body, data);\n"
        "window.mounted = performance.now() - began;</script></body>",
        encoding="utf-8",
    )
    page = browser.new_page()
    page.goto(path.as_uri())
    page.wait_for_selector(".cepkit-player")
    times = page.evaluate(_MEASURE, player.steps)
    page.close()
    row: dict[str, Any] = {
        **about, "steps": player.steps, "document MB": len(player.document) / 1e6,
    }  # fmt: skip
    row["mount ms"] = times["mount"][0]
    for name in ("forward", "back", "scrub", "shown"):
        ordered = sorted(times[name])
        row[f"{name} ms"] = statistics.median(ordered)
        row[f"{name} p95"] = ordered[int(0.95 * len(ordered))]
    return row


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and write a CSV file."""
    parser = argparse.ArgumentParser(description="The player in a browser.")
    parser.add_argument("--steps", type=int, nargs="+", default=[200, 2_000, 20_000])
    parser.add_argument("--live", type=int, nargs="+", default=[10, 50, 200])
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks"))
    options = parser.parse_args(arguments)
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        print("The player was not measured: there is no Chromium on the PATH.")
        return
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch_persistent_context(
            Path(folder) / "profile", executable_path=chromium, headless=True, args=list(_FLAGS),
            viewport={"width": 1000, "height": 900},
        )  # fmt: skip
        place = Path(folder)
        rows = [
            measured(browser, Player(traces(steps), steps=steps), place) for steps in options.steps
        ]
        counted = [
            measured(browser, Player(counters(live)), place, live=live) for live in options.live
        ]
        browser.close()
    show("The player, two traces", rows)
    show("The player, prefix counters of a sequence in one piece and in two", counted)
    write(options.out, "player", rows)
    write(options.out, "player_counters", counted)


if __name__ == "__main__":
    main()
