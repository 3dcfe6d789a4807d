"""The rest of a night: an instance of what has not begun, on the remaining machine.

Times stay the night's own. Before now there is nothing, and a processor that runs a task is away
until it ends: so selections, schedules, dispatchers and checkers need to know nothing else. What is
done, or only waits for its last tasks to end, stays as a job of no length that is required, so that
rules know of it. A job of whose stage a part runs is two: the rest of the stage, and what comes
after it.
"""

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from math import fsum
from typing import Any

from msgspec.structs import replace

from schedopt.instances import constraints as kinds
from schedopt.instances.decimals import as_written
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.dssp.machine import Steps
from schedopt.instances.errors import InputError
from schedopt.instances.fair_share import weight
from schedopt.planning.reasons import moment
from schedopt.planning.state import Level, Progress

Held = Sequence[tuple[float, float]]  # an amount, and until when it is held
BEGUN = "begun"  # what the rule is called that keeps what has begun, where no other rule is


class RemainingNight:
    """The rest of a night.

    Attributes
    ----------
    night : Instance
        The whole night, on the machine as it is now known to be.
    at : float
        Now.
    instance : Instance
        The rest of it.
    progress : sequence of Progress
        Each job of the night as it stands.
    tasks : dict
        Of each job of the rest, where its tasks stand in which job of the night.
    settled : set of str
        The jobs that are done, or will be once what runs has ended.
    parts : dict
        By job of the night, the job of the rest that is the rest of its present stage.
    notes : list of str
    """

    def __init__(
        self, night: Instance, progress: Sequence[Progress], at: float, levels: Sequence[Level]
    ) -> None:
        """Build the rest; `InputError` if the reported state is impossible."""
        if not 0 <= at < night.deadline:
            end = moment(night, night.deadline)
            expected = f"a time of the night, from its start to before {end}"
            raise InputError(expected, found=moment(night, at), place="at")
        self.at, self.progress = at, progress
        self.night = night = _with_levels(night, levels) if levels else night
        self.notes: list[str] = []
        self.tasks: dict[str, tuple[str, Sequence[Sequence[tuple[int, int]]]]] = {}
        self.settled: set[str] = set()
        self.parts: dict[str, str] = {}
        self._names = {*night.index}
        self._unpaid = {  # jobs that have ended, or will, too late to earn anything
            job.name
            for j, (job, one) in enumerate(zip(night.jobs, progress, strict=True))
            if one.status == "done" and not night.worth(j, one.end)
        }
        pools = {name: self._pool(name, there) for name, there in night.machine.pools.items()}
        self._resources: dict[str, Any] = {}
        self._seats: dict[str, dict[str, float]] = {}
        for name, amounts in night.resources.items():
            use = {job.name: job.holds.get(name, 0.0) for job in night.jobs}
            self._resources[name] = self._resource(Steps.of(amounts), use)
        for position, rule in enumerate(night.constraints):
            if isinstance(rule, kinds.Seats):
                name = _unused(kinds.label(rule, position), self._resources)
                self._seats[name] = {job: float(use) for job, use in rule.use.items()}
                self._resources[name] = self._resource(Steps.of(rule.capacity), self._seats[name])
        jobs: list[Job] = []
        for job, begun in zip(night.jobs, self.progress, strict=True):
            of = night.machine.of_job(job)
            jobs += self._jobs(job, begun, max(count for name in of for _, count in pools[name]))
        due = min(night.deadline, night.end or night.deadline)
        if not any(count and time < due for points in pools.values() for time, count in points):
            expected = f"a processor that comes free before {night.deadline:g}"
            raise InputError(expected, found="all at work until then", place="at")
        there: Any = {"pools": pools} if night.pools else {"changes": pools[""]}
        part = {"jobs": tuple(jobs), "resources": self._resources, "down": ()}
        bare = replace(night, constraints=(), **there, **part)
        self.instance = replace(bare, constraints=tuple(self._rules(bare)))

    def _pool(self, name: str, there: Steps) -> tuple[tuple[float, int], ...]:
        """Return a pool less the running tasks."""
        every = [one for begun in self.progress for one in begun.running(self.at)]
        held = [(until, count) for until, count, pool in every if pool == name]
        now, holding = there.at(as_written(self.at)), sum(count for _, count in held)
        if holding > now:
            of = f" of {name}" if name else ""
            at = moment(self.night, self.at)
            expected = f"at most {float(now):g} processors{of} at work at {at}: say what failed"
            jobs = zip(self.night.jobs, self.progress, strict=True)
            widths = {
                job.name: sum(wide for _, wide, on in begun.running(self.at) if on == name)
                for job, begun in jobs
            }
            works = ", ".join(f"{job} on {wide}" for job, wide in widths.items() if wide)
            raise InputError(expected, found=f"{holding} at work ({works})", place="state")
        return tuple((time, int(amount)) for time, amount in self._less_held(there, held))

    def _less_held(self, there: Steps, held: Held) -> list[tuple[float, float]]:
        """Return an amount from now on, less what is held; nothing before."""
        now = as_written(self.at)
        ends: dict[Fraction, Fraction] = {}
        for until, amount in held:
            end = as_written(until)
            ends[end] = ends.get(end, Fraction(0)) + as_written(amount)
        times = sorted({now, *ends, *(time for time in there.times if time > now)})
        away = sum(ends.values(), Fraction(0))
        levels: list[tuple[float, float]] = [(0.0, 0.0)] if now else []
        for time in times:
            away -= ends.get(time, 0)
            levels.append((float(time), max(0.0, float(there.at(time) - away))))
        return [one for i, one in enumerate(levels) if i == 0 or one[1] != levels[i - 1][1]]

    def _resource(self, there: Steps, use: Mapping[str, float]) -> tuple[tuple[float, float], ...]:
        """Return a resource less what running tasks hold."""
        held = [
            (until, use[job.name] * count / job.processors)
            for job, begun in zip(self.night.jobs, self.progress, strict=True)
            if use.get(job.name)
            for until, count, _ in begun.running(self.at)
        ]
        return tuple(self._less_held(there, held))

    def _jobs(self, job: Job, begun: Progress, most: int) -> list[Job]:
        """Return the rest of a job: one job, or two where part of a stage is running."""
        rest = _tasks_left(job, begun)
        if begun.status == "done":
            self.settled.add(job.name)
            self.tasks[job.name] = (job.name, [])
            return [self._ended_job(job, begun.end)]
        holds = {name: use[job.name] for name, use in self._seats.items() if use.get(job.name)}
        job = replace(job, holds=job.holds | holds, release=max(job.release, self.at))
        waits = {*job.after} if begun.status == "waiting" else set()
        if waits & self._unpaid or not self._possible(job, most):
            self.tasks[job.name] = (job.name, [])
            return [self._impossible_job(job)]
        self.tasks[job.name] = (job.name, rest)
        if begun.status == "waiting":
            return [job]
        running = begun.running(self.at)
        end = max((until for until, _, _ in running), default=self.at)
        if not running or rest[0][0][0] > max(task.stage for task in begun.past):
            return [self._rest_of(job, rest, end)]
        first = _unused(f"{job.name} ({BEGUN})", self._names)
        self._names.add(first)
        self.parts[job.name] = first
        self.tasks[first], self.tasks[job.name] = (job.name, rest[:1]), (job.name, rest[1:])
        now = replace(self._rest_of(job, rest[:1], self.at), name=first, reward=0.0, values={})
        if job.max_processors is not None:
            own = _unused(f"processors of {job.name}", self._resources)
            held: Held = [(until, float(count)) for until, count, _ in running]
            self._resources[own] = tuple(self._less_held(Steps.of(job.max_processors), held))
            now = replace(now, holds=now.holds | {own: float(job.processors)})
        return [now, replace(self._rest_of(job, rest[1:], end), after=(first,))]

    def _ended_job(self, job: Job, end: float) -> Job:
        """Return a job that ends at a time whatever happens: of no length, worth what it earns."""
        due = self.night.deadline if job.deadline is None else job.deadline
        worth = self.night.worth(self.night.index[job.name], end)
        return Job(
            name=job.name,
            reward=job.reward * worth,
            values=job.values,
            priority=job.priority,
            groups=job.groups,
            stages=((0.0,),),
            release=end if self.night.end is None else min(end, self.night.end),
            deadline=job.deadline if end <= due else end,
        )

    def _possible(self, job: Job, most: int) -> bool:
        """Tell whether the needs of every task can ever be met."""
        if job.processors > most:
            return False
        there = {name: max(a for _, a in points) for name, points in self._resources.items()}
        return all(amount <= there[name] for name, amount in job.holds.items())

    def _impossible_job(self, job: Job) -> Any:
        due = max(self.at, 1e-9)
        own: dict[str, Any] = {"processors": 1, "max_processors": None, "holds": {}, "demand": None}
        own["pools"] = None
        return replace(job, stages=((1.0,),), critical_path=None, deadline=due, **own)

    def _rest_of(self, job: Job, left: Sequence[Sequence[tuple[int, int]]], at: float) -> Any:
        """Return some tasks of a job, from a time on; predictions in proportion."""
        whole = job.stages or ()
        stages = tuple(tuple(whole[s][i] for s, i in stage) for stage in left) or ((0.0,),)
        fields: dict[str, Any] = {}
        if job.demand is not None:
            every = fsum(length for stage in whole for length in stage)
            fields["demand"] = job.demand * _ratio(fsum(map(fsum, stages)), every)
        if job.critical_path is not None:
            longest = fsum(max(stage) for stage in whole)
            fields["critical_path"] = job.critical_path * _ratio(fsum(map(max, stages)), longest)
        # What it waited for was there when it began.
        return replace(job, stages=stages, release=at, after=(), **fields)

    def _rules(self, rest: Instance) -> list[kinds.Constraint]:
        """Return the rules of the rest: each knows what has begun."""
        rules: list[kinds.Constraint] = []
        used: dict[str, dict[str, Fraction]] = {}
        for job, begun in zip(self.night.jobs, self.progress, strict=True):
            for by, group in job.groups.items():
                of = used.setdefault(by, {})
                of[group] = of.get(group, Fraction(0)) + as_written(begun.used())
        everything = sum((as_written(begun.used()) for begun in self.progress), Fraction(0))
        passed = self.night.exact_capacity() - rest.exact_capacity()
        for position, stated in enumerate(self.night.constraints):
            rule = stated if stated.name else replace(stated, name=kinds.label(stated, position))
            if isinstance(rule, kinds.Seats):
                continue
            if isinstance(rule, kinds.AtMost | kinds.AtLeast) and rule.jobs is None:
                members = [
                    job.name
                    for job in self.night.jobs
                    if job.groups.get(rule.by or "") == rule.group
                ]
                rule = replace(rule, jobs=tuple(members), by=None, group=None)
            if isinstance(rule, kinds.Forbid):
                out = tuple(name for name in rule.jobs if name not in self.settled)
                if not out:
                    continue
                rule = replace(rule, jobs=out)
            if isinstance(rule, kinds.FairShare):
                total = passed if rule.of == "capacity" else everything
                rule = self._share(rule, used.get(rule.by, {}), total, rest)
            rules.append(rule)
        names = {rule.name for rule in rules}
        if self.settled:
            name = _unused(BEGUN, names)
            settled = (job.name for job in self.night.jobs if job.name in self.settled)
            rules.append(kinds.Require(name=name, jobs=tuple(settled)))
        for name, first in self.parts.items():
            rules.append(kinds.Imply(name=_unused(f"{BEGUN}: {name}", names), if_=first, then=name))
        return rules

    def _share(
        self, rule: kinds.FairShare, used: Mapping[str, Fraction], total: Fraction, rest: Instance
    ) -> kinds.FairShare:
        """Return a fair share that also counts tonight's use."""
        counts = weight(1, rule.half_life) if rule.window != 1 else Fraction(0)
        past = {group: counts * as_written(amount) for group, amount in rule.past.items()}
        past_total = rule.past_total
        before = (
            sum(past.values(), Fraction(0))
            if past_total is None
            else counts * as_written(past_total)
        )
        past = {
            group: past.get(group, Fraction(0)) + used.get(group, Fraction(0))
            for group in {**past, **used}
        }
        before += total
        caps = rule.caps(rest.groups.get(rule.by, {})) if rule.of == "capacity" else {}
        for group, share in caps.items():
            most = as_written(share) * (before + rest.exact_capacity())
            if past.get(group, Fraction(0)) > most:
                self.notes.append(
                    f"{rule.name}: {rule.by} {group} has used {float(past[group]):.6g} of its "
                    f"{float(most):.6g}"
                )
                past[group] = most * (1 - Fraction(1, 10**12))
        shared: kinds.FairShare = replace(
            rule,
            past={group: float(amount) for group, amount in past.items()},
            past_total=float(before),
            window=None,
            half_life=None,
        )
        return shared


def _unused(name: str, taken: Collection[str | None]) -> str:
    while name in taken:
        name += "'"
    return name


def _with_levels(night: Instance, levels: Sequence[Level]) -> Instance:
    """Return a night on the reported machine: each level holds until the next one."""
    by_name: dict[str, dict[float, int]] = {}
    for name, there in night.machine.pools.items():
        by_name[name] = {float(span.start): int(span.amount) for span in there.spans()}
        by_name[name] |= {level.time: level.processors for level in levels if level.pool == name}
    points = {name: tuple(sorted(steps.items())) for name, steps in by_name.items()}
    if night.pools:
        return replace(night, pools=points, down=())
    return replace(night, changes=points[""], down=())


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _tasks_left(job: Job, begun: Progress) -> list[list[tuple[int, int]]]:
    """Return the places of a job's tasks that have not begun, stage by stage; no empty stages."""
    past = {task[:2] for task in begun.past}
    stages = [
        [(s, i) for i in range(len(stage)) if (s, i) not in past]
        for s, stage in enumerate(job.stages or ())
    ]
    return [stage for stage in stages if stage]
