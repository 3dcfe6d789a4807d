"""Figures 1 to 6, Theorems 1 and 2 and Remark 1 of the msfq paper: simulated, computed, stable."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from schedopt.formulations.msfq.process import one_or_all
from schedopt.instances.files import read
from schedopt.instances.msfq import Instance, JobClass, Simulated
from schedopt.instances.msfq.generators import GENERATORS
from schedopt.policies.msfq.registration import plan
from schedopt.policies.msfq.rule import Plan
from schedopt.policies.msfq.simulation import simulate
from schedopt.policies.msfq.stability import region
from schedopt.policies.msfq.summary import summarize
from schedopt.solvers.msfq.threshold.approximation import paper
from schedopt.solvers.msfq.threshold.exact import exact, exact_curve
from schedopt.validation.reproduce.ledger import Answers, Curve, Outcome

K, P1 = 32, 0.9
FOUR_CLASSES = {1: 0.5, 3: 0.25, 5: 0.2, 15: 0.05}
"""Needs of Figure 5's classes, and their parts; its caption says p2 where p3 is meant."""

RIVALS = ("msf", "first-fit")
COMPARED: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in RIVALS},
    "adaptive": ("adaptive-quickswap", {}),
    "static (authors)": ("static-quickswap", {"handover": "authors"}),
    "static (overlap)": ("static-quickswap", {"handover": "overlap"}),
    "static (drain)": ("static-quickswap", {"handover": "drain"}),
}
"""Policies of Figures 5 and 6, and their options."""

BORG_RATES = (2.0, 3.0, 4.0, 4.5)
BORG_ARRIVALS = 10**9


def exponential_system(
    servers: int, parts: Mapping[int, float], rate: float, **more: Any
) -> Instance:
    """Return a system of exponential unit sizes; parts say by need which jobs there are."""
    classes = tuple(
        JobClass(need=need, arrival_rate=part * rate, service_rate=1.0)
        for need, part in parts.items()
    )
    return Instance(name=f"{servers}-{rate:g}", servers=servers, classes=classes, **more)


def one_or_all_system(rate: float) -> Instance:
    """Return the system of Figures 1 to 4 at an arrival rate."""
    return exponential_system(K, {1: P1, K: 1 - P1}, rate)


def four_classes(rate: float) -> Instance:
    """Return the system of Figure 5."""
    return exponential_system(15, FOUR_CLASSES, rate, objective="weighted")


def borg(rate: float) -> Instance:
    """Return the bundled Borg system at an arrival rate."""
    return read("example:borg-cell-b", Instance).scaled(rate)


def simulate_policy(queue: Instance, name: str, arrivals: int, **options: Any) -> Simulated:
    """Simulate a policy."""
    played = simulate(queue, plan(queue, name, **options), arrivals=arrivals, seed=1)
    return summarize(queue, played, arrivals, threshold=options.get("threshold"))


def figure_1(quick: bool) -> Outcome:
    """Sample the numbers in the system at rate 7.5."""
    queue = one_or_all_system(7.5)
    grid = np.arange(5_000.0, 25_000.0 if quick else 205_000.0, 5.0)
    arrivals = int(7.6 * grid[-1])
    curves: dict[str, Curve] = {}
    means = []
    for name, l in (("MSF", 0), ("MSFQ", K - 1)):
        chosen = plan(queue, "msfq", threshold=l)
        samples = simulate(queue, chosen, arrivals=arrivals, seed=2, grid=grid).samples
        means.append(samples.mean(axis=0))
        for c, what in enumerate(("small", "large")):
            curves[f"{name}, {what}"] = (grid[:1000] - grid[0], samples[:1000, c])
    small, large = means[0] / means[1]
    told = f"{small:.0f} times as many small and {large:.0f} times as many large jobs"
    answers: Answers = {"piles-up": (told, min(small, large) > 3)}
    return Outcome(answers, curves, "time", "jobs in the system")


def figure_2(quick: bool) -> Outcome:
    """Simulate each policy, and compute MSFQ exactly and as the paper approximates it."""
    rates = (3.0, 6.0, 7.0) if quick else (3.0, 4.0, 5.0, 6.0, 6.5, 7.0, 7.25, 7.5)
    arrivals = 2_000_000 if quick else 20_000_000
    named = {"msf": {}, "first-fit": {}, "nmsr": {}, "msfq": {"threshold": K - 1}}
    found = {
        name: [
            simulate_policy(one_or_all_system(rate), name, arrivals, **options) for rate in rates
        ]
        for name, options in named.items()
    }
    means = {name: [result.mean_response_time for result in of] for name, of in found.items()}
    errors = []
    for rate in rates:
        pair = one_or_all(one_or_all_system(rate), "figure 2")
        curve, right = paper(pair), np.array(exact(pair, K - 1))
        theirs = np.array([curve.small[-1], curve.large[-1]])
        errors.append(float(theirs @ [P1, 1 - P1] / (right @ [P1, 1 - P1]) - 1))
    pair = one_or_all(one_or_all_system(1.0), "figure 2")
    light = float(paper(pair).small[-1] / exact(pair, K - 1)[0] - 1)
    msf, msfq = (found[name][rates.index(7.0)] for name in ("msf", "msfq"))
    near = [
        abs(one.mean_response_time - read_off) < 2 * (one.confidence or 0)
        for one, read_off in ((msf, 322), (msfq, 26.1))
    ]
    beats = all(
        ours < theirs
        for name in ("msf", "nmsr")
        for ours, theirs in zip(means["msfq"], means[name], strict=True)
    )
    factor = means["msf"][-1] / means["msfq"][-1]
    answers: Answers = {
        "rate-7": (
            f"{msf.mean_response_time:.0f} ± {msf.confidence or 0:.0f}, "
            f"{msfq.mean_response_time:.1f} ± {msfq.confidence or 0:.1f}",
            all(near),
        ),
        "beats": (
            f"{'always' if beats else 'not always'}, at {rates[-1]:g} by a factor of "
            f"{factor:.0f} over MSF",
            beats,
        ),
        "analysis": (
            f"it overestimates by {max(errors):.0%} at rate {rates[0]:g}, {errors[-1]:.1%} at "
            f"{rates[-1]:g}, and by {light:.0%} (small jobs) at rate 1: near saturation only",
            max(errors) < 0.05 and light < 0.05,
        ),
    }
    curves = {name: (rates, of) for name, of in means.items()}
    return Outcome(answers, curves, "arrival rate", "mean response time")


def figure_3(quick: bool) -> Answers:
    """Measure phases 1 to 4 in the simulation of Figure 2."""
    queue, arrivals = one_or_all_system(7.0), 3_000_000 if quick else 50_000_000
    msf, msfq = (
        dict(simulate_policy(queue, "msfq", arrivals, threshold=l).phases or {}) for l in (0, K - 1)
    )
    before, after = (of.get("3", 0.0) + of.get("4", 0.0) for of in (msf, msfq))
    shown = [", ".join(f"{p}: {v:.1f}" for p, v in sorted(of.items())) for of in (msf, msfq)]
    return {
        "switching": (f"{before:.1f} under MSF, {after:.1f} under MSFQ", after < 0.5 * before),
        "service": (
            f"MSF {shown[0]}; MSFQ {shown[1]}",
            msfq["1"] < 0.2 * msf["1"] and msfq["2"] < 0.2 * msf["2"],
        ),
    }


def figure_4(_: bool) -> Outcome:
    """Compute the curve over all thresholds exactly."""
    curves: dict[str, Curve] = {}
    losses = {}
    for rate in (3.9, 7.0, 7.5):
        pair = one_or_all(one_or_all_system(rate), "figure 4")
        both = exact_curve(pair)
        curve = pair.mean(both.small, both.large)
        curves[f"rate {rate:g}"] = (np.arange(K), np.minimum(curve, 20 * curve.min()))
        losses[rate] = float(curve[-1] / curve.min() - 1)
    drop = float(curve[0] / curve[1])
    answers: Answers = {
        "any": (f"l = 1 is {drop:.1f} times as fast as l = 0 at rate 7.5", drop > 2),
        "largest": (
            f"{losses[7.5]:.1%} above the best at rate 7.5 and {losses[7.0]:.1%} at 7, "
            f"but {losses[3.9]:.0%} at 3.9 (load 0.5)",
            max(losses.values()) < 0.05,
        ),
    }
    return Outcome(answers, curves, "threshold l", "mean response time (cut off)")


Rates = Mapping[float, Mapping[str, Simulated]]
"""What each policy of Figures 5 and 6 got at each arrival rate."""


def _simulate_all(queue: Instance, arrivals: int) -> dict[str, Simulated]:
    return {
        label: simulate_policy(queue, name, arrivals, **options)
        for label, (name, options) in COMPARED.items()
    }


def _times(found: Mapping[str, Simulated]) -> dict[str, float]:
    return {name: result.weighted_response_time for name, result in found.items()}


def _in_words(found: Mapping[str, Simulated]) -> str:
    return ", ".join(
        f"{name} {result.weighted_response_time:.4g}"
        + (f" ± {result.confidence:.2g}" if result.confidence else " (too short for an interval)")
        for name, result in found.items()
    )


def _outcome_by_rate(answers: Answers, found: Rates) -> Outcome:
    curves = {
        name: (tuple(found), [of[name].weighted_response_time for of in found.values()])
        for name in COMPARED
    }
    return Outcome(answers, curves, "arrival rate", "weighted mean response time")


def figure_5(quick: bool) -> Outcome:
    """Simulate the policies over arrival rates, with three handovers."""
    rates = (3.0, 4.5) if quick else (2.0, 3.0, 4.0, 4.25, 4.5, 4.75)
    arrivals = 2_000_000 if quick else 20_000_000
    found = {rate: _simulate_all(four_classes(rate), arrivals) for rate in rates}
    last, times = found[rates[-1]], _times(found[rates[-1]])
    rivals = min(times[name] for name in RIVALS)
    drained = all(
        of["static (drain)"] < min(of[name] for name in RIVALS)
        for of in map(_times, found.values())
    )
    answers: Answers = {
        "adaptive": (
            f"at rate {rates[-1]:g}: {_in_words(last)}",
            times["adaptive"] == min(times.values()),
        ),
        "static": (
            f"{times['static (authors)']:.4g} against {rivals:.4g}",
            times["static (authors)"] < rivals,
        ),
        "drain": (f"at rate {rates[0]:g}: {_in_words(found[rates[0]])}", drained),
    }
    return _outcome_by_rate(answers, found)


def figure_6(quick: bool) -> Outcome:
    """Simulate the policies on the Borg workload, and look at who makes up the load."""
    found: Rates = (
        {4.0: _simulate_all(borg(4.0), 6_000_000)}
        if quick
        else {rate: _simulate_all(borg(rate), BORG_ARRIVALS) for rate in BORG_RATES}
    )
    rate = max(found)
    last, times = found[rate], _times(found[rate])
    queue = borg(4.0)
    part = sorted(zip(queue.weights("weighted"), queue.weights("mean"), strict=True), reverse=True)
    jobs, of_load = 0.0, 0.0
    for by_load, by_jobs in part:
        if of_load >= 0.85:
            break
        jobs, of_load = jobs + by_jobs, of_load + by_load
    limit = queue.arrival_rate / queue.load
    answers: Answers = {
        "tiny-part": (
            f"{jobs:.3%} of the jobs make up {of_load:.1%}",
            abs(of_load - 0.858) < 0.002 and jobs < 0.0004,
        ),
        "limit": (f"{limit:.3f}", abs(limit - 4.94) < 0.03),
        "adaptive": (
            f"at rate {rate:g}, {last['msf'].arrivals:,} arrivals: {_in_words(last)}",
            times["adaptive"] < 0.5 * min(times[name] for name in RIVALS),
        ),
        "static": (
            f"{times['msf'] / times['static (authors)']:.2g} times",
            times["static (authors)"] < times["msf"],
        ),
    }
    return _outcome_by_rate(answers, found)


def _response_growth(
    queue: Instance, part: float, arrivals: int, name: str, **options: Any
) -> float:
    """Return how much longer jobs wait late in a simulation than early.

    The policy is given jobs at a part of the rate at which its servers are all busy.
    """
    near = queue.scaled(part * (queue.arrival_rate / region(queue, name).load))
    played = simulate(near, plan(near, name, **options), arrivals=arrivals, seed=4, warm=0)
    sums, counts = played.sums.sum(axis=1), played.counts.sum(axis=1)
    quarter = len(sums) // 4
    last = sums[-quarter:].sum() / counts[-quarter:].sum()
    return float(last / (sums[:quarter].sum() / counts[:quarter].sum()))


def theorem_1(quick: bool) -> Answers:
    """Simulate MSFQ on either side of the limit: response times settle below, and grow above."""
    arrivals = 400_000 if quick else 4_000_000
    below, above = (
        [
            _response_growth(
                GENERATORS["one-or-all"](0, k=k, p1=p1), part, arrivals, "msfq", threshold=l
            )
            for k, p1 in ((2, 0.5), (4, 0.8), (8, 0.9))
            for l in (0, k // 2, k - 1)
        ]
        for part in (0.9, 1.1)
    )
    return {
        "below": (
            f"response times grow by {max(below):.2f} at most over the simulation",
            max(below) < 2,
        ),
        "above": (f"response times grow by {min(above):.2f} at least", min(above) > 3),
    }


def remark_1(quick: bool) -> Answers:
    """Simulate Static Quickswap on either side of its limit, with each handover."""
    arrivals = 400_000 if quick else 4_000_000
    paper_s, odd = four_classes(1.0), exponential_system(7, {2: 0.4, 3: 0.4, 5: 0.2}, 1.0)
    below, above = (
        [
            _response_growth(queue, part, arrivals, "static-quickswap", handover=handover)
            for queue in queues
            for handover in ("drain", "overlap", "authors")
        ]
        for queues, part in (((paper_s, odd), 0.9), ((paper_s,), 1.1))
    )
    divides = region(four_classes(4.9), "static-quickswap").load
    return {
        "below": (
            f"response times grow by {max(below):.2f} at most at 0.9 of it",
            max(below) < 2,
        ),
        "divides": (
            f"load {divides:.3f} at rate 4.9; at 1.1 of the limit times grow by "
            f"{min(above):.2f} at least",
            abs(divides - 0.98) < 1e-9 and min(above) > 3,
        ),
    }


def theorem_2(quick: bool) -> Answers:
    """Simulate policies beyond the limit: under each response times grow."""
    queue = GENERATORS["one-or-all"](0, k=8, p1=0.9)
    far = queue.scaled(1.1 * queue.arrival_rate / queue.load)
    arrivals = 200_000 if quick else 2_000_000
    grown = {
        name: _work_left(far, plan(far, name), 4 * arrivals)
        / _work_left(far, plan(far, name), arrivals)
        for name in (
            "fcfs",
            "msf",
            "first-fit",
            "nmsr",
            "adaptive-quickswap",
            "static-quickswap",
        )
    }
    shown = ", ".join(f"{name} {factor:.1f}" for name, factor in grown.items())
    ours = f"work left after four times as many arrivals, as a multiple: {shown}"
    return {"piles-up": (ours, min(grown.values()) > 2.5)}


def _work_left(queue: Instance, chosen: Plan, arrivals: int) -> float:
    """Return the work of the jobs that are not done when a simulation ends."""
    played = simulate(queue, chosen, arrivals=arrivals, seed=4, warm=0)
    left = played.came - played.counts.sum(axis=0)
    return sum(
        job.need * float(n) / job.service_rate for job, n in zip(queue.classes, left, strict=True)
    )
