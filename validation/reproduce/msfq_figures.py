"""Figures 1 to 6, Theorems 1 and 2 and Remark 1 of the msfq paper, by simulation and exactly."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from schedopt.formulations.msfq.threshold import one_or_all
from schedopt.instances.files import read
from schedopt.instances.msfq import Instance, JobClass, Simulated
from schedopt.instances.msfq.generators import GENERATORS
from schedopt.policies.msfq.registration import plan
from schedopt.policies.msfq.simulation import simulate
from schedopt.policies.msfq.stability import region
from schedopt.policies.msfq.summary import summarize
from schedopt.solvers.msfq.threshold.approximation import paper
from schedopt.solvers.msfq.threshold.exact import exact, exact_curve
from schedopt.validation.reproduce.ledger import Values

K, P1 = 32, 0.9
FOUR_CLASSES = {1: 0.5, 3: 0.25, 5: 0.2, 15: 0.05}
"""Fractions of the classes of Figure 5 by need; the caption has p2 in place of p3."""
RIVALS = ("msf", "first-fit")
COMPARED: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in RIVALS},
    "adaptive": ("adaptive-quickswap", {}),
    **{
        f"static ({handover})": ("static-quickswap", {"handover": handover})
        for handover in ("authors", "overlap", "drain")
    },
}
"""Policies of Figures 5 and 6 by label, with their options."""
BORG_RATES, BORG_ARRIVALS = (2.0, 3.0, 4.0, 4.5), 10**9


def exponential_system(
    servers: int, parts: Mapping[int, float], rate: float, **more: Any
) -> Instance:
    """Return a system of unit exponential jobs; ``parts`` are fractions of jobs by need."""
    classes = tuple(
        JobClass(need=need, arrival_rate=part * rate, service_rate=1.0)
        for need, part in parts.items()
    )
    return Instance(name=f"{servers}-{rate:g}", servers=servers, classes=classes, **more)


one_or_all_system = partial(exponential_system, K, {1: P1, K: 1 - P1})  # of Figures 1 to 4
four_classes = partial(exponential_system, 15, FOUR_CLASSES, objective="weighted")  # of Figure 5


def borg(rate: float) -> Instance:
    """Return the Borg workload at an arrival rate."""
    return read("example:borg-cell-b", Instance).scaled(rate)


def simulate_policy(queue: Instance, name: str, arrivals: int, **options: Any) -> Simulated:
    """Return the results of a simulation."""
    counted = simulate(queue, plan(queue, name, **options), arrivals=arrivals, seed=1)
    return summarize(queue, counted, arrivals, threshold=options.get("threshold"))


def figure_1(quick: bool) -> Values:
    """Measure the mean numbers of jobs at rate 7.5; the curves are samples over time."""
    queue, means = one_or_all_system(7.5), []
    grid = np.arange(5_000.0, 25_000.0 if quick else 205_000.0, 5.0)
    curves = {}
    for name, l in (("MSF", 0), ("MSFQ", K - 1)):
        rule, arrivals = plan(queue, "msfq", threshold=l), int(7.6 * grid[-1])
        samples = simulate(queue, rule, arrivals=arrivals, seed=2, grid=grid).samples
        means.append(samples.mean(axis=0))
        for c, what in enumerate(("small", "large")):
            curves[f"{name}, {what}"] = (grid[:1000] - grid[0], samples[:1000, c])
    small, large = means[0] / means[1]
    return {"small": small, "large": large, "curves": curves}


def figure_2(quick: bool) -> Values:
    """Measure mean response times: simulated, exact for MSFQ, and by the paper's approximation."""
    rates = (3.0, 6.0, 7.0) if quick else (3.0, 4.0, 5.0, 6.0, 6.5, 7.0, 7.25, 7.5)
    arrivals = 2_000_000 if quick else 20_000_000
    options: dict[str, dict[str, int]] = {"msf": {}, "first-fit": {}, "nmsr": {}}
    options["msfq"] = {"threshold": K - 1}
    times = {
        name: [simulate_policy(one_or_all_system(rate), name, arrivals, **own) for rate in rates]
        for name, own in options.items()
    }
    means = {name: [result.mean_response_time for result in of] for name, of in times.items()}

    def overestimates(rate: float) -> tuple[float, float]:
        """Return the relative error of the approximation: of all jobs, and of small jobs."""
        pair = one_or_all(one_or_all_system(rate), "figure 2")
        curve, right = paper(pair), np.array(exact(pair, K - 1))
        theirs = np.array([curve.small[-1], curve.large[-1]])
        of_all = theirs @ [P1, 1 - P1] / (right @ [P1, 1 - P1]) - 1
        return float(of_all), float(theirs[0] / right[0] - 1)

    at_7 = [times[name][rates.index(7.0)] for name in ("msf", "msfq")]
    return {
        "mean": [run.mean_response_time for run in at_7],
        "half": [run.confidence or 0.0 for run in at_7],
        "rates": rates,
        "beats": bool((np.array([means["msf"], means["nmsr"]]) > means["msfq"]).all()),
        "factor": means["msf"][-1] / means["msfq"][-1],
        "errors": [overestimates(rate)[0] for rate in rates],
        "light": overestimates(1.0)[1],
        "curves": {name: (rates, of) for name, of in means.items()},
    }


def figure_3(quick: bool) -> Values:
    """Measure the durations of phases 1 to 4."""
    queue, arrivals = one_or_all_system(7.0), 3_000_000 if quick else 50_000_000
    msf, msfq = (
        dict(simulate_policy(queue, "msfq", arrivals, threshold=l).phases or {}) for l in (0, K - 1)
    )
    before, after = (of.get("3", 0.0) + of.get("4", 0.0) for of in (msf, msfq))
    return {"msf": msf, "msfq": msfq, "before": before, "after": after}


def figure_4(_: bool) -> Values:
    """Measure the exact curve over all thresholds."""
    curves, loss = {}, {}
    for rate in (3.9, 7.0, 7.5):
        pair = one_or_all(one_or_all_system(rate), "figure 4")
        both = exact_curve(pair)
        curve = pair.mean(both.small, both.large)
        curves[f"rate {rate:g}"] = (np.arange(K), np.minimum(curve, 20 * curve.min()))
        loss[rate] = float(curve[-1] / curve.min() - 1)
    return {"drop": float(curve[0] / curve[1]), "loss": loss, "curves": curves}


def compare_by_rate(queues: Mapping[float, Instance], arrivals: int) -> Values:
    """Return weighted response times by rate and policy, and a text for each rate."""
    times, words = {}, []
    for rate, queue in queues.items():
        simulated = {n: simulate_policy(queue, p, arrivals, **o) for n, (p, o) in COMPARED.items()}
        times[rate] = {name: result.weighted_response_time for name, result in simulated.items()}
        halves = {n: f" ± {r.confidence:.2g}" if r.confidence else "" for n, r in simulated.items()}
        too_short = " (too short for an interval)"
        words.append(
            ", ".join(f"{n} {t:.4g}{halves[n] or too_short}" for n, t in times[rate].items())
        )
    return {
        "rates": list(times),
        "words": words,
        "times": times,
        "last": list(times.values())[-1],
        "best": {rate: min(of[name] for name in RIVALS) for rate, of in times.items()},
        "curves": {name: (tuple(times), [of[name] for of in times.values()]) for name in COMPARED},
    }


def figure_5(quick: bool) -> Values:
    """Compare the policies over arrival rates, Static Quickswap with three handovers."""
    rates = (3.0, 4.5) if quick else (2.0, 3.0, 4.0, 4.25, 4.5, 4.75)
    queues = {rate: four_classes(rate) for rate in rates}
    return compare_by_rate(queues, 2_000_000 if quick else 20_000_000)


def figure_6(quick: bool) -> Values:
    """Compare the policies on the Borg workload, and measure the jobs that make up its load."""
    rates, arrivals = ((4.0,), 6_000_000) if quick else (BORG_RATES, BORG_ARRIVALS)
    values, queue = compare_by_rate({rate: borg(rate) for rate in rates}, arrivals), borg(4.0)
    part = sorted(zip(queue.weights("weighted"), queue.weights("mean"), strict=True), reverse=True)
    jobs = of_load = 0.0
    for by_load, by_jobs in part:
        if of_load < 0.85:
            jobs, of_load = jobs + by_jobs, of_load + by_load
    limit = queue.arrival_rate / queue.load
    return values | {"arrivals": arrivals, "jobs": jobs, "of_load": of_load, "limit": limit}


def growth(queue: Instance, part: float, quick: bool, name: str, **options: Any) -> float:
    """Return the ratio of late to early mean response times in a simulation.

    The arrival rate is ``part`` times the largest that the policy can serve.
    """
    near = queue.scaled(part * (queue.arrival_rate / region(queue, name).load))
    arrivals = 400_000 if quick else 4_000_000
    run = simulate(near, plan(near, name, **options), arrivals=arrivals, seed=4, warm=0)
    sums, counts = run.sums.sum(axis=1), run.counts.sum(axis=1)
    quarter = len(sums) // 4
    last = sums[-quarter:].sum() / counts[-quarter:].sum()
    return float(last / (sums[:quarter].sum() / counts[:quarter].sum()))


def theorem_1(quick: bool) -> Values:
    """Measure how response times under MSFQ grow below the limit and above it."""
    systems = [
        (GENERATORS["one-or-all"](0, k=k, p1=p1), l)
        for k, p1 in ((2, 0.5), (4, 0.8), (8, 0.9))
        for l in (0, k // 2, k - 1)
    ]
    return {
        where: [growth(queue, part, quick, "msfq", threshold=l) for queue, l in systems]
        for where, part in (("below", 0.9), ("above", 1.1))
    }


def remark_1(quick: bool) -> Values:
    """Measure the limit of Static Quickswap with each handover."""
    ours, odd = four_classes(1.0), exponential_system(7, {2: 0.4, 3: 0.4, 5: 0.2}, 1.0)
    growths = {
        where: [
            growth(queue, part, quick, "static-quickswap", handover=handover)
            for queue in queues
            for handover in ("drain", "overlap", "authors")
        ]
        for where, queues, part in (("below", (ours, odd), 0.9), ("above", (ours,), 1.1))
    }
    return growths | {"load": region(four_classes(4.9), "static-quickswap").load}


def theorem_2(quick: bool) -> Values:
    """Measure how the remaining work grows beyond the limit under every policy."""
    queue = GENERATORS["one-or-all"](0, k=8, p1=0.9)
    far = queue.scaled(1.1 * queue.arrival_rate / queue.load)

    def work_left(name: str, arrivals: int) -> float:
        """Return the work that remains after a number of arrivals."""
        run = simulate(far, plan(far, name), arrivals=arrivals, seed=4, warm=0)
        counts = zip(far.classes, run.came - run.counts.sum(axis=0), strict=True)
        return float(sum(job.need * n / job.service_rate for job, n in counts))

    names = ("fcfs", "msf", "first-fit", "nmsr", "adaptive-quickswap", "static-quickswap")
    few = 200_000 if quick else 2_000_000
    return {"grown": {name: work_left(name, 4 * few) / work_left(name, few) for name in names}}
