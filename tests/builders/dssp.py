"""Small instances and random side constraints that several tests build."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from math import inf

from builders.dssp_moving import fitting, served
from schedopt.formulations.dssp import Selection
from schedopt.instances.constraints import Constraint, Seats
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.dssp.scenarios import DECIDING, Measure, factors
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
    reward = {job.name: job.reward for job in instance.jobs}
    subsets = keeping(instance, constraints, fill)
    return max((sum(reward[n] for n in chosen) for chosen in subsets), default=None)


def keeping(
    instance: Instance, constraints: Sequence[Constraint], fill: float
) -> Iterator[tuple[str, ...]]:
    """Yield every subset of the jobs that fits, and keeps all constraints."""
    facts = Facts(instance, fill)
    rules = [*instance.constraints, *constraints]
    seats = [rule for rule in rules if isinstance(rule, Seats)]
    names = [job.name for job in instance.jobs]
    open_ = [n for n in names if facts.release[n] + facts.critical_path[n] <= facts.due[n]]
    for size in range(len(open_) + 1):
        for chosen in combinations(open_, size):
            if (
                not any(facts.overfull({n: facts.demand[n] for n in chosen}, facts.rate))
                and not any(broken(rule, facts, frozenset(chosen)) for rule in rules)
                and not any(unseated(rule, facts, frozenset(chosen)) for rule in seats)
            ):
                yield chosen


def best_at_risk(model: Selection) -> float | None:
    """Return the optimum under risk by trying every subset, scenario by scenario."""
    night, asked = model.instance, model.options
    drawn = factors(night, asked["seed"], DECIDING, asked["scenarios"]).tolist()
    level = Measure.read(asked["risk"]).level
    found = []
    facts = Facts(night, min(model.fill, 1.0))
    every = fitting(night) if night.beyond else keeping(night, model.added, model.fill)
    for chosen in every:
        done = (
            served(night, chosen, drawn)
            if night.beyond
            else [in_time(facts, chosen, drawn, s) for s in range(len(drawn))]
        )
        earned = sorted(sum(night.jobs[j].reward for j in jobs) for jobs in done)
        if asked["risk"] == "mean":
            found.append(sum(earned) / len(earned))
        elif asked["risk"].startswith("cvar"):
            tail = (1 - level) * len(earned)
            parts = [min(Fraction(1), max(Fraction(0), tail - i)) for i in range(len(earned))]
            worst = sum(float(part) * e for part, e in zip(parts, earned, strict=True))
            found.append(worst / float(tail))
        else:
            at = [night.index[name] for name in chosen]
            if all(sum(j in jobs for jobs in done) >= level * len(done) for j in at):
                found.append(sum(night.jobs[j].reward for j in at))
    return max(found, default=None)


def in_time(facts: Facts, chosen: Sequence[str], drawn: list[list[int]], s: int) -> set[int]:
    """Return which of some jobs are in time in a scenario, each looked at by itself."""
    night = facts.night
    span = {j: (facts.release[job.name], facts.due[job.name]) for j, job in enumerate(night.jobs)}

    def fits(j: int, scenario: list[int]) -> bool:
        path = Fraction(scenario[j], 10**6) * facts.critical_path[night.jobs[j].name]
        return span[j][0] + path <= span[j][1]

    def brings(j: int) -> float:
        job = night.jobs[j]
        demand = float(facts.demand[job.name])
        return -job.reward * sum(fits(j, one) for one in drawn) / demand if demand else -inf

    order = sorted((night.index[name] for name in chosen), key=lambda j: (brings(j), j))
    found = set()
    for i, j in enumerate(order):
        before = order[: i + 1]
        ends = {facts.deadline, *(span[k][1] for k in before)}
        asked = [
            (a, b, [k for k in before if a <= span[k][0] and span[k][1] <= b])
            for a in {Fraction(0), *(span[k][0] for k in before)}
            for b in ends
            if a < b
        ]
        room = all(
            sum(Fraction(drawn[s][k], 10**6) * facts.demand[night.jobs[k].name] for k in inside)
            <= facts.rate * (b - a)
            for a, b, inside in asked
            if j in inside
        )
        if room and fits(j, drawn[s]):
            found.add(j)
    return found
