"""Measurements that the documents name are there, and all of them can be begun."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
MODULES = {path.stem for path in (ROOT / "benchmarks").glob("*.py")} - {"__init__"}


def test_every_measurement_can_be_imported() -> None:
    code = "\n".join(f"import benchmarks.{name}" for name in sorted(MODULES))
    words = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_command_that_is_named_is_there() -> None:
    pages = [ROOT / "Makefile", *ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in pages)
    named = set(re.findall(r"-m benchmarks\.(\w+)", text))
    assert {"speed", "agree", "msfq_optimal"} <= named <= MODULES
