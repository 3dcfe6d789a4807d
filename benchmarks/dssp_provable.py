"""Which schedules are proven optimal within a minute: a table of sizes (``make provable``)."""

from __future__ import annotations

import sys
from statistics import median

import numpy as np
from rich.table import Table

from benchmarks.timing import machine, out
from schedopt.instances.dssp import Instance, Job
from schedopt.verbs.solve import solve

SIZES = ((20, 200, 20), (40, 400, 40), (40, 600, 40), (20, 1_000, 50), (80, 800, 80))
LIMIT, WORKERS = 60.0, 2
DEMAND = 1.3
"""How much of the capacity all jobs together ask for."""


def night(jobs: int, tasks: int, processors: int, seed: int) -> Instance:
    """Draw a night: 2 to 4 stages a job, lognormal lengths in whole minutes, whole rewards."""
    draw = np.random.Generator(np.random.PCG64(seed))
    parts = draw.dirichlet(np.full(jobs, 2.0))
    counts = np.maximum(3, np.rint(parts * tasks)).astype(int)
    made = []
    for j, count in enumerate(counts.tolist()):
        stages = int(draw.integers(2, 5))
        scale = float(np.exp(draw.normal(np.log(30), 0.5)))
        cuts = np.sort(draw.choice(np.arange(1, count), min(stages, count) - 1, replace=False))
        lengths = np.maximum(1, np.rint(scale * np.exp(0.4 * draw.standard_normal(count))))
        made.append(
            Job(
                name=f"job-{j:02d}",
                reward=float(draw.integers(1, 500)),
                stages=tuple(tuple(part.tolist()) for part in np.split(lengths, cuts)),
            )
        )
    demand = sum(length for job in made for stage in job.stages or () for length in stage)
    return Instance(
        name=f"{jobs}-{tasks}-{processors}-{seed}",
        processors=processors,
        deadline=float(max(1, round(demand / DEMAND / processors))),
        jobs=tuple(made),
    )


def main(seeds: int = 10) -> None:
    """Print the table."""
    out.print(machine("ortools"), highlight=False)
    title = f"proven within {LIMIT:.0f} s by {WORKERS} workers, {seeds} seeds each"
    heads = ("jobs", "tasks", "processors", "proven", "by the bound", "median s", "worst gap")
    table = Table(*heads, title=title, title_justify="left")
    for jobs, tasks, processors in SIZES:
        results = [
            solve(
                night(jobs, tasks, processors, seed),
                formulation="schedule",
                time_limit=LIMIT,
                threads=WORKERS,
            )
            for seed in range(seeds)
        ]
        proven = sum(result.proven for result in results)
        met = sum(result.objective == result.options["relaxation"] for result in results)
        seconds = median(result.seconds.build + result.seconds.solve for result in results)
        worst = max(result.gap if result.gap is not None else 1.0 for result in results)
        sizes = (str(jobs), f"{tasks:,}", str(processors))
        table.add_row(*sizes, f"{proven} of {seeds}", str(met), f"{seconds:.1f}", f"{worst:.2%}")
    out.print(table)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
