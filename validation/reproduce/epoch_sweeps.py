"""Figures 9 to 18 of the epoch paper: overheads and response times by jobs, nodes and inequity."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any

import numpy as np

from schedopt.instances.epoch.generators import drawn_uniform, mean_minimum
from schedopt.policies.epoch.closed_system import Arrivals, arrivals, simulate
from schedopt.policies.epoch.kernels import CODES, overheads, speedup
from schedopt.validation.reproduce.ledger import Answers, Curve, Outcome

NAMES = {
    "buddy-star": "BUDDY",
    "hybrid": "HYBRID(1)",
    "equi-epoch": "EQUI-EPOCH",
    "paper-search": "OPT-EPOCH(1)",
    "heuristic-epoch": "HEURISTIC-EPOCH(1)",
}
"""As the figures call them; BUDDY stands for BUDDY* where J is no power of two."""

AXES = {"jobs J": 1, "nodes N": 0, "inequity k": 3}
"""Each axis, and where it stands in a point: nodes, jobs, load factor, inequity."""

Point = tuple[int, int, float, int]
Points = Mapping[str, Sequence[Point]]  # for each policy, where it is measured
Curves = Mapping[str, Sequence[float]]
Swept = tuple[Points, Curves, Answers]
"""The points, a value at each, and what they say of the claims."""

PARTS: dict[str, tuple[tuple[str, int, float], ...]] = {
    "jobs J": (("100", 0, 1.0), ("200", 0, 2.0)),
    "nodes N": (("100", 8, 1.0), ("200", 8, 2.0)),
    "inequity k": (("7", 7, 1.0), ("8", 8, 1.0), ("15", 15, 2.0), ("16", 16, 2.0)),
}
"""The parts of each figure by its axis: the beginning of its claims' ids, jobs and load factor."""


def _points(axis: str, jobs: int, load: float, *, every: bool, step: int) -> Points:
    """Return the points of each policy along an axis."""
    if axis == "jobs J":
        few = (4, 6, 7, 8, 11, 12, 15, 16, 23, 24, 31, 32)  # the most different binary digits
        return {p: [(128, j, load, 1) for j in (range(4, 33) if every else few)] for p in NAMES}
    if axis == "inequity k":
        allowed: list[Point] = [(128, jobs, load, k) for k in range(1, 9)]
        return {p: allowed for p in NAMES if p != "paper-search"}
    sizes: list[Point] = [(n, jobs, load, 1) for n in range(32, 257, step)]
    powers = [point for point in sizes if point[0] & (point[0] - 1) == 0]
    return {p: powers if p in ("buddy-star", "hybrid") else sizes for p in NAMES}


def _figure(axis: str, ylabel: str, swept: Callable[[int, float], Swept]) -> Outcome:
    answers: Answers = {}
    curves: dict[str, Curve] = {}
    for part, jobs, load in PARTS[axis]:
        points, values, judged = swept(jobs, load)
        answers |= {f"{part}-{claim}": answer for claim, answer in judged.items()}
        for policy, of in values.items():
            label = f"{policy} J={jobs}" if axis == "inequity k" else NAMES[policy]
            along = [point[AXES[axis]] for point in points[policy]]
            curves[f"{label}, {load:.0%}"] = along, of
    return Outcome(answers, curves, axis, ylabel)


# Section 5.1: overhead


def mean_overhead(policy: str, point: Point, trials: int, seed: int) -> float:
    """Return how often a node is reallocated in a quantum, on average over random jobs."""
    nodes, jobs, load, inequity = point
    draw = np.random.Generator(np.random.PCG64(seed))
    minima = drawn_uniform(draw, nodes, (trials, jobs), mean_minimum(nodes, jobs, load))
    sums, _, _ = overheads(CODES[policy], -np.sort(-minima, axis=1), nodes, inequity)
    return float(sums.mean() / nodes)


def _overhead_by_jobs(points: Points, curves: Curves) -> Answers:
    digits = [jobs.bit_count() for _, jobs, _, _ in points["equi-epoch"]]
    answers: Answers = {}
    for policy in ("buddy-star", "equi-epoch"):
        many = np.mean([y for y, ones in zip(curves[policy], digits, strict=True) if ones >= 3])
        one = np.mean([y for y, ones in zip(curves[policy], digits, strict=True) if ones == 1])
        told = f"{many:.2f} where J has three binary digits 1 or more, {one:.2f} where one"
        answers[policy] = told, bool(many > 1.15 * one)
    spread = {policy: max(values) / min(values) - 1 for policy, values in curves.items()}
    largest = max(spread["paper-search"], spread["heuristic-epoch"])
    least = min(spread["buddy-star"], spread["equi-epoch"])
    told = f"largest over smallest: +{largest:.0%}; the two above: +{least:.0%} or more"
    answers["unaffected"] = told, largest < least / 2
    middle, widest = spread["hybrid"], spread["buddy-star"]
    told = f"+{middle:.0%}, between +{largest:.0%} and +{widest:.0%}"
    return {**answers, "hybrid": (told, largest < middle < widest)}


def _overhead_by_nodes(points: Points, curves: Curves) -> Answers:
    at = {p: {point[0]: y for point, y in zip(points[p], curves[p], strict=True)} for p in curves}
    equi, opt, heuristic = (at[p] for p in ("equi-epoch", "paper-search", "heuristic-epoch"))
    ahead = min(
        min(other[n] for other in (equi, opt, heuristic)) / at[q][n] - 1
        for q in ("buddy-star", "hybrid")
        for n in at[q]
    )
    jumps = [
        max(abs(b - a) for a, b in pairwise(y for n, y in of.items() if n >= 64))
        for of in (equi, opt)
    ]
    answers: Answers = {
        "buddy": (
            f"the best of the others needs {ahead:.0%} more or above, at every power of two",
            ahead > 0.05,
        ),
        "oscillates": (
            f"between neighbours N >= 64: {jumps[0]:.2f}, {jumps[1]:.2f}",
            jumps[0] > 2 * jumps[1],
        ),
    }
    if points["equi-epoch"][0][2] == 1.0:
        told = f"{equi[160]:.2f}; at 152 {equi[152]:.2f}, at 168 {equi[168]:.2f}"
        answers["spike"] = told, equi[160] > 1.2 * max(equi[152], equi[168])
    worst = min(equi[n] / heuristic[n] for n in equi)
    told = f"EQUI-EPOCH takes {worst:.3f} times HEURISTIC-EPOCH(1) or more"
    return {**answers, "largest-first": (told, worst > 0.995)}


def _overhead_by_inequity(points: Points, curves: Curves) -> Answers:
    heuristic, equi = curves["heuristic-epoch"], curves["equi-epoch"][0]
    told = f"HEURISTIC-EPOCH(k) from {heuristic[0]:.2f} at k = 1 to {heuristic[-1]:.2f} at k = 8"
    answers: Answers = {"beneficial": (told, all(a >= b - 1e-3 for a, b in pairwise(heuristic)))}
    if points["equi-epoch"][0][1] in (7, 15):
        first, later = equi - heuristic[0], heuristic[0] - heuristic[-1]
        told = f"{equi:.2f} to {heuristic[0]:.2f}; {later:.2f} less from k = 1 to 8"
        answers["k-1"] = told, first > later and first > 0.5
    return answers


def _overhead_figure(axis: str, judge: Callable[[Points, Curves], Answers], quick: bool) -> Outcome:
    """Sweep an axis with two seeds, on the same jobs for every policy."""

    def swept(jobs: int, load: float) -> Swept:
        points = _points(axis, jobs, load, every=not quick, step=8 if quick else 4)
        trials = 5_000 if quick else 40_000
        curves, again = (
            {
                p: [mean_overhead(p, point, trials, seed) for point in some]
                for p, some in points.items()
            }
            for seed in (1, 2)
        )
        apart = max(
            abs(a / b - 1) for p in points for a, b in zip(curves[p], again[p], strict=True)
        )
        rerun = {"rerun": (f"within {apart:.1%}", apart <= 0.02)}
        return points, curves, judge(points, curves) | rerun

    return _figure(axis, "reallocations of a node a quantum", swept)


figure_9 = partial(_overhead_figure, "jobs J", _overhead_by_jobs)
figure_10 = partial(_overhead_figure, "nodes N", _overhead_by_nodes)
figure_11 = partial(_overhead_figure, "inequity k", _overhead_by_inequity)


# Section 5.2: response times in a closed system


def figure_12(_: bool) -> Outcome:
    """Evaluate both formulas at every number of nodes."""
    nodes = list(range(1, 129))
    curves: dict[str, Curve] = {}
    alike = printed = 0.0
    for beta in (30.0, 300.0):
        dynamic, static = ([speedup(n, beta, 128, s) for n in nodes] for s in (False, True))
        curves[f"dynamic, β = {beta:g}"] = (nodes, dynamic)
        curves[f"static, β = {beta:g}"] = (nodes, static)
        for n, with_all, with_threads in zip(nodes, dynamic, static, strict=True):
            rest = 128 % n
            share = ((128 // n) / -(-128 // n) * (n - rest) + rest) / n
            printed = max(printed, abs(with_all * share - with_threads))
            alike = max(alike, abs(with_all - with_threads) if rest == 0 else 0.0)
    answers: Answers = {
        "alike": (f"within {alike:.0e}", alike < 1e-9),
        "printed": (f"within {printed:.0e}", printed < 1e-9),
    }
    return Outcome(answers, curves, "nodes n", "speedup")


EQUAL = ("buddy-star", "equi-epoch")


@lru_cache(maxsize=32)
def _arrivals(seed: int, nodes: int, jobs: int, load: float, completions: int) -> Arrivals:
    return arrivals(seed, nodes, jobs, load, completions)


@lru_cache(maxsize=4_096)
def _response(
    policy: str, static: bool, inequity: int, completions: int, *drawn: Any
) -> tuple[float, float]:
    """Return the mean response time of a run, and the same by Little's law."""
    work = _arrivals(*drawn, completions)
    return simulate(policy, work, inequity=inequity, static=static, warm=completions // 10)


def _relative_response(
    static: bool, quick: bool, policy: str, point: Point
) -> tuple[float, float, float]:
    """Return a response time over OPT-EPOCH(1)'s, its 90% half-width, and Little's law's error."""
    from scipy.stats import t

    *where, inequity = point
    times, completions = (6, 3_000) if quick else (20, 20_000)
    ratios, little = [], 0.0
    for seed in range(times):
        base, _ = _response("paper-search", static, 1, completions, seed, *where)
        mean, law = _response(policy, static, inequity, completions, seed, *where)
        ratios.append(mean / base)
        little = max(little, abs(law / mean - 1))
    half = t.ppf(0.95, times - 1) * np.std(ratios, ddof=1) / np.sqrt(times)
    return float(np.mean(ratios)), float(half), little


def _judge_lesson(static: bool, points: Points, curves: Curves) -> Answers:
    """Judge the overall lesson of section 5.2.1 or 5.2.2, on average over an axis.

    OPT-EPOCH(1) is 1 throughout, and one of the policies that allow inequity; with eight jobs
    HYBRID is BUDDY.
    """
    means = {p: float(np.mean(values)) for p, values in curves.items()} | {"paper-search": 1.0}
    unequal = {"paper-search", "heuristic-epoch", "hybrid"}
    if all(jobs == 8 for _, jobs, _, _ in points["hybrid"]):
        unequal.remove("hybrid")
    ahead = min(means[p] for p in unequal) - min(means[p] for p in EQUAL)
    told = "; ".join(f"{NAMES[p]} {mean:.3f}" for p, mean in means.items())
    return {"sorts": (told, ahead > 0.01 if static else ahead < 0)}


def _by_inequity(static: bool, points: Points, curves: Curves) -> Answers:
    """Judge what inequity costs static jobs, or brings dynamic ones."""
    heuristic = curves["heuristic-epoch"]
    if static:
        told = f"HEURISTIC-EPOCH(k): {heuristic[0]:.3f} at k = 1, {heuristic[-1]:.3f} at k = 8"
        return {"penalty": (told, heuristic[-1] > heuristic[0] + 0.005)}
    jobs = points["hybrid"][0][1]
    equal, unequal = min(curves[p][0] for p in EQUAL), min(heuristic)
    if jobs & (jobs - 1):
        unequal = min(unequal, *curves["hybrid"])
    told = f"{unequal:.3f} at best with inequity, {equal:.3f} with equal allocations"
    return {"benefit": (told, unequal <= equal + 0.005)}


def _response_figure(axis: str, static: bool, quick: bool) -> Outcome:
    """Sweep an axis for static or dynamic jobs."""
    parts: list[Curves] = []
    judge = _by_inequity if axis == "inequity k" else _judge_lesson

    def swept(jobs: int, load: float) -> Swept:
        every = _points(axis, jobs, load, every=not quick, step=16 if quick else 8)
        points = {p: some for p, some in every.items() if p != "paper-search"}
        found = {
            p: [_relative_response(static, quick, p, at) for at in some]
            for p, some in points.items()
        }
        curves = {policy: [ratio for ratio, _, _ in some] for policy, some in found.items()}
        _, halves, little = zip(*(one for some in found.values() for one in some), strict=True)
        told = f"intervals within {max(halves):.2%}, Little's law within {max(little):.1%}"
        sound = {"simulation": (told, max(halves) <= 0.01 and max(little) <= 0.1)}
        parts.append(curves)
        return points, curves, judge(static, points, curves) | sound

    figure = _figure(axis, "response time over OPT-EPOCH(1)'s", swept)
    return replace(figure, answers=figure.answers | _distinctions(static, parts))


def _distinctions(static: bool, parts: Sequence[Curves]) -> Answers:
    """Judge the last sentence of section 5.2.2's first paragraph, on one figure's points."""
    far = [[abs(y - 1) for values in curves.values() for y in values] for curves in parts]
    largest = max(map(max, far))
    if static:
        return {"distinctions": (f"{largest:.0%} at most", largest >= 0.8)}
    within = min(sum(off < 0.1 for off in part) / len(part) for part in far)
    told = f"{within:.0%} of the points or more are under 10%, the largest is {largest:.0%}"
    return {"distinctions": (told, within >= 0.8)}


figure_13, figure_14, figure_15 = (partial(_response_figure, axis, True) for axis in AXES)
figure_16, figure_17, figure_18 = (partial(_response_figure, axis, False) for axis in AXES)
