"""Random hesrpt instances by name."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from schedopt.instances.hesrpt.records import Instance, Job
from schedopt.instances.hesrpt.speedups import Power
from schedopt.instances.options import number, whole
from schedopt.instances.recipes import Recipe, by_name, numbered_names, stream


def _pareto(seed: int, values: Mapping[str, Any]) -> Instance:
    jobs = values["jobs"]
    sizes = 1.0 + stream(seed).pareto(values["shape"], jobs)
    return Instance(
        name=f"pareto-{jobs}-{seed}",
        description=f"Pareto({values['shape']:g}) sizes, one speedup (seed {seed}).",
        servers=values["servers"],
        speedup=Power(p=values["p"]),
        jobs=tuple(
            Job(name=name, size=size)
            for name, size in zip(numbered_names("job-", jobs), sizes.tolist(), strict=True)
        ),
    )


def _mixed(seed: int, values: Mapping[str, Any]) -> Instance:
    """Draw Pareto sizes, speedups k^p with uniform p, weights from 1 to 4, and teams in turn."""
    draw, jobs = stream(seed), values["jobs"]
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
                name=name,
                size=float(sizes[i]),
                weight=float(weights[i]),
                speedup=Power(p=float(powers[i])),
                groups={"team": f"team-{i % values['teams'] + 1}"},
            )
            for i, name in enumerate(numbered_names("job-", jobs))
        ),
    )


GENERATORS: dict[str, Recipe] = by_name(
    Recipe(
        "pareto",
        _pareto,
        {
            "servers": whole(1_000_000, 1, 10**9),
            "jobs": whole(500, 1, 10**6),
            "p": number(0.5, "a number over 0, up to 1", lambda v: 0 < v <= 1),
            "shape": number(1.5, "a number from 0.1 to 100", lambda v: 0.1 <= v <= 100),
        },
        "the paper's: Pareto sizes, one speedup k^p",
        "Berg, Vesilo and Harchol-Balter, heSRPT, 2019, section 4.2",
    ),
    Recipe(
        "mixed",
        _mixed,
        {"servers": whole(100, 1, 10**9), "jobs": whole(8, 1, 10**5), "teams": whole(2, 1, 10**4)},
        "sizes, speedups, weights and teams of each job's own",
        "our own",
    ),
)
