"""Whether time limits are kept, and what the first solves of a fresh machine cost."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.table import Table

from benchmarks.timing import out, verdict
from schedopt import dump, generate
from schedopt.problems import problems

LIMIT = 2.0
OVER, SHARE = 0.5, 0.02
"""What a run may pass its limit by: seconds, and a share of the limit."""

MOST = 120.0
"""Seconds after which a run that does not end is ended."""

FIRST = 4.0
"""CPU seconds that the first solve on a machine may take once `schedopt warm` has run."""

HARD = (
    ("dssp", "render-night", {"nights": 56, "processors": 1000}, "selection"),
    ("dssp", "render-night", {"nights": 56, "processors": 1000}, "schedule"),
    ("hesrpt", "mixed", {"jobs": 16}, "allocation"),
    ("epoch", "planted", {"epochs": 32, "inequity": 6}, "partition"),
    ("msfq", "one-or-all", {"k": 16, "load": 0.95}, "optimal-policy"),
)
"""Instances that take longer than the limit: problem, generator, its options, formulation."""


def limits() -> None:
    """Print how far runs pass their limit, with kernels to compile and with compiled ones."""
    table = Table(title=f"solve --time-limit {LIMIT:g}", title_justify="left")
    for heading in ("problem", "formulation", "kernels", "compiling", "build", "solve", "over"):
        numbers = heading in ("compiling", "build", "solve", "over")
        table.add_column(heading, justify="right" if numbers else "left")
    worst = 0.0
    with tempfile.TemporaryDirectory() as name:
        for number, (problem, generator, options, formulation) in enumerate(HARD):
            file = Path(name) / f"{number}.json"
            dump(generate(problem, generator, options=options), file)
            for state in ("to compile", "compiled"):
                cache = Path(name) / f"kernels-{number}"
                spent = _solved(file, cache, formulation)
                over = spent["build"] + spent["solve"] - LIMIT
                worst = max(worst, over)
                cells = (f"{spent.get(key, 0.0):.2f} s" for key in ("compile", "build", "solve"))
                table.add_row(problem, formulation, state, *cells, f"{max(over, 0.0):.2f} s")
    out.print(table)
    verdict(worst <= OVER + SHARE * LIMIT, f"over by {OVER:g} s + {SHARE:.0%} at most")


def _solved(file: Path, cache: Path, formulation: str) -> dict[str, float]:
    words = ["solve", str(file), "--formulation", formulation, "--time-limit", str(LIMIT), "--json"]
    try:
        done = subprocess.run(  # noqa: S603  ours
            [sys.executable, "-m", "schedopt", *words],
            env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
            capture_output=True,
            timeout=MOST,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"build": 0.0, "solve": MOST}
    found: dict[str, float] = json.loads(done.stdout)["seconds"]
    return found


def first() -> None:
    """Print the CPU time of each problem's first solve, after `schedopt warm` in an empty cache."""
    table = Table(title="the first solve of a fresh machine, after warm", title_justify="left")
    for heading in ("problem", "CPU"):
        table.add_column(heading, justify="left" if heading == "problem" else "right")
    worst = 0.0
    with tempfile.TemporaryDirectory() as name:
        environment = {**os.environ, "NUMBA_CACHE_DIR": name}
        seconds = _cpu(["warm"], environment)
        table.add_row("warm itself, once", f"{seconds:.1f} s")
        for record in problems():
            file = Path(name) / f"{record.name}.json"
            dump(generate(record.name), file)
            seconds = _cpu(["solve", str(file), "--time-limit", "1"], environment)
            worst = max(worst, seconds)
            table.add_row(record.name, f"{seconds:.1f} s")
    out.print(table)
    verdict(worst < FIRST, f"under {FIRST:g} s of CPU on every problem")


def _cpu(words: list[str], environment: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(  # noqa: S603  ours
        [sys.executable, "-m", "schedopt", *words],
        env=environment,
        capture_output=True,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    limits()
    first()
