"""Small instances and random side constraints that several tests build."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

import msgspec
import numpy as np
from judge.brute import Night, subsets
from msgspec.structs import replace

from schedopt.formulations.dssp import Selection
from schedopt.instances.constraints import Constraint
from schedopt.instances.decimals import as_written
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.dssp.scenarios import DECIDING, Measure, factors
from schedopt.planning.release import Release, Span, TaskKey, seats_of
from schedopt.policies.dssp.dispatch import simulate as dispatch

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
    ruled = replace(instance, constraints=(*instance.constraints, *constraints))
    found = Night(msgspec.json.encode(ruled)).best_selection(as_written(fill))
    return None if found is None else float(found)


def best_at_risk(model: Selection) -> float | None:
    """Return the optimum under risk by trying every subset, scenario by scenario."""
    asked = model.options
    night = replace(model.instance, constraints=(*model.instance.constraints, *model.added))
    drawn = factors(night, asked["seed"], DECIDING, asked["scenarios"]).tolist()
    level = Measure.read(asked["risk"]).level
    found, scenarios = [], Scenarios(night, drawn, min(model.fill, 1.0))
    names = [job.name for job in night.jobs]
    for chosen in subsets(names):
        plan = {name: int(name in chosen) for name in names}
        if not scenarios.planned.allows(plan, as_written(model.fill)):
            continue
        done = scenarios.served(chosen)
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


class Scenarios:
    """A night as planned, and with jobs as long as in each scenario, in millionths of planned."""

    def __init__(self, night: Instance, drawn: list[list[int]], fill: float) -> None:
        text = msgspec.json.encode(night)
        names = [job.name for job in night.jobs]
        self.night, self.fill, self.planned = night, as_written(fill), Night(text)
        self.longer = [
            Night(text, {n: Fraction(part, 10**6) for n, part in zip(names, one, strict=True)})
            for one in drawn
        ]
        if not night.features:  # with r > 1 a job may ask for more than its window has
            self.planned.able[1] = set(self._alone(self.planned))
        self.alone = [set(self._alone(each)) for each in self.longer]

    def _alone(self, each: Night) -> Iterator[str]:
        """Yield who is in time alone: on a machine that stays, by its path, whatever it demands."""
        for name, end in each.ends(1).items():
            job = each.jobs[name]
            if not self.night.features:
                path = sum(map(max, job.stages)) if job.path is None else job.path
                end = job.release + path  # noqa: PLW2901
            if end is not None and end <= job.due:
                yield name

    def served(self, chosen: Sequence[str]) -> list[set[int]]:
        """Return which of some jobs are in time in each scenario: who brings most, comes first."""
        jobs, left, order = self.planned.jobs, list(chosen), list[str]()

        def brings(name: str) -> tuple[Fraction, int]:
            earned = jobs[name].reward * sum(name in alone for alone in self.alone)
            demand = jobs[name].demand
            return earned / demand if demand else Fraction(10**30), -self.night.index[name]

        while left:
            free = [n for n in left if not {*jobs[n].after} & {*left}]
            order.append(max(free, key=brings))
            left.remove(order[-1])
        return [
            {
                self.night.index[name]
                for i, name in enumerate(order)
                if name in alone
                and all(
                    sum(asked.values()) <= most
                    for asked, most in longer.asks(1, order[: i + 1], self.fill)
                    if asked.get(name, 0) > 0
                )
            }
            for alone, longer in zip(self.alone, self.longer, strict=True)
        ]


def written(number: float) -> Fraction:
    """Return the decimal that a number stands for."""
    return Fraction(str(number))


def best_exactly(instance: Instance, names: frozenset[str] | None = None) -> Fraction | None:
    """Return the optimum by trying every subset in rationals; None if none keeps all rules.

    Only the rules of some names are asked for, where they are given.
    """
    rules = tuple(r for r in instance.constraints if names is None or r.name in names)
    return Night(msgspec.json.encode(replace(instance, constraints=rules))).best_selection()


def carry_out(
    night: Instance,
    given: Sequence[Release],
    lengths: Mapping[TaskKey, float] | None = None,
    rules: Sequence[Constraint] = (),
) -> dict[TaskKey, Span]:
    """Return the span of each task.

    A release is a job of one stage, the first has priority. The manager counts processors, so these
    are a resource of each pool.
    """
    known = lengths or {}
    keys = [[(one.job, one.stage, task) for task in one.tasks] for one in given]
    stages = [
        tuple(known.get(key, planned) for key, planned in zip(own, one.lengths, strict=True))
        for own, one in zip(keys, given, strict=True)
    ]
    jobs = tuple(
        Job(
            name=str(one.order),
            reward=1,
            stages=(stage,),
            release=one.begin,
            after=tuple(map(str, one.after)),
            max_processors=one.at_once,
            holds={**one.holds, f"processors {one.pool}": one.width},
        )
        for one, stage in zip(given, stages, strict=True)
    )
    seats = {name: rule.capacity for rule, name in seats_of(night, rules)}
    pools = {
        f"processors {name}": [
            (float(t), float(n)) for t, n in zip(there.times, there.amounts, strict=True)
        ]
        for name, there in night.machine.pools.items()
    }
    farm = Instance(
        name="manager",
        processors=sum(len(own) for own in night.machine.numbers.values()),
        deadline=night.deadline,
        jobs=jobs,
        resources={**night.resources, **seats, **pools},
    )
    order = np.arange(len(farm.tasks.lengths), dtype=float)
    starts = dispatch(farm, np.arange(len(jobs)), keys=order).starts.tolist()
    every = [key for own in keys for key in own]
    ends = [start + length for start, length in zip(starts, farm.tasks.lengths, strict=True)]
    return dict(zip(every, zip(starts, ends, strict=True), strict=True))
