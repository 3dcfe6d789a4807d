"""Measurements that the documents name are there, and all of them can be begun."""

import re
import subprocess
import sys
import warnings
from importlib import import_module
from operator import itemgetter
from pathlib import Path

import pytest
from builders.cli import ROOT

from benchmarks import limits
from benchmarks.tables import resumed

MODULES = {path.stem for path in (ROOT / "benchmarks").glob("*.py")} - {"__init__"}


def test_every_measurement_can_be_imported() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in sorted(MODULES):
            import_module(f"benchmarks.{name}")


@pytest.mark.parametrize("name", ["agree", "limits"])
def test_what_a_measurement_does_is_told_before_it_is_done(name: str) -> None:
    words = [sys.executable, "-m", f"benchmarks.{name}", "--help"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    assert f"-m benchmarks.{name}" in done.stdout


def test_every_command_that_is_named_is_there() -> None:
    pages = [ROOT / "Makefile", *ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in pages)
    named = set(re.findall(r"-m benchmarks\.(\w+)", text))
    assert {"speed", "agree", "limits"} <= named <= MODULES


@pytest.mark.parametrize("name", limits.KINDS)
def test_without_any_time_something_is_in_hand_and_a_bound(name: str) -> None:
    kind = limits.KINDS[name]
    size = 16 if kind.unit == "servers" else 400
    result, _ = limits.answer(kind, kind.draw(size), size, 0.0)
    assert result.violations == ()
    assert result.bound is not None
    # Whether any selection keeps floors and counts that cross is itself a search.
    assert result.solution is not None or kind.draw is limits.crossing


def test_a_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    done: list[int] = []

    def work(number: int) -> list[int]:
        done.append(number)
        return [number, number**2]

    file = tmp_path / "rows.jsonl"
    first = resumed(file, list[int], itemgetter(0), (1, 2), work)
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(lines[0] + lines[1][:2])
    assert resumed(file, list[int], itemgetter(0), (1, 2), work) == first == {1: [1, 1], 2: [2, 4]}
    assert done == [1, 2, 2]
