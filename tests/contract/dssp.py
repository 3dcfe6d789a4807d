"""Small random selections, seasons and schedules, with side constraints of every kind."""

from __future__ import annotations

from random import Random

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

TEAMS = ("fx", "light", "anim")
SIZES = (1.0, 1e-3, 1e6)
"""Units that rewards and demands are in: HiGHS, which `model` asks, has absolute tolerances."""


def some_rule(draw: Random, names: list[str], position: int) -> Constraint:
    """Draw a side constraint of any kind that a selection takes, the one at some position."""
    few = tuple(draw.sample(names, draw.randint(1, min(3, len(names)))))
    one, other = draw.choice(names), draw.choice(names)
    team, share = draw.choice(TEAMS[: min(3, len(names))]), draw.choice((0.0, 0.2, 0.5, 1.0))
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
        lambda: Resource(
            name=f"disk {position}", use=dict.fromkeys(few, 2.0), capacity=draw.randint(0, 5)
        ),
        lambda: Seats(capacity=2, use=dict.fromkeys(few, draw.randint(1, 2))),
    )
    return draw.choice(kinds)()


def some_night(draw: Random, *, staged: bool = False, nights: int = 1) -> Instance:
    """Draw a night of up to seven jobs: ties, nothing to do, and units far apart among them."""
    worth, size = draw.choice(SIZES), draw.choice(SIZES)
    deadline = draw.randint(3, 14)
    jobs = []
    for i in range(draw.choice((1, 2, 4, 5, 6, 7))):
        lengths = tuple(
            tuple(size * draw.randint(0 if staged else 1, 4) for _ in range(draw.randint(1, 2)))
            for _ in range(draw.randint(1, 2))
        )
        window = {} if nights > 1 or draw.random() < 0.7 else {"release": size * draw.randint(0, 3)}
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


def _ruled(draw: Random, night: Instance, most: int = 3) -> tuple[Instance, list[Constraint]]:
    """Return an instance with half of some drawn rules, and the other half."""
    import msgspec

    names = [job.name for job in night.jobs]
    rules = [some_rule(draw, names, i) for i in range(draw.randint(0, most))]
    half = draw.randint(0, len(rules))
    return msgspec.structs.replace(night, constraints=tuple(rules[:half])), rules[half:]


def selection(draw: Random) -> Selection:
    """Draw a selection."""
    night, rules = _ruled(draw, some_night(draw))
    return Selection(night, fill=draw.choice((1.0, 1.0, 0.5))).add(*rules)


def season(draw: Random) -> Season:
    """Draw a season of two nights."""
    night, rules = _ruled(draw, some_night(draw, nights=2), most=2)
    return Season(night).add(*rules)


def schedule(draw: Random) -> Schedule:
    """Draw a schedule of staged jobs."""
    night, rules = _ruled(draw, some_night(draw, staged=True), most=2)
    return Schedule(night).add(*rules)


FORMULATIONS = {"dssp/selection": selection, "dssp/season": season, "dssp/schedule": schedule}
