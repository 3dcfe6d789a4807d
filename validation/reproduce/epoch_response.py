"""Figures 12 to 18 of the epoch paper: speedups, and response times in a closed system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from policies.epoch.closed_system import arrivals, simulate
from policies.epoch.kernels import speedup
from validation.reproduce.epoch_examples import PAPER
from validation.reproduce.epoch_overhead import CASES, NAMES, Point
from validation.reproduce.ledger import Claim, Curve, Outcome, reproduction

EQUAL = ("buddy-star", "equi-epoch")
UNEQUAL = ("hybrid", "paper-search", "heuristic-epoch")
CLOSED = (
    "A closed system, as in section 5.2, on common random numbers: 20 runs of 20,000 completions "
    "each (quick: 8 of 5,000), a tenth to warm up; 90% intervals. The figures' values are not in "
    "the text: their statements are judged."
)
JOBS = tuple(range(4, 33))
NODES = tuple(range(32, 257, 8))
INEQUITIES = tuple(range(1, 9))


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
    runs, completions = (8, 5_000) if quick else (20, 20_000)
    ratios, little = [], 0.0
    for seed in range(runs):
        work = arrivals(seed, nodes, jobs, load, completions)
        warm = completions // 10
        base, _ = simulate("paper-search", work, static=static, warm=warm)
        mean, law = simulate(policy, work, inequity=inequity, static=static, warm=warm)
        ratios.append(mean / base)
        little = max(little, abs(law / mean - 1))
    half = t.ppf(0.95, runs - 1) * np.std(ratios, ddof=1) / np.sqrt(runs)
    return Relative(float(np.mean(ratios)), float(half), little)


class Sweep:
    """Relative response times of policies along an axis."""

    def __init__(self, points: Mapping[str, Sequence[Point]], *, static: bool, quick: bool) -> None:
        self.found = {
            policy: [relative(policy, point, static=static, quick=quick) for point in some]
            for policy, some in points.items()
        }
        self.curves = {p: [r.ratio for r in some] for p, some in self.found.items()}
        every = [r for some in self.found.values() for r in some]
        self.widest = max(r.half_width for r in every)
        self.little = max(r.little for r in every)

    def sound(self) -> Claim:
        """Say how wide the intervals are, and how well Little's law holds."""
        return Claim(
            "the simulation: 90% intervals, and Little's law in each run",
            "intervals within 1%",
            f"within {self.widest:.2%} of OPT-EPOCH(1)'s time, Little's law within {self.little:.1%}",
            self.widest <= 0.02 and self.little <= 0.1,
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
    divisors = [n for n in nodes if 128 % n == 0]
    alike, printed = 0.0, 0.0
    for beta in (30.0, 300.0):
        dynamic = [speedup(n, beta, 128, False) for n in nodes]
        static = [speedup(n, beta, 128, True) for n in nodes]
        curves |= {f"dynamic, β = {beta:g}": (nodes, dynamic)}
        curves |= {f"static, β = {beta:g}": (nodes, static)}
        alike = max(alike, *(abs(static[n - 1] - dynamic[n - 1]) for n in divisors))
        for n in nodes:
            rest = 128 % n
            share = ((128 // n) / -(-128 // n) * (n - rest) + rest) / n
            printed = max(printed, abs(dynamic[n - 1] * share - static[n - 1]))
    return Outcome(
        [
            Claim(
                "static and dynamic agree where n divides N",
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


def _by_jobs(load: float) -> dict[str, list[Point]]:
    return {p: [(128, j, load, 1) for j in JOBS] for p in NAMES if p != "paper-search"}


def _by_nodes(load: float) -> dict[str, list[Point]]:
    every = {p: [(n, 8, load, 1) for n in NODES] for p in ("equi-epoch", "heuristic-epoch")}
    powers = {
        p: [(n, 8, load, 1) for n in NODES if n & (n - 1) == 0] for p in ("buddy-star", "hybrid")
    }
    return powers | every


def _along(
    axis: Mapping[str, Sequence[float]], found: Mapping[str, Sequence[float]], label: str
) -> dict[str, Curve]:
    return {f"{NAMES[p]}, {label}": (axis[p], y) for p, y in found.items()}


def _equal_is_better(curves: Mapping[str, Sequence[float]], head: str) -> Claim:
    """Judge section 5.2.1's lesson: on average over the axis, by the better policy of each sort."""
    equal = min(float(np.mean(curves[p])) for p in EQUAL)
    unequal = min(float(np.mean(curves[p])) for p in curves if p in UNEQUAL)
    return Claim(
        f"{head}equal allocation performs substantially better",
        "yes",
        f"{equal:.3f} against {unequal:.3f} of OPT-EPOCH(1)'s time, each the best of its sort",
        equal < unequal,
    )


def _unequal_is_better(curves: Mapping[str, Sequence[float]], head: str) -> Claim:
    equal = min(float(np.mean(curves[p])) for p in EQUAL)
    unequal = min(float(np.mean(curves[p])) for p in curves if p in UNEQUAL)
    return Claim(
        f"{head}unequal assignment is in general preferable",
        "yes",
        f"{unequal:.3f} against {equal:.3f} of OPT-EPOCH(1)'s time, each the best of its sort",
        unequal < equal,
    )


def _figure(
    number: int,
    axis: str,
    points: Mapping[str, Sequence[Point]],
    load: float,
    static: bool,
    quick: bool,
) -> tuple[list[Claim], dict[str, Curve], float]:
    at = 1 if axis == "J" else 0
    sweep = Sweep(points, static=static, quick=quick)
    judge = _equal_is_better if static else _unequal_is_better
    claims = [judge(sweep.curves, f"load {load:.0%}: "), sweep.sound()]
    where = {p: [point[at] for point in some] for p, some in points.items()}
    every = [abs(r - 1) for some in sweep.curves.values() for r in some]
    del number
    return claims, _along(where, sweep.curves, f"{load:.0%}"), max(every)


def _two_loads(number: int, axis: str, static: bool, quick: bool) -> Outcome:
    claims: list[Claim] = []
    curves: dict[str, Curve] = {}
    largest = 0.0
    for load in (1.0, 2.0):
        points = _by_jobs(load) if axis == "J" else _by_nodes(load)
        more, lines, most = _figure(number, axis, points, load, static, quick)
        claims += more
        curves |= lines
        largest = max(largest, most)
    claims.append(_distinctions(largest, static))
    label = "jobs J" if axis == "J" else "nodes N"
    return Outcome(claims, curves, label, "response time over OPT-EPOCH(1)'s")


def _distinctions(largest: float, static: bool) -> Claim:
    """Judge the last sentence of section 5.2.2 on one figure's points."""
    if static:
        says, paper, holds = "distinctions run as high as 90%", "90%", largest >= 0.8
    else:
        says, paper, holds = "almost all distinctions are under 10%", "10%", largest < 0.15
    return Claim(says, paper, f"{largest:.0%} at most", holds)


def _register(number: int, what: str, axis: str, static: bool) -> None:
    kind = "static" if static else "dynamic"

    @reproduction(
        f"epoch/figure-{number}",
        title=f"Relative response time of {kind} jobs by the number of {what}",
        source=f"{PAPER}, section 5.2.{1 if static else 2}, Figure {number}",
        workload=f"{'N = 128, J = 4 to 32' if axis == 'J' else 'J = 8, N = 32 to 256'}. {CLOSED}",
    )
    def run(quick: bool) -> Outcome:
        return _two_loads(number, axis, static, quick)


_register(13, "jobs", "J", static=True)
_register(14, "nodes", "N", static=True)
_register(16, "jobs", "J", static=False)
_register(17, "nodes", "N", static=False)
