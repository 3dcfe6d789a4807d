"""Measurements that the documents name are there, and all of them can be begun."""

import re
import sys

from builders.cli import ROOT, process

MODULES = {path.stem for path in (ROOT / "benchmarks").glob("*.py")} - {"__init__"}


def test_every_measurement_can_be_imported() -> None:
    code = "\n".join(f"import benchmarks.{name}" for name in sorted(MODULES))
    process(sys.executable, "-W", "ignore", "-c", code)


def test_every_command_that_is_named_is_there() -> None:
    pages = [ROOT / "Makefile", *ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in pages)
    named = set(re.findall(r"-m benchmarks\.(\w+)", text))
    assert {"speed", "agree", "msfq_optimal"} <= named <= MODULES
