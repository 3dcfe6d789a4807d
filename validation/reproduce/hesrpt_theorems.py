"""Theorems 1 to 8, Definition 1 and Lemmas 1 to 5 of the heSRPT paper, on random instances."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, permutations
from typing import Any

import numpy as np

from schedopt.instances.hesrpt import Amdahl, Instance, Job, Power, Speedup, Table
from schedopt.policies.hesrpt.simulator import hesrpt_shares, hesrpt_total
from schedopt.policies.registry import registered
from schedopt.solvers.hesrpt.direct import least_makespan, optimum
from schedopt.solvers.hesrpt.order_search import BestOrder, GivenOrder, order_search
from schedopt.validation.reproduce.ledger import Answer, Answers, Outcome

POWERS = (0.05, 0.3, 0.5, 0.9, 0.99)


def instance_of(sizes: Any, speedup: Speedup | None, servers: int = 10, **more: Any) -> Instance:
    """Build an instance of jobs of these sizes, for the total flow time where nothing is said."""
    own = more.pop("own", [None] * len(sizes))
    jobs = (Job(name=f"job-{i + 1}", size=float(x), speedup=own[i]) for i, x in enumerate(sizes))
    more.setdefault("objective", "total-flow-time")
    return Instance(name="random", servers=servers, speedup=speedup, jobs=tuple(jobs), **more)


def search_orders(
    instance: Instance, seconds: float = 1.0, order: Sequence[int] | None = None
) -> GivenOrder | BestOrder:
    """Search all completion orders, or find the optimum of one."""
    search = order_search(instance, order=order)
    search.advance(seconds)
    return search


def random_cases(quick: bool, most: int = 8) -> Iterator[tuple[Any, float, int]]:
    """Yield sizes from the largest, p and N."""
    for seed in range(60 if quick else 1_000):
        draw = np.random.Generator(np.random.PCG64(seed))
        count = int(draw.integers(1, most + 1))
        sizes = draw.pareto(1.5, count) + 1 if seed % 2 else draw.integers(1, 4, count)
        servers = int(draw.choice([1, 10, 1_000, 10**6]))
        yield np.sort(sizes.astype(float))[::-1], float(draw.choice(POWERS)), servers


def judge_differences(
    found: Iterable[float], most: float, what: str = "relative difference"
) -> Answer:
    """Judge differences, one an instance, by the largest."""
    off = list(found)
    return f"largest {what} {max(off):.1e} in {len(off)} instances", max(off) < most


def theorem_1(quick: bool) -> Answers:
    """Compare the convex program's optimum with the time at which all can complete together."""
    from schedopt.formulations.hesrpt import Allocation
    from schedopt.solvers.hesrpt.cone_programs import solve_program

    found = []
    for x, p, servers in list(random_cases(True, 5))[: 20 if quick else 60]:
        own = [Power(p=p), Amdahl(parallel=0.9), Power(p=0.7), Power(p=p), Power(p=p)][: len(x)]
        instance = instance_of(x, None, min(servers, 1000), own=own, objective="makespan")
        together, _, _ = least_makespan(instance)
        solved = solve_program(Allocation(instance))
        makespan = max(solved.solution.completion.values()) if solved.solution else np.inf
        found.append(abs(makespan / together - 1))
    return {"together": judge_differences(found, 1e-5)}


def theorem_2(quick: bool) -> Answers:
    """Compare the formula, as printed and corrected, with the root that all shares sum to 1."""
    printed, corrected = [], []
    for x, p, servers in random_cases(quick):
        least, _, _ = least_makespan(instance_of(x, Power(p=p), servers))
        logs = np.log(x) / p
        norm = float(np.exp(p * (logs.max() + np.log(np.exp(logs - logs.max()).sum()))))
        printed.append(abs(norm / least - 1))
        corrected.append(abs(norm / servers**p / least - 1))
    return {
        "printed": judge_differences(printed, 1e-9),
        "corrected": judge_differences(corrected, 1e-9),
    }


def theorem_3(quick: bool) -> Answers:
    """Average shares that change within an epoch: no job may have done less for it."""
    least = np.inf
    table = Table(points=((1, 1), (4, 3), (9, 4)))
    kinds = (Power(p=0.3), Power(p=0.9), Amdahl(parallel=0.8), table)
    rounds = 200 if quick else 5_000
    draw = np.random.Generator(np.random.PCG64(1))
    for _ in range(rounds):
        parts, lengths = draw.random(6) * 10, draw.random(6)
        for kind in kinds:
            even = kind.at((parts * lengths).sum() / lengths.sum()) * lengths.sum()
            least = min(least, float(even / (kind.at(parts) * lengths).sum()))
    ours = f"at least {least:.9f} of the work, {rounds} times {len(kinds)} speedups"
    return {"averaged": (ours, least >= 1 - 1e-12)}


def theorem_4(quick: bool) -> Answers:
    """Compare a job's share relative to later finishers over its lifetime, by the dual's prices."""
    found = [0.0]
    for x, p, servers in random_cases(quick, 5):
        solved = search_orders(instance_of(x, Power(p=p), servers), order=range(len(x))).solution()
        for before, after in pairwise(epoch.share for epoch in solved.epochs):
            left = sum(before.get(name, 0.0) for name in after)
            found += [
                abs(before.get(name, 0.0) / left / share - 1)
                for name, share in after.items()
                if share > 1e-200 and left > 0
            ]
    return {"constant": judge_differences(found, 1e-9)}


def theorem_5(quick: bool) -> Answers:
    """Compare shortest-first with the best of all orders."""
    found = []
    for x, p, servers in random_cases(quick, 5 if quick else 6):
        ones = np.ones(len(x))
        orders = map(list, permutations(range(len(x))))
        best = min(optimum(x[order], ones, p, servers).bound for order in orders)
        found.append(abs(optimum(x, ones, p, servers).value / best - 1))
    return {"shortest-first": judge_differences(found, 1e-12)}


def theorem_6(quick: bool) -> Answers:
    """Compare the optimal shares of two sets of as many jobs."""
    found = []
    for seed, (x, p, servers) in enumerate(random_cases(quick)):
        draw = np.random.Generator(np.random.PCG64(10_000 + seed))
        others = np.sort(draw.pareto(1.1, len(x)) + 0.1)[::-1]
        first, second = (
            sorted(
                search_orders(instance_of(y, Power(p=p), servers))
                .solution()
                .epochs[0]
                .share.values()
            )
            for y in (x, others)
        )
        found.append(max(abs(a - b) for a, b in zip(first, second, strict=True)))
    ours = f"largest difference {max(found):.1e} in {len(found)} pairs"
    return {"same": (ours, max(found) < 1e-9)}


def theorem_7(quick: bool) -> Answers:
    """Compare the formula with the shares that the dual's prices ask for."""
    from schedopt.solvers.hesrpt.earning_kernels import best_shares
    from schedopt.solvers.hesrpt.price_kernels import levels_of, prices_of
    from schedopt.solvers.hesrpt.speedup_kernels import curves

    found = []
    for x, p, servers in random_cases(quick):
        instance = instance_of(x, Power(p=p), servers)
        order, c = np.arange(len(x)), curves(instance)
        lam = prices_of(c, order, levels_of(instance.costs, order))
        shares = np.zeros(len(x))
        best_shares(c, lam, order, len(x), np.zeros(1), shares)
        found.append(float(np.abs(shares[::-1] - hesrpt_shares(len(x), p)).max()))
    return {"formula": judge_differences(found, 1e-8, "difference")}


def theorem_8(quick: bool) -> Answers:
    """Compare the formula with the dual bound and with what the shares really make."""
    dual, played = [], []
    for x, p, servers in random_cases(quick):
        instance = instance_of(x, Power(p=p), servers)
        total = hesrpt_total(x, p, servers)
        search = search_orders(instance)
        dual.append(abs(float(search.prices(search.order) @ x) / total - 1))
        run = registered("hesrpt")["hesrpt"].run(instance)
        played.append(abs(instance.objective_of(run) / total - 1))
    return {"optimum": judge_differences(dual, 1e-8), "played": judge_differences(played, 1e-10)}


def flow_time(sizes: Any, shares: Any, p: float, servers: float, speed: float) -> float:
    """Return the total flow time of fixed shares, freed ones lost, on a system of some speed."""
    left, total, now = np.array(sizes, dtype=float), 0.0, 0.0
    rates = speed * (np.array(shares) * servers) ** p
    running = np.ones(len(left), dtype=bool)
    while running.any():
        step = float((left[running] / rates[running]).min())
        left[running] -= step * rates[running]
        now += step
        ended = running & (left <= 1e-12 * np.array(sizes))
        total += now * ended.sum()
        running &= ~ended
    return total


def lemma_1(quick: bool) -> Answers:
    """Play shares that leave a part idle, and shares of all of a slower system."""
    found = []
    for seed, (x, p, servers) in enumerate(random_cases(quick)):
        draw = np.random.Generator(np.random.PCG64(seed))
        beta = float(draw.uniform(0.05, 0.95))
        parts = draw.dirichlet(np.ones(len(x))) + 1e-3
        shares = (1 - beta) * parts / parts.sum()
        idle = flow_time(x, shares, p, servers, 1.0)
        slow = flow_time(x, shares / (1 - beta), p, servers, (1 - beta) ** p)
        found.append(abs(idle / slow - 1))
    return {"slower": judge_differences(found, 1e-9)}


def scale_free(quick: bool) -> Iterator[tuple[Any, float, int, Any, float]]:
    """Yield sizes (last finisher first), p, N, each epoch's ω by job, and the total flow time."""
    for x, p, servers in random_cases(quick, 6):
        if len(set(x.tolist())) < len(x):
            continue  # with equal sizes the order is not unique
        solved = search_orders(instance_of(x, Power(p=p), servers)).solution()
        last_first = sorted(solved.completion, key=lambda name: -solved.completion[name])
        omegas = []
        for epoch in solved.epochs:
            shares = np.array([epoch.share.get(name, 0.0) for name in last_first])
            here = shares > 1e-200
            before = np.concatenate([[0.0], np.cumsum(shares)[:-1]])
            omegas.append(np.where(here, before / np.where(here, shares, 1.0), np.nan))
        sizes = x[[int(name.split("-")[1]) - 1 for name in last_first]]
        yield sizes, p, servers, np.array(omegas), sum(solved.completion.values())


def definition_1(quick: bool) -> Answers:
    """Compare each job's ω over the epochs of its life, and with the optimal constants."""
    spread, formula = [0.0], [0.0]
    for sizes, p, _, omegas, _ in scale_free(quick):
        known = np.isfinite(omegas)
        first = np.where(known[0], omegas[0], 0.0)
        off = np.abs(omegas - first) / np.maximum(first, 1e-300)
        spread.append(float(off[known & (first > 0)].max(initial=0.0)))
        right = constants(p, len(sizes))
        formula += [
            abs(first[k] / right[k] - 1)
            for k in range(1, len(sizes))
            if known[0][k] and right[k] > 1e-9
        ]
    return {
        "constant": judge_differences(spread, 1e-6),
        "formula": judge_differences(formula, 1e-6),
    }


def lemma_2(quick: bool) -> Answers:
    """Compare the expression with the sum of completion times."""
    found = []
    for sizes, p, servers, omegas, total in scale_free(quick):
        if np.isfinite(omegas[0]).all():
            by_omega = float((sizes * _unit_costs(omegas[0], p)).sum()) / servers**p
            found.append(abs(by_omega / total - 1))
    return {"total": judge_differences(found, 1e-7)}


def _unit_costs(w: Any, p: float) -> Any:
    """Return k·s(1 + ω_k) - (k - 1)·s(ω_k)."""
    k = np.arange(1, len(w) + 1)
    return k * (1 + w) ** p - (k - 1) * w**p


def constants(p: float, count: int) -> Any:
    """Return ω_1 .. ω_count."""
    k = np.arange(2, count + 1)
    return np.concatenate([[0.0], 1 / np.expm1(np.log(k / (k - 1)) / (1 - p))])


def _judge_increase(values: dict[float, Any], **more: Answer) -> Outcome:
    """Judge whether sequences, by p, increase."""
    least = min(float(np.diff(of).min()) for of in values.values())
    names = ", ".join(f"{p:g}" for p in values)
    ours = f"the least step up to k = 1000 is {least:.1e}, p of {names}"
    k = np.arange(1, 31)
    curves = {f"p = {p:g}": (k, of[:30] / of[29]) for p, of in values.items()}
    return Outcome({"increases": (ours, least > 0), **more}, curves, "k", "relative to k = 30")


def lemma_3(_: bool) -> Outcome:
    """Look at the steps of ω."""
    return _judge_increase({p: constants(p, 1_000) for p in POWERS})


def lemma_4(_: bool) -> Outcome:
    """Look at the logarithms of the shares, which for small i and p near 1 underflow."""
    i = np.arange(1, 1_001)
    values = {}
    for p in POWERS:
        c = 1 / (1 - p)
        with np.errstate(divide="ignore"):
            logs = c * np.log(i / 1_000) + np.log(-np.expm1(c * np.log1p(-1 / i)))
        values[p] = logs - logs[0] + 1
    return _judge_increase(values)


def lemma_5(_: bool) -> Outcome:
    """Look at the steps of Δ(k), and compare it with its closed form."""
    k, values, off = np.arange(1, 1_001), {}, [0.0]
    for p in POWERS:
        with np.errstate(divide="ignore"):
            values[p] = k * (-np.expm1(np.log1p(-1 / k) / (1 - p))) ** (1 - p)
        direct = _unit_costs(constants(p, 60), p)
        off.append(float(np.abs(direct / values[p][:60] - 1).max()))
    return _judge_increase(values, closed=judge_differences(off, 1e-6))
