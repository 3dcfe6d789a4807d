"""Side by side in one run: us and the alternatives, with ratios (``make speed``)."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from formulations.constraints import FairShare
from formulations.dssp import Selection
from instances.files import dump, load
from schedopt.making import generate
from schedopt.solving import solve
from solvers.highs import _engine
from solvers.matrix import translate
from solvers.result import Limits

LIMIT = 20.0
out = Console()


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds that a piece of work takes, and what it returns."""
    began = time.perf_counter()
    done = work()
    return time.perf_counter() - began, done


def fair_share() -> None:
    """Time solve (a) on 2,388 jobs and 20 groups beside HiGHS alone on the same matrix."""
    table = Table("seed", "schedopt s", "HiGHS alone s", "ratio", title="(a) fair share")
    for seed in range(1, 4):
        options = {"nights": 56, "stages": False, "teams": 20}
        night = generate("dssp", seed=seed, options=options)
        shares = solve(night).solution["shares"]["team"]
        rule = FairShare(by="team", at_most={team: 0.9 * share for team, share in shares.items()})
        ours, _ = timed(lambda n=night, r=rule: solve(n, constraints=[r], time_limit=LIMIT))
        engine = _engine(translate(Selection(night).add(rule).model), Limits(time_limit=LIMIT))
        alone, _ = timed(engine.run)
        table.add_row(str(seed), f"{ours:.3f}", f"{alone:.3f}", f"{ours / alone:.2f}")
    out.print(table)


def knapsack() -> None:
    """Time the core algorithm (b) beside HiGHS on plain knapsacks."""
    table = Table("family", "jobs", "core s", "HiGHS s", "ratio", title="(b) plain knapsacks")
    for family in ("uncorrelated", "weakly-correlated"):
        for jobs in (1_000, 10_000, 100_000):
            instance = generate("dssp", family, seed=1, options={"jobs": jobs})
            core = solve(instance, solver="core")
            highs = solve(instance, solver="highs", time_limit=LIMIT)
            slow, mark = highs.seconds.solve, "" if highs.proven else ">"
            ratio = f"{mark}{slow / core.seconds.solve:.0f}"
            cells = (f"{core.seconds.solve:.4f}", f"{mark}{slow:.2f}", ratio)
            table.add_row(family, f"{jobs:,}", *cells)
    out.print(table)


def reading() -> None:
    """Time building and translating 100,000 jobs (c) beside reading them."""
    instance = generate("dssp", "uncorrelated", seed=1, options={"jobs": 100_000})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "jobs.json"
        dump(instance, path)
        read, night = timed(lambda: load(path))
    build, model = timed(lambda: Selection(night))
    turn, _ = timed(lambda: translate(model.model))
    out.print(f"(c) read {read:.2f} s, build {build:.2f} s, translate {turn:.2f} s")
    out.print(f"    (build + translate) / read = {(build + turn) / read:.1f}")


def main() -> None:
    """Print the tables."""
    for table in (fair_share, knapsack, reading):
        table()


if __name__ == "__main__":
    main()
