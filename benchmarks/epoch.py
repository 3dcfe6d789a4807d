"""Random rectangles, and the paper's search, of the comparison with other solvers."""

from typing import Any

import numpy as np

from schedopt.instances.constraints import Apart, Together
from schedopt.instances.epoch import Instance
from schedopt.instances.epoch.generators import numbered_jobs
from schedopt.policies.registry import NotApplicableError, registered


def paper_search(instance: Any) -> float | None:
    """Return the optimum by the paper's search, or None if it takes too long."""
    try:
        return float(instance.objective_of(registered("epoch")["paper-search"].run(instance)))
    except NotApplicableError:
        return None


def draw_rectangles(nodes: int, jobs: int, count: int, seed: int) -> Instance:
    """Return random minima up to half the nodes, with ``count`` side constraints on job pairs."""
    draw = np.random.Generator(np.random.PCG64(seed))
    drawn = numbered_jobs(draw.integers(1, nodes // 2, jobs, endpoint=True).tolist())
    rules: list[Together | Apart] = []
    for i in range(count):
        a, b = draw.choice(jobs, 2, replace=False).tolist()
        rules.append((Together if i % 2 == 0 else Apart)(jobs=(drawn[a].name, drawn[b].name)))
    return Instance(name="drawn", nodes=nodes, inequity=0, jobs=drawn, constraints=tuple(rules))
