"""Figures 12 to 18 of the epoch paper: speedups, and response times in a closed system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from schedopt.policies.epoch.closed_system import Arrivals, arrivals, simulate
from schedopt.policies.epoch.kernels import speedup
from schedopt.validation.reproduce.epoch_overhead import CASES, NAMES, Point, jobs_axis
from schedopt.validation.reproduce.epoch_shared import PAPER
from schedopt.validation.reproduce.ledger import Claim, Curve, Outcome, reproduction

EQUAL = ("buddy-star", "equi-epoch")
UNEQUAL = ("hybrid", "paper-search", "heuristic-epoch")
CLOSED = (
    "A closed system, as in section 5.2, on common random numbers: 20 runs of 20,000 completions "
    "each (quick: 6 of 3,000), a tenth to warm up; 90% intervals. The figures' values are not in "
    "the text: their statements are judged. With 2^j jobs HYBRID is BUDDY, and counts as equal."
)
NODES = tuple(range(32, 257, 8))
INEQUITIES = tuple(range(1, 9))
YLABEL = "response time over OPT-EPOCH(1)'s"

Curves = Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class Relative:
    """A response time beside OPT-EPOCH(1)'s, its 90% interval, and Little's law's distance."""

    ratio: float
    half_width: float
    little: float


def relative(policy: str, point: Point, *, static: bool, quick: bool) -> Relative:
    """Return a policy's mean response time over OPT-EPOCH(1)'s, in the same runs."""
    from scipy.stats import t

    nodes, jobs, load, inequity = point
    runs, completions = (6, 3_000) if quick else (20, 20_000)
    ratios, little = [], 0.0
    for seed in range(runs):
        work = _arrivals(seed, nodes, jobs, load, completions)
        base = _base(seed, nodes, jobs, load, completions, static)
        warm = completions // 10
        mean, law = simulate(policy, work, inequity=inequity, static=static, warm=warm)
        ratios.append(mean / base)
        little = max(little, abs(law / mean - 1))
    half = t.ppf(0.95, runs - 1) * np.std(ratios, ddof=1) / np.sqrt(runs)
    return Relative(float(np.mean(ratios)), float(half), little)


@lru_cache(maxsize=32)
def _arrivals(seed: int, nodes: int, jobs: int, load: float, completions: int) -> Arrivals:
    return arrivals(seed, nodes, jobs, load, completions)


@lru_cache(maxsize=4_096)
def _base(*run: Any) -> float:
    """Return OPT-EPOCH(1)'s mean response time in a run: the same for all policies."""
    *drawn, completions, static = run
    work = _arrivals(*drawn, completions)
    return simulate("paper-search", work, static=static, warm=completions // 10)[0]


class Sweep:
    """Relative response times of policies along an axis."""

    def __init__(self, points: Mapping[str, Sequence[Point]], *, static: bool, quick: bool) -> None:
        found = {
            policy: [relative(policy, point, static=static, quick=quick) for point in some]
            for policy, some in points.items()
        }
        every = [r for some in found.values() for r in some]
        self.curves = {policy: [r.ratio for r in some] for policy, some in found.items()}
        self.widest = max(r.half_width for r in every)
        self.little = max(r.little for r in every)
        self.largest = max(abs(r.ratio - 1) for r in every)
        self.within = sum(abs(r.ratio - 1) < 0.1 for r in every) / len(every)

    def sound(self, head: str) -> Claim:
        """Say how wide the intervals are, and how well Little's law holds."""
        return Claim(
            f"{head}the simulation: 90% intervals; Little's law in each run",
            "intervals within 1%",
            f"intervals within {self.widest:.2%}, Little's law within {self.little:.1%}",
            self.widest <= 0.01 and self.little <= 0.1,
        )


@reproduction(
    "epoch/figure-12",
    title="Speedups of static and dynamic jobs, N = 128",
    source=f"{PAPER}, section 5.2, Figure 12",
    workload="The formulas, with β = 30 and 300.",
)
def figure_12(quick: bool) -> Outcome:
    """Evaluate both formulas at every number of nodes."""
    del quick
    nodes = list(range(1, 129))
    curves: dict[str, Curve] = {}
    alike = printed = 0.0
    for beta in (30.0, 300.0):
        dynamic = [speedup(n, beta, 128, False) for n in nodes]
        static = [speedup(n, beta, 128, True) for n in nodes]
        curves[f"dynamic, β = {beta:g}"] = (nodes, dynamic)
        curves[f"static, β = {beta:g}"] = (nodes, static)
        for n, with_all, with_threads in zip(nodes, dynamic, static, strict=True):
            rest = 128 % n
            share = ((128 // n) / -(-128 // n) * (n - rest) + rest) / n
            printed = max(printed, abs(with_all * share - with_threads))
            alike = max(alike, abs(with_all - with_threads) if rest == 0 else 0.0)
    return Outcome(
        [
            Claim(
                "static and dynamic speedups agree where n divides N",
                "yes",
                f"within {alike:.0e}",
                alike < 1e-9,
            ),
            Claim(
                "the printed static speedup is S_dynamic(n)·N/(n·ceil(N/n))",
                "as printed",
                f"within {printed:.0e}",
                printed < 1e-9,
            ),
        ],
        curves,
        "nodes n",
        "speedup",
    )


def _points(axis: str, load: float, quick: bool) -> dict[str, list[Point]]:
    """Return the points of each policy along the axis: jobs, or nodes."""
    if axis == "jobs J":
        every = [(128, j, load, 1) for j in jobs_axis(quick)]
        return {p: every for p in NAMES if p != "paper-search"}
    every = [(n, 8, load, 1) for n in NODES[:: 2 if quick else 1]]
    powers = [point for point in every if point[0] & (point[0] - 1) == 0]
    of: dict[str, list[Point]] = {"buddy-star": powers, "hybrid": powers}
    return {**of, "equi-epoch": every, "heuristic-epoch": every}


def _two_loads(axis: str, static: bool, quick: bool) -> Outcome:
    """Sweep jobs or nodes, at load factors of 100% and 200%."""
    claims: list[Claim] = []
    curves: dict[str, Curve] = {}
    sweeps = []
    for load in (1.0, 2.0):
        points = _points(axis, load, quick)
        sweep = Sweep(points, static=static, quick=quick)
        head = f"load {load:.0%}: "
        claims += [_sorts(sweep.curves, axis, static, head), sweep.sound(head)]
        for policy, values in sweep.curves.items():
            at = [point[0 if axis == "nodes N" else 1] for point in points[policy]]
            curves[f"{NAMES[policy]}, {load:.0%}"] = (at, values)
        sweeps.append(sweep)
    return Outcome([*claims, _distinctions(sweeps, static)], curves, axis, YLABEL)


def _sorts(curves: Curves, axis: str, static: bool, head: str) -> Claim:
    """Judge the overall lesson of section 5.2.1 or 5.2.2, on average over an axis.

    OPT-EPOCH(1) is 1 throughout, and one of the policies that allow inequity.
    """
    means = {p: float(np.mean(values)) for p, values in curves.items()} | {"paper-search": 1.0}
    equal = min(EQUAL, key=means.__getitem__)
    others = UNEQUAL if axis == "jobs J" else UNEQUAL[1:]  # with J = 8 HYBRID is BUDDY
    unequal = min(others, key=means.__getitem__)
    ahead = means[unequal] - means[equal]
    says = (
        "the disciplines that provide equal allocation perform substantially better"
        if static
        else "policies that allow unequal assignment are in general preferable"
    )
    ours = "; ".join(f"{NAMES[p]} {mean:.3f}" for p, mean in means.items())
    return Claim(f"{head}{says}", "yes", ours, ahead > 0.01 if static else ahead < 0)


def _distinctions(sweeps: Sequence[Sweep], static: bool) -> Claim:
    """Judge the last sentence of section 5.2.2's first paragraph, on one figure's points."""
    largest = max(sweep.largest for sweep in sweeps)
    if static:
        return Claim(
            "distinctions run as high as 90%", "90%", f"{largest:.0%} at most", largest >= 0.8
        )
    within = min(sweep.within for sweep in sweeps)
    ours = f"{within:.0%} of the points or more are under 10%, the largest is {largest:.0%}"
    return Claim("almost all distinctions are under 10%", "almost all", ours, within >= 0.8)


def _by_inequity(static: bool, quick: bool) -> Outcome:
    """Sweep the inequity in the four cases; what is divided by is OPT-EPOCH(1) in each."""
    claims: list[Claim] = []
    curves: dict[str, Curve] = {}
    sweeps = []
    for jobs, load in CASES:
        points = {
            p: [(128, jobs, load, k) for k in INEQUITIES]
            for p in ("buddy-star", "hybrid", "equi-epoch", "heuristic-epoch")
        }
        sweep = Sweep(points, static=static, quick=quick)
        head = f"J = {jobs}, load {load:.0%}: "
        judged = _penalty(sweep.curves, head) if static else _benefit(sweep.curves, jobs, head)
        claims += [judged, sweep.sound(head)]
        for policy, values in sweep.curves.items():
            curves[f"{policy} J={jobs}, {load:.0%}"] = (INEQUITIES, values)
        sweeps.append(sweep)
    return Outcome([*claims, _distinctions(sweeps, static)], curves, "inequity k", YLABEL)


def _penalty(curves: Curves, head: str) -> Claim:
    heuristic = curves["heuristic-epoch"]
    return Claim(
        f"{head}the penalty of unequal allocations grows with the inequity",
        "yes",
        f"HEURISTIC-EPOCH(k): {heuristic[0]:.3f} at k = 1, {heuristic[-1]:.3f} at k = 8",
        heuristic[-1] > heuristic[0] + 0.005,
    )


def _benefit(curves: Curves, jobs: int, head: str) -> Claim:
    equal = min(curves[p][0] for p in EQUAL)
    others = ("heuristic-epoch",) if jobs & (jobs - 1) == 0 else ("hybrid", "heuristic-epoch")
    unequal = min(min(curves[p]) for p in others)
    return Claim(
        f"{head}absolute equality of service is not required to minimize response times",
        "yes",
        f"{unequal:.3f} at best with inequity, {equal:.3f} with equal allocations",
        unequal <= equal + 0.005,
    )


def _register(number: int, what: str, axis: str, static: bool) -> None:
    kind, place = ("static", "5.2.1") if static else ("dynamic", "5.2.2")
    shape = {
        "jobs J": "N = 128, J = 4 to 32.",
        "nodes N": "J = 8, N = 32 to 256.",
        "inequity k": "N = 128; J = 7 and 8 at 100%, J = 15 and 16 at 200%.",
    }

    @reproduction(
        f"epoch/figure-{number}",
        title=f"Relative response time of {kind} jobs by the {what}",
        source=f"{PAPER}, section {place}, Figure {number}",
        workload=f"{shape[axis]} {CLOSED}",
    )
    def run(quick: bool) -> Outcome:
        if axis == "inequity k":
            return _by_inequity(static, quick)
        return _two_loads(axis, static, quick)


for _first, _static in ((13, True), (16, False)):
    _register(_first, "number of jobs", "jobs J", _static)
    _register(_first + 1, "number of nodes", "nodes N", _static)
    _register(_first + 2, "allowed inequity", "inequity k", _static)
