"""How far online policies fall short of the clairvoyant optimum: ``python -m ...hesrpt_regret``.

Eight jobs arrive one after the other, as a Poisson process does. The optimum knows when: branch and
bound proves it over all timelines. Instances whose optimum is not proven in time do not count, and
it is said how many do.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from rich.table import Table

from benchmarks.timing import best_of, out, verdict
from schedopt.instances.hesrpt import Instance, Job, Power
from schedopt.policies.registry import registered
from schedopt.verbs.solve import solve

JOBS, SERVERS, LIMIT = 8, 100, 60.0
INSTANCES = 10
POLICIES = ("hesrpt", "equi", "srpt", "hell", "knee", "replan")
"""KNEE with the alpha that is best for the instance, which nobody online would know."""


class Kind(NamedTuple):
    """What jobs are drawn: their common p, or None for p and weights of their own; and the load."""

    p: float | None
    load: float


KINDS = tuple(Kind(p, load) for p in (0.5, 0.9, None) for load in (0.5, 0.9))


def drawn(kind: Kind, seed: int) -> Instance:
    """Return jobs of Pareto(1.5) sizes that come at a rate of load / (mean time on all servers)."""
    random = np.random.Generator(np.random.PCG64(seed))
    sizes = (1.0 + random.pareto(1.5, JOBS)).round(3)
    gaps = random.exponential(1.0, JOBS - 1)
    powers, weights = np.full(JOBS, kind.p or 0.0), np.ones(JOBS)
    if kind.p is None:
        powers = random.uniform(0.3, 0.95, JOBS).round(2)
        weights = random.integers(1, 4, JOBS, endpoint=True).astype(float)
    mean = float(np.mean(sizes / SERVERS**powers))
    arrivals = np.concatenate([[0.0], np.cumsum(gaps * mean / kind.load)]).round(6)
    return Instance(
        name=f"arrivals-{kind.p}-{kind.load}-{seed}",
        servers=SERVERS,
        objective="weighted-flow-time",
        jobs=tuple(
            Job(
                name=f"j{i}",
                size=float(sizes[i]),
                weight=float(weights[i]),
                arrival=float(arrivals[i]),
                speedup=Power(p=float(powers[i])),
            )
            for i in range(JOBS)
        ),
    )


def ratios(instance: Instance, best: float) -> dict[str, float]:
    """Return the cost of each policy by the optimum; heSRPT takes the mean p where jobs differ."""
    found = {}
    for name in POLICIES:
        options = {}
        if name == "hesrpt" and instance.power is None:
            exponents = [s.p for s in instance.speedups if isinstance(s, Power)]
            options = {"p": float(np.mean(exponents))}
        played = registered("hesrpt")[name].run(instance, **options)
        found[name] = instance.objective_of(played) / best
    return found


def regret() -> None:
    """Print the mean and the worst ratio of each policy's weighted flow time to the optimum."""
    title = (
        f"(h3) {JOBS} jobs arriving over time, N = {SERVERS}, {INSTANCES} instances of each kind:"
        " total weighted flow time by the clairvoyant optimum, mean (worst)"
    )
    heads = ("p", "load", "proven", "s, median", "s, most", *POLICIES)
    table = Table(*heads, title=title, title_justify="left")
    proven, below = 0, 0
    for kind in KINDS:
        times: list[float] = []
        rows: dict[str, list[float]] = {name: [] for name in POLICIES}
        for seed in range(1, INSTANCES + 1):
            instance = drawn(kind, seed)
            spent, result = best_of(1, lambda asked=instance: solve(asked, time_limit=LIMIT))
            times.append(spent)
            if not result.proven:
                continue
            for name, ratio in ratios(instance, result.objective).items():
                rows[name].append(ratio)
                below += ratio < 1.0 - 2e-6
        counted = len(rows["equi"])
        proven += counted
        cells = [f"{np.mean(r):.3f} ({max(r):.2f})" if r else "-" for r in rows.values()]
        table.add_row(
            "own, weights 1-4" if kind.p is None else f"{kind.p:g}",
            f"{kind.load:g}",
            f"{counted} of {INSTANCES}",
            f"{np.median(times):.2f}",
            f"{max(times):.2f}",
            *cells,
        )
    out.print(table)
    every = INSTANCES * len(KINDS)
    verdict(below == 0, "no policy costs less than a proven optimum")
    verdict(proven == every, f"{JOBS} jobs with arrivals proven in {LIMIT:.0f} s: {proven}/{every}")


if __name__ == "__main__":
    regret()
