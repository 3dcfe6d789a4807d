"""Random dssp instances by name: calibrated render nights, and the classic knapsack families."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import floor, fsum
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from schedopt.instances.dssp.families import CROSSING, group_fair, random_matching, random_partition
from schedopt.instances.dssp.jobs import REWARDS, Job
from schedopt.instances.dssp.records import Instance
from schedopt.instances.options import Option, is_count, number, one_of, truth, whole
from schedopt.instances.recipes import Recipe, by_name, numbered_names, stream

if TYPE_CHECKING:  # at run time it would load all of numpy.random
    Draw = np.random.Generator

Counts = NDArray[np.int64]

NIGHTS, JOBS, PROCESSORS, DEADLINE = 56, 2388, 1000, 13 * 3600.0
"""The trace's nights and jobs, and the cluster's processors and deadline (seconds)."""
TEAMS = ("lighting", "fx", "animation", "layout", "crowds", "matte")
STEP = 10  # lengths are rounded to this fraction of a second, so that files stay small
PATIENCE = (0.5, 0.3, 0.2)  # fractions of a season's jobs that can wait 0, 1 and 2 more nights


# --- render nights ---------------------------------------------------------------------------


def _render_night(seed: int, values: Mapping[str, Any]) -> Instance:
    """Draw a night, or several nights, of a synthetic render farm.

    The instance is synthetic. It is calibrated on the facts that the paper states, since the trace
    is not public: 56 nights, 2,388 jobs, 280,011 tasks, a median critical path of 3.4 h, a job of
    more than 13 h on 75% of the nights, 32 nights over 13,000 CPU-hours and 18 over that by 10%.

    With z drawn from N(0, 1) and cut at 2.2, the time scale of a job is 2.2 h·exp(0.75 z). Its main
    stage has exp(N(ln 75, 0.7) + 0.1 z) tasks, lognormal around the time scale with spread 0.1.
    Before it come 0 to 3 stages with 2 to 25% as many tasks of a tenth of the length, and after it
    one task of a twentieth. Times are in seconds. The paper states neither priorities nor teams:
    here priorities are uniform integers from 0 to 499, and the number of a team's jobs falls as
    1/rank.
    """
    nights = values["nights"]
    word = "1 night" if nights == 1 else f"{nights} nights"
    return Instance(
        name=f"render-night-{seed}" + (f"-x{nights}" if nights > 1 else ""),
        description=_DESCRIPTION.format(amount=word, seed=seed),
        processors=values["processors"] or PROCESSORS * nights,
        deadline=float(values["deadline"]),
        jobs=_render_jobs(stream(seed), values),
    )


def render_season(seed: int) -> list[Instance]:
    """Return 56 render nights with 2,388 jobs in all, each as an instance."""
    trace = RENDER_NIGHT(seed, nights=NIGHTS)
    return [
        Instance(
            name=f"render-season-{seed}-{night}",
            description=_DESCRIPTION.format(amount=f"{night} of {NIGHTS}", seed=seed),
            processors=PROCESSORS,
            deadline=DEADLINE,
            jobs=tuple(trace.jobs[j] for j in members),
        )
        for night, members in trace.groups["night"].items()
    ]


_DESCRIPTION = (
    "{amount} of a render farm, in seconds; synthetic (seed {seed}), calibrated on the facts that "
    "the SPAA 2005 paper states of its trace, which is not public."
)


def _render_jobs(draw: Draw, values: Mapping[str, Any]) -> tuple[Job, ...]:
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
            spread=values["spread"] or None,
            **work,
        )
        jobs.append(job)
    return tuple(jobs)


def _jobs_a_night(draw: Draw, nights: int) -> Counts:
    """Draw Poisson numbers of jobs with the trace's mean; for 56 nights they sum to 2,388."""
    if nights == NIGHTS:
        counts = draw.multinomial(JOBS, np.full(nights, 1 / nights))
    else:
        counts = draw.poisson(JOBS / NIGHTS, nights)
    return np.maximum(counts, 1)


def _teams(draw: Draw, jobs: int, teams: int) -> list[str]:
    """Draw the team of each job; the team of rank k gets jobs in proportion to 1/k."""
    names = [*TEAMS[:teams], *(f"team-{k:02d}" for k in range(len(TEAMS) + 1, teams + 1))]
    weights = 1 / np.arange(1, teams + 1)
    picked = np.searchsorted(np.cumsum(weights / weights.sum()), draw.random(jobs), side="right")
    return [names[k] for k in np.minimum(picked, teams - 1).tolist()]


def _stages(draw: Draw, jobs: int) -> list[tuple[tuple[float, ...], ...]]:
    """Draw the task lengths of each job by stage, in seconds."""
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


# --- seasons ----------------------------------------------------------------------------------


def _season(seed: int, values: Mapping[str, Any]) -> Instance:
    """Draw consecutive render nights whose jobs may be postponed to a later night."""
    nights = values["nights"]
    how = {name: values[name] for name in ("stages", "teams", "reward")}
    trace = RENDER_NIGHT(seed, nights=nights, **how)
    draw = stream(seed, nights)
    names = list(dict.fromkeys(job.groups["team"] for job in trace.jobs))
    weights = 1 / np.arange(1, len(names) + 1)
    busy = weights * np.exp(values["bursts"] * draw.standard_normal((nights, len(names))))
    jobs = []
    for night, members in enumerate(trace.groups["night"].values()):
        kept = [j for j in members if draw.random() < values["part"]]
        part = busy[night] / busy[night].sum()
        for j, team in zip(kept, draw.choice(len(names), len(kept), p=part), strict=True):
            last = night + 1 + int(draw.choice(len(PATIENCE), p=PATIENCE))
            jobs.append(
                replace(
                    trace.jobs[j],
                    groups={"team": names[team]},
                    first_night=night + 1,
                    last_night=min(nights, last),
                )
            )
    return Instance(
        name=f"season-{seed}-{nights}",
        description=f"{nights} nights of a render farm, in seconds; synthetic (seed {seed}).",
        processors=values["processors"],
        deadline=trace.deadline,
        nights=nights,
        jobs=tuple(jobs),
    )


# --- knapsack families ------------------------------------------------------------------------

Profits = Callable[["Draw", Counts, int], Counts]
"""What makes rewards of a stream, the weights and the largest weight R."""


def _knapsack(name: str, profits: Profits, summary: str) -> Recipe:
    """Return the recipe of a family of knapsacks, which differ in how profits depend on weights."""

    def make(seed: int, values: Mapping[str, Any]) -> Instance:
        draw = stream(seed)
        jobs, largest, groups = values["jobs"], values["range"], values["groups"]
        weights = draw.integers(1, largest, jobs, endpoint=True)
        rewards = profits(draw, weights, largest).astype(np.float64)
        teams = draw.integers(1, groups, jobs, endpoint=True).tolist() if groups else [0] * jobs
        items = zip(
            numbered_names("item-", jobs),
            weights.astype(np.float64).tolist(),
            rewards.tolist(),
            teams,
            strict=True,
        )
        return Instance(
            name=f"{name}-{jobs}-{seed}",
            description=f"A knapsack of {jobs} items, {summary} (seed {seed}).",
            processors=1,
            deadline=float(max(1, floor(values["fraction"] * int(weights.sum())))),
            jobs=tuple(
                Job(
                    name=item,
                    reward=reward,
                    demand=weight,
                    critical_path=weight,
                    groups={"team": f"team-{team:02d}"} if team else {},
                )
                for item, weight, reward, team in items
            ),
        )

    return Recipe(name, make, _KNAPSACK_OPTIONS, f"knapsack, {summary}", _PISINGER)


def _uncorrelated(draw: Draw, weights: Counts, largest: int) -> Counts:
    rewards: Counts = draw.integers(1, largest, len(weights), endpoint=True)
    return rewards


def _weakly_correlated(draw: Draw, weights: Counts, largest: int) -> Counts:
    near = largest // 10
    noise: Counts = draw.integers(-near, near, len(weights), endpoint=True)
    rewards: Counts = np.maximum(1, weights + noise)
    return rewards


_PISINGER = "Pisinger, Where are the hard knapsack problems?, Computers & OR 32 (2005), section 3"
_KNAPSACK_OPTIONS = {
    "jobs": whole(1000, 1, 10**6),
    "range": whole(1000, 1, 10**9, ": the largest weight R"),
    "fraction": number(
        0.5,
        "a number above 0 and at most 1: the capacity as a fraction of the total weight",
        lambda v: 0 < v <= 1,
    ),
    "groups": Option(
        0,
        "a whole number from 0 to 100000: how many teams share the jobs; 0 for none",
        lambda v: v == 0 or is_count(v, 10**5),
    ),
}
_STAGES = "true (task lengths) or false (demand and critical path only)"
_PLANTED = truth(True, "true (the answer is yes) or false (it may be no)")

RENDER_NIGHT = Recipe(
    "render-night",
    _render_night,
    {
        "nights": whole(1, 1, 1000),
        "processors": whole(None, 1, 10**9, "; left out, 1000 for each night"),
        "deadline": number(DEADLINE, "a number of seconds above 0", lambda v: v > 0),
        "reward": one_of("linear", REWARDS),
        "teams": whole(6, 1, 1000),
        "stages": truth(True, _STAGES),
        "spread": number(0.0, "a number from 0 to below 1", lambda v: 0 <= v < 1),
    },
    "synthetic nights of a render farm, calibrated on a paper's stated facts",
    "facts: Anderson et al., SPAA 2005, section 5; the fit and the teams are our own",
)
GENERATORS: dict[str, Recipe] = by_name(
    RENDER_NIGHT,
    _knapsack("uncorrelated", _uncorrelated, "weights and rewards uniform on 1 to R"),
    _knapsack(
        "weakly-correlated",
        _weakly_correlated,
        "rewards uniform within R/10 of the weight, raised to 1",
    ),
    _knapsack(
        "strongly-correlated",
        lambda _, weights, largest: weights + largest // 10,
        "rewards the weight plus R/10",
    ),
    _knapsack("subset-sum", lambda _, weights, __: weights, "rewards the weight itself"),
    Recipe(
        "partition",
        random_partition,
        {"numbers": whole(8, 1, 1000), "largest": whole(100, 1, 10**6), "planted": _PLANTED},
        "whether numbers can be halved, as a job on two processors",
        "Anderson et al., SPAA 2005, Theorem 1",
    ),
    Recipe(
        "matching",
        random_matching,
        {"size": whole(3, 1, 50), "triples": whole(6, 1, 10**4), "planted": _PLANTED},
        "whether triples hold a perfect 3D-matching, as unit jobs",
        "Anderson et al., SPAA 2005, Theorem 2",
    ),
    Recipe(
        "season",
        _season,
        {
            "nights": whole(7, 2, 365),
            "teams": whole(5, 1, 50),
            "processors": Option(250, "a whole number >= 1", is_count),
            "part": number(0.4, "a number above 0, at most 1", lambda v: 0 < v <= 1),
            "bursts": number(1.0, "a number from 0 to 5", lambda v: 0 <= v <= 5),
            "reward": RENDER_NIGHT.options["reward"],
            "stages": truth(False, _STAGES),
        },
        "nights whose jobs may wait, with teams that are busy by turns",
        "ours: the nights of render-night; who is busy when, and who can wait, are our own choice",
    ),
    CROSSING,
)
"""The generators by name."""
GENERATORS["group-fair"] = group_fair(
    GENERATORS, "uncorrelated", "weakly-correlated", "strongly-correlated", "subset-sum"
)
