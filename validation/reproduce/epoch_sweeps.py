"""Figures 9 to 18 of the epoch paper: overheads and response times by jobs, nodes and inequity."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import pairwise

import numpy as np

from schedopt.instances.epoch.generators import drawn_uniform, mean_minimum
from schedopt.policies.epoch.closed_system import arrivals, simulate
from schedopt.policies.epoch.kernels import CODES, Arrivals, overheads, speedup
from schedopt.validation.reproduce.ledger import Answers, Curve, Findings

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
"""The parts of a figure by its axis: prefix of the claims' ids, number of jobs, load factor."""
FEW_JOBS = (4, 6, 7, 8, 11, 12, 15, 16, 23, 24, 31, 32)
"""Numbers of jobs with few and with many binary digits."""
Points = Mapping[str, Sequence[Point]]  # the measured points of each policy
Values = Mapping[str, Sequence[float]]
Judge = Callable[[Points, Values], Answers]


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


def sweep(
    axis: str,
    ylabel: str,
    measure: Callable[[Points], tuple[Values, Answers]],
    judge: Judge,
    points: Callable[[int, float], Points],
) -> tuple[Findings, list[Values]]:
    """Return the findings of a figure, and the values of each of its parts."""
    answers: Answers = {}
    curves: dict[str, Curve] = {}
    parts = []
    for part, jobs, load in PARTS[axis]:
        where = points(jobs, load)
        values, sound = measure(where)
        judged = judge(where, values) | sound
        answers |= {f"{part}-{claim}": answer for claim, answer in judged.items()}
        for name, of in values.items():
            label = f"{name} J={jobs}" if axis == "inequity k" else NAMES[name]
            curves[f"{label}, {load:.0%}"] = [point[AXES[axis]] for point in where[name]], of
        parts.append(values)
    return Findings(answers, curves, axis, ylabel), parts


# --- section 5.1: overhead -------------------------------------------------------------------


def mean_overhead(policy: str, point: Point, trials: int, seed: int) -> float:
    """Return the mean number of reallocations of a node per quantum, over random jobs."""
    nodes, jobs, load, inequity = point
    draw = np.random.Generator(np.random.PCG64(seed))
    minima = drawn_uniform(draw, nodes, (trials, jobs), mean_minimum(nodes, jobs, load))
    sums, _, _ = overheads(CODES[policy], -np.sort(-minima, axis=1), nodes, inequity)
    return float(sums.mean() / nodes)


def _by_jobs(points: Points, values: Values) -> Answers:
    """Judge the paper's claims on the overhead as a function of the number of jobs."""
    digits = np.array([jobs.bit_count() for _, jobs, _, _ in points["equi-epoch"]])
    answers: Answers = {}
    for policy in EQUAL:
        of = np.array(values[policy])
        many, one = of[digits >= 3].mean(), of[digits == 1].mean()
        text = f"{many:.2f} where J has three binary digits 1 or more, {one:.2f} where one"
        answers[policy] = text, bool(many > 1.15 * one)
    spread = {policy: max(of) / min(of) - 1 for policy, of in values.items()}
    largest = max(spread["paper-search"], spread["heuristic-epoch"])
    least, middle, widest = min(spread[p] for p in EQUAL), spread["hybrid"], spread["buddy-star"]
    text = f"largest over smallest: +{largest:.0%}; the two above: +{least:.0%} or more"
    answers["unaffected"] = text, largest < least / 2
    text = f"+{middle:.0%}, between +{largest:.0%} and +{widest:.0%}"
    return {**answers, "hybrid": (text, largest < middle < widest)}


def _by_nodes(points: Points, values: Values) -> Answers:
    """Judge the paper's claims on the overhead as a function of the number of nodes."""
    at = {p: {point[0]: y for point, y in zip(points[p], values[p], strict=True)} for p in values}
    equi, opt, heuristic = others = [at[p] for p in ("equi-epoch", *[*NAMES][3:])]
    ahead = min(
        min(other[n] for other in others) / y - 1
        for name in ("buddy-star", "hybrid")
        for n, y in at[name].items()
    )
    jumps = [
        max(abs(b - a) for a, b in pairwise(y for n, y in of.items() if n >= 64))
        for of in (equi, opt)
    ]
    text = f"the best of the others needs {ahead:.0%} more or above, at every power of two"
    answers: Answers = {"buddy": (text, ahead > 0.05)}
    text = f"between neighbours N >= 64: {jumps[0]:.2f}, {jumps[1]:.2f}"
    answers["oscillates"] = text, jumps[0] > 2 * jumps[1]
    if points["equi-epoch"][0][2] == 1.0:
        text = f"{equi[160]:.2f}; at 152 {equi[152]:.2f}, at 168 {equi[168]:.2f}"
        answers["spike"] = text, equi[160] > 1.2 * max(equi[152], equi[168])
    worst = min(equi[n] / heuristic[n] for n in equi)
    text = f"EQUI-EPOCH takes {worst:.3f} times HEURISTIC-EPOCH(1) or more"
    return {**answers, "largest-first": (text, worst > 0.995)}


def _by_inequity(points: Points, values: Values) -> Answers:
    """Judge the paper's claims on the overhead as a function of the inequity k."""
    heuristic, equi = values["heuristic-epoch"], values["equi-epoch"][0]
    first, last = heuristic[0], heuristic[-1]
    text = f"HEURISTIC-EPOCH(k) from {first:.2f} at k = 1 to {last:.2f} at k = 8"
    answers: Answers = {"beneficial": (text, all(a >= b - 1e-3 for a, b in pairwise(heuristic)))}
    if points["equi-epoch"][0][1] in (7, 15):
        text = f"{equi:.2f} to {first:.2f}; {first - last:.2f} less from k = 1 to 8"
        answers["k-1"] = text, equi - first > max(first - last, 0.5)
    return answers


def overhead_figure(axis: str, judge: Judge, quick: bool) -> Findings:
    """Judge the claims of a figure of overheads along an axis.

    All policies run the same jobs. A second seed measures the noise.
    """

    def measure(points: Points) -> tuple[Values, Answers]:
        trials = 5_000 if quick else 40_000
        values, again = (
            {p: [mean_overhead(p, at, trials, seed) for at in some] for p, some in points.items()}
            for seed in (1, 2)
        )
        both = [(a, b) for p in points for a, b in zip(values[p], again[p], strict=True)]
        apart = max(abs(a / b - 1) for a, b in both)
        return values, {"rerun": (f"within {apart:.1%}", apart <= 0.02)}

    points = partial(points_of, axis, quick=quick, step=8 if quick else 4)
    return sweep(axis, "reallocations of a node a quantum", measure, judge, points)[0]


figure_9 = partial(overhead_figure, "jobs J", _by_jobs)
figure_10 = partial(overhead_figure, "nodes N", _by_nodes)
figure_11 = partial(overhead_figure, "inequity k", _by_inequity)


# --- section 5.2: response times in a closed system ------------------------------------------


def figure_12(_: bool) -> Findings:
    """Judge the two speedup formulas at every number of nodes."""
    nodes = np.arange(1, 129)
    rest = 128 % nodes
    share = ((128 // nodes) / -(-128 // nodes) * (nodes - rest) + rest) / nodes
    curves: dict[str, Curve] = {}
    alike = printed = 0.0
    for beta in (30.0, 300.0):
        dynamic, static = (
            np.array([speedup(n, beta, 128, s) for n in nodes.tolist()]) for s in (False, True)
        )
        curves |= {f"dynamic, β = {beta:g}": (nodes, dynamic)}
        curves |= {f"static, β = {beta:g}": (nodes, static)}
        printed = max(printed, float(np.abs(dynamic * share - static).max()))
        alike = max(alike, float(np.abs(dynamic - static)[rest == 0].max()))
    answers: Answers = {
        "alike": (f"within {alike:.0e}", alike < 1e-9),
        "printed": (f"within {printed:.0e}", printed < 1e-9),
    }
    return Findings(answers, curves, "nodes n", "speedup")


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


def _judge_lesson(static: bool, points: Points, values: Values) -> Answers:
    """Judge the conclusion of section 5.2.1 or 5.2.2 by means over an axis.

    OPT-EPOCH(1) has ratio 1 and allows inequity. For eight jobs HYBRID equals BUDDY.
    """
    means = {p: float(np.mean(of)) for p, of in values.items()} | {"paper-search": 1.0}
    eight = all(jobs == 8 for _, jobs, _, _ in points["hybrid"])
    unequal = [p for p in NAMES if p not in EQUAL and not (eight and p == "hybrid")]
    ahead = min(means[p] for p in unequal) - min(means[p] for p in EQUAL)
    text = "; ".join(f"{NAMES[p]} {mean:.3f}" for p, mean in means.items())
    return {"sorts": (text, ahead > 0.01 if static else ahead < 0)}


def _judge_inequity(static: bool, points: Points, values: Values) -> Answers:
    """Judge the cost of inequity for static jobs, or its benefit for dynamic ones."""
    heuristic = values["heuristic-epoch"]
    if static:
        text = f"HEURISTIC-EPOCH(k): {heuristic[0]:.3f} at k = 1, {heuristic[-1]:.3f} at k = 8"
        return {"penalty": (text, heuristic[-1] > heuristic[0] + 0.005)}
    jobs = points["hybrid"][0][1]
    equal, unequal = min(values[p][0] for p in EQUAL), min(heuristic)
    if jobs & (jobs - 1):
        unequal = min(unequal, *values["hybrid"])
    text = f"{unequal:.3f} at best with inequity, {equal:.3f} with equal allocations"
    return {"benefit": (text, unequal <= equal + 0.005)}


def response_figure(axis: str, static: bool, quick: bool) -> Findings:
    """Judge response times along an axis, and the last sentence of section 5.2.2."""

    def measure(points: Points) -> tuple[Values, Answers]:
        measured = {
            p: [relative_response(static, quick, p, at) for at in some]
            for p, some in points.items()
        }
        _, halves, little = zip(*(one for some in measured.values() for one in some), strict=True)
        text = f"intervals within {max(halves):.2%}, Little's law within {max(little):.1%}"
        sound = {"simulation": (text, max(halves) <= 0.01 and max(little) <= 0.1)}
        return {policy: [ratio for ratio, _, _ in some] for policy, some in measured.items()}, sound

    def points(jobs: int, load: float) -> Points:
        every = points_of(axis, jobs, load, quick=quick, step=16 if quick else 8)
        return {p: some for p, some in every.items() if p != "paper-search"}

    judge = partial(_judge_inequity if axis == "inequity k" else _judge_lesson, static)
    figure, parts = sweep(axis, "response time over OPT-EPOCH(1)'s", measure, judge, points)
    far = [np.abs(np.concatenate([*values.values()]) - 1) for values in parts]
    largest, within = max(part.max() for part in far), min((part < 0.1).mean() for part in far)
    if static:
        figure.answers["distinctions"] = f"{largest:.0%} at most", largest >= 0.8
    else:
        text = f"{within:.0%} of the points or more are under 10%, the largest is {largest:.0%}"
        figure.answers["distinctions"] = text, within >= 0.8
    return figure


figure_13, figure_14, figure_15 = (partial(response_figure, axis, True) for axis in AXES)
figure_16, figure_17, figure_18 = (partial(response_figure, axis, False) for axis in AXES)
