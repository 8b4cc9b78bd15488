"""The examples of the README run as they are printed there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import cepkit as ck
from cepkit.errors import UnsupportedError

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    """Return the only block of code in that language."""
    (found,) = re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
    return found


def test_the_session_in_python(capsys):
    exec(compile(block("python"), "README.md", "exec"), {})
    shown = capsys.readouterr().out
    assert re.search(r"^[1-9]\d* matches$", shown, re.MULTILINE)
    rows = re.findall(r"^(given-order|by-frequency|greedy)( ★)? +(.+→ \w)", shown, re.MULTILINE)
    assert [best for _, best, _ in rows] == ["", "", " ★"]
    assert len({plan for *_, plan in rows}) == 3, "planners differ"
    assert "survivors" in shown


@pytest.mark.skipif(os.name != "posix", reason="the example is for a shell")
def test_the_command_on_the_sample(tmp_path):
    (tmp_path / "sample_data").symlink_to(ROOT / "sample_data")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ran = subprocess.run(
        block("sh"),
        shell=True,
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "80 matches" in ran.stdout
    assert "the 80 matches" in TEXT
    assert len(pq.read_table(tmp_path / "matches.parquet")) == 80


@pytest.mark.parametrize("target", re.findall(r"\]\((?!http)([^)#]+)", TEXT))
def test_links_lead_somewhere(target):
    assert (ROOT / target).exists()


def test_detect_of_a_pattern_with_agg_names_aggregate():
    stream = ck.events(ROOT / "sample_data" / "stocks.csv", time="ts", type="ticker")
    pattern = "PATTERN SEQ(MSFT a, GOOG b) WITHIN 1 minute AGG COUNT"
    with pytest.raises(UnsupportedError, match="`aggregate` gives them"):
        ck.detect(stream, pattern)
    found = ck.aggregate(stream, pattern, emit="total").to_pandas()
    assert found["count"][0] == ck.detect(stream, pattern.removesuffix(" AGG COUNT")).count()
