"""Which schedules are proven optimal within a minute: a table of sizes (``make provable``)."""

from statistics import median

import numpy as np

from benchmarks.tables import Measured, measurement, row, run
from schedopt.instances.dssp import Instance, Job
from schedopt.verbs.solve import solve

SIZES = ((20, 200, 20), (40, 400, 40), (40, 600, 40), (20, 1_000, 50), (80, 800, 80))
SEEDS, LIMIT, WORKERS = 10, 60.0, 2
DEMAND = 1.3  # how much of the capacity all jobs together ask for


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


@measurement
def provable() -> Measured:
    """Print how many schedules of each size are proven, and by what."""
    yield f"proven within {LIMIT:.0f} s by {WORKERS} workers, {SEEDS} seeds each"
    limits = {"formulation": "schedule", "time_limit": LIMIT, "threads": WORKERS}
    for size in SIZES:
        results = [solve(night(*size, seed), **limits) for seed in range(SEEDS)]
        beside = {
            "by the bound": sum(r.objective == r.options["relaxation"] for r in results),
            "median s": median(r.seconds.build + r.seconds.solve for r in results),
            "worst gap": f"{max(1.0 if r.gap is None else r.gap for r in results):.2%}",
        }
        what = "{:,} jobs, {:,} tasks, {:,} processors".format(*size)
        yield row(what, sum(result.proven for result in results), f"of {SEEDS}", **beside)


if __name__ == "__main__":
    run(provable, packages=("ortools",))
