"""Three and four classes: how far policies are from the optimal one, between its bounds.

``python -m benchmarks.msfq_classes --limit 30`` gives the search for the optimal policy so many
seconds for each system. Its bound holds for every nonpreemptive policy; ``found`` is the policy
that it came upon, simulated. Of each other policy stands how far its mean response time is above
the bound, in percent.
"""

import time

import typer

import schedopt
from benchmarks.msfq import at_load
from benchmarks.tables import Measured, measurement, row
from schedopt.instances.msfq import Instance

SYSTEMS: tuple[tuple[int, dict[int, float]], ...] = (
    (6, {1: 0.6, 2: 0.3, 6: 0.1}),
    (8, {1: 0.6, 2: 0.3, 8: 0.1}),
    (8, {1: 0.5, 2: 0.25, 4: 0.2, 8: 0.05}),
    (15, {1: 0.5, 3: 0.25, 5: 0.2, 15: 0.05}),
)
"""Servers, and which part of the jobs has which need; the last is the paper's, section 6.3."""

POLICIES = ("adaptive-quickswap", "msf", "first-fit", "fcfs", "class-thresholds")


def above(queue: Instance, policy: str, bound: float, arrivals: int) -> str:
    """Return how far a policy is above the bound; a dash where it is not stable."""
    options = {"arrivals": arrivals}
    if policy == "class-thresholds":
        options["tuned"] = 50_000
    got = schedopt.evaluate(queue, policy, options=options).objective
    return "-" if got is None else f"{got / bound - 1:.1%}"


@measurement
def classes(limit: float, arrivals: int, loads: str) -> Measured:
    """Bound the optimum of each system at each load, and simulate the policies."""
    yield f"several classes: the bound by {limit:g} s of search, and how far policies are above it"
    for k, parts in SYSTEMS:
        for load in map(float, loads.split(",")):
            began = time.perf_counter()
            queue = at_load(k, parts, load)
            best = schedopt.solve(queue, formulation="optimal-policy", time_limit=limit)
            bound = best.bound or 0.0
            beside = {"found": "-", "±": "-", "gap": "-"}
            if best.objective is not None:
                half = best.solution.confidence or 0.0
                beside = {"found": f"{best.objective:.4f}", "±": f"{half:.4f}"}
                beside["gap"] = f"{best.gap:.2%}"
            beside |= {name: above(queue, name, bound, arrivals) for name in POLICIES}
            seconds = time.perf_counter() - began
            needs = ",".join(map(str, parts))
            yield row(f"{needs}, load {load}", f"{bound:.4f}", **beside, seconds=seconds)


def main(limit: float = 30.0, arrivals: int = 2_000_000, loads: str = "0.5,0.7,0.8,0.9") -> None:
    """Print the table; the limit is the seconds for an optimal policy."""
    classes(limit, arrivals, loads)


if __name__ == "__main__":
    typer.run(main)
