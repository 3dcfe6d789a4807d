"""Claims of the heSRPT paper on random instances, and of abstracts on concave speedups.

`smartfill` and `wham` compare the claims of two abstracts of 2025 and 2026 with optima over all
orders that branch and bound proves.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise, permutations
from typing import Any

import numpy as np

from schedopt.formulations.hesrpt import Allocation
from schedopt.instances.hesrpt import Allocated, Amdahl, Instance, Job, Power, Speedup, Table
from schedopt.instances.hesrpt.generators import GENERATORS
from schedopt.policies.hesrpt.simulator import hesrpt_shares, hesrpt_total
from schedopt.policies.registry import registered
from schedopt.solvers.hesrpt.closed_form import least_makespan
from schedopt.solvers.hesrpt.closed_form import optimum as closed_form
from schedopt.solvers.hesrpt.order_search import BestOrder, GivenOrder, order_search
from schedopt.validation.reproduce.ledger import Values, proven_optimum, runner_over

POWERS = (0.05, 0.3, 0.5, 0.9, 0.99)
SERVERS = 16
Case = tuple[Any, float, int]


def instance_of(sizes: Any, speedup: Speedup | None, servers: int = 10, **more: Any) -> Instance:
    """Return an instance of jobs with these sizes."""
    own = more.pop("own", [None] * len(sizes))
    jobs = (Job(name=f"job-{i + 1}", size=float(x), speedup=own[i]) for i, x in enumerate(sizes))
    more.setdefault("objective", "total-flow-time")
    return Instance(name="random", servers=servers, speedup=speedup, jobs=tuple(jobs), **more)


def search_orders(instance: Instance, order: Sequence[int] | None = None) -> GivenOrder | BestOrder:
    """Return a finished search over all completion orders, or over a given one."""
    search = order_search(instance, order=order)
    search.advance(1.0)
    return search


def random_cases(quick: bool, most: int = 8) -> Iterator[Case]:
    """Yield sizes in decreasing order, p and N."""
    for seed in range(60 if quick else 1_000):
        draw = np.random.Generator(np.random.PCG64(seed))
        count = int(draw.integers(1, most + 1))
        sizes = draw.pareto(1.5, count) + 1 if seed % 2 else draw.integers(1, 4, count)
        servers = int(draw.choice([1, 10, 1_000, 10**6]))
        yield np.sort(sizes.astype(float))[::-1], float(draw.choice(POWERS)), servers


def numbered_cases(quick: bool) -> Iterator[tuple[Any, float, int, np.random.Generator]]:
    """Yield random cases, each with a random generator."""
    for seed, case in enumerate(random_cases(quick)):
        yield *case, np.random.Generator(np.random.PCG64(10_000 + seed))


def few_cases(quick: bool) -> list[Case]:
    """Return a few cases of at most five jobs."""
    return list(random_cases(True, 5))[: 20 if quick else 60]


def shares_of(x: Any, p: float, servers: int) -> Any:
    """Return the shares of the first epoch of the optimum, smallest first."""
    best = search_orders(instance_of(x, Power(p=p), servers)).solution()
    return np.sort(list(best.epochs[0].share.values()))


@runner_over(few_cases)
def theorem_1(x: Any, p: float, servers: int) -> Values:
    from schedopt.solvers.portfolio import solve

    own = [Power(p=p), Amdahl(parallel=0.9), Power(p=0.7), Power(p=p), Power(p=p)][: len(x)]
    instance = instance_of(x, None, min(servers, 1000), own=own, objective="makespan")
    together, _, _ = least_makespan(instance)
    solved = solve(Allocation(instance), solver="model")
    return {"off": abs(solved.objective / together - 1) if solved.objective else np.inf}


@runner_over(random_cases)
def theorem_2(x: Any, p: float, servers: int) -> Values:
    least, _, _ = least_makespan(instance_of(x, Power(p=p), servers))
    logs = np.log(x) / p
    norm = float(np.exp(p * (logs.max() + np.log(np.exp(logs - logs.max()).sum()))))
    return {
        "printed": abs(norm / least - 1),
        "corrected": abs(norm / servers**p / least - 1),
    }


def theorem_3(quick: bool) -> Values:
    table = Table(points=((1, 1), (4, 3), (9, 4)))
    kinds = (Power(p=0.3), Power(p=0.9), Amdahl(parallel=0.8), table)
    least, rounds = np.inf, 200 if quick else 5_000
    draw = np.random.Generator(np.random.PCG64(1))
    for _ in range(rounds):
        parts, lengths = draw.random(6) * 10, draw.random(6)
        for kind in kinds:
            even = kind.at((parts * lengths).sum() / lengths.sum()) * lengths.sum()
            least = min(least, float(even / (kind.at(parts) * lengths).sum()))
    return {"least": least, "rounds": rounds, "kinds": len(kinds)}


@runner_over(lambda quick: random_cases(quick, 5))
def theorem_4(x: Any, p: float, servers: int) -> Values:
    solved = search_orders(instance_of(x, Power(p=p), servers), range(len(x))).solution()
    changes = [
        abs(before.share.get(name, 0.0) / left / share - 1)
        for before, after in pairwise(solved.epochs)
        for left in [sum(before.share.get(name, 0.0) for name in after.share)]
        for name, share in after.share.items()
        if share > 1e-200 and left > 0
    ]
    return {"off": changes}


@runner_over(lambda quick: random_cases(quick, 5 if quick else 6))
def theorem_5(x: Any, p: float, servers: int) -> Values:
    ones, orders = np.ones(len(x)), map(list, permutations(range(len(x))))
    best = min(closed_form(x[order], ones, p, servers).bound for order in orders)
    return {"off": abs(closed_form(x, ones, p, servers).value / best - 1)}


@runner_over(numbered_cases)
def theorem_6(x: Any, p: float, servers: int, draw: np.random.Generator) -> Values:
    others = np.sort(draw.pareto(1.1, len(x)) + 0.1)[::-1]
    change = np.abs(shares_of(x, p, servers) - shares_of(others, p, servers)).max()
    return {"off": float(change)}


@runner_over(random_cases)
def theorem_7(x: Any, p: float, servers: int) -> Values:
    from schedopt.solvers.hesrpt.price_kernels import best_shares, curves, prices_of

    instance = instance_of(x, Power(p=p), servers)
    order, c = np.arange(len(x)), curves(instance)
    lam = prices_of(c, order, np.cumsum(instance.costs[order]))
    shares = np.zeros(len(x))
    best_shares(c, lam, order, len(x), np.zeros(1), shares)
    return {"off": float(np.abs(shares[::-1] - hesrpt_shares(len(x), p)).max())}


@runner_over(random_cases)
def theorem_8(x: Any, p: float, servers: int) -> Values:
    instance = instance_of(x, Power(p=p), servers)
    total, search = hesrpt_total(x, p, servers), search_orders(instance)
    simulated = instance.objective_of(registered("hesrpt")["hesrpt"].run(instance))
    return {
        "optimum": abs(float(search.prices(search.order) @ x) / total - 1),
        "played": abs(simulated / total - 1),
    }


def flow_time(sizes: Any, shares: Any, p: float, servers: float, speed: float) -> float:
    """Return the total flow time under constant shares; shares of completed jobs stay unused."""
    remaining, total, now = np.array(sizes, dtype=float), 0.0, 0.0
    rates = speed * (np.array(shares) * servers) ** p
    running = np.ones(len(remaining), dtype=bool)
    while running.any():
        step = float((remaining[running] / rates[running]).min())
        remaining[running] -= step * rates[running]
        now += step
        ended = running & (remaining <= 1e-12 * np.array(sizes))
        total += now * ended.sum()
        running &= ~ended
    return total


@runner_over(numbered_cases)
def lemma_1(x: Any, p: float, servers: int, draw: np.random.Generator) -> Values:
    beta = float(draw.uniform(0.05, 0.95))
    parts = draw.dirichlet(np.ones(len(x))) + 1e-3
    shares = (1 - beta) * parts / parts.sum()
    idle = flow_time(x, shares, p, servers, 1.0)
    slow = flow_time(x, shares / (1 - beta), p, servers, (1 - beta) ** p)
    return {"off": abs(idle / slow - 1)}


def scale_free(quick: bool) -> Iterator[tuple[Any, float, int, Any, float]]:
    """Yield decreasing sizes, p, N, the ω of each epoch by job, and the total flow time."""
    for x, p, servers in random_cases(quick, 6):
        if len(set(x.tolist())) < len(x):
            continue  # with equal sizes the order is not unique
        solved = search_orders(instance_of(x, Power(p=p), servers)).solution()
        last_first = sorted(solved.completion, key=lambda name: -solved.completion[name])
        shares = np.array([[e.share.get(n, 0.0) for n in last_first] for e in solved.epochs])
        before = np.pad(np.cumsum(shares, axis=1)[:, :-1], ((0, 0), (1, 0)))
        omegas = np.where(shares > 1e-200, before / np.maximum(shares, 1e-300), np.nan)
        sizes = x[[int(name.split("-")[1]) - 1 for name in last_first]]
        yield sizes, p, servers, omegas, sum(solved.completion.values())


@runner_over(scale_free)
def definition_1(sizes: Any, p: float, servers: int, omegas: Any, total: float) -> Values:
    del servers, total
    finite = np.isfinite(omegas)
    first = np.where(finite[0], omegas[0], 0.0)
    off = np.abs(omegas - first) / np.maximum(first, 1e-300)
    right, rest = constants(p, len(sizes)), range(1, len(sizes))
    return {
        "constant": float(off[finite & (first > 0)].max(initial=0.0)),
        "formula": [abs(first[k] / right[k] - 1) for k in rest if finite[0][k] and right[k] > 1e-9],
    }


@runner_over(scale_free)
def lemma_2(sizes: Any, p: float, servers: int, omegas: Any, total: float) -> Values:
    if not np.isfinite(omegas[0]).all():
        return {}
    return {"off": abs(float((sizes * unit_costs(omegas[0], p)).sum()) / servers**p / total - 1)}


def unit_costs(w: Any, p: float) -> Any:
    """Return k·s(1 + ω_k) - (k - 1)·s(ω_k)."""
    k = np.arange(1, len(w) + 1)
    return k * (1 + w) ** p - (k - 1) * w**p


def constants(p: float, count: int) -> Any:
    """Return the constants ω_1 .. ω_count of heSRPT for the speedup k^p."""
    k = np.arange(2, count + 1)
    return np.concatenate([[0.0], 1 / np.expm1(np.log(k / (k - 1)) / (1 - p))])


def increasing(values: dict[float, Any]) -> Values:
    """Return the least step of sequences by p, and the sequences as curves."""
    k = np.arange(1, 31)
    return {
        "step": min(float(np.diff(of).min()) for of in values.values()),
        "powers": ", ".join(f"{p:g}" for p in values),
        "curves": {f"p = {p:g}": (k, of[:30] / of[29]) for p, of in values.items()},
    }


def lemma_3(_: bool) -> Values:
    return increasing({p: constants(p, 1_000) for p in POWERS})


def lemma_4(_: bool) -> Values:
    i, values = np.arange(1, 1_001), {}
    for p in POWERS:
        c = 1 / (1 - p)
        with np.errstate(divide="ignore"):
            logs = c * np.log(i / 1_000) + np.log(-np.expm1(c * np.log1p(-1 / i)))
        values[p] = logs - logs[0] + 1
    return increasing(values)


def lemma_5(_: bool) -> Values:
    k, values, off = np.arange(1, 1_001), {}, [0.0]
    for p in POWERS:
        with np.errstate(divide="ignore"):
            values[p] = k * (-np.expm1(np.log1p(-1 / k) / (1 - p))) ** (1 - p)
        direct = unit_costs(constants(p, 60), p)
        off.append(float(np.abs(direct / values[p][:60] - 1).max()))
    return increasing(values) | {"off": off}


# --- concave speedups ------------------------------------------------------------------------


def common_speedups(draw: np.random.Generator) -> Iterator[Speedup]:
    """Yield a power, Amdahl's law, a speedup that saturates, and a table of falling slopes."""
    yield Power(p=float(draw.uniform(0.1, 0.95)))
    yield Amdahl(parallel=float(draw.uniform(0.3, 0.99)))
    width = float(draw.integers(1, SERVERS))
    yield Table(points=((width, width),))
    k = 2.0 ** np.arange(5)
    slopes = np.sort(draw.uniform(0.05, 1.0, len(k)))[::-1]
    rises = np.cumsum(np.diff(k, prepend=0.0) * slopes).round(6)
    yield Table(points=tuple(zip(k.tolist(), rises.tolist(), strict=True)))


def weighted_jobs(draw: np.random.Generator, speedup: Speedup | None, count: int) -> Instance:
    """Return random jobs of one speedup with agreeable weights, or of different speedups."""
    pareto = draw.random() < 0.5
    sizes = np.sort(draw.pareto(1.5, count) + 1 if pareto else draw.integers(1, 4, count))
    unlike = draw.random() < 0.5
    weights = np.sort(draw.uniform(0.2, 3.0, count) if unlike else np.ones(count))[::-1]
    own: list[Speedup | None] = [None] * count
    for j in range(0 if speedup else count):
        every = list(common_speedups(draw))
        own[j] = every[int(draw.integers(len(every)))]
    jobs = tuple(
        Job(name=f"job-{j + 1}", size=float(x), weight=float(w), speedup=own[j])
        for j, (x, w) in enumerate(zip(sizes, weights, strict=True))
    )
    settings: Any = {"speedup": speedup, "objective": "weighted-flow-time"}
    return Instance(name="random", servers=SERVERS, jobs=jobs, **settings)


def bounded_optimum(instance: Instance) -> tuple[float, Allocated]:
    """Return the bound over all orders that branch and bound proves, and the best allocation."""
    result = proven_optimum(Allocation(instance), time_limit=60.0)
    return result.bound, result.solution


def cost_of(name: str, instance: Instance) -> float:
    """Return the cost of a policy."""
    return instance.objective_of(registered("hesrpt")[name].run(instance))


def smartfill_cases(quick: bool) -> Iterator[tuple[Instance]]:
    """Yield instances of each common speedup."""
    for seed in range(6 if quick else 100):
        draw = np.random.default_rng(seed)
        for speedup in common_speedups(draw):
            yield (weighted_jobs(draw, speedup, int(draw.integers(1, 9))),)


@runner_over(smartfill_cases)
def smartfill(instance: Instance) -> Values:
    bound, best = bounded_optimum(instance)
    shared, jobs = registered("hesrpt")["smartfill"].run(instance), len(instance.jobs)
    smooth = isinstance(instance.speedup, Power | Amdahl)
    return {
        "optimal": abs(instance.objective_of(shared) / bound - 1),
        "selective": any(len(epoch.share) < jobs - i for i, epoch in enumerate(shared.epochs)),
        "derivatives": [0.0, *_ratio_changes(instance, best)] if smooth else [],
    }


def _ratio_changes(instance: Instance, best: Allocated, step: float = 1e-6) -> Iterator[float]:
    """Yield relative changes of the ratios of derivatives from an epoch to the next.

    ``step`` is that of the derivatives, as a fraction of a job's servers.
    """

    def slope(share: float) -> float:
        k = np.array([share * (1 - step), share * (1 + step)]) * instance.servers
        low, high = instance.each("at", [0, 0], k)
        return float(high - low) / float(k[1] - k[0])

    for before, after in pairwise(best.epochs):
        served = [name for name in after.share if before.share.get(name, 0) > 1e-6]
        for a, b in combinations(served, 2):
            old, new = (slope(epoch.share[a]) / slope(epoch.share[b]) for epoch in (before, after))
            yield abs(new / old - 1)


def wham(quick: bool) -> Values:
    names = ("wham", "fw-cam", "equi", "knee", "srpt", "hell")
    gaps: dict[str, list[float]] = {name: [] for name in names}
    for seed in range(3 if quick else 100):
        instance = weighted_jobs(np.random.default_rng(seed), None, 6)
        bound, _ = bounded_optimum(instance)
        for name in names:
            gaps[name].append(cost_of(name, instance) / bound - 1)
    pair = instance_of([1, 4], Power(p=0.5), SERVERS, objective="weighted-flow-time")
    return {
        "mean": {name: float(np.mean(of)) for name, of in gaps.items()},
        "pair": cost_of("wham", pair) / bounded_optimum(pair)[0] - 1,
    }


# --- figures and examples ------------------------------------------------------------------------

RIVALS = ("equi", "srpt", "hell", "knee")


def figure_1(_: bool) -> Values:
    k = np.linspace(0, 10, 101)
    curves: Any = {f"p = {p:g}": (k, Power(p=p).at(k)) for p in (0.1, 0.3, 0.5, 0.7, 0.9, 1.0)}
    return {
        "concave": all((np.diff(y, 2) <= 1e-12).all() for _, y in curves.values()),
        "below": all((y[k >= 1] <= k[k >= 1] + 1e-12).all() for _, y in curves.values()),
        "curves": curves,
    }


def figure_2(quick: bool) -> Values:
    from scipy.optimize import curve_fit

    draw = np.random.Generator(np.random.PCG64(2))
    k = np.array([1, 2, 4, 8, 16, 24, 32, 48, 64], dtype=float)
    values: Values = {"curves": {}}
    for name, p in (("blackscholes", 0.89), ("bodytrack", 0.82), ("canneal", 0.69)):
        speedup = Power(p=p).at(k)
        values["curves"][name] = (k, speedup)
        errors = []
        for _ in range(20 if quick else 200):
            points = speedup * np.exp(0.03 * draw.standard_normal(len(k)))
            fitted, _ = curve_fit(np.power, k, points, p0=0.5)
            errors.append(abs(float(fitted[0]) - p))
        values[name] = max(errors)
    return values


def example_75_25(_: bool) -> Values:
    twins = instance_of([1, 1], Power(p=0.5))
    best = search_orders(twins)
    runs = [registered("hesrpt")[name].run(twins).completion for name in ("equi", "helrpt")]
    ends, least = (max(completion.values()) for completion in runs)
    return {
        "share": max(best.solution().epochs[0].share.values()),
        "total": best.value,
        "together": abs(ends / least - 1) < 1e-12,
        "halves": cost_of("equi", twins) / best.value,
        "one_by_one": cost_of("srpt", twins) / best.value,
    }


def example_amdahl(_: bool) -> Values:

    def split(servers: int) -> tuple[float, float]:
        best = search_orders(instance_of([1, 1], Amdahl(parallel=0.9), servers))
        return float(max(best.solution().epochs[0].share.values())), best.value

    share, total = split(10)
    near = min(range(2, 60), key=lambda n: abs(split(n)[0] - 0.635))
    return {"share": share, "total": total, "near": near, "share_near": split(near)[0]}


def figure_3(_: bool) -> Values:
    instance = instance_of([30, 20, 10], Power(p=0.5), 500)
    run = registered("hesrpt")["hesrpt"].run(instance)
    times, remaining = [0.0], {job.name: [job.size] for job in instance.jobs}
    for epoch in run.epochs:
        times.append(epoch.end)
        for name, sizes in remaining.items():
            rate = float(Power(p=0.5).at(epoch.share.get(name, 0.0) * 500))
            sizes.append(max(sizes[-1] - rate * (epoch.end - epoch.start), 0.0))
    return {
        "order": run.order,
        "served": [{n for n, share in epoch.share.items() if share > 0} for epoch in run.epochs],
        "rest": [{n for n, end in run.completion.items() if end >= e.end} for e in run.epochs],
        "shares": [round(share, 4) for share in run.epochs[0].share.values()],
        "curves": {f"{name}, remaining": (times, sizes) for name, sizes in remaining.items()},
    }


def figure_4(quick: bool) -> Values:
    ratio: dict[str, list[float]] = {name: [] for name in RIVALS}
    seeds, jobs = (1, 250) if quick else (10, 500)
    for p in POWERS:
        drawn = [GENERATORS["pareto"](seed + 1, p=p, jobs=jobs) for seed in range(seeds)]
        best, *others = (
            float(np.median([cost_of(name, instance) for instance in drawn]))
            for name in ("hesrpt", *RIVALS)
        )
        for name, median in zip(RIVALS, others, strict=True):
            ratio[name].append(median / best)
    return {
        "ratio": ratio,
        "least": min(min(ratios) for ratios in ratio.values()),
        "most": {name: max(ratios) for name, ratios in ratio.items()},
        "mean": {name: float(np.exp(np.mean(np.log(ratios)))) for name, ratios in ratio.items()},
        "near": [abs(h / s - 1) < 0.01 for h, s in zip(ratio["hell"], ratio["srpt"], strict=True)],
        "powers": POWERS,
        "curves": {name: (POWERS, np.log10(ratios).tolist()) for name, ratios in ratio.items()},
    }
