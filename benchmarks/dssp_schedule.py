"""Which sizes of schedules are proven optimal: ``python -m benchmarks.dssp_schedule provable``."""

from statistics import median

import numpy as np

from benchmarks.tables import Measured, measurement, row, run
from schedopt.instances.dssp import Instance, Job
from schedopt.verbs.solve import solve

LIMIT, WORKERS = 60.0, 2
PROVABLE = ((20, 200, 20), (40, 400, 40), (40, 600, 40), (20, 1_000, 50), (80, 800, 80))
"""Jobs, tasks and processors."""
SEEDS = range(10)
DEMAND = 1.3  # total demand as a multiple of the capacity


def night(jobs: int, tasks: int, processors: int, seed: int) -> Instance:
    """Return a random night: jobs of 2 to 4 stages, lognormal lengths and rewards in integers."""
    draw = np.random.Generator(np.random.PCG64(seed))
    parts = draw.dirichlet(np.full(jobs, 2.0))
    counts = np.maximum(3, np.rint(parts * tasks)).astype(int)
    drawn = []
    for j, count in enumerate(counts.tolist()):
        stages = int(draw.integers(2, 5))
        scale = float(np.exp(draw.normal(np.log(30), 0.5)))
        cuts = np.sort(draw.choice(np.arange(1, count), min(stages, count) - 1, replace=False))
        lengths = np.maximum(1, np.rint(scale * np.exp(0.4 * draw.standard_normal(count))))
        parts_of_job = tuple(tuple(part.tolist()) for part in np.split(lengths, cuts))
        reward = float(draw.integers(1, 500))
        drawn.append(Job(name=f"job-{j:02d}", reward=reward, stages=parts_of_job))
    demand = sum(length for job in drawn for stage in job.stages or () for length in stage)
    return Instance(
        name=f"{jobs}-{tasks}-{processors}-{seed}",
        processors=processors,
        deadline=float(max(1, round(demand / DEMAND / processors))),
        jobs=tuple(drawn),
    )


@measurement
def provable() -> Measured:
    """Print how many schedules of each size are proven optimal."""
    yield f"proven within {LIMIT:.0f} s by {WORKERS} workers, {len(SEEDS)} seeds each"
    for size in PROVABLE:
        results = [
            solve(night(*size, seed), formulation="schedule", time_limit=LIMIT, threads=WORKERS)
            for seed in SEEDS
        ]
        beside = {
            "by the bound": sum(r.objective == r.options["relaxation"] for r in results),
            "median s": median(r.seconds.build + r.seconds.solve for r in results),
            "worst gap": f"{max(1.0 if r.gap is None else r.gap for r in results):.2%}",
        }
        what = "{:,} jobs, {:,} tasks, {:,} processors".format(*size)
        yield row(what, sum(r.proven for r in results), f"of {len(SEEDS)}", **beside)


if __name__ == "__main__":
    run(provable)
