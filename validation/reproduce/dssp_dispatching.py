"""Figures 3 to 5 and the idle times of the dssp paper: how dispatchers differ."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import msgspec
import numpy as np

from schedopt.instances.dssp.generators import GENERATORS
from schedopt.instances.dssp.tasks import Floats
from schedopt.policies.dssp import dispatchers
from schedopt.validation.reproduce.dssp_workload import (
    DEADLINE,
    HOUR,
    PAPER,
    PROCESSORS,
    SIX,
    SYNTHETIC,
    chosen,
    earned,
    nights_over,
    releases,
)
from schedopt.validation.reproduce.ledger import Claim, Outcome, reproduction

NIGHT = DEADLINE / HOUR


class Nights(NamedTuple):
    """What a dispatcher does on all nights together, in hours and shares.

    Attributes
    ----------
    completion, release : ndarray
        When jobs complete, and when processors are released.
    makespan : float
        The longest of all nights.
    gaps : float
        Idle share of the processor time before each processor's own release.
    idle : float
        Idle share of the processor time before the deadline.
    """

    completion: Floats
    release: Floats
    makespan: float
    gaps: float
    idle: float

    def by(self, hours: float) -> float:
        """Return the part of the jobs that is complete by a time."""
        return float(np.mean(self.completion <= hours))


@cache
def _dispatched(nights: int) -> dict[str, Nights]:
    """Dispatch what greedy selects (r = 1) on nights that ask for 13,000 CPU-hours or more."""
    found = {}
    instances = nights_over(13_000, nights)
    picks = [chosen(night, "greedy", 1.0) for night in instances]
    for name in SIX:
        completion, release, gaps, idle = [], [], [], []
        for night, jobs in zip(instances, picks, strict=True):
            played = dispatchers.simulated(night, name, jobs)
            last = releases(night, played)
            run = played.processors >= 0
            starts, lengths = played.starts[run], night.tasks.lengths[run]
            early = np.minimum(starts + lengths, DEADLINE) - np.minimum(starts, DEADLINE)
            completion.append(played.completion[jobs])
            release.append(last)
            gaps.append(1 - lengths.sum() / last.sum())
            idle.append(1 - early.sum() / (PROCESSORS * DEADLINE))
        done, freed = np.concatenate(completion) / HOUR, np.concatenate(release) / HOUR
        means = float(np.mean(gaps)), float(np.mean(idle))
        found[name] = Nights(done, freed, float(done.max()), *means)
    return found


@reproduction(
    "dssp/figure-3",
    title="Job completion times",
    source=f"{PAPER}, section 5.3, Figure 3",
    workload=SYNTHETIC,
)
def figure_3(quick: bool) -> Outcome:
    """Show when jobs complete under six dispatchers."""
    runs = _dispatched(8 if quick else 32)
    times = np.linspace(0, 28, 281)
    profile = {name: np.array([run.by(t) for t in times]) for name, run in runs.items()}
    medians = {name: float(np.median(run.completion)) for name, run in runs.items()}
    at_ten = {name: run.by(10.0) for name, run in runs.items()}
    behind = times[(times <= NIGHT) & (profile["lcpf"] < profile["cpa"] - 1e-12)]
    until = float(behind.min()) if len(behind) else NIGHT
    others = np.max([profile[n] for n in SIX if n not in ("lcpf", "cpa")], axis=0)
    ahead = times[(profile["lcpf"] < others - 1e-12)]
    overtakes = float(ahead.max()) if len(ahead) else 0.0
    short = max(runs["lcpf"].makespan, runs["cpa"].makespan)
    long = min(runs[n].makespan for n in ("priority", "stcpu"))
    order = [at_ten[n] for n in ("stcpu", "priority", "lcpf", "cpa")]
    deficit = float(np.max((profile["cpa"] - profile["lcpf"])[times <= NIGHT]))
    claims = [
        Claim(
            "STCPU is the first to complete half of the jobs",
            "4.6 h",
            f"{medians['stcpu']:.1f} h",
            medians["stcpu"] == min(medians.values()),
        ),
        Claim(
            "CPA completes no job for more than eight hours",
            "over 8 h",
            f"{runs['cpa'].completion.min():.1f} h",
            bool(runs["cpa"].completion.min() > 8),
        ),
        Claim(
            "after ten hours STCPU is ahead of PRIORITY, that of LCPF, that of CPA",
            "over 80%, 62.5%, 30.7%, 2.4%",
            ", ".join(f"{part:.1%}" for part in order),
            order == sorted(order, reverse=True),
        ),
        Claim(
            "LCPF overtakes all but CPA shortly after the deadline",
            "shortly after 13 h",
            f"{overtakes:.1f} h",
            NIGHT - 0.5 <= overtakes <= NIGHT + 2.5,
        ),
        Claim(
            "the worst makespans of LCPF and CPA are far below those of PRIORITY and STCPU",
            "19 and 19 h; over 23 and 26.8 h",
            f"{runs['lcpf'].makespan:.1f} and {runs['cpa'].makespan:.1f} h; "
            f"{runs['priority'].makespan:.1f} and {runs['stcpu'].makespan:.1f} h",
            short < long - 2,
        ),
        Claim(
            "LCPF dominates CPA well before the deadline",
            "far more jobs early in the night",
            f"ahead at every time until {until:.1f} h, then behind by up to {max(0, deficit):.1%}",
            until >= NIGHT - 1,
        ),
    ]
    curves = {name: (times.tolist(), values.tolist()) for name, values in profile.items()}
    return Outcome(claims, curves, "time, hours", "jobs complete")


@reproduction(
    "dssp/figure-4",
    title="Times at which processors cease work, and idleness",
    source=f"{PAPER}, section 5.3, Figure 4",
    workload=SYNTHETIC,
)
def figure_4(quick: bool) -> Outcome:
    """Show when processors are released, and how long they are idle."""
    runs = _dispatched(8 if quick else 32)
    times = np.linspace(0, 28, 281)
    busy = {n: np.array([np.mean(run.release > t) for t in times]) for n, run in runs.items()}
    later = {name: float(np.mean(run.release > NIGHT + 1)) for name, run in runs.items()}
    spread = {n: float(np.subtract(*np.percentile(r.release, [95, 5]))) for n, r in runs.items()}
    tidy = max(spread["lcpf"], spread["cpa"])
    ragged = min(spread[n] for n in SIX if n not in ("lcpf", "cpa"))
    claims = [
        Claim(
            "an hour after the deadline LCPF has released nearly all processors, STCPU has not",
            "7.2% and 31.7% still in use",
            f"{later['lcpf']:.1%} and {later['stcpu']:.1%}",
            later["lcpf"] < 0.1 and later["stcpu"] > 2 * later["lcpf"],
        ),
        Claim(
            "LCPF and CPA release processors nearly simultaneously, the others do not",
            "tidy against ragged",
            f"5% to 95% within {tidy:.1f} h against {ragged:.1f} h and more",
            tidy < ragged,
        ),
        Claim(
            "idle time within the schedule is least for LCPF, several times that for STCPU",
            "0.6% and over 3%",
            f"{runs['lcpf'].gaps:.1%} and {runs['stcpu'].gaps:.1%}",
            runs["lcpf"].gaps < runs["stcpu"].gaps / 2,
        ),
        Claim(
            "idleness before the deadline: STCPU over PRIORITY over LCPF",
            "13.5%, 10.5%, 5.5%",
            ", ".join(f"{runs[n].idle:.1%}" for n in ("stcpu", "priority", "lcpf")),
            runs["stcpu"].idle > runs["priority"].idle > runs["lcpf"].idle,
        ),
    ]
    curves = {name: (times.tolist(), values.tolist()) for name, values in busy.items()}
    return Outcome(claims, curves, "time, hours", "processors in use")


@reproduction(
    "dssp/figure-5",
    title="Shorter critical paths help all policies except CPA",
    source=f"{PAPER}, section 5.5, Figure 5",
    workload=f"Random subsets of about 13,000 CPU-hours of one season's jobs. {SYNTHETIC}",
)
def figure_5(quick: bool) -> Outcome:
    """Show what part of the reward is earned as the longest critical path grows."""
    step, subsets = (1.625, 8) if quick else (0.25, 30)
    bounds = np.arange(1.0, 7.5 + 1e-9, step)
    season = GENERATORS["render-night"](seed=2, nights=112)
    pool = msgspec.structs.replace(season, processors=PROCESSORS)
    draw = np.random.Generator(np.random.PCG64(5))
    means: dict[str, list[float]] = {name: [] for name in SIX}
    for bound in bounds:
        short = np.flatnonzero(pool.critical_paths <= bound * HOUR)
        parts: dict[str, list[float]] = {name: [] for name in SIX}
        for _ in range(subsets):
            order = draw.permutation(short)
            total = np.cumsum(pool.demands[order])
            jobs = np.sort(order[: np.searchsorted(total, PROCESSORS * DEADLINE, side="right")])
            for name in SIX:
                part = earned(pool, name, jobs) / pool.rewards[jobs].sum()
                parts[name].append(part)
        for name in SIX:
            means[name].append(float(np.mean(parts[name])))
    gain = {n: values[0] - values[-1] for n, values in means.items()}
    rest = [n for n in SIX if n not in ("cpa", "lcpf")]
    claims = [
        Claim(
            "RANDOM, FIRST, PRIORITY and STCPU gain as the longest critical path shrinks",
            "5 to 15%",
            ", ".join(f"{n} {gain[n]:.0%}" for n in rest),
            all(gain[n] > 0.02 for n in rest),
        ),
        Claim(
            "CPA does very poorly: many jobs complete just after the deadline",
            "far below the others",
            f"CPA {np.mean(means['cpa']):.0%}, the others "
            f"{min(np.mean(means[n]) for n in rest):.0%} and more",
            bool(np.mean(means["cpa"]) < 0.9 * min(np.mean(means[n]) for n in rest)),
        ),
        Claim(
            "without a tuned r LCPF suffers for the same reason",
            "below the others",
            f"LCPF {np.mean(means['lcpf']):.0%}",
            bool(np.mean(means["lcpf"]) < max(np.mean(means[n]) for n in rest)),
        ),
    ]
    curves = {name: (bounds.tolist(), values) for name, values in means.items()}
    return Outcome(claims, curves, "longest critical path, hours", "part of the reward earned")
