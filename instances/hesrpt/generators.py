"""Random hesrpt instances by name.

All draws come from one PCG64 stream that the seed starts, so a seed fixes an instance bit for bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from schedopt.instances.hesrpt.records import Instance, Job
from schedopt.instances.hesrpt.speedups import Power
from schedopt.instances.options import Option, is_count, is_number
from schedopt.instances.recipes import Recipe

PAPER = "Berg, Vesilo and Harchol-Balter, heSRPT, 2019"


def _pareto(seed: int, values: Mapping[str, Any]) -> Instance:
    """Draw Pareto sizes of least value 1, as section 4.2 of the paper does."""
    draw = np.random.Generator(np.random.PCG64(seed))
    sizes = 1.0 + draw.pareto(values["shape"], values["jobs"])
    width = len(str(values["jobs"]))
    return Instance(
        name=f"pareto-{values['jobs']}-{seed}",
        description=f"Pareto({values['shape']:g}) sizes, one speedup (seed {seed}).",
        servers=values["servers"],
        speedup=Power(p=values["p"]),
        jobs=tuple(
            Job(name=f"job-{i + 1:0{width}d}", size=x) for i, x in enumerate(sizes.tolist())
        ),
    )


def _mixed(seed: int, values: Mapping[str, Any]) -> Instance:
    """Draw Pareto sizes, speedups k^p with p uniform, weights of 1 to 4, and teams in turn."""
    draw = np.random.Generator(np.random.PCG64(seed))
    jobs, width = values["jobs"], len(str(values["jobs"]))
    sizes = np.round(1.0 + draw.pareto(1.5, jobs), 3)
    powers = np.round(draw.uniform(0.3, 0.95, jobs), 2)
    weights = draw.integers(1, 4, jobs, endpoint=True)
    return Instance(
        name=f"mixed-{jobs}-{seed}",
        description=f"Jobs that differ in size, speedup, weight and team (seed {seed}).",
        servers=values["servers"],
        objective="weighted-flow-time",
        jobs=tuple(
            Job(
                name=f"job-{i + 1:0{width}d}",
                size=float(sizes[i]),
                weight=float(weights[i]),
                speedup=Power(p=float(powers[i])),
                groups={"team": f"team-{i % values['teams'] + 1}"},
            )
            for i in range(jobs)
        ),
    )


def _count(default: int, most: int) -> Option:
    return Option(default, f"a whole number from 1 to {most}", lambda v: is_count(v) and v <= most)


GENERATORS: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        Recipe(
            "pareto",
            _pareto,
            {
                "servers": _count(1_000_000, 10**9),
                "jobs": _count(500, 10**6),
                "p": Option(0.5, "a number over 0, up to 1", lambda v: is_number(v) and 0 < v <= 1),
                "shape": Option(
                    1.5, "a number from 0.1 to 100", lambda v: is_number(v) and 0.1 <= v <= 100
                ),
            },
            "the paper's: Pareto sizes, one speedup k^p",
            f"{PAPER}, section 4.2",
        ),
        Recipe(
            "mixed",
            _mixed,
            {"servers": _count(100, 10**9), "jobs": _count(8, 10**5), "teams": _count(2, 10**4)},
            "sizes, speedups, weights and teams of each job's own",
            "our own",
        ),
    )
}
"""The generators by name."""
