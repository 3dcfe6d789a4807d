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
from schedopt.validation.reproduce.ledger import Answer, Answers, Findings, list_by_name

NAMES = ("equi", "srpt", "hell", "knee")


def figure_1(_: bool) -> Findings:
    """Judge that k^p is concave and at most k."""
    k = np.linspace(0, 10, 101)
    curves: Any = {f"p = {p:g}": (k, Power(p=p).at(k)) for p in (0.1, 0.3, 0.5, 0.7, 0.9, 1.0)}
    below = all((y[k >= 1] <= k[k >= 1] + 1e-12).all() for _, y in curves.values())
    concave = all((np.diff(y, 2) <= 1e-12).all() for _, y in curves.values())
    answers: Answers = {"concave": (str(concave), concave), "below": (str(below), below)}
    return Findings(answers, curves, "servers", "speedup")


def figure_2(quick: bool) -> Findings:
    """Return how well p is recovered from noisy points on the paper's curves."""
    from scipy.optimize import curve_fit

    draw = np.random.Generator(np.random.PCG64(2))
    k = np.array([1, 2, 4, 8, 16, 24, 32, 48, 64], dtype=float)
    curves: Any = {}
    answers: Answers = {}
    for name, p in (("blackscholes", 0.89), ("bodytrack", 0.82), ("canneal", 0.69)):
        curves[name] = (k, Power(p=p).at(k))
        errors = []
        for _ in range(20 if quick else 200):
            points = curves[name][1] * np.exp(0.03 * draw.standard_normal(len(k)))
            fitted, _ = curve_fit(np.power, k, points, p0=0.5)
            errors.append(abs(float(fitted[0]) - p))
        answers[name] = f"from points with 3% of noise p is found within {max(errors):.3f}", None
    return Findings(answers, curves, "servers", "speedup")


def example_75_25(_: bool) -> Answers:
    """Judge the optimum of two equal jobs, and the two intuitive policies."""
    twins = instance_of([1, 1], Power(p=0.5))
    best = search_orders(twins)
    share = max(best.solution().epochs[0].share.values())
    even, first = (cost_of(name, twins) / best.value for name in ("equi", "srpt"))
    runs = [registered("hesrpt")[name].run(twins).completion for name in ("equi", "helrpt")]
    ends, least = (max(completion.values()) for completion in runs)
    together = abs(ends / least - 1) < 1e-12
    exact = (1 + 3**0.5) / 10**0.5
    return {
        "share": (f"{share:.9%}", abs(share - 0.75) < 1e-9),
        "total": (f"{best.value:.12f}", abs(best.value / exact - 1) < 1e-12),
        "makespan": (str(together), together),
        "halves": (f"{even:.4f} times the optimum", even > 1),
        "one-by-one": (f"{first:.4f} times", first > 1),
    }


def example_amdahl(_: bool) -> Answers:
    """Judge the optimum of two jobs under Amdahl's law, and find N with the printed split."""

    def split(servers: int) -> tuple[float, float]:
        best = search_orders(instance_of([1, 1], Amdahl(parallel=0.9), servers))
        return float(max(best.solution().epochs[0].share.values())), best.value

    ours, total = split(10)
    near = min(range(2, 60), key=lambda n: abs(split(n)[0] - 0.635))
    text = f"{ours:.6%} (total flow time {total:.12f}); {split(near)[0]:.1%} with N = {near}"
    return {"share": (text, abs(ours - 0.635) < 0.0005)}


def figure_3(_: bool) -> Findings:
    """Judge the shares of heSRPT; the curves are remaining sizes over time."""
    instance = instance_of([30, 20, 10], Power(p=0.5), 500)
    run = registered("hesrpt")["hesrpt"].run(instance)
    times, remaining = [0.0], {job.name: [job.size] for job in instance.jobs}
    for epoch in run.epochs:
        times.append(epoch.end)
        for name, sizes in remaining.items():
            rate = float(Power(p=0.5).at(epoch.share.get(name, 0.0) * 500))
            sizes.append(max(sizes[-1] - rate * (epoch.end - epoch.start), 0.0))
    served = [{name for name, share in epoch.share.items() if share > 0} for epoch in run.epochs]
    rest = [{n for n, end in run.completion.items() if end >= e.end} for e in run.epochs]
    shares = [round(share, 4) for share in run.epochs[0].share.values()]
    answers: Answers = {
        "order": (", ".join(run.order), run.order == ("job-3", "job-2", "job-1")),
        "share": (f"at first {shares}", served == rest and [*map(len, served)] == [3, 2, 1]),
    }
    curves = {f"{name}, remaining": (times, sizes) for name, sizes in remaining.items()}
    return Findings(answers, curves, "time", "remaining size")


def figure_4(quick: bool) -> Findings:
    """Judge the sentences of section 4.2 by ratios of medians over seeds, for each p."""
    r: dict[str, list[float]] = {name: [] for name in NAMES}
    seeds, jobs = (1, 250) if quick else (10, 500)
    for p in POWERS:
        drawn = [GENERATORS["pareto"](seed + 1, p=p, jobs=jobs) for seed in range(seeds)]
        best, *others = (
            float(np.median([cost_of(name, instance) for instance in drawn]))
            for name in ("hesrpt", *NAMES)
        )
        for name, median in zip(NAMES, others, strict=True):
            r[name].append(median / best)
    low, third, _, _, high = range(5)
    least = min(min(ratios) for ratios in r.values())
    most = {name: max(ratios) for name, ratios in r.items()}
    mean = {name: float(np.exp(np.mean(np.log(ratios)))) for name, ratios in r.items()}
    near = [abs(h / s - 1) < 0.01 for h, s in zip(r["hell"], r["srpt"], strict=True)]
    knee = max(range(5), key=lambda i: r["knee"][i])

    def at(name: str, p: int, over: float, under: float) -> Answer:
        return f"{r[name][p]:.3g}", over < r[name][p] < under

    equi, hell = (", ".join(f"{ratio:.3g}" for ratio in r[name]) for name in ("equi", "hell"))
    answers: Answers = {
        "hesrpt-best": (f"least ratio {least:.4f}", least >= 1 - 1e-9),
        "all-worse": (list_by_name(most, ".3g"), min(most.values()) >= 1.3),
        "knee-best": (
            f"{list_by_name(mean, '.3g')} (geometric means)",
            mean["knee"] == min(mean.values()),
        ),
        "equi-low": (equi, r["equi"][low] < 1.05),
        "equi-high": at("equi", high, 1.5, 2),
        "srpt-high": at("srpt", high, 0, 1.05),
        "srpt-low": at("srpt", low, 5, 30),
        "hell-srpt": (f"{sum(near)} of 5: {hell}", sum(near) >= 3),
        "hell-low": at("hell", low, 1.3, 1.7),
        "knee-worst": (
            f"{r['knee'][third]:.3g} at 0.3; worst {r['knee'][knee]:.3g} at {POWERS[knee]}",
            knee == third and 1.2 < r["knee"][third] < 1.4,
        ),
    }
    curves = {name: (POWERS, np.log10(ratios).tolist()) for name, ratios in r.items()}
    return Findings(answers, curves, "p", "log10 of the mean flow time by heSRPT's")
