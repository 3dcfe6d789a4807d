"""Three and four classes: how far policies are from the optimal one, between its bounds.

``python -m benchmarks.msfq_classes --limit 30`` gives the search for the optimal policy so many
seconds for each system. Its bound holds for every nonpreemptive policy; ``found`` is the policy
that it came upon, simulated. Of each other policy stands how far its mean response time is above
the bound, in percent.
"""

from __future__ import annotations

import argparse
import time

import schedopt
from schedopt.instances.msfq import Instance, JobClass

SYSTEMS = (
    (6, (1, 2, 6), (0.6, 0.3, 0.1)),
    (8, (1, 2, 8), (0.6, 0.3, 0.1)),
    (8, (1, 2, 4, 8), (0.5, 0.25, 0.2, 0.05)),
    (15, (1, 3, 5, 15), (0.5, 0.25, 0.2, 0.05)),
)
LOADS = (0.5, 0.7, 0.8, 0.9)
POLICIES = ("adaptive-quickswap", "msf", "first-fit", "fcfs", "class-thresholds")


def system(k: int, needs: tuple[int, ...], parts: tuple[float, ...], load: float) -> Instance:
    """Return a system of unit sizes; the last of `SYSTEMS` is the paper's, section 6.3."""
    rate = load * k / sum(need * part for need, part in zip(needs, parts, strict=True))
    classes = tuple(
        JobClass(need=need, arrival_rate=part * rate, service_rate=1.0)
        for need, part in zip(needs, parts, strict=True)
    )
    return Instance(name=f"{k}-{load:g}", servers=k, classes=classes)


def above(queue: Instance, policy: str, bound: float, arrivals: int) -> str:
    """Return how far a policy is above the bound; a dash where it is not stable."""
    options = {"arrivals": arrivals}
    if policy == "class-thresholds":
        options["tuned"] = 50_000
    got = schedopt.evaluate(queue, policy, options=options).objective
    return "-" if got is None else f"{got / bound - 1:.1%}"


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--limit", type=float, default=30.0, help="seconds for an optimal policy")
    words.add_argument("--arrivals", type=int, default=2_000_000)
    words.add_argument("--loads", default=",".join(map(str, LOADS)))
    given = words.parse_args()
    print("needs load bound found ± gap", *POLICIES, "seconds", sep="\t")
    for k, needs, parts in SYSTEMS:
        for load in map(float, given.loads.split(",")):
            began = time.perf_counter()
            queue = system(k, needs, parts, load)
            best = schedopt.solve(queue, formulation="optimal-policy", time_limit=given.limit)
            bound = best.bound or 0.0
            found = ["-", "-", "-"]
            if best.objective is not None:
                half = best.solution.confidence or 0.0
                found = [f"{best.objective:.4f}", f"{half:.4f}", f"{best.gap:.2%}"]
            others = [above(queue, name, bound, given.arrivals) for name in POLICIES]
            name = ",".join(map(str, needs))
            print(name, load, f"{bound:.4f}", *found, *others,
                  f"{time.perf_counter() - began:.0f}", sep="\t", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
