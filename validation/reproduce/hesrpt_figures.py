"""Figures and examples of the heSRPT paper."""

from typing import Any

import numpy as np

from schedopt.instances.hesrpt import Amdahl, Power
from schedopt.instances.hesrpt.generators import GENERATORS
from schedopt.policies.registry import registered
from schedopt.validation.reproduce.hesrpt_theorems import (
    POWERS,
    cost_of,
    instance_of,
    search_orders,
)
from schedopt.validation.reproduce.ledger import Values

NAMES = ("equi", "srpt", "hell", "knee")


def figure_1(_: bool) -> Values:
    """Measure whether k^p is concave and at most k."""
    k = np.linspace(0, 10, 101)
    curves: Any = {f"p = {p:g}": (k, Power(p=p).at(k)) for p in (0.1, 0.3, 0.5, 0.7, 0.9, 1.0)}
    return {
        "concave": all((np.diff(y, 2) <= 1e-12).all() for _, y in curves.values()),
        "below": all((y[k >= 1] <= k[k >= 1] + 1e-12).all() for _, y in curves.values()),
        "curves": curves,
    }


def figure_2(quick: bool) -> Values:
    """Return how well p is recovered from noisy points on the paper's curves."""
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
    """Measure the optimum of two equal jobs, and the two intuitive policies."""
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
    """Measure the optimum of two jobs under Amdahl's law, and find N with the printed split."""

    def split(servers: int) -> tuple[float, float]:
        best = search_orders(instance_of([1, 1], Amdahl(parallel=0.9), servers))
        return float(max(best.solution().epochs[0].share.values())), best.value

    share, total = split(10)
    near = min(range(2, 60), key=lambda n: abs(split(n)[0] - 0.635))
    return {"share": share, "total": total, "near": near, "share_near": split(near)[0]}


def figure_3(_: bool) -> Values:
    """Measure the shares of heSRPT; the curves are remaining sizes over time."""
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
    """Measure the ratios of medians over seeds to heSRPT's, for each p."""
    ratio: dict[str, list[float]] = {name: [] for name in NAMES}
    seeds, jobs = (1, 250) if quick else (10, 500)
    for p in POWERS:
        drawn = [GENERATORS["pareto"](seed + 1, p=p, jobs=jobs) for seed in range(seeds)]
        best, *others = (
            float(np.median([cost_of(name, instance) for instance in drawn]))
            for name in ("hesrpt", *NAMES)
        )
        for name, median in zip(NAMES, others, strict=True):
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
