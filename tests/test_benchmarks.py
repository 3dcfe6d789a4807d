"""Measurements that the documents name are there, and all of them can be begun."""

import re
import warnings
from importlib import import_module
from operator import itemgetter
from pathlib import Path

from builders.cli import ROOT

from benchmarks.tables import resumed

MODULES = {path.stem for path in (ROOT / "benchmarks").glob("*.py")} - {"__init__"}


def test_every_measurement_can_be_imported() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in sorted(MODULES):
            import_module(f"benchmarks.{name}")


def test_every_command_that_is_named_is_there() -> None:
    pages = [ROOT / "Makefile", *ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in pages)
    named = re.findall(r"-m benchmarks\.(\w+)((?: [a-z_]+\b(?!/))*)", text)
    assert {"speed", "agree"} <= {name for name, _ in named} <= MODULES
    for name, tables in named:
        module = import_module(f"benchmarks.{name}")
        assert all(hasattr(module, table) for table in tables.split()), (name, tables)


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
