"""Figures and examples of the heSRPT paper."""

from __future__ import annotations

from typing import Any

import numpy as np

from schedopt.instances.hesrpt import Amdahl, Power, fit
from schedopt.instances.hesrpt.generators import GENERATORS
from schedopt.policies.registry import registered
from schedopt.solvers.hesrpt.orders import order_search
from schedopt.validation.reproduce.hesrpt_theorems import PAPER, POWERS, cluster
from schedopt.validation.reproduce.ledger import Claim, Outcome, reproduction


def _optimum(instance: Any) -> Any:
    search = order_search(instance)
    search.advance(5.0)
    return search


@reproduction(
    "hesrpt/figure-1",
    title="Speedup functions k^p",
    source=f"{PAPER}, Figure 1",
    workload="The functions themselves.",
)
def figure_1(quick: bool) -> Outcome:
    """Draw k^p, and check that all are concave and at most the line of p = 1."""
    del quick
    k = np.linspace(0, 10, 101)
    curves: Any = {f"p = {p:g}": (k, Power(p=p).at(k)) for p in (0.1, 0.3, 0.5, 0.7, 0.9, 1.0)}
    from_one = k >= 1
    below = all((y[from_one] <= k[from_one] + 1e-12).all() for _, y in curves.values())
    concave = all((np.diff(y, 2) <= 1e-12).all() for _, y in curves.values())
    claims = [
        Claim("all functions of the family are concave", "yes", str(concave), concave),
        Claim("and from one server on lie below that of p = 1", "yes", str(below), below),
    ]
    return Outcome(claims, curves, "servers", "speedup")


@reproduction(
    "hesrpt/figure-2",
    title="Fitted speedups of three benchmarks",
    source=f"{PAPER}, Figure 2",
    workload="The measured points are not published: points on the fitted curves, with noise.",
)
def figure_2(quick: bool) -> Outcome:
    """Fit p to noisy points on the paper's curves."""
    draw = np.random.Generator(np.random.PCG64(2))
    k = np.array([1, 2, 4, 8, 16, 24, 32, 48, 64], dtype=float)
    curves: Any = {}
    claims = []
    for name, p in (("blackscholes", 0.89), ("bodytrack", 0.82), ("canneal", 0.69)):
        errors = []
        for _ in range(20 if quick else 200):
            points = Power(p=p).at(k) * np.exp(0.03 * draw.standard_normal(len(k)))
            found = fit(list(zip(k.tolist(), points.tolist(), strict=True)))
            errors.append(abs(getattr(found.speedup, "p", 0.0) - p))
        curves[name] = (k, Power(p=p).at(k))
        ours = f"from points with 3% of noise p is found within {max(errors):.3f}"
        claims.append(Claim(f"{name} is best fit by p = {p}", "measured", ours, None))
    return Outcome(claims, curves, "servers", "speedup")


@reproduction(
    "hesrpt/example-75-25",
    title="Two equal jobs do not share equally",
    source=f"{PAPER}, section 1 (and the summary's section 1)",
    workload="N = 10, two jobs of size 1, s(k) = k^0.5.",
)
def example(quick: bool) -> Outcome:
    """Solve the example by the dual, and play the two intuitive ways."""
    del quick
    twins = cluster([1, 1], Power(p=0.5))
    best = _optimum(twins)
    share = max(best.solution().epochs[0].share.values())
    policies = registered("hesrpt")
    even = twins.objective_of(policies["equi"].run(twins)) / best.value
    first = twins.objective_of(policies["srpt"].run(twins)) / best.value
    ends = policies["equi"].run(twins).completion.values()
    makespan = policies["helrpt"].run(twins).completion.values()
    exact = (1 + 3**0.5) / 10**0.5
    together = abs(max(ends) / max(makespan) - 1) < 1e-12
    return Outcome(
        [
            Claim(
                "one job has 75% of the servers", "75%", f"{share:.9%}", abs(share - 0.75) < 1e-9
            ),
            Claim(
                "the total flow time is (1 + sqrt 3)/sqrt 10",
                f"{exact:.12f}",
                f"{best.value:.12f}",
                abs(best.value / exact - 1) < 1e-12,
            ),
            Claim("halves do minimize the makespan", "yes", str(together), together),
            Claim("halves are worse", "worse", f"{even:.4f} times the optimum", even > 1),
            Claim("one after the other is worse", "worse", f"{first:.4f} times", first > 1),
        ]
    )


@reproduction(
    "hesrpt/example-amdahl",
    title="The same under Amdahl's law",
    source=f"{PAPER}, section 1",
    workload="N = 10, two jobs of size 1, f = 0.9.",
)
def amdahl(quick: bool) -> Outcome:
    """Solve the example, and find the number of servers with the printed split."""
    del quick
    kind = Amdahl(parallel=0.9)

    def split(servers: int) -> float:
        best = _optimum(cluster([1, 1], kind, servers))
        return float(max(best.solution().epochs[0].share.values()))

    ours = split(10)
    near = min(range(2, 60), key=lambda n: abs(split(n) - 0.635))
    total = _optimum(cluster([1, 1], kind)).value
    says = "one job has 63.5% of the servers"
    found = f"{ours:.6%} (total flow time {total:.12f}); {split(near):.1%} with N = {near}"
    return Outcome([Claim(says, "63.5%", found, abs(ours - 0.635) < 0.0005)])


@reproduction(
    "hesrpt/figure-3",
    title="heSRPT completes three jobs",
    source=f"{PAPER}, Figure 3",
    workload="N = 500, s(k) = k^0.5; the sizes are not printed: 30, 20 and 10.",
)
def figure_3(quick: bool) -> Outcome:
    """Play heSRPT, and draw remaining sizes over time."""
    del quick
    instance = cluster([30, 20, 10], Power(p=0.5), 500)
    run = registered("hesrpt")["hesrpt"].run(instance)
    times, left = [0.0], {job.name: [job.size] for job in instance.jobs}
    for epoch in run.epochs:
        times.append(epoch.end)
        for name, sizes in left.items():
            rate = float(Power(p=0.5).at(epoch.share.get(name, 0.0) * 500))
            sizes.append(max(sizes[-1] - rate * (epoch.end - epoch.start), 0.0))
    shortest = run.order == ("job-3", "job-2", "job-1")
    all_served = all(
        share > 0
        for epoch in run.epochs
        for name, share in epoch.share.items()
        if run.completion[name] >= epoch.end
    ) and [len(epoch.share) for epoch in run.epochs] == [3, 2, 1]
    shares = [round(share, 4) for share in run.epochs[0].share.values()]
    return Outcome(
        [
            Claim("jobs complete in shortest-first order", "yes", ", ".join(run.order), shortest),
            Claim("all active jobs share the servers", "yes", f"at first {shares}", all_served),
        ],
        {f"{name}, remaining": (times, sizes) for name, sizes in left.items()},
        "time",
        "remaining size",
    )


NAMES = ("equi", "srpt", "hell", "knee")


def _ratios(quick: bool) -> dict[str, list[float]]:
    """Return each policy's median mean flow time by heSRPT's, for each p."""
    policies = registered("hesrpt")
    found: dict[str, list[float]] = {name: [] for name in NAMES}
    seeds, jobs = (1, 250) if quick else (10, 500)
    for p in POWERS:
        times: dict[str, list[float]] = {name: [] for name in ("hesrpt", *NAMES)}
        for seed in range(seeds):
            instance = GENERATORS["pareto"](seed + 1, p=p, jobs=jobs)
            for name, of_policy in times.items():
                of_policy.append(instance.objective_of(policies[name].run(instance)))
        best = float(np.median(times.pop("hesrpt")))
        for name, of_policy in times.items():
            found[name].append(float(np.median(of_policy)) / best)
    return found


@reproduction(
    "hesrpt/figure-4",
    title="heSRPT beside its competitors",
    source=f"{PAPER}, Figure 4 and section 4.2",
    workload="N = 10^6, 500 jobs of Pareto(1.5) sizes, medians of ten seeds (quick: one, 250).",
)
def figure_4(quick: bool) -> Outcome:
    """Judge each sentence of section 4.2 by ratios of medians."""
    r = _ratios(quick)
    curves = {name: (POWERS, np.log10(ratios).tolist()) for name, ratios in r.items()}
    claims = [*_overall(r), *_competitors(r)]
    return Outcome(claims, curves, "p", "log10 of the mean flow time by heSRPT's")


def _overall(r: dict[str, list[float]]) -> list[Claim]:
    """Judge what is said of heSRPT, and of KNEE as the best of the others."""
    every = min(min(ratios) for ratios in r.values())
    worst = {name: max(ratios) for name, ratios in r.items()}
    tuned = {name: float(np.exp(np.mean(np.log(ratios)))) for name, ratios in r.items()}

    return [
        Claim("heSRPT is best in every case", "yes", f"least ratio {every:.4f}", every >= 1 - 1e-9),
        Claim(
            "every competitor is at least 30% worse in one case",
            "1.3",
            ", ".join(f"{name} {v:.3g}" for name, v in worst.items()),
            min(worst.values()) >= 1.3,
        ),
        Claim(
            "KNEE is by far the best competitor",
            "yes",
            ", ".join(f"{name} {v:.3g}" for name, v in tuned.items()) + " (geometric means)",
            tuned["knee"] == min(tuned.values()),
        ),
    ]


def _competitors(r: dict[str, list[float]]) -> list[Claim]:
    """Judge what is said of each competitor at each p."""
    low, third, _, _, high = range(5)
    near = [abs(h / s - 1) < 0.01 for h, s in zip(r["hell"], r["srpt"], strict=True)]
    most = max(range(5), key=lambda i: r["knee"][i])

    def all_of(name: str) -> str:
        return ", ".join(f"{v:.3g}" for v in r[name])

    return [
        Claim("EQUI is very close for low p", "1", all_of("equi"), r["equi"][low] < 1.05),
        Claim(
            "EQUI is almost 2 times worse at p = 0.99",
            "2",
            f"{r['equi'][high]:.3g}",
            1.5 < r["equi"][high] < 2,
        ),
        Claim(
            "SRPT is nearly optimal at p = 0.99",
            "1",
            f"{r['srpt'][high]:.3g}",
            r["srpt"][high] < 1.05,
        ),
        Claim(
            "SRPT is an order of magnitude worse at p = 0.05",
            "10",
            f"{r['srpt'][low]:.3g}",
            5 < r["srpt"][low] < 30,
        ),
        Claim(
            "HELL performs like SRPT in most cases",
            "most of 5",
            f"{sum(near)} of 5: {all_of('hell')}",
            sum(near) >= 3,
        ),
        Claim(
            "HELL is only 50% worse at p = 0.05",
            "1.5",
            f"{r['hell'][low]:.3g}",
            1.3 < r["hell"][low] < 1.7,
        ),
        Claim(
            "KNEE is worst at p = 0.3, where it is roughly 30% worse",
            "1.3 at 0.3",
            f"{r['knee'][third]:.3g} at 0.3; worst {r['knee'][most]:.3g} at {POWERS[most]}",
            most == third and 1.2 < r["knee"][third] < 1.4,
        ),
    ]
