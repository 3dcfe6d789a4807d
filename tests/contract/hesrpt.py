"""Small random allocations: given orders, arrivals, side constraints and speedups of every kind."""

from random import Random

from schedopt.formulations.hesrpt import Allocation
from schedopt.instances.constraints import FairShare, Shares
from schedopt.instances.hesrpt import Amdahl, Instance, Job, Power, Speedup, Table

SPEEDUPS: tuple[Speedup, ...] = (
    Power(p=0.5),
    Power(p=0.85),
    Power(p=1.0),
    Amdahl(parallel=0.9),
    Table(points=((1, 1), (2, 1.8), (8, 4))),
)
SIZES = (1.0, 1e-3, 1e3)
"""Units that sizes are in."""
FLOORS, CAPS = (0.0, 0.1, 0.35, 0.5, 0.6), (0.3, 0.5, 0.8, 1.0)
OBJECTIVES = ("total-flow-time", "weighted-flow-time", "makespan")


def some_rule(draw: Random, names: list[str], kind: int) -> Shares | FairShare:
    """Draw a floor, a cap or both: of single jobs, or of a team."""
    least = draw.choice(FLOORS)
    most = draw.choice([cap for cap in CAPS if cap > least])
    if kind == 0:
        few = tuple(draw.sample(names, draw.randint(1, len(names))))
        return Shares(jobs=few, at_least=least, at_most=most, name="jobs")
    team = draw.choice("ab"[: len(names)])
    return FairShare(by="team", at_least={team: least}, at_most={team: most}, name=f"team{kind}")


def allocation(draw: Random) -> Allocation:
    """Draw an allocation of up to four jobs, up to three where some arrive later."""
    late, one, unit = draw.random() < 0.4, draw.random() < 0.4, draw.choice(SIZES)
    jobs = tuple(
        Job(
            name=f"j{i}",
            size=unit * draw.choice((1.0, 1.0, 2.0, round(draw.uniform(0.1, 10), 2))),
            weight=draw.choice((1, 1, 2, 5)),
            speedup=None if one else draw.choice(SPEEDUPS),
            arrival=unit * draw.choice((0.0, 0.0, 0.1, 0.4)) if late else 0.0,
            groups={"team": "ab"[i % 2]},
        )
        for i in range(draw.choice((1, 2, 2, 3) if late else (1, 2, 3, 3, 4)))
    )
    names = [job.name for job in jobs]
    kinds = draw.sample((0, 1, 2), draw.choice((0, 0, 0, 1, 2, 3)))
    rules = [some_rule(draw, names, kind) for kind in kinds]
    half = draw.randint(0, len(rules))
    instance = Instance(
        name="drawn",
        servers=draw.choice((1, 10, 100)),
        speedup=draw.choice(SPEEDUPS),
        jobs=jobs,
        objective=draw.choice(OBJECTIVES),
        constraints=tuple(rules[:half]),
    )
    order = draw.sample(names, len(names)) if draw.random() < 0.2 else None
    return Allocation(instance, order=order).add(*rules[half:])


FORMULATIONS = {"hesrpt/allocation": allocation}
