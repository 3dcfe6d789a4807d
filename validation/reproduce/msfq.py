"""Claims of the msfq paper: figures by simulation, and lemmas compared with simulated cycles.

The formulas of the lemmas are evaluated at the moments and transforms of the simulation; their
runners return pairs of a formula's value and the simulated one.
"""

from collections.abc import Callable, Mapping
from functools import cache, partial
from math import prod, sqrt
from typing import Any, NamedTuple

import numpy as np

from schedopt.formulations.msfq.threshold import System, one_or_all
from schedopt.instances.files import read
from schedopt.instances.msfq import Instance, JobClass, Simulated
from schedopt.instances.msfq.generators import GENERATORS
from schedopt.policies.msfq.registration import plan
from schedopt.policies.msfq.simulation import simulate
from schedopt.policies.msfq.stability import region
from schedopt.policies.msfq.summary import summarize
from schedopt.solvers.msfq.threshold.approximation import paper
from schedopt.solvers.msfq.threshold.exact import exact, exact_curve
from schedopt.validation.reproduce.cycle_kernels import simulate_cycles, simulate_exceptional_first
from schedopt.validation.reproduce.ledger import Runner, Values

# --- Figures 1 to 6, Theorems 1 and 2 and Remark 1 -----------------------------------------------

SERVERS, P1 = 32, 0.9
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


one_or_all_system = partial(
    exponential_system, SERVERS, {1: P1, SERVERS: 1 - P1}
)  # of Figures 1 to 4
four_classes = partial(exponential_system, 15, FOUR_CLASSES, objective="weighted")


def borg(rate: float) -> Instance:
    """Return the Borg workload at an arrival rate."""
    return read("example:borg-cell-b", Instance).scaled(rate)


def simulate_policy(queue: Instance, name: str, arrivals: int, **options: Any) -> Simulated:
    """Return the results of a simulation."""
    counted = simulate(queue, plan(queue, name, **options), arrivals=arrivals, seed=1)
    return summarize(queue, counted, arrivals, threshold=options.get("threshold"))


def figure_1(quick: bool) -> Values:
    queue, means = one_or_all_system(7.5), []
    grid = np.arange(5_000.0, 25_000.0 if quick else 205_000.0, 5.0)
    curves = {}
    for name, l in (("MSF", 0), ("MSFQ", SERVERS - 1)):
        rule, arrivals = plan(queue, "msfq", threshold=l), int(7.6 * grid[-1])
        samples = simulate(queue, rule, arrivals=arrivals, seed=2, grid=grid).samples
        means.append(samples.mean(axis=0))
        for c, what in enumerate(("small", "large")):
            curves[f"{name}, {what}"] = (grid[:1000] - grid[0], samples[:1000, c])
    small, large = means[0] / means[1]
    return {"small": small, "large": large, "curves": curves}


def figure_2(quick: bool) -> Values:
    rates = (3.0, 6.0, 7.0) if quick else (3.0, 4.0, 5.0, 6.0, 6.5, 7.0, 7.25, 7.5)
    arrivals = 500_000 if quick else 20_000_000
    options: dict[str, dict[str, int]] = {"msf": {}, "first-fit": {}, "nmsr": {}}
    options["msfq"] = {"threshold": SERVERS - 1}
    times = {
        name: [simulate_policy(one_or_all_system(rate), name, arrivals, **own) for rate in rates]
        for name, own in options.items()
    }
    means = {name: [result.mean_response_time for result in of] for name, of in times.items()}

    def overestimates(rate: float) -> tuple[float, float]:
        """Return the relative error of the approximation: of all jobs, and of small jobs."""
        pair = one_or_all(one_or_all_system(rate), "figure 2")
        curve, right = paper(pair), np.array(exact(pair, SERVERS - 1))
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
    queue, arrivals = one_or_all_system(7.0), 800_000 if quick else 50_000_000
    msf, msfq = (
        dict(simulate_policy(queue, "msfq", arrivals, threshold=l).phases or {})
        for l in (0, SERVERS - 1)
    )
    before, after = (of.get("3", 0.0) + of.get("4", 0.0) for of in (msf, msfq))
    return {"msf": msf, "msfq": msfq, "before": before, "after": after}


def figure_4(_: bool) -> Values:
    curves, loss = {}, {}
    for rate in (3.9, 7.0, 7.5):
        pair = one_or_all(one_or_all_system(rate), "figure 4")
        both = exact_curve(pair)
        curve = pair.mean(both.small, both.large)
        curves[f"rate {rate:g}"] = (np.arange(SERVERS), np.minimum(curve, 20 * curve.min()))
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
    rates = (3.0, 4.5) if quick else (2.0, 3.0, 4.0, 4.25, 4.5, 4.75)
    queues = {rate: four_classes(rate) for rate in rates}
    return compare_by_rate(queues, 300_000 if quick else 20_000_000)


def figure_6(quick: bool) -> Values:
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
    arrivals = 150_000 if quick else 4_000_000
    run = simulate(near, plan(near, name, **options), arrivals=arrivals, seed=4, warm=0)
    sums, counts = run.sums.sum(axis=1), run.counts.sum(axis=1)
    quarter = len(sums) // 4
    last = sums[-quarter:].sum() / counts[-quarter:].sum()
    return float(last / (sums[:quarter].sum() / counts[:quarter].sum()))


def theorem_1(quick: bool) -> Values:
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
    queue = GENERATORS["one-or-all"](0, k=8, p1=0.9)
    far = queue.scaled(1.1 * queue.arrival_rate / queue.load)

    def work_left(name: str, arrivals: int) -> float:
        """Return the work that remains after a number of arrivals."""
        run = simulate(far, plan(far, name), arrivals=arrivals, seed=4, warm=0)
        counts = zip(far.classes, run.came - run.counts.sum(axis=0), strict=True)
        return float(sum(job.need * n / job.service_rate for job, n in counts))

    names = ("fcfs", "msf", "first-fit", "nmsr", "adaptive-quickswap", "static-quickswap")
    few = 60_000 if quick else 2_000_000
    return {"grown": {name: work_left(name, 4 * few) / work_left(name, few) for name in names}}


# --- lemmas and theorems of the analysis ---------------------------------------------------------

K, L = 8, 4
L1, LK, M1, MK = 4.05, 0.45, 1.0, 1.0
PAIR = System(K, L1, LK, M1, MK)  # nine of ten jobs small, unit sizes, load 0.956


class Cycles(NamedTuple):
    """The result of `simulate_cycles`: arrays by cycle, except ``sums`` and ``counts``."""

    lengths: Any  # total length of each phase, shape (cycles, 4)
    heads: Any  # large jobs at the start of phase 1; small jobs at the end of it
    # Lengths of phases 2, 3 and 4 in the first pass after phase 1, and the large jobs at its end
    # (if there are none, another pass follows in this cycle).
    passes: Any
    whole: Any  # whether the first pass begins with phase 2
    areas: Any  # the integral of the number of jobs in the system
    sums: Any  # response times by phase of arrival (0: idle) and class, shape (5, 2)
    counts: Any  # numbers of these jobs

    def response(self, kind: int, *phases: int) -> float:
        """Return the mean response time of the jobs of a class that arrive in these phases."""
        where = list(phases)
        return float(self.sums[where, kind].sum() / self.counts[where, kind].sum())


@cache
def simulate_cycles_once(quick: bool) -> Cycles:
    """Return simulated cycles; all entries of this module share them."""
    return Cycles(*simulate_cycles(K, L, L1, LK, M1, MK, 150_000 if quick else 1_500_000, 1))


def of_cycles(measure: Callable[[Cycles], Values]) -> Runner:
    """Return a runner of a function of simulated cycles."""
    return lambda quick: measure(simulate_cycles_once(quick))


def busy_period(rate: float, service: float, s: float) -> float:
    """Return the transform of an M/M/1 busy period started by one job."""
    total = rate + service + s
    return (total - sqrt(total * total - 4 * rate * service)) / (2 * rate)


def transform(values: Any, s: float) -> float:
    """Return the mean of exp(-s·value)."""
    return float(np.exp(-s * values).mean())


@of_cycles
def lemma_fractions(run: Cycles) -> Values:
    means, seen = run.lengths.mean(axis=0), run.counts.sum(axis=1)[1:]
    return {"fractions": list(zip(means / means.sum(), seen / seen.sum(), strict=True))}


@of_cycles
def theorem_renewal(run: Cycles) -> Values:
    lengths = run.lengths.sum(axis=1)
    small, large = exact(PAIR, L)
    per_cycle = float(run.areas.mean() / lengths.mean())
    return {
        "reward": [(per_cycle, L1 * small + LK * large)],
        "tied": float(np.corrcoef(lengths[:-1], lengths[1:])[0, 1]),
    }


def exceptional_first(
    rate: float, first: tuple[float, float], second: tuple[float, float]
) -> tuple[float, float]:
    """Return mean work and the probability of exceptional service, from moments of S and S'."""
    (s, s2), (e, e2) = first, second
    idle = 1 - rate * s
    work = rate * s2 / (2 * idle) + rate * (e2 - s2) / (2 * (idle + rate * e))
    return work, idle / (idle + rate * e)


def remark_exceptional_first(quick: bool) -> Values:
    work, empty = simulate_exceptional_first(1.0, 0.7, 3.0, 1_000_000 if quick else 50_000_000, 1)
    by_formula = exceptional_first(1.0, (0.7, 2 * 0.7**2), (3.0, 1.5 * 3.0**2))
    return {"work": [(by_formula[0], work)], "empty": [(by_formula[1], empty)]}


def after_batch(rate: float, service: float, counts: Any) -> float:
    """Return the mean response time in a busy period that a batch of ``counts`` jobs starts."""
    mean, square = float(counts.mean()), float((counts**2).mean())
    batch = mean / service, (square + mean) / service**2
    work, first = exceptional_first(rate, (1 / service, 2 / service**2), batch)
    return work / (1 - first)


def large_in_1(run: Cycles) -> float:
    """Return E[T^L_1]."""
    return after_batch(LK, MK, run.heads[:, 0]) + 1 / MK


def small_in_2(run: Cycles) -> float:
    """Return E[T^S_2]."""
    more = run.heads[:, 1] - K + 1
    return after_batch(L1, K * M1, more[more > 0]) + 1 / M1


@of_cycles
def lemma_response_1_2(run: Cycles) -> Values:
    return {
        "large": [(large_in_1(run), run.response(1, 1))],
        "small": [(small_in_2(run), run.response(0, 2))],
    }


def excess_response(spans: Any, load: float, mean: float) -> float:
    """Return (1 + load)·E[D²]/(2·E[D]) + mean."""
    return float((1 + load) * (spans**2).mean() / (2 * spans.mean()) + mean)


def large_else(run: Cycles) -> float:
    """Return E[T^L_{2,3,4}]."""
    return excess_response(run.lengths[:, 1:].sum(axis=1), LK / MK, 1 / MK)


def small_in_4_1(run: Cycles) -> float:
    """Return E[T^S_{1,4}], over a phase 4 and the following phase 1."""
    return excess_response(run.lengths[:-1, 3] + run.lengths[1:, 0], L1 / (K * M1), 1 / M1)


@of_cycles
def lemma_response_excess(run: Cycles) -> Values:
    return {
        "large": [(large_else(run), run.response(1, 2, 3, 4))],
        "small": [(small_in_4_1(run), run.response(0, 4, 1))],
    }


def small_in_3(falling: bool = True) -> float:
    """Return E[T^S_3]; with ``falling`` C_j follows from C_{j-1} beyond k, as in the proof."""
    visits = {L + 1: (L1 + (L + 1) * M1) / ((L + 1) * M1)}
    for j in range(L + 2, K + 1):
        visits[j] = visits[j - 1] * L1 * (L1 + j * M1) / (j * M1 * (L1 + (j - 1) * M1)) + (
            L1 + j * M1
        ) / (j * M1) * (j <= K - 1)
    for j in range(K + 1, K + 400):
        visits[j] = (visits[j - 1] if falling else visits[K]) * L1 / (K * M1)
    times = {j: c / (L1 + min(K, j) * M1) for j, c in visits.items()}
    seen = {j: (K + max(0, j - K + 1)) / (K * M1) for j in visits}
    return sum(times[j] * seen[j] for j in times) / sum(times.values())


@of_cycles
def lemma_response_3(run: Cycles) -> Values:
    measured = run.response(0, 3)
    return {
        "falling": [(small_in_3(), measured)],
        "printed": [(small_in_3(falling=False), measured)],
    }


@of_cycles
def remark_busy_periods(run: Cycles) -> Values:
    alone = run.lengths[run.heads[:, 0] == 1, 0]
    b = {s: busy_period(LK, MK, s) for s in (0.01, 0.1, 0.5, 2.0, 5.0)}
    return {
        "transform": [(b[s], transform(alone, s)) for s in (0.1, 0.5, 2.0)],
        "equation": [(MK / (MK + s + LK - LK * b[s]), b[s]) for s in (0.01, 0.5, 5.0)],
    }


@of_cycles
def lemma_phase_lengths(run: Cycles) -> Values:
    more = (run.heads[:, 1] - K + 1)[run.whole]
    of_phase: dict[str, Any] = {
        "phase_1": (LK, MK, run.heads[:, 0], run.lengths[:, 0]),
        "phase_2": (L1, K * M1, more, run.passes[run.whole, 0]),
    }
    return {
        phase: [
            (float((busy_period(rate, service, s) ** numbers).mean()), transform(lengths, s))
            for s in (0.02, 0.1, 0.5)
        ]
        for phase, (rate, service, numbers, lengths) in of_phase.items()
    }


@of_cycles
def lemma_phase_numbers(run: Cycles) -> Values:
    _, second, third, fourth = run.lengths.T
    first = run.passes[run.whole]
    large, small = [], []
    for z in (0.6, 0.8, 0.95):
        s = LK * (1 - z)
        by_lengths = prod(transform(first[:, phase], s) for phase in range(3))
        large.append((by_lengths, float((z ** first[:, 3]).mean())))
    for z in (0.98, 0.99, 0.995):  # near 1, since there are dozens of small jobs
        s = LK * (1 - busy_period(LK, MK, L1 * (1 - z)))
        by_lengths = transform(second, s) * transform(third, s)
        by_lengths *= transform(fourth, s + L1 * (1 - z))
        small.append((by_lengths, float((z ** run.heads[1:, 1]).mean())))
    return {"large": large, "small": small}


@of_cycles
def lemma_phase_3(run: Cycles) -> Values:
    lengths = []
    for s in (0.1, 0.5, 2.0):
        step, product = busy_period(L1, K * M1, s), 1.0
        for j in range(K - 1, L, -1):
            step = j * M1 / (L1 + j * M1 + s - L1 * step)
            product *= step
        lengths.append((product, transform(run.passes[run.whole, 1], s)))
    return {"length": lengths}


@of_cycles
def lemma_phase_4(run: Cycles) -> Values:
    lengths = run.passes[run.whole, 2]
    pairs = [
        (prod(j * M1 / (j * M1 + s) for j in range(1, L + 1)), transform(lengths, s))
        for s in (0.1, 0.5, 2.0)
    ]
    return {"length": pairs}


@of_cycles
def theorem_summary(run: Cycles) -> Values:
    m = run.lengths.mean(axis=0) / run.lengths.mean(axis=0).sum()
    large = large_in_1(run) * m[0] + large_else(run) * m[1:].sum()
    small = small_in_4_1(run) * (m[0] + m[3]) + small_in_2(run) * m[1] + small_in_3() * m[2]
    curve = paper(PAIR)
    by_moments, by_paper, truth = (
        float(L1 * of_small + LK * of_large) / (L1 + LK)
        for of_small, of_large in ((small, large), (curve.small[L], curve.large[L]), exact(PAIR, L))
    )
    return {"played": [(by_moments, truth)], "paper": [(by_paper, truth)]}
