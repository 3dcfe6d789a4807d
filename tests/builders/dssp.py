"""Small instances and random side constraints that several tests build."""

from collections.abc import Sequence
from itertools import combinations

from schedopt.instances.constraints import (
    Constraint,
    Seats,
)
from schedopt.instances.dssp import Instance, Job
from schedopt.validation.dssp.constraints import broken, unseated
from schedopt.validation.dssp.facts import Facts

TEAMS = ("fx", "light", "anim")


def night(
    jobs: Sequence[tuple[float, float]],
    capacity: float = 10.0,
    constraints: Sequence[Constraint] = (),
) -> Instance:
    """Build an instance of (reward, demand) pairs on one processor; teams go round."""
    return Instance(
        name="small",
        processors=1,
        deadline=capacity,
        jobs=tuple(
            Job(
                name=f"j{i}",
                reward=float(reward),
                demand=float(demand),
                critical_path=min(float(demand), capacity),
                groups={"team": TEAMS[i % 3]},
            )
            for i, (reward, demand) in enumerate(jobs)
        ),
        constraints=tuple(constraints),
    )


def best(
    instance: Instance, constraints: Sequence[Constraint] = (), fill: float = 1.0
) -> float | None:
    """Return the optimum by trying every subset; None if none keeps all constraints."""
    facts = Facts(instance, fill)
    rules = [*instance.constraints, *constraints]
    seats = [rule for rule in rules if isinstance(rule, Seats)]
    reward = {job.name: job.reward for job in instance.jobs}
    open_ = [n for n in reward if facts.release[n] + facts.critical_path[n] <= facts.due[n]]
    found = [
        sum(reward[n] for n in chosen)
        for size in range(len(open_) + 1)
        for chosen in combinations(open_, size)
        if not any(facts.overfull({n: facts.demand[n] for n in chosen}, facts.rate))
        and not any(broken(rule, facts, frozenset(chosen)) for rule in rules)
        and not any(unseated(rule, facts, frozenset(chosen)) for rule in seats)
    ]
    return max(found, default=None)
