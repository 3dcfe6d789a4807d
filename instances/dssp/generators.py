"""Random dssp instances by name: calibrated render nights, and the classic knapsack families.

All draws come from one PCG64 stream that the seed starts, so a seed fixes an instance bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import floor, fsum
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.dssp.jobs import Job
from schedopt.instances.dssp.records import Floats, Instance
from schedopt.instances.dssp.reductions import random_matching, random_partition
from schedopt.instances.dssp.rewards import REWARDS
from schedopt.instances.dssp.seasons import season
from schedopt.instances.options import Option, is_count, is_number
from schedopt.instances.recipes import Recipe

if TYPE_CHECKING:  # at run time it would load all of numpy.random
    Draw = np.random.Generator

Counts = NDArray[np.int64]

NIGHTS, JOBS, PROCESSORS, DEADLINE = 56, 2388, 1000, 13 * 3600.0
"""The trace's nights and jobs, and the cluster's processors and deadline (seconds)."""
TEAMS = ("lighting", "fx", "animation", "layout", "crowds", "matte")
STEP = 10
"""Lengths are rounded to this fraction of a second, so that files stay small."""


def _positive(value: Any) -> bool:
    return is_number(value) and value > 0


def _count(default: int | None, most: int, note: str = "") -> Option:
    return Option(
        default, f"a whole number from 1 to {most}{note}", lambda v: is_count(v) and v <= most
    )


# --- render nights ---------------------------------------------------------------------------


def _render_night(seed: int, values: Mapping[str, Any]) -> Instance:
    """Make a night, or several as one instance, of a synthetic render farm.

    Synthetic, and calibrated on the facts that the paper states (its trace is not public):
    56 nights, 2,388 jobs, 280,011 tasks, a median critical path of 3.4 h, on 75% of the nights a
    job of more than 13 h, 32 nights over 13,000 CPU-hours and 18 over that by 10%. With z drawn
    from N(0, 1) and cut at 2.2, a job's time scale is 2.2 h·exp(0.75 z); its main stage has
    exp(N(ln 75, 0.7) + 0.1 z) tasks, lognormal about the time scale with spread 0.1; 0 to 3 stages
    come before it, with 2 to 25% as many tasks of a tenth of the length, and one task of a
    twentieth comes last. Units are seconds. Priorities are whole and uniform on 0 to 499, and a
    team's part of the jobs falls as 1/rank: the paper states neither, both are our own choice.
    """
    nights = values["nights"]
    word = "1 night" if nights == 1 else f"{nights} nights"
    return Instance(
        name=f"render-night-{seed}" + (f"-x{nights}" if nights > 1 else ""),
        description=_DESCRIPTION.format(amount=word, seed=seed),
        processors=values["processors"] or PROCESSORS * nights,
        deadline=float(values["deadline"]),
        jobs=_render_jobs(np.random.Generator(np.random.PCG64(seed)), values),
    )


def render_season(seed: int) -> list[Instance]:
    """Make 56 render nights with 2,388 jobs together, each an instance of its own.

    Synthetic and calibrated as `render-night` is: the jobs that ``nights=56`` puts into one
    instance, each night with its own 1,000 processors and 13 hours (in seconds).

    Parameters
    ----------
    seed : int
        The seed of all nights together.

    Raises
    ------
    InputError
        If the seed is not a whole number of 0 or more.
    """
    whole = GENERATORS["render-night"](seed, nights=NIGHTS)
    return [
        Instance(
            name=f"render-season-{seed}-{night}",
            description=_DESCRIPTION.format(amount=f"{night} of {NIGHTS}", seed=seed),
            processors=PROCESSORS,
            deadline=DEADLINE,
            jobs=tuple(whole.jobs[j] for j in members),
        )
        for night, members in whole.groups["night"].items()
    ]


_DESCRIPTION = (
    "{amount} of a render farm, in seconds; synthetic (seed {seed}), calibrated on the facts that "
    "the SPAA 2005 paper states of its trace, which is not public."
)


def _render_jobs(draw: Draw, values: Mapping[str, Any]) -> tuple[Job, ...]:
    """Draw the jobs of all nights, night by night."""
    counts = _jobs_a_night(draw, values["nights"])
    labels = [
        (f"night-{night:02d}", f"job-{i:02d}")
        for night, count in enumerate(counts.tolist(), start=1)
        for i in range(1, count + 1)
    ]
    priorities = draw.integers(0, 500, len(labels)).tolist()
    teams = _teams(draw, len(labels), values["teams"])
    stages = _stages(draw, len(labels))
    reward = REWARDS[values["reward"]]
    jobs = []
    for (night, label), priority, team, lengths in zip(
        labels, priorities, teams, stages, strict=True
    ):
        demand = round(fsum(map(fsum, lengths)), 1)
        work: dict[str, Any] = {"stages": lengths}
        if not values["stages"]:
            work = {"demand": demand, "critical_path": round(fsum(map(max, lengths)), 1)}
        job = Job(
            name=label if values["nights"] == 1 else f"{night}/{label}",
            reward=reward(priority, demand),
            priority=float(priority),
            groups={"team": team} if values["nights"] == 1 else {"night": night, "team": team},
            **work,
        )
        jobs.append(job)
    return tuple(jobs)


def _jobs_a_night(draw: Draw, nights: int) -> Counts:
    """Draw Poisson counts with the trace's mean; for its 56 nights, given its 2,388 jobs.

    Poisson counts given their sum are multinomial with equal parts. A night has a job at least.
    """
    if nights == NIGHTS:
        counts = draw.multinomial(JOBS, np.full(nights, 1 / nights))
    else:
        counts = draw.poisson(JOBS / NIGHTS, nights)
    return np.maximum(counts, 1)


def _teams(draw: Draw, jobs: int, teams: int) -> list[str]:
    """Draw each job's team; the team of rank k gets jobs in proportion to 1/k."""
    names = [*TEAMS[:teams], *(f"team-{k:02d}" for k in range(len(TEAMS) + 1, teams + 1))]
    weights = 1 / np.arange(1, teams + 1)
    picked = np.searchsorted(np.cumsum(weights / weights.sum()), draw.random(jobs), side="right")
    return [names[k] for k in np.minimum(picked, teams - 1).tolist()]


def _stages(draw: Draw, jobs: int) -> list[tuple[tuple[float, ...], ...]]:
    """Draw the task lengths of each job, stage by stage, in seconds."""
    z = np.minimum(draw.standard_normal(jobs), 2.2)
    scales = 2.2 * 3600 * np.exp(0.75 * z)
    mains = np.exp(np.log(75) + 0.7 * draw.standard_normal(jobs) + 0.1 * z)
    before = draw.integers(0, 4, jobs)  # with the main and the last stage: 2 to 5
    counts, typical, of_job = [], [], []
    for j in range(jobs):
        early = draw.uniform(0.02, 0.25, before[j])
        counts += [*np.maximum(1, np.rint(early * mains[j])), max(1, round(mains[j])), 1]
        typical += [0.1 * scales[j]] * len(early) + [scales[j], 0.05 * scales[j]]
        of_job.append(len(early) + 2)
    sizes = np.array(counts, dtype=np.int64)
    spread = np.exp(0.1 * draw.standard_normal(int(sizes.sum())))
    lengths = np.maximum(np.rint(np.repeat(typical, sizes) * spread * STEP), 1) / STEP
    ends = np.cumsum(sizes).tolist()
    flat = lengths.tolist()
    cut = iter(tuple(flat[a:b]) for a, b in zip([0, *ends[:-1]], ends, strict=True))
    return [tuple(next(cut) for _ in range(n)) for n in of_job]


# --- knapsack families ------------------------------------------------------------------------


def _knapsack(name: str, profits: Callable[[Draw, Counts, int], Counts], summary: str) -> Recipe:
    """Make the recipe of one family: what differs is how profits follow from weights."""

    def make(seed: int, values: Mapping[str, Any]) -> Instance:
        draw = np.random.Generator(np.random.PCG64(seed))
        jobs, largest = values["jobs"], values["range"]
        weights = draw.integers(1, largest, jobs, endpoint=True)
        rewards = profits(draw, weights, largest)
        groups = values["groups"]
        teams = draw.integers(1, groups, jobs, endpoint=True).tolist() if groups else None
        capacity = max(1, floor(values["fraction"] * int(weights.sum())))
        return Instance(
            name=f"{name}-{jobs}-{seed}",
            description=f"A knapsack of {jobs} items, {summary} (seed {seed}).",
            processors=1,
            deadline=float(capacity),
            jobs=_items(weights.astype(np.float64), rewards.astype(np.float64), teams),
        )

    make.__doc__ = f"Make a knapsack as a dssp instance: P = 1, D the capacity; {summary}."
    return Recipe(name, make, _KNAPSACK_OPTIONS, f"knapsack, {summary}", _PISINGER)


def _items(weights: Floats, rewards: Floats, teams: list[int] | None) -> tuple[Job, ...]:
    """Make a job of each item: its demand and its critical path are its weight."""
    width = len(str(len(weights)))
    return tuple(
        Job(
            name=f"item-{j + 1:0{width}d}",
            reward=reward,
            demand=weight,
            critical_path=weight,
            groups={"team": f"team-{teams[j]:02d}"} if teams else {},
        )
        for j, (weight, reward) in enumerate(zip(weights.tolist(), rewards.tolist(), strict=True))
    )


def _uncorrelated(draw: Draw, weights: Counts, largest: int) -> Counts:
    rewards: Counts = draw.integers(1, largest, len(weights), endpoint=True)
    return rewards


def _weakly_correlated(draw: Draw, weights: Counts, largest: int) -> Counts:
    near = largest // 10
    noise: Counts = draw.integers(-near, near, len(weights), endpoint=True)
    rewards: Counts = np.maximum(1, weights + noise)
    return rewards


def _strongly_correlated(draw: Draw, weights: Counts, largest: int) -> Counts:
    del draw
    return weights + largest // 10


def _subset_sum(draw: Draw, weights: Counts, largest: int) -> Counts:
    del draw, largest
    return weights


_PISINGER = "Pisinger, Where are the hard knapsack problems?, Computers & OR 32 (2005), section 3"
_KNAPSACK_OPTIONS = {
    "jobs": _count(1000, 10**6),
    "range": _count(1000, 10**9, ": the largest weight R"),
    "fraction": Option(
        0.5,
        "a number above 0 and at most 1: the capacity as a fraction of the total weight",
        lambda v: _positive(v) and v <= 1,
    ),
    "groups": Option(
        0,
        "a whole number from 0 to 100000: how many teams share the jobs; 0 for none",
        lambda v: v == 0 or (is_count(v) and v <= 10**5),
    ),
}
_NIGHT_OPTIONS = {
    "nights": _count(1, 1000),
    "processors": _count(None, 10**9, "; left out, 1000 for each night"),
    "deadline": Option(DEADLINE, "a number of seconds above 0", _positive),
    "reward": Option(
        "linear", f"one of {', '.join(REWARDS)}", lambda v: isinstance(v, str) and v in REWARDS
    ),
    "teams": _count(6, 1000),
    "stages": Option(
        True,
        "true (task lengths) or false (demand and critical path only)",
        lambda v: isinstance(v, bool),
    ),
}

_PLANTED = Option(
    True, "true (the answer is yes) or false (it may be no)", lambda v: isinstance(v, bool)
)

_RENDER_NIGHT = Recipe(
    "render-night",
    _render_night,
    _NIGHT_OPTIONS,
    "synthetic nights of a render farm, calibrated on a paper's stated facts",
    "facts: Anderson et al., SPAA 2005, section 5; the fit and the teams are our own",
)
GENERATORS: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        _RENDER_NIGHT,
        _knapsack("uncorrelated", _uncorrelated, "weights and rewards uniform on 1 to R"),
        _knapsack(
            "weakly-correlated",
            _weakly_correlated,
            "rewards uniform within R/10 of the weight, raised to 1",
        ),
        _knapsack("strongly-correlated", _strongly_correlated, "rewards the weight plus R/10"),
        _knapsack("subset-sum", _subset_sum, "rewards the weight itself"),
        Recipe(
            "partition",
            random_partition,
            {"numbers": _count(8, 1000), "largest": _count(100, 10**6), "planted": _PLANTED},
            "whether numbers can be halved, as a job on two processors",
            "Anderson et al., SPAA 2005, Theorem 1",
        ),
        Recipe(
            "matching",
            random_matching,
            {"size": _count(3, 50), "triples": _count(6, 10**4), "planted": _PLANTED},
            "whether triples hold a perfect 3D-matching, as unit jobs",
            "Anderson et al., SPAA 2005, Theorem 2",
        ),
        season(_RENDER_NIGHT),
    )
}
"""The generators by name."""
