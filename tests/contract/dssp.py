"""Small random selections, seasons and schedules, with side constraints of every kind."""

from collections.abc import Callable
from math import inf, nan
from random import Random
from typing import Any

import msgspec
import numpy as np
from builders.dssp import best, best_at_risk
from builders.dssp_moving import EVERY, nights
from builders.dssp_season import best_plan
from builders.dssp_season import season as some_season
from builders.dssp_windows import best_schedule

from schedopt.formulations.dssp import Schedule, Season, Selection
from schedopt.instances.constraints import (
    Apart,
    AtLeast,
    AtMost,
    Constraint,
    FairShare,
    Forbid,
    Imply,
    Require,
    Resource,
    Seats,
    Together,
)
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.dssp.jobs import History, Lognormal

TEAMS = ("fx", "light", "anim")
MOST_TASKS = 6
"""Tasks up to which all their orders are tried."""
SIZES = (1.0, 1e-3, 1e6)
"""Units that rewards and demands are in: HiGHS, which `model` asks, has absolute tolerances."""


def some_rule(draw: Random, names: list[str]) -> Constraint:
    """Draw a side constraint of any kind that a selection takes."""
    few = tuple(draw.sample(names, draw.randint(1, min(3, len(names)))))
    one, other = draw.choice(names), draw.choice(names)
    team, share = draw.choice(TEAMS[: min(3, len(names))]), draw.choice((0.0, 0.2, 0.5, 1.0))
    use = dict.fromkeys(few, 2.0)
    kinds = (
        lambda: FairShare(by="team", at_most={team: share}),
        lambda: FairShare(by="team", at_least={team: min(share, 0.5)}),
        lambda: FairShare(by="team", at_most={team: share}, of="selected"),
        lambda: Require(jobs=(one,)),
        lambda: Forbid(jobs=few),
        lambda: Imply(if_=one, then=other),
        lambda: Together(jobs=few),
        lambda: Apart(jobs=few),
        lambda: AtMost(jobs=few, count=draw.randint(0, 2)),
        lambda: AtLeast(by="team", group=team, count=draw.randint(0, 2)),
        lambda: Resource(name=f"disk {draw.random()}", use=use, capacity=draw.randint(0, 5)),
        lambda: Seats(capacity=2, use=dict.fromkeys(few, draw.randint(1, 2))),
    )
    return draw.choice(kinds)()


def some_night(
    draw: Random, *, staged: bool = False, nights: int = 1, windows: bool = True
) -> Instance:
    """Draw a night of up to seven jobs: ties, nothing to do, and units far apart among them."""
    worth, size = draw.choice(SIZES), draw.choice(SIZES)
    deadline = draw.randint(3, 14)
    jobs = []
    for i in range(draw.choice((1, 2, 4, 5, 6, 7))):
        lengths = tuple(
            tuple(size * draw.randint(0 if staged else 1, 4) for _ in range(draw.randint(1, 2)))
            for _ in range(draw.randint(1, 2))
        )
        window = {}
        if windows and nights == 1 and draw.random() < 0.3:
            window = {"release": size * draw.randint(0, 3), "deadline": size * draw.randint(4, 16)}
        demand = size * draw.randint(1, 9)
        work = (
            {"stages": lengths}
            if staged
            else {"demand": demand, "critical_path": min(demand, size * draw.randint(1, 4))}
        )
        team = {"team": TEAMS[i % 3]}
        jobs.append(
            Job(name=f"j{i}", reward=worth * draw.randint(0, 9), groups=team, **work, **window)
        )
    return Instance(
        name="drawn",
        processors=draw.randint(1, 3),
        deadline=size * deadline,
        jobs=tuple(jobs),
        nights=nights,
    )


def _ruled(
    draw: Random,
    night: Instance,
    most: int = 3,
    rule: Callable[[Random, list[str]], Constraint] = some_rule,
) -> tuple[Instance, list[Constraint]]:
    """Return an instance with half of some drawn rules, and the other half."""
    names = [job.name for job in night.jobs]
    rules = [rule(draw, names) for _ in range(draw.randint(0, most))]
    half = draw.randint(0, len(rules))
    return msgspec.structs.replace(night, constraints=tuple(rules[:half])), rules[half:]


def some_share(draw: Random, names: list[str]) -> Constraint:
    """Draw caps or floors of the capacity for some teams, or one job that is required or not."""
    share = {team: draw.choice((0.0, 0.2, 0.5, 1.0)) for team in TEAMS[: len(names)]}
    some = dict(draw.sample(list(share.items()), draw.randint(1, len(share))))
    each = {"at_most": draw.choice((0.1, 0.3))} if len(some) < len(share) else None
    kinds = (
        lambda: FairShare(by="team", at_most=some),
        lambda: FairShare(by="team", at_least={team: part / 2 for team, part in some.items()}),
        lambda: FairShare(by="team", at_least=some, each=each),
        lambda: draw.choice((Require, Forbid))(jobs=(draw.choice(names),)),
    )
    return draw.choice(kinds)()


def selection(draw: Random) -> Selection:
    """Draw a selection: half are of shares of teams alone, for all of the night.

    A tenth are under risk on a machine that changes, or of jobs that wait or hold.
    """
    if draw.random() < 0.1:
        night, asked = at_risk(draw, nights(draw.choice(EVERY), 1, draw.randint(0, 10**6))[0])
        return Selection(night, **asked)
    alone = draw.random() < 0.5
    night = some_night(draw, windows=not alone)
    night, rules = _ruled(draw, night, rule=some_share if alone else some_rule)
    fill = draw.choice((1.0, 1.0, 0.5))
    if draw.random() < 0.3:
        night, asked = at_risk(draw, night)
        return Selection(night, fill=draw.choice((fill, 1.5)), **asked).add(*rules)
    return Selection(night, fill=fill).add(*rules)


def at_risk(draw: Random, night: Instance) -> tuple[Instance, dict[str, Any]]:
    """Draw spreads of run times, a measure and a few scenarios: a job may be sure."""
    past = (History(ratios=(0.5, 1.0, 2.0)), History(ratios=(1.7, 0.8), joint=True))
    spreads = (None, 0.0, 0.3, 0.9, Lognormal(sigma=0.5), *past)
    jobs = [msgspec.structs.replace(job, spread=draw.choice(spreads)) for job in night.jobs]
    night = msgspec.structs.replace(night, jobs=tuple(jobs))
    risk = draw.choice(("mean", "cvar:0.9", "cvar:0.45", "chance:0.5", "chance:0.95"))
    return night, {"risk": risk, "scenarios": draw.randint(1, 9), "seed": draw.randint(0, 99)}


def season(draw: Random) -> Season:
    """Draw a season: of fair shares with a memory, or of rules of every kind over two nights."""
    if draw.random() < 0.5:
        return Season(some_season(draw))
    night, rules = _ruled(draw, some_night(draw, nights=2), most=2)
    return Season(night).add(*rules)


def schedule(draw: Random) -> Schedule:
    """Draw a schedule of staged jobs, of which some pay half a little late."""
    night = some_night(draw, staged=True)
    if draw.random() < 0.4:
        tasks = np.cumsum(np.bincount(night.tasks.job_of))
        few_jobs = night.jobs[: max(1, int((tasks <= MOST_TASKS - 1).sum()))]
        night = msgspec.structs.replace(night, jobs=few_jobs)
    night, rules = _ruled(draw, night, most=2)
    if draw.random() < 0.25:
        night = msgspec.structs.replace(night, late=((0.0, 0.5), (night.deadline / 4, 0.0)))
    return Schedule(night).add(*rules)


def best_subset(model: Selection) -> float | None:
    """Return the optimum of a selection by trying all subsets."""
    if model.sample is not None:
        return best_at_risk(model)
    return best(model.instance, model.added, model.fill)


def best_nights(model: Season) -> float | None:
    """Return the optimum of a season of fair shares by trying all plans; NaN of others."""
    return nan if model.instance.name == "drawn" else best_plan(model.instance)


def best_order(model: Schedule) -> float | None:
    """Return the optimum of a schedule by trying all orders; NaN where these are too many."""
    if len(model.instance.tasks.lengths) > MOST_TASKS:
        return nan
    truth = best_schedule(model.instance, model.added)
    return None if truth == -inf else truth


OPTIMA = {"dssp/selection": best_subset, "dssp/season": best_nights, "dssp/schedule": best_order}
FORMULATIONS = {"dssp/selection": selection, "dssp/season": season, "dssp/schedule": schedule}
