"""Random logs in which much falls together, and what needs no more than a few lines."""

import numpy as np

from schedopt.instances.msfq import Instance
from schedopt.instances.msfq.logs import Jobs


def random_jobs(seed: int, most: int = 40, servers: int | None = None) -> tuple[Jobs, int]:
    """Draw a log with ties of all kinds, and the machine's servers."""
    draw = np.random.default_rng(seed)
    n = int(draw.integers(1, most + 1))
    servers = servers or int(draw.integers(1, 13))
    submit = np.sort(draw.integers(0, max(2, 3 * n // int(draw.integers(1, 5))), n))
    if draw.random() < 0.5:
        need = draw.integers(1, servers + 1, n)
    else:
        need = np.minimum(servers, draw.geometric(0.4, n))
    run = draw.integers(1, 10, n).astype(np.float64)
    if draw.random() < 0.3:
        run = run * draw.random(n) + 0.01
    estimate = None
    if draw.random() < 0.7:  # some exact, some long, some too short, some unknown
        kinds = draw.random(n)
        estimate = run * np.where(kinds < 0.4, 1.0, draw.integers(1, 6, n))
        estimate = np.where(kinds > 0.9, 0.5 * run, estimate)
        estimate = np.where(kinds > 0.95, np.nan, estimate)
    user = [None if u == 0 else str(u) for u in draw.integers(0, 4, n).tolist()]
    return Jobs.of(submit, need, run, estimate, user=user), servers


def queue_of(jobs: Jobs, servers: int, **more: object) -> Instance:
    """Make an instance of jobs."""
    bare = Instance(name="log", servers=servers, log="log.parquet", **more)  # type: ignore[arg-type]
    return bare.with_jobs(jobs)
