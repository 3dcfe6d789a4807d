"""Figures 9 to 18 of the epoch paper: overheads and response times by jobs, nodes and inequity."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import pairwise

import numpy as np

from schedopt.instances.epoch.generators import drawn_uniform, mean_minimum
from schedopt.policies.epoch.kernels import CODES, Arrivals, arrivals, overheads, simulate, speedup
from schedopt.validation.reproduce.ledger import Values

NAMES = {
    "buddy-star": "BUDDY",
    "hybrid": "HYBRID(1)",
    "equi-epoch": "EQUI-EPOCH",
    "paper-search": "OPT-EPOCH(1)",
    "heuristic-epoch": "HEURISTIC-EPOCH(1)",
}
"""Names in the figures; BUDDY means BUDDY* if J is not a power of two."""
EQUAL = ("buddy-star", "equi-epoch")
Point = tuple[int, int, float, int]  # nodes, jobs, load factor, inequity
AXES = {"jobs J": 1, "nodes N": 0, "inequity k": 3}  # index in a point
PARTS: dict[str, tuple[tuple[str, int, float], ...]] = {
    "jobs J": (("100", 0, 1.0), ("200", 0, 2.0)),
    "nodes N": (("100", 8, 1.0), ("200", 8, 2.0)),
    "inequity k": (("7", 7, 1.0), ("8", 8, 1.0), ("15", 15, 2.0), ("16", 16, 2.0)),
}
"""The parts of a figure by its axis: name, number of jobs, load factor."""
FEW_JOBS = (4, 6, 7, 8, 11, 12, 15, 16, 23, 24, 31, 32)
"""Numbers of jobs with few and with many binary digits."""
Points = Mapping[str, Sequence[Point]]  # the measured points of each policy
Measured = Mapping[str, Sequence[float]]


def points_of(axis: str, jobs: int, load: float, *, quick: bool, step: int) -> Points:
    """Return the points of each policy along an axis."""
    along: list[Point] = [(n, jobs, load, 1) for n in range(32, 257, step)]
    if axis == "jobs J":
        along = [(128, j, load, 1) for j in (FEW_JOBS if quick else range(4, 33))]
    if axis == "inequity k":
        along = [(128, jobs, load, k) for k in range(1, 9)]
    powers = [p for p in along if axis != "nodes N" or p[0] & (p[0] - 1) == 0]
    names = [name for name in NAMES if axis != "inequity k" or name != "paper-search"]
    return {name: powers if name in ("buddy-star", "hybrid") else along for name in names}


def curves_of(axis: str, jobs: int, load: float, where: Points, of: Measured) -> Values:
    """Return the curves of a part of a figure."""
    curves: Values = {}
    for name, values in of.items():
        label = f"{name} J={jobs}" if axis == "inequity k" else NAMES[name]
        curves[f"{label}, {load:.0%}"] = [point[AXES[axis]] for point in where[name]], values
    return curves


# --- section 5.1: overhead -------------------------------------------------------------------


def mean_overhead(policy: str, point: Point, trials: int, seed: int) -> float:
    """Return the mean number of reallocations of a node per quantum, over random jobs."""
    nodes, jobs, load, inequity = point
    draw = np.random.Generator(np.random.PCG64(seed))
    minima = drawn_uniform(draw, nodes, (trials, jobs), mean_minimum(nodes, jobs, load))
    sums, _, _ = overheads(CODES[policy], -np.sort(-minima, axis=1), nodes, inequity)
    return float(sums.mean() / nodes)


def _by_jobs(points: Points, values: Measured) -> Values:
    """Return statistics of the overhead as a function of the number of jobs."""
    digits = np.array([jobs.bit_count() for _, jobs, _, _ in points["equi-epoch"]])
    spread = {policy: max(of) / min(of) - 1 for policy, of in values.items()}
    return {
        "many": {policy: np.array(values[policy])[digits >= 3].mean() for policy in EQUAL},
        "one": {policy: np.array(values[policy])[digits == 1].mean() for policy in EQUAL},
        "spread": spread,
        "largest": max(spread["paper-search"], spread["heuristic-epoch"]),
        "least": min(spread[policy] for policy in EQUAL),
    }


def _by_nodes(points: Points, values: Measured) -> Values:
    """Return statistics of the overhead as a function of the number of nodes."""
    at = {p: {point[0]: y for point, y in zip(points[p], values[p], strict=True)} for p in values}
    equi, opt, heuristic = others = [at[p] for p in ("equi-epoch", *[*NAMES][3:])]
    leads = [
        min(other[n] for other in others) / y - 1
        for name in ("buddy-star", "hybrid")
        for n, y in at[name].items()
    ]
    jumps = [
        max(abs(b - a) for a, b in pairwise(y for n, y in of.items() if n >= 64))
        for of in (equi, opt)
    ]
    worst = min(equi[n] / heuristic[n] for n in equi)
    return {"ahead": min(leads), "jumps": jumps, "equi": equi, "worst": worst}


def _by_inequity(_: Points, values: Measured) -> Values:
    """Return the overheads as a function of the inequity k."""
    return {"heuristic": values["heuristic-epoch"], "equi": values["equi-epoch"][0]}


def overhead_figure(
    axis: str, statistics: Callable[[Points, Measured], Values], quick: bool
) -> Values:
    """Measure overheads along an axis, and statistics of each part.

    All policies run the same jobs. A second seed measures the noise.
    """
    trials, found = 5_000 if quick else 40_000, {}
    curves: Values = {}
    for part, jobs, load in PARTS[axis]:
        points = points_of(axis, jobs, load, quick=quick, step=8 if quick else 4)
        values, again = (
            {p: [mean_overhead(p, at, trials, seed) for at in some] for p, some in points.items()}
            for seed in (1, 2)
        )
        both = [(a, b) for p in points for a, b in zip(values[p], again[p], strict=True)]
        apart = max(abs(a / b - 1) for a, b in both)
        found[part] = {"apart": apart, **statistics(points, values)}
        curves |= curves_of(axis, jobs, load, points, values)
    return {"parts": found, "curves": curves}


figure_9 = partial(overhead_figure, "jobs J", _by_jobs)
figure_10 = partial(overhead_figure, "nodes N", _by_nodes)
figure_11 = partial(overhead_figure, "inequity k", _by_inequity)


# --- section 5.2: response times in a closed system ------------------------------------------


def figure_12(_: bool) -> Values:
    """Compare the two speedup formulas at every number of nodes."""
    nodes = np.arange(1, 129)
    rest = 128 % nodes
    share = ((128 // nodes) / -(-128 // nodes) * (nodes - rest) + rest) / nodes
    curves: Values = {}
    alike = printed = 0.0
    for beta in (30.0, 300.0):
        dynamic, static = (
            np.array([speedup(n, beta, 128, s) for n in nodes.tolist()]) for s in (False, True)
        )
        curves |= {f"dynamic, β = {beta:g}": (nodes, dynamic)}
        curves |= {f"static, β = {beta:g}": (nodes, static)}
        printed = max(printed, float(np.abs(dynamic * share - static).max()))
        alike = max(alike, float(np.abs(dynamic - static)[rest == 0].max()))
    return {"alike": alike, "printed": printed, "curves": curves}


drawn_arrivals: Callable[..., Arrivals] = lru_cache(maxsize=32)(arrivals)


@lru_cache(maxsize=4_096)
def response(policy: str, static: bool, inequity: int, *drawn: float) -> tuple[float, float]:
    """Return the mean response time of a run: measured, and by Little's law."""
    warm = int(drawn[-1]) // 10
    work = drawn_arrivals(*drawn)
    return simulate(policy, work, inequity=inequity, static=static, warm=warm)


def relative_response(
    static: bool, quick: bool, policy: str, point: Point
) -> tuple[float, float, float]:
    """Return the ratio to OPT-EPOCH(1)'s response time, its 90% half-width, and Little's error."""
    from scipy.stats import t

    *where, inequity = point
    times, completions = (6, 3_000) if quick else (20, 20_000)
    ratios, little = [], 0.0
    for seed in range(times):
        drawn = (seed, *where, completions)
        base, _ = response("paper-search", static, 1, *drawn)
        mean, law = response(policy, static, inequity, *drawn)
        ratios.append(mean / base)
        little = max(little, abs(law / mean - 1))
    half = t.ppf(0.95, times - 1) * np.std(ratios, ddof=1) / np.sqrt(times)
    return float(np.mean(ratios)), float(half), little


def _by_axis(points: Points, values: Measured) -> Values:
    """Return mean ratios over an axis, and the lead of equal over unequal allocations.

    OPT-EPOCH(1) has ratio 1 and allows inequity. For eight jobs HYBRID equals BUDDY.
    """
    means = {p: float(np.mean(of)) for p, of in values.items()} | {"paper-search": 1.0}
    eight = all(jobs == 8 for _, jobs, _, _ in points["hybrid"])
    unequal = [p for p in NAMES if p not in EQUAL and not (eight and p == "hybrid")]
    ahead = min(means[p] for p in unequal) - min(means[p] for p in EQUAL)
    return {"means": {NAMES[p]: mean for p, mean in means.items()}, "ahead": ahead}


def _by_ratio(points: Points, values: Measured) -> Values:
    """Return the ratios with equal allocations and with inequity."""
    heuristic, jobs = values["heuristic-epoch"], points["hybrid"][0][1]
    unequal = min(heuristic)
    if jobs & (jobs - 1):
        unequal = min(unequal, *values["hybrid"])
    equal = min(values[p][0] for p in EQUAL)
    return {"heuristic": heuristic, "equal": equal, "unequal": unequal}


def response_figure(axis: str, static: bool, quick: bool) -> Values:
    """Measure response times along an axis, and their distance from OPT-EPOCH(1)'s."""
    statistics = _by_ratio if axis == "inequity k" else _by_axis
    found, far = {}, []
    curves: Values = {}
    for part, jobs, load in PARTS[axis]:
        points = dict(points_of(axis, jobs, load, quick=quick, step=16 if quick else 8))
        points.pop("paper-search", None)
        measured = {
            p: [relative_response(static, quick, p, at) for at in some]
            for p, some in points.items()
        }
        ratios, halves, little = zip(
            *(one for some in measured.values() for one in some), strict=True
        )
        values = {policy: [ratio for ratio, _, _ in some] for policy, some in measured.items()}
        found[part] = {"halves": halves, "little": little, **statistics(points, values)}
        curves |= curves_of(axis, jobs, load, points, values)
        far.append(np.abs(np.array(ratios) - 1))
    return {
        "parts": found,
        "largest": max(part.max() for part in far),
        "within": min((part < 0.1).mean() for part in far),
        "curves": curves,
    }


figure_13, figure_14, figure_15 = (partial(response_figure, axis, True) for axis in AXES)
figure_16, figure_17, figure_18 = (partial(response_figure, axis, False) for axis in AXES)
