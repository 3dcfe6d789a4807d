"""Figures 1 to 6, Theorems 1 and 2 and Remark 1 of the msfq paper, by simulation and exactly."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from schedopt.formulations.msfq.process import one_or_all
from schedopt.instances.files import read
from schedopt.instances.msfq import Instance, JobClass, Simulated
from schedopt.instances.msfq.generators import GENERATORS
from schedopt.policies.msfq.registration import plan
from schedopt.policies.msfq.simulation import simulate
from schedopt.policies.msfq.stability import region
from schedopt.policies.msfq.summary import summarize
from schedopt.solvers.msfq.threshold.approximation import paper
from schedopt.solvers.msfq.threshold.exact import exact, exact_curve
from schedopt.validation.reproduce.ledger import Answers, Curve, Findings, list_by_name

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


def figure_1(quick: bool) -> Findings:
    """Judge the mean numbers of jobs at rate 7.5; the curves are samples over time."""
    queue, means = one_or_all_system(7.5), []
    grid = np.arange(5_000.0, 25_000.0 if quick else 205_000.0, 5.0)
    curves: dict[str, Curve] = {}
    for name, l in (("MSF", 0), ("MSFQ", K - 1)):
        rule, arrivals = plan(queue, "msfq", threshold=l), int(7.6 * grid[-1])
        samples = simulate(queue, rule, arrivals=arrivals, seed=2, grid=grid).samples
        means.append(samples.mean(axis=0))
        for c, what in enumerate(("small", "large")):
            curves[f"{name}, {what}"] = (grid[:1000] - grid[0], samples[:1000, c])
    small, large = means[0] / means[1]
    text = f"{small:.0f} times as many small and {large:.0f} times as many large jobs"
    answers: Answers = {"piles-up": (text, min(small, large) > 3)}
    return Findings(answers, curves, "time", "jobs in the system")


def figure_2(quick: bool) -> Findings:
    """Judge mean response times: simulated, exact for MSFQ, and by the paper's approximation."""
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

    errors, light = [overestimates(rate)[0] for rate in rates], overestimates(1.0)[1]
    at_7 = [times[name][rates.index(7.0)] for name in ("msf", "msfq")]
    mean_7, half = [r.mean_response_time for r in at_7], [r.confidence or 0.0 for r in at_7]
    near = [abs(mean_7[i] - value) < 2 * half[i] for i, value in enumerate((322, 26.1))]
    beats = bool((np.array([means["msf"], means["nmsr"]]) > means["msfq"]).all())
    always = f"{'always' if beats else 'not always'}, at {rates[-1]:g} by a factor of "
    text = f"it overestimates by {max(errors):.0%} at rate {rates[0]:g}, {errors[-1]:.1%} at "
    text += f"{rates[-1]:g}, and by {light:.0%} (small jobs) at rate 1: near saturation only"
    answers: Answers = {
        "rate-7": (
            f"{mean_7[0]:.0f} ± {half[0]:.0f}, {mean_7[1]:.1f} ± {half[1]:.1f}",
            all(near),
        ),
        "beats": (f"{always}{means['msf'][-1] / means['msfq'][-1]:.0f} over MSF", beats),
        "analysis": (text, max(errors) < 0.05 and light < 0.05),
    }
    curves = {name: (rates, of) for name, of in means.items()}
    return Findings(answers, curves, "arrival rate", "mean response time")


def figure_3(quick: bool) -> Answers:
    """Judge the durations of phases 1 to 4."""
    queue, arrivals = one_or_all_system(7.0), 3_000_000 if quick else 50_000_000
    msf, msfq = (
        dict(simulate_policy(queue, "msfq", arrivals, threshold=l).phases or {}) for l in (0, K - 1)
    )
    before, after = (of.get("3", 0.0) + of.get("4", 0.0) for of in (msf, msfq))
    shown = [", ".join(f"{p}: {v:.1f}" for p, v in sorted(of.items())) for of in (msf, msfq)]
    fewer = msfq["1"] < 0.2 * msf["1"] and msfq["2"] < 0.2 * msf["2"]
    return {
        "switching": (f"{before:.1f} under MSF, {after:.1f} under MSFQ", after < 0.5 * before),
        "service": (f"MSF {shown[0]}; MSFQ {shown[1]}", fewer),
    }


def figure_4(_: bool) -> Findings:
    """Judge the exact curve over all thresholds."""
    curves: dict[str, Curve] = {}
    loss = {}
    for rate in (3.9, 7.0, 7.5):
        pair = one_or_all(one_or_all_system(rate), "figure 4")
        both = exact_curve(pair)
        curve = pair.mean(both.small, both.large)
        curves[f"rate {rate:g}"] = (np.arange(K), np.minimum(curve, 20 * curve.min()))
        loss[rate] = float(curve[-1] / curve.min() - 1)
    drop = float(curve[0] / curve[1])
    text = f"{loss[7.5]:.1%} above the best at rate 7.5 and {loss[7.0]:.1%} at 7, "
    text += f"but {loss[3.9]:.0%} at 3.9 (load 0.5)"
    answers: Answers = {
        "any": (f"l = 1 is {drop:.1f} times as fast as l = 0 at rate 7.5", drop > 2),
        "largest": (text, max(loss.values()) < 0.05),
    }
    return Findings(answers, curves, "threshold l", "mean response time (cut off)")


Times = dict[str, float]


def compare_by_rate(queues: Mapping[float, Instance], arrivals: int) -> tuple[Any, list[str]]:
    """Return weighted response times by rate and policy, and a sentence for each rate."""
    times: dict[float, Times] = {}
    words = []
    for rate, queue in queues.items():
        simulated = {n: simulate_policy(queue, p, arrivals, **o) for n, (p, o) in COMPARED.items()}
        times[rate] = {name: result.weighted_response_time for name, result in simulated.items()}
        halves = {n: f" ± {r.confidence:.2g}" if r.confidence else "" for n, r in simulated.items()}
        too_short = " (too short for an interval)"
        parts = [f"{n} {t:.4g}{halves[n] or too_short}" for n, t in times[rate].items()]
        words.append(f"at rate {rate:g}: {', '.join(parts)}")
    return times, words


def outcome_by_rate(answers: Answers, times: Mapping[float, Times]) -> Findings:
    """Return findings with curves over the arrival rate."""
    curves = {name: (tuple(times), [of[name] for of in times.values()]) for name in COMPARED}
    return Findings(answers, curves, "arrival rate", "weighted mean response time")


def figure_5(quick: bool) -> Findings:
    """Judge the policies over arrival rates, Static Quickswap with three handovers."""
    rates = (3.0, 4.5) if quick else (2.0, 3.0, 4.0, 4.25, 4.5, 4.75)
    queues = {rate: four_classes(rate) for rate in rates}
    times, words = compare_by_rate(queues, 2_000_000 if quick else 20_000_000)
    last = times[rates[-1]]
    best = {rate: min(of[name] for name in RIVALS) for rate, of in times.items()}
    static, rivals = last["static (authors)"], best[rates[-1]]
    answers: Answers = {
        "adaptive": (words[-1], last["adaptive"] == min(last.values())),
        "static": (f"{static:.4g} against {rivals:.4g}", static < rivals),
        "drain": (words[0], all(of["static (drain)"] < best[rate] for rate, of in times.items())),
    }
    return outcome_by_rate(answers, times)


def figure_6(quick: bool) -> Findings:
    """Judge the policies on the Borg workload, and the jobs that make up its load."""
    rates, arrivals = ((4.0,), 6_000_000) if quick else (BORG_RATES, BORG_ARRIVALS)
    times, words = compare_by_rate({rate: borg(rate) for rate in rates}, arrivals)
    last, queue = times[rates[-1]], borg(4.0)
    part = sorted(zip(queue.weights("weighted"), queue.weights("mean"), strict=True), reverse=True)
    jobs = of_load = 0.0
    for by_load, by_jobs in part:
        if of_load < 0.85:
            jobs, of_load = jobs + by_jobs, of_load + by_load
    limit, static = queue.arrival_rate / queue.load, last["static (authors)"]
    tiny = abs(of_load - 0.858) < 0.002 and jobs < 0.0004
    answers: Answers = {
        "tiny-part": (f"{jobs:.3%} of the jobs make up {of_load:.1%}", tiny),
        "limit": (f"{limit:.3f}", abs(limit - 4.94) < 0.03),
        "adaptive": (
            words[-1].replace(":", f", {arrivals:,} arrivals:", 1),
            last["adaptive"] < 0.5 * min(last[name] for name in RIVALS),
        ),
        "static": (f"{last['msf'] / static:.2g} times", static < last["msf"]),
    }
    return outcome_by_rate(answers, times)


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


def theorem_1(quick: bool) -> Answers:
    """Judge that response times under MSFQ are stable below the limit and grow above it."""
    systems = [
        (GENERATORS["one-or-all"](0, k=k, p1=p1), l)
        for k, p1 in ((2, 0.5), (4, 0.8), (8, 0.9))
        for l in (0, k // 2, k - 1)
    ]
    below, above = (
        [growth(queue, part, quick, "msfq", threshold=l) for queue, l in systems]
        for part in (0.9, 1.1)
    )
    text = f"response times grow by {max(below):.2f} at most over the simulation"
    return {
        "below": (text, max(below) < 2),
        "above": (f"response times grow by {min(above):.2f} at least", min(above) > 3),
    }


def remark_1(quick: bool) -> Answers:
    """Judge the limit of Static Quickswap with each handover."""
    ours, odd = four_classes(1.0), exponential_system(7, {2: 0.4, 3: 0.4, 5: 0.2}, 1.0)
    below, above = (
        [
            growth(queue, part, quick, "static-quickswap", handover=handover)
            for queue in queues
            for handover in ("drain", "overlap", "authors")
        ]
        for queues, part in (((ours, odd), 0.9), ((ours,), 1.1))
    )
    divides = region(four_classes(4.9), "static-quickswap").load
    text = f"load {divides:.3f} at rate 4.9; at 1.1 of the limit times grow by {min(above):.2f}"
    return {
        "below": (f"response times grow by {max(below):.2f} at most at 0.9 of it", max(below) < 2),
        "divides": (f"{text} at least", abs(divides - 0.98) < 1e-9 and min(above) > 3),
    }


def theorem_2(quick: bool) -> Answers:
    """Judge that beyond the limit the remaining work grows under every policy."""
    queue = GENERATORS["one-or-all"](0, k=8, p1=0.9)
    far = queue.scaled(1.1 * queue.arrival_rate / queue.load)

    def work_left(name: str, arrivals: int) -> float:
        """Return the work that remains after a number of arrivals."""
        run = simulate(far, plan(far, name), arrivals=arrivals, seed=4, warm=0)
        counts = zip(far.classes, run.came - run.counts.sum(axis=0), strict=True)
        return float(sum(job.need * n / job.service_rate for job, n in counts))

    names = ("fcfs", "msf", "first-fit", "nmsr", "adaptive-quickswap", "static-quickswap")
    few = 200_000 if quick else 2_000_000
    grown = {name: work_left(name, 4 * few) / work_left(name, few) for name in names}
    text = "work left after four times as many arrivals, as a multiple: "
    return {"piles-up": (f"{text}{list_by_name(grown, '.1f')}", min(grown.values()) > 2.5)}
