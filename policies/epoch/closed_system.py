"""The closed system of section 5.2: J jobs, each replaced when it completes, with fluid quanta.

Source: McCann and Zahorjan, TR 94-10-05, University of Washington, 1994, section 5.2. The printed
static speedup equals S_dynamic(n) N/(n ceil(N/n)), which is used here. Quanta are so short compared
with jobs that a job runs at S(A_j) f_j throughout, where f_j is its share of the quantum.
"""

from typing import Any

import numpy as np

from schedopt.instances.epoch import Partitioned, Solution
from schedopt.instances.epoch.generators import drawn_uniform, mean_minimum
from schedopt.policies.epoch.kernels import CODES, Arrivals, simulate_closed_system

SHORT, LONG = 400.0, 4000.0
"""Mean demands of the two classes of jobs, which are equally likely, in units of CPU time."""

BETA = (30.0, 300.0)
"""The range of the uniform distribution of a job's speedup parameter."""


def arrivals(seed: int, nodes: int, jobs: int, load: float, completions: int) -> Arrivals:
    """Draw the jobs of section 5.2: two classes, exponential demands, uniform β and minima."""
    draw = np.random.Generator(np.random.PCG64(seed))
    starts = jobs + completions
    mean = np.where(draw.random(starts) < 0.5, SHORT, LONG)
    return Arrivals(
        nodes=nodes,
        jobs=jobs,
        demand=mean * draw.standard_exponential(starts),
        beta=draw.uniform(*BETA, starts),
        minimum=drawn_uniform(draw, nodes, starts, mean_minimum(nodes, jobs, load)),
    )


def simulate(
    policy: str, work: Arrivals, *, inequity: int = 1, static: bool = False, warm: int = 0
) -> tuple[float, float]:
    """Return the mean response time after the warm-up, and J over the throughput (Little's law).

    The policy is one of `kernels.CODES`. A job that completes is replaced by the next of ``work``.
    ``static`` jobs cannot repartition their N threads. The first ``warm`` completions do not count.
    """
    completions = len(work.demand) - work.jobs
    responses, elapsed = simulate_closed_system(CODES[policy], work, inequity, warm, static)
    return responses / (completions - warm), work.jobs * elapsed / (completions - warm)


def shares(solution: Solution) -> dict[str, tuple[int, float]]:
    """Return A_j of each job, and the part of the quantum in which it runs."""
    by_name: dict[str, Any] = {}
    if isinstance(solution, Partitioned):
        for epoch in solution.epochs:
            by_name |= {name: (a, epoch.duration) for name, a in epoch.nodes.items()}
        return by_name
    return {name: (p.nodes, p.end - p.start) for name, p in solution.rectangles.items()}
