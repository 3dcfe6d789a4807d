"""Small instances and random side constraints that several tests build."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, permutations
from math import inf
from typing import NamedTuple

from builders.dssp_moving import fitting, served
from schedopt.formulations.dssp import Schedule, Selection
from schedopt.instances.constraints import Constraint, Seats
from schedopt.instances.decimals import as_written
from schedopt.instances.dssp import Instance, Job, PlacedTask
from schedopt.instances.dssp.scenarios import DECIDING, Measure, factors
from schedopt.validation.dssp import risk
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


def best_order_at_risk(model: Schedule) -> float | None:
    """Return the optimum of a schedule under risk by trying all orders of all subsets' tasks."""
    night, asked = model.instance, model.asked_at_risk
    measure, step = Measure.read(asked["risk"]), 1 / as_written(model.grid.scale)
    drawn, facts = factors(night, asked["seed"], DECIDING, asked["scenarios"]), Facts(night, 1.0)
    found = []
    for chosen in keeping(night, model.added, 1.0):
        worth = sum(night.jobs[night.index[name]].reward for name in chosen)
        for tasks in _orders(facts, chosen, step):
            played = risk._Ran(facts, _Starts(chosen, tasks))
            value, _ = played.worth(measure, drawn)
            if measure.kind != "chance":
                found.append(value)
            elif round(value * len(drawn)) >= measure.level * len(drawn):
                found.append(worth)
    return max(found, default=None)


class _Starts(NamedTuple):
    """What is read of a schedule: who is run, and when tasks start."""

    selected: Sequence[str]
    tasks: Sequence[PlacedTask]


def _orders(facts: Facts, chosen: Sequence[str], step: Fraction) -> Iterator[list[PlacedTask]]:
    """Yield tasks in every order in which they can start, as early as they can, all in time."""
    lengths = {
        (facts.night.index[name], s, i): as_written(length)
        for name in chosen
        for s, stage in enumerate(facts.night.jobs[facts.night.index[name]].stages or ())
        for i, length in enumerate(stage)
        if length
    }
    for order in permutations(lengths):
        starts: dict[tuple[int, int, int], Fraction] = {}
        last: tuple[tuple[int, int, int], Fraction] | None = None
        for key in order:
            name, before = facts.night.jobs[key[0]].name, [k for k in order if k[0] == key[0]]
            if any(k[1] < key[1] and k not in starts for k in before):
                break
            ends = {k: start + lengths[k] for k, start in starts.items()}
            start = max([facts.release[name], *(ends[k] for k in before if k[1] < key[1])])
            if last is not None:  # at one instant the file's order decides
                start = max(start, last[1] + (step if key < last[0] else 0))
            while sum(end > start for end in ends.values()) >= facts.night.processors:
                start = min(end for end in ends.values() if end > start)
            if start + lengths[key] > facts.due[name]:
                break
            starts[key], last = start, (key, start)
        else:
            yield [
                PlacedTask(
                    job=facts.night.jobs[j].name,
                    stage=s,
                    task=i,
                    processor=0,
                    start=float(start),
                    end=float(start + lengths[j, s, i]),
                )
                for (j, s, i), start in starts.items()
            ]
