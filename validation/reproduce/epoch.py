"""Claims of the epoch paper: examples, theorems and tables, overheads and response times."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from itertools import combinations_with_replacement, pairwise
from typing import Any, Literal

import numpy as np

from schedopt.formulations.epoch import Partition, Rectangles
from schedopt.instances.epoch import Instance, generators
from schedopt.instances.epoch.generators import drawn_uniform, mean_minimum
from schedopt.policies.epoch.kernels import (
    CODES,
    OPT,
    Arrivals,
    arrivals,
    overheads,
    shares,
    simulate,
    speedup,
)
from schedopt.policies.registry import NotApplicableError, registered
from schedopt.solvers import portfolio
from schedopt.solvers.result import Limits
from schedopt.validation.reproduce.ledger import Values, proven_optimum, runner_over

Widths = Literal["any", "powers-of-two"]


def instance_of(minima: Sequence[int], nodes: int, inequity: int = 0) -> Instance:
    """Return an instance of jobs with these minima."""
    return Instance(
        name="example", nodes=nodes, inequity=inequity, jobs=generators.numbered_jobs(minima)
    )


WIDE, LARGE_LAST = instance_of([20] * 10, 140), instance_of([4, 4, 4, 4, 8], 16)  # figures 7 and 8


def schedule_of(name: str, instance: Instance) -> Any:
    """Return the schedule of a policy."""
    return registered("epoch")[name].run(instance)


def overhead_of(name: str, instance: Instance) -> float:
    """Return the overhead of a policy."""
    return instance.objective_of(schedule_of(name, instance))


def optimum(instance: Instance, *, widths: Widths | None = None) -> float:
    """Return the least overhead: of epochs, or with ``widths`` of rectangles of such widths."""
    model = Partition(instance) if widths is None else Rectangles(instance, widths=widths)
    return float(proven_optimum(model).objective)


def figure_1(_: bool) -> Values:
    return {}


def uniform(seeds: int, jobs: Iterable[int], **more: float) -> Iterator[tuple[Instance]]:
    """Yield random instances, of 32 nodes unless ``nodes`` is given."""
    for seed in range(seeds):
        for count in jobs:
            yield (generators.GENERATORS["uniform"](seed, jobs=count, **{"nodes": 32} | more),)


@runner_over(lambda quick: uniform(20 if quick else 200, (8, 11)))
def figure_2(instance: Instance) -> Values:
    count, fair = len(instance.jobs), instance.nodes / len(instance.jobs)
    pieces = schedule_of("buddy" if count == 8 else "buddy-star", instance).rectangles
    of_jobs = [(job.minimum, pieces[job.name]) for job in instance.jobs]
    return {
        "area": [abs(p.nodes * (p.end - p.start) / fair - 1) for _, p in of_jobs],
        "narrow": [piece.nodes < minimum for minimum, piece in of_jobs],
    }


def figure_3(_: bool) -> Values:
    instance = instance_of([1, 2, 3, 3, 3, 3, 3, 8], 16)
    first, second, *_ = schedule_of("buddy", instance).rectangles.values()
    best = optimum(instance, widths="powers-of-two")
    return {
        "first": first,
        "second": second,
        "buddy": overhead_of("buddy", instance),
        "best": best,
    }


def figure_4(_: bool) -> Values:
    instance = instance_of([3, 3, 3, 1], 4)
    return {"buddy": overhead_of("buddy", instance), "best": optimum(instance, widths="any")}


@runner_over(lambda quick: uniform(3 if quick else 30, range(1, 17)))
def figure_5(instance: Instance) -> Values:
    star, jobs = schedule_of("buddy-star", instance).rectangles, len(instance.jobs)
    ones = [1 << i for i in reversed(range(jobs.bit_length())) if jobs >> i & 1]
    bounds = [sum(ones[:i]) for i in range(len(ones) + 1)]
    starts = [(star[job.name].start * jobs, job.minimum) for job in instance.jobs]
    groups = [[m for at, m in starts if a - 1e-8 <= at < b - 1e-8] for a, b in pairwise(bounds)]
    same = (
        {overhead_of(n, instance) for n in ("buddy", "buddy-star", "hybrid")}
        if len(ones) == 1
        else ()
    )
    return {
        "digits": [*map(len, groups)] == ones,
        "sorted": all(max(a) <= min(b) for a, b in pairwise(groups)),
        "powers": [len(same) == 1] if same else [],
    }


def figure_6(_: bool) -> Values:
    epochs = schedule_of("equi-epoch", instance_of([6] * 5 + [10] * 3 + [15] * 2, 30)).epochs
    ends = np.cumsum([epoch.duration for epoch in epochs]).tolist()
    return {"sizes": [len(epoch.nodes) for epoch in epochs], "ends": ends}


def figure_7(_: bool) -> Values:
    return {"equi": overhead_of("equi-epoch", WIDE) / 140, "best": optimum(WIDE) / 140}


def figure_8(_: bool) -> Values:
    greedy, equi = (overhead_of(n, LARGE_LAST) / 16 for n in ("heuristic-epoch", "equi-epoch"))
    return {"greedy": greedy, "equi": equi, "best": optimum(LARGE_LAST) / 16}


def example_seven_jobs(quick: bool) -> Values:
    sizes = (8, 16, 32) if quick else (8, 16, 32, 64, 128)
    equal, nearly = (min(optimum(instance_of([1] * 7, n, k)) / n for n in sizes) for k in (0, 1))
    return {"equal": equal, "nearly": nearly}


@runner_over(lambda quick: uniform(20 if quick else 200, (16,), load=2.0))
def lemma_1(instance: Instance) -> Values:
    pieces = list(schedule_of("buddy", instance).rectangles.values())
    height, without = [Fraction(0)] * 32, []
    for done, piece in enumerate(pieces):
        cuts = [0, *(i + 1 for i, (a, b) in enumerate(pairwise(height)) if a != b), 32]
        for left, right in pairwise(cuts):
            if height[left] < 1:
                over = [p for p in pieces[done:] if p.first < right and p.first + p.nodes > left]
                least = min(p.end - p.start for p in over)
                without.append(least > Fraction(1, height[left].denominator))
        first = piece.first or 0
        height[first : first + piece.nodes] = [Fraction(piece.end)] * piece.nodes
    return {"without": without}


def all_classes(nodes: int, jobs: Sequence[int]) -> Iterator[tuple[Instance]]:
    """Yield instances of all multisets of powers of two as minima; N is a power of two."""
    for n in range(nodes.bit_length()):
        for j in jobs:
            for minima in combinations_with_replacement([1 << i for i in range(n + 1)], j):
                yield (instance_of(minima, 1 << n),)


@runner_over(lambda quick: all_classes(8, (1, 2, 4)) if quick else all_classes(16, (1, 2, 4, 8)))
def theorem_1(instance: Instance) -> Values:
    best = optimum(instance, widths="powers-of-two")
    return {"differ": overhead_of("buddy", instance) != best}


def powers_of_two(quick: bool) -> Iterator[tuple[Instance]]:
    """Yield instances whose number of nodes is a power of two."""
    yield from all_classes(4, range(1, 6)) if quick else all_classes(16, range(1, 8))
    draw = np.random.Generator(np.random.PCG64(1))
    for _ in range(60 if quick else 600):
        nodes = 1 << int(draw.integers(3, 9))
        minima = draw.integers(1, nodes, int(draw.integers(8, 25)), endpoint=True)
        yield (instance_of(minima.tolist(), nodes),)


def theorem_2(quick: bool) -> Values:
    differ = [overhead_of("equi-epoch", i) != optimum(i) for (i,) in powers_of_two(quick)]
    return {"differ": differ} | figure_7(quick)


def section_4_2(quick: bool) -> Values:
    grid = [
        (nodes, jobs, load, drawn)
        for drawn in (generators.drawn_uniform, generators.drawn_binomial)
        for nodes in (64, 128, 200, 256)
        for jobs in (4, 7, 8, 12, 16, 24, 32)
        for load in (1.0, 2.0)
        if 2 * load * nodes / jobs - 1 <= nodes
    ]
    ratios = []
    for i, (nodes, jobs, load, drawn) in enumerate(grid):
        draw = np.random.Generator(np.random.PCG64(i))
        shape = (300 if quick else 10_000, jobs)
        minima = drawn(draw, nodes, shape, generators.mean_minimum(nodes, jobs, load))
        _, tested, epochs = overheads(OPT, -np.sort(-minima, axis=1), nodes, 1)
        ratios.append(float(tested.sum() / epochs.sum()))
    return {"ratios": ratios, "mean": float(np.mean(ratios))}


def opt_epoch(quick: bool) -> Values:
    draw, different = np.random.Generator(np.random.PCG64(1)), []
    for _ in range(60 if quick else 2_000):
        nodes = int(draw.integers(1, 25))
        most = draw.integers(1, nodes, endpoint=True)
        minima = draw.integers(1, most, draw.integers(1, 9), endpoint=True).tolist()
        optima, _ = optima_by_method(instance_of(minima, nodes, int(draw.integers(0, 7))))
        different.append(len(optima) > 1)
    planted = [
        generators.GENERATORS["planted"](seed, nodes=16, epochs=epochs, inequity=k, most=8)
        for epochs in ((3,) if quick else (3, 6, 9))
        for k in range(7)
        for seed in range(1 if quick else 3)
    ]
    runs = [(i, *optima_by_method(i)) for i in planted]
    return {
        "different": different,
        "wrong": [found != {float(i.minima.sum())} for i, found, _ in runs],
        "given_up": sum(count for *_, count in runs),
        "largest": max(len(instance.jobs) for instance in planted),
    }


def optima_by_method(instance: Instance) -> tuple[set[float], int]:
    """Return the optima that the methods prove, and the number of methods that prove none."""
    optima = []
    for name in ("epochs", "cp-sat", "model"):
        limits = Limits(threads=1, time_limit=2.0)
        result = portfolio.solve(Partition(instance), limits, solver=name)
        optima.append(result.objective if result.proven else None)
    try:
        optima.append(overhead_of("paper-search", instance))
    except NotApplicableError:
        optima.append(None)
    return {value for value in optima if value is not None}, optima.count(None)


# --- tables ----------------------------------------------------------------------------------


def table_1(_: bool) -> Values:
    cuts = [sum(_count_cuts(128, k, least) for least in range(1, 129)) for k in range(7)]
    return {"cuts": cuts, "curves": {"cuts": (list(range(len(cuts))), cuts)}}


def _count_cuts(nodes: int, inequity: int, least: int) -> int:
    """Return the number of cuts with a given smallest part; other parts are up to k larger."""
    ways = [int(size == least) for size in range(nodes + 1)]
    for part in range(least, min(least + inequity, nodes) + 1):
        for size in range(part, nodes + 1):
            ways[size] += ways[size - part]
    return ways[nodes]


def table_2(quick: bool) -> Values:
    seeds, found = 10 if quick else 60, {}
    names = ("buddy", "buddy-star", "hybrid", "equi-epoch", "paper-search", "heuristic-epoch")
    for name in names:
        found[name] = {
            "nodes": _try_restriction(name, uniform(seeds, (8,), nodes=24)),
            "jobs": _try_restriction(name, uniform(seeds, (11,))),
            "equal": _compare_areas(name, seeds),
            "optimal": _compare_with_optimum(name, seeds),
            "efficient": _time_hard_instance(name),
        }
    return {"found": found}


def _try_restriction(name: str, drawn: Iterator[tuple[Instance]]) -> tuple[str, str]:
    """Try a policy on instances; return the reason and ``yes`` if it refuses one, else ``no``."""
    try:
        for (instance,) in drawn:
            overhead_of(name, instance)
    except NotApplicableError as reason:
        return str(reason), "yes"
    return "runs for others", "no"


def _compare_areas(name: str, seeds: int) -> tuple[str, str]:
    """Return the finding on equal areas under a policy, and its cell of table 2."""
    kinds: set[bool] = set()
    for (instance,) in uniform(seeds, (8 if name == "buddy" else 11,)):
        fair, of_jobs = instance.nodes / len(instance.jobs), shares(schedule_of(name, instance))
        kinds |= {abs(nodes * part - fair) < 1e-9 for nodes, part in of_jobs.values()}
    if kinds == {True}:
        return "all areas equal", "yes"
    both = len(kinds) > 1 and name == "hybrid"
    return ("some areas differ", "partially") if both else ("areas differ", "no")


def _compare_with_optimum(name: str, seeds: int) -> tuple[str, str]:
    """Return the finding on a policy's optimality in its class, and its cell of table 2."""

    def above(sizes: Sequence[int], jobs: int, k: int, widths: Widths | None = None) -> int:
        drawn = [
            i for n in sizes for (i,) in uniform(seeds, (jobs,), nodes=n, load=1.5, inequity=k)
        ]
        return sum(overhead_of(name, i) > optimum(i, widths=widths) for i in drawn)

    if name == "buddy":
        worse = above((16,), 8, 0, "powers-of-two")
        return f"above the optimum of its widths {worse} times", "no" if worse else "yes"
    if name in ("buddy-star", "hybrid"):
        small = instance_of([1, 1, 1, 3, 3], 4, 1)
        ours, best = overhead_of(name, small), optimum(small, widths="any")
        text = f"N = 4, M = [1, 1, 1, 3, 3]: {ours:g}, optimum {best:g}"
        return text, "no" if ours > best else "yes"
    k = 0 if name == "equi-epoch" else 1
    powers, others = above((8, 16, 32), 7, k), above((12, 18, 20, 30), 7, k)
    if counterexample := {"equi-epoch": WIDE, "heuristic-epoch": LARGE_LAST}.get(name):
        others += overhead_of(name, counterexample) > optimum(counterexample)
    verdict = "if N = 2^n" if others else "yes"
    if powers or (others and name == "heuristic-epoch"):
        verdict = "no"
    return f"above OPT-EPOCH({k}) {powers} times for N = 2^n, {others} times else", verdict


def _time_hard_instance(name: str) -> tuple[str, str]:
    """Return the finding on a policy's speed on a hard instance, and its cell of table 2."""
    hard = generators.GENERATORS["planted"](1, nodes=128, epochs=8, inequity=4)
    if name == "buddy":
        hard = generators.GENERATORS["uniform"](1, nodes=128, jobs=64)
    began = time.perf_counter()
    try:
        overhead_of(name, hard)
    except NotApplicableError as reason:
        return f"{len(hard.jobs)} jobs, k = 4: {reason}", "no"
    took = time.perf_counter() - began
    text = f"{len(hard.jobs)} jobs in {'under 1' if took < 1 else round(took)} s"
    return text, "yes" if took < 1 else "no"


def table_3(quick: bool) -> Values:
    drawn = [*map(generators.GENERATORS["uniform"], range(200 if quick else 5_000))]
    minima = np.concatenate([instance.minima for instance in drawn])
    values, counts = np.unique(minima, return_counts=True)
    return {
        "shapes": {(i.nodes, len(i.jobs), i.inequity) for i in drawn},
        "load": float(minima.mean() * 8 / 128),
        "minima": (int(values[0]), int(values[-1])),
        "curves": {"minima": (values, counts / counts.sum())},
    }


# --- Figures 9 to 18: overheads and response times by jobs, nodes and inequity -------------------

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
    trials, found = 2_500 if quick else 40_000, {}
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
    times, completions = (5, 3_000) if quick else (20, 20_000)
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
