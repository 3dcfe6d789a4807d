"""Small random selections, seasons and schedules, with side constraints of every kind."""

from collections.abc import Callable
from math import nan
from random import Random
from typing import Any

import msgspec
from builders import rules
from builders.dssp import best_at_risk
from judge.nights import drawn

from schedopt.formulations.dssp import Schedule, Season, Selection
from schedopt.instances import files
from schedopt.instances.constraints import (
    Constraint,
    FairShare,
    Forbid,
    Require,
)
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.dssp.jobs import Lognormal

TEAMS = ("fx", "light", "anim")
UNSURE = ("late", "predicted", "rules")
SIZES = (1.0, 1e-3, 1e6)
"""Units that rewards and demands are in: HiGHS, which `model` asks, has absolute tolerances."""


def some_rule(draw: Random, names: list[str]) -> Constraint:
    """Draw a side constraint of any kind that a selection takes."""
    return rules.some_rule(draw, names, TEAMS[: min(3, len(names))])


def some_night(draw: Random, *, staged: bool = False, windows: bool = True) -> Instance:
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
        if windows and draw.random() < 0.3:
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
    """Draw a selection: some that are judged, and half of shares of teams alone, for all the night.

    A tenth are under risk on a machine that changes, or of jobs that wait or hold.
    """
    if draw.random() < 0.2:
        return _of_judged(draw, Selection, 1)
    if draw.random() < 0.1:
        night, asked = at_risk(draw, files.parse(drawn(draw.randrange(10**9), UNSURE)))
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
    spreads = (None, 0.0, 0.3, 0.9, Lognormal(sigma=0.5), Lognormal(sigma=1.0))
    jobs = [msgspec.structs.replace(job, spread=draw.choice(spreads)) for job in night.jobs]
    night = msgspec.structs.replace(night, jobs=tuple(jobs))
    risk = draw.choice(("mean", "cvar:0.9", "cvar:0.45", "chance:0.5", "chance:0.95"))
    return night, {"risk": risk, "scenarios": draw.randint(1, 9), "seed": draw.randint(0, 99)}


def _of_judged(draw: Random, kind: Any, nights: int) -> Any:
    """Draw what is judged, too: nights of every feature, with half of their rules added."""
    text = drawn(draw.randrange(10**9), ("after",) if nights > 1 else (), nights)
    night = files.parse(text)
    half = draw.randint(0, len(night.constraints))
    bare = msgspec.structs.replace(night, constraints=night.constraints[:half])
    return kind(bare).add(*night.constraints[half:])


def season(draw: Random) -> Season:
    """Draw a season of two or three nights."""
    return _of_judged(draw, Season, draw.randint(2, 3))


def schedule(draw: Random) -> Schedule:
    """Draw a schedule of up to six tasks."""
    return _of_judged(draw, Schedule, 1)


def best_subset(model: Selection) -> float | None:
    """Return the optimum of a selection under risk by trying all subsets; others are judged."""
    return nan if model.sample is None else best_at_risk(model)


OPTIMA = {"dssp/selection": best_subset}
FORMULATIONS = {"dssp/selection": selection, "dssp/season": season, "dssp/schedule": schedule}
