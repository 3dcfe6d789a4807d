"""The rest of a night, derived afresh from the original night, its history, and now.

Times stay the night's own; before now the machine has no processors. The rest is an instance like
any other, so that searches and checkers need to know nothing else:

- A task that runs is a job of its own that has to start now and is required. So it holds a
  processor until it ends; which one is open, as long as that one stays until then.
- A job that has begun is the rest of its tasks. Where tasks of a stage still run, it is two jobs:
  the rest of that stage, and what comes after it.
- A job that has ended, or will without anything left to start, is a job of no length at that time,
  with the reward that it earns, and is required.
- A job that cannot run any more is replaced by a job that is too long to be selected.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from math import fsum
from typing import Any

import numpy as np
from msgspec import UNSET
from msgspec.structs import replace

from schedopt.formulations.dssp.grid import COARSE, Grid
from schedopt.instances import constraints as kinds
from schedopt.instances.decimals import as_written
from schedopt.instances.dssp import Instance, Job, PlacedTask, Scheduled, scheduled
from schedopt.instances.dssp.machine import Steps
from schedopt.instances.dssp.placing import worths
from schedopt.instances.errors import InputError
from schedopt.instances.fair_share import weight
from schedopt.planning.history import Key, Processors, Progress, Run, Standing

Place = tuple[str, int, int]  # a task of the night: its job, stage and number
ROUNDING = 8 / COARSE
"""The part of the horizon by which times may move where lengths are no decimal fractions."""
RUNNING = "running"  # the rule that keeps what runs and what has ended


class RemainingNight:
    """The rest of a night.

    Attributes
    ----------
    night : Instance
        The whole night, with added jobs, on the machine as it is now known to be.
    instance : Instance
        The rest of it.
    settled : set of str
        The jobs that have ended, or will once what runs has ended.
    parts : dict
        By job of the night, the job that is the rest of its present stage.
    pinned : set of str
        The jobs of the rest that are running tasks.
    out : dict of str to str
        The jobs that cannot run any more, and why.
    notes : list of str
        Rules that what was used already breaks.
    """

    def __init__(
        self, standing: Standing, at: float, rules: Sequence[kinds.Constraint] = ()
    ) -> None:
        """Build the rest at a time of the night, not before the last replanning."""
        self.at, self.progress, self.without = at, standing.progress, standing.without
        self.night = night = machine_as_known(standing)
        self._all_rules = (*night.constraints, *rules)
        self._build(0.0)
        if (self.pinned or self.settled) and not Grid.of(self.instance).exact:
            self._build(ROUNDING * self.instance.horizon)

    def _build(self, slack: float) -> None:
        """Build the instance; what has to start now may start so much later."""
        night, at, self._slack = self.night, self.at, slack
        self.notes: list[str] = []
        self.settled: set[str] = set()
        self.parts: dict[str, str] = {}
        self.pinned: set[str] = set()
        self.out: dict[str, str] = {}
        self.places: dict[str, list[list[Place]]] = {}  # of each job of the rest
        self._names = {*night.index}
        self._own_rules: set[str] = set()
        self._resources: dict[str, Any] = {}
        self._seats: dict[str, dict[str, float]] = {}
        self._state_resources()
        pools = {name: self._pool(name, there) for name, there in night.machine.pools.items()}
        if not any(n and time < night.deadline for points in pools.values() for time, n in points):
            if not at:
                expected = "a processor before the deadline"
                raise InputError(expected, found="none", parameter="state")
            # An instance has some processor: this one is there while nothing can start.
            later = {n: [one for one in points if one[0] > at] for n, points in pools.items()}
            pools = {name: ((0.0, 1), (at, 0), *points) for name, points in later.items()}
        jobs = [rest for job in night.jobs for rest in self._jobs(job, pools)]
        numbered = {name: self._as_numbered(name, points) for name, points in pools.items()}
        there: Any = {"pools": numbered} if night.pools else {"changes": numbered[""]}
        fields = {"jobs": tuple(jobs), "resources": self._resources, "down": (), "end": None}
        bare = replace(night, constraints=(), **there, **fields)
        self.instance = replace(bare, constraints=tuple(self._rules(bare)))

    # --- the machine --------------------------------------------------------------------------

    def running(self, name: str) -> dict[Key, Run]:
        """Return the tasks of a job that run now."""
        return {key: run for key, run in self.progress[name].runs.items() if run.end > self.at}

    def _held(self, amount: Mapping[str, float], pool: str | None = None) -> Steps:
        """Return what running tasks hold from now on: so much each, by job."""
        held = [
            (as_written(run.end + self._slack), as_written(amount[job.name]))
            for job in self.night.jobs
            if amount.get(job.name)
            for run in self.running(job.name).values()
            if pool is None or self.pool_of(run) == pool
        ]
        now = (as_written(self.at), sum((use for _, use in held), Fraction(0)))
        return Steps.summed([(Fraction(0), Fraction(0)), now, *((end, -use) for end, use in held)])

    def pool_of(self, run: Run) -> str:
        """Return the pool that a task runs in: the first, where that is not known."""
        return (
            run.pool if run.pool in self.night.machine.pools else next(iter(self.night.pools), "")
        )

    def _at_least(self, there: Steps, held: Steps, before: Fraction) -> list[tuple[float, float]]:
        """Return an amount from now on, at least what is held, and another one before."""
        now = as_written(self.at)
        times = sorted({now, *(t for t in (*there.times, *held.times) if t > now)})
        steps = [(float(time), float(max(there.at(time), held.at(time)))) for time in times]
        steps = [*([(0.0, float(before))] if now else []), *steps]
        return [step for i, step in enumerate(steps) if not i or step[1] != steps[i - 1][1]]

    def _pool(self, name: str, there: Steps) -> tuple[tuple[float, int], ...]:
        wide = {job.name: float(job.processors) for job in self.night.jobs}
        steps = self._at_least(there, self._held(wide, name), Fraction(0))
        return tuple((time, int(amount)) for time, amount in steps)

    def _state_resources(self) -> None:
        """State resources, and seats as resources, at least as much as running tasks hold."""
        uses: dict[str, tuple[Steps, dict[str, float]]] = {}
        for name in self.night.resources:
            use = {job.name: job.holds.get(name, 0.0) for job in self.night.jobs}
            uses[name] = self.night.machine.resources[name], use
        for position, rule in enumerate(self._all_rules):
            if isinstance(rule, kinds.Seats):
                name = _unused(kinds.label(rule, position), uses)
                self._seats[name] = {job: float(use) for job, use in rule.use.items()}
                uses[name] = Steps.of(rule.capacity), self._seats[name]
        for name, (there, use) in uses.items():
            steps = self._at_least(there, self._held(use), there.amounts[0])
            self._resources[name] = tuple(steps)

    # --- the jobs -----------------------------------------------------------------------------

    def _as_numbered(
        self, name: str, points: tuple[tuple[float, int], ...]
    ) -> tuple[tuple[float, int], ...]:
        """Return a pool with as many processors as the night's, if only after all is over.

        So processors have the numbers that they have in the night.
        """
        most = int(self.night.machine.pools[name].most)
        if max(count for _, count in points) >= most:
            return points
        over = 1 + max(points[-1][0], self.night.horizon, self.night.end or 0.0)
        return (*points, (over, most))

    def _jobs(self, job: Job, pools: Mapping[str, Sequence[tuple[float, int]]]) -> list[Job]:
        """Return the rest of a job: itself, the rest of its present stage, its running tasks."""
        progress = self.progress[job.name]
        held = {name: use[job.name] for name, use in self._seats.items() if use.get(job.name)}
        holds = job.holds | held
        left = _tasks_left(job, progress)
        running = self.running(job.name)
        end = max((run.end for run in running.values()), default=self.at)
        if not left and not progress.cancelled:
            self.settled.add(job.name)
            last = max(run.end for run in progress.runs.values())
            return [self._ended_job(job, last), *self._running_jobs(job, running, holds)]
        why = "cancelled" if progress.cancelled else self._obstacle(job, holds, pools)
        if why:
            self.out[job.name] = why
            return [self._impossible_job(job), *self._running_jobs(job, running, holds)]
        self.places[job.name] = [[(job.name, *key) for key in stage] for stage in left]
        if not progress.runs:
            return [replace(job, holds=holds, release=max(job.release, self.at))]
        if not running or left[0][0][0] > max(stage for stage, _ in progress.runs):
            rest = self._rest_of(job, left, end, holds)
            return [rest, *self._running_jobs(job, running, holds)]
        first = self._new_name(f"{job.name} (begun)")
        self.parts[job.name] = first
        self.places[first] = self.places[job.name][:1]
        self.places[job.name] = self.places[job.name][1:]
        if job.max_processors is not None:  # of what runs and what starts together
            name = _unused(f"processors of {job.name}", self._resources)
            most = max(job.max_processors, len(running) * job.processors)
            self._resources[name] = float(most)
            holds = holds | {name: float(job.processors)}
        part = self._rest_of(job, left[:1], self.at, holds)
        part = replace(part, name=first, reward=0.0, values={})
        after = replace(self._rest_of(job, left[1:], end, holds), after=(first,))
        return [part, after, *self._running_jobs(job, running, holds)]

    def _running_jobs(
        self, job: Job, running: Mapping[Key, Run], holds: Mapping[str, float]
    ) -> list[Job]:
        """Return jobs for running tasks, one for each end and pool: they have to start now."""
        alike: dict[tuple[float, str], list[Key]] = {}
        for key, run in running.items():
            alike.setdefault((run.end, self.pool_of(run)), []).append(key)
        jobs = []
        for (end, pool), keys in alike.items():
            name = self._new_name(f"{job.name} (running)")
            self.pinned.add(name)
            self.places[name] = [[(job.name, *key) for key in keys]]
            own = dict(holds)
            length, last = float(as_written(end) - as_written(self.at)), end + self._slack
            if self.night.delay:  # a job may end late: so something is there until the end alone
                until = _unused(f"until {end:g}", self._resources)
                self._resources[until] = ((0.0, float(len(keys))), (last, 0.0))
                own[until] = 1.0
            jobs.append(
                Job(
                    name=name,
                    reward=0.0,
                    stages=((length,) * len(keys),),
                    release=self.at,
                    deadline=max(last, float(as_written(self.at) + as_written(length))),
                    processors=job.processors,
                    holds=own,
                    pools=(pool,) if pool else None,
                )
            )
        return jobs

    def _new_name(self, name: str) -> str:
        name = _unused(name, self._names)
        self._names.add(name)
        return name

    def _ended_job(self, job: Job, end: float) -> Job:
        """Return a job that ends at a time whatever happens: of no length, worth what it earns."""
        due = self.night.deadline if job.deadline is None else job.deadline
        worth = as_written(self.night.worth(self.night.index[job.name], end))
        return Job(
            name=job.name,
            reward=float(as_written(job.reward) * worth),
            values=job.values,
            groups=job.groups,
            stages=((0.0,),),
            release=end,
            deadline=job.deadline if end + self._slack <= due else end + self._slack,
        )

    def _obstacle(
        self, job: Job, holds: Mapping[str, float], pools: Mapping[str, Sequence[tuple[float, int]]]
    ) -> str:
        """Return why no task of a job can run any more; empty where one can."""
        most = max(count for name in self.night.machine.of_job(job) for _, count in pools[name])
        if job.processors > most:
            return f"takes {job.processors} processors, and there are {most} from now on"
        for name, amount in holds.items():
            points = self._resources[name]
            there = max(a for _, a in points) if isinstance(points, tuple) else points
            if amount > there:
                return f"holds {amount:g} of {name}, and there is {there:g} from now on"
        late = [n for n in job.after if not self.progress[job.name].runs and self._is_unpaid(n)]
        return f"comes after {late[0]}, which ends too late" if late else ""

    def _is_unpaid(self, name: str) -> bool:
        """Return whether a job has ended, or will, too late to earn anything."""
        job, runs = self.night.jobs[self.night.index[name]], self.progress[name].runs
        if len(runs) < sum(map(len, job.stages or ())):
            return False
        return not self.night.worth(self.night.index[name], max(r.end for r in runs.values()))

    def _impossible_job(self, job: Job) -> Job:
        """Return a job that is too long to be in time."""
        return Job(
            name=job.name,
            reward=job.reward,
            values=job.values,
            groups=job.groups,
            stages=((4 * self.night.horizon + 1,),),
            deadline=job.deadline,
        )

    def _rest_of(
        self, job: Job, left: Sequence[Sequence[Key]], at: float, holds: dict[str, float]
    ) -> Job:
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
        rest: Job = replace(job, stages=stages, release=at, after=(), holds=holds, **fields)
        return rest

    # --- the rules ----------------------------------------------------------------------------

    def _rules(self, rest: Instance) -> list[kinds.Constraint]:
        """Return the rules of the rest: each knows what has begun."""
        rules: list[kinds.Constraint] = []
        for position, stated in enumerate(self._all_rules):
            rule = stated if stated.name else replace(stated, name=kinds.label(stated, position))
            if isinstance(rule, kinds.Seats) or rule.name in self.without:
                continue
            if isinstance(rule, kinds.AtMost | kinds.AtLeast) and rule.jobs is None:
                jobs = self.night.jobs
                members = [j.name for j in jobs if j.groups.get(rule.by or "") == rule.group]
                rule = replace(rule, jobs=tuple(members), by=None, group=None)
            if isinstance(rule, kinds.Forbid):
                out = tuple(name for name in rule.jobs if name not in self.settled)
                if not out:
                    continue
                rule = replace(rule, jobs=out)
            if isinstance(rule, kinds.FairShare):
                rule = self._share(rule, rest)
            rules.append(rule)
        names = {rule.name for rule in rules}
        if kept := (*sorted(self.settled, key=self.night.index.__getitem__), *sorted(self.pinned)):
            self._own_rules.add(own := _unused(RUNNING, names))
            rules.append(kinds.Require(name=own, jobs=kept))
        for name, first in self.parts.items():
            self._own_rules.add(own := _unused(f"begun: {name}", names))
            rules.append(kinds.Imply(name=own, if_=first, then=name))
        return rules

    def keeps_begun(self, rule: str) -> bool:
        """Return whether a rule of the rest is none of the night: it keeps what has begun."""
        return rule in self._own_rules

    def used(self, by: str | None = None, until: float | None = None) -> dict[str, Fraction]:
        """Return the processor time that was used, or will be by what runs, by group."""
        used: dict[str, Fraction] = {}
        for job in self.night.jobs:
            group = "" if by is None else job.groups.get(by)
            if group is not None:
                own = self.progress[job.name].used(job.processors, until)
                used[group] = used.get(group, Fraction(0)) + own
        return used

    def _share(self, rule: kinds.FairShare, rest: Instance) -> kinds.FairShare:
        """Return a fair share that also counts tonight's use."""
        counts = weight(1, rule.half_life) if rule.window != 1 else Fraction(0)
        past = {group: counts * as_written(amount) for group, amount in rule.past.items()}
        before = sum(past.values(), Fraction(0))
        if rule.past_total is not None:
            before = counts * as_written(rule.past_total)
        for group, amount in self.used(rule.by).items():
            past[group] = past.get(group, Fraction(0)) + amount
        if rule.of == "capacity":
            before += max(Fraction(0), self.night.exact_capacity() - rest.exact_capacity())
            for group, share in rule.caps(rest.groups.get(rule.by, {})).items():
                most = as_written(share) * (before + rest.exact_capacity())
                if past.get(group, Fraction(0)) > most:
                    self.notes.append(
                        f"{rule.name}: {rule.by} {group} has used {float(past[group]):.6g} of its "
                        f"{float(most):.6g}"
                    )
                    past[group] = most * (1 - Fraction(1, 10**12))
        else:  # what runs counts its rest as a job that is selected
            before += sum(self.used(until=self.at).values(), Fraction(0))
        shared: kinds.FairShare = replace(
            rule,
            past={group: float(amount) for group, amount in past.items()},
            past_total=float(before),
            window=None,
            half_life=None,
        )
        return shared

    # --- schedules ----------------------------------------------------------------------------

    def from_night(self, selected: Collection[str], tasks: Mapping[Place, PlacedTask]) -> Scheduled:
        """Return the schedule of the rest in which tasks of the night are where they stand.

        Raises `KeyError` if a task of a selected job is not among them.
        """
        rest, index = self.instance, self.instance.index
        chosen = {index[name] for name in (*self.settled, *self.pinned)}
        for name in selected:
            chosen |= {index[name], index[self.parts.get(name, name)]}
        starts = np.zeros(len(rest.tasks.lengths))
        places = np.zeros(len(starts), dtype=np.int64)
        several: dict[int, tuple[int, ...]] = {}
        ends: dict[str, float] = {}
        for j in sorted(chosen, key=lambda j: bool(rest.jobs[j].after)):
            job = rest.jobs[j]
            at = int(rest.tasks.first_task[rest.tasks.first_stage[j]])
            ends[job.name] = max([job.release, *(ends.get(name, 0.0) for name in job.after)])
            if not self.places.get(job.name):
                starts[at] = ends[job.name]
            for place in (one for stage in self.places.get(job.name, ()) for one in stage):
                task = tasks[place]
                starts[at] = self.at if job.name in self.pinned else task.start
                places[at] = task.processor
                if len(task.on) > 1:
                    several[at] = task.on
                ends[job.name] = max(ends[job.name], starts[at] + rest.tasks.lengths[at])
                at += 1
        return scheduled(rest, chosen, starts, places, several=several)

    def to_night(self, schedule: Scheduled) -> dict[Place, PlacedTask]:
        """Return the tasks of the whole night: those that ran, run and are planned."""
        tasks = {
            (name, *key): placed_run(name, key, run)
            for name, progress in self.progress.items()
            for key, run in progress.runs.items()
        }
        for task in schedule.tasks:
            if task.job not in self.places or not self.places[task.job]:
                continue
            place = self.places[task.job][task.stage][task.task]
            if task.job in self.pinned:
                run = tasks[place]
                tasks[place] = replace(run, processor=task.processor, processors=task.processors)
            else:
                name, stage, number = place
                tasks[place] = replace(task, job=name, stage=stage, task=number)
        return tasks


def placed_run(name: str, key: Key, run: Run) -> PlacedTask:
    """Return a run as a task of a schedule."""
    on = run.processors or (0,)
    several: Any = {"processors": on} if len(on) > 1 else {}
    return PlacedTask(
        job=name,
        stage=key[0],
        task=key[1],
        processor=on[0],
        start=run.start,
        end=run.end,
        **several,
    )


def whole_schedule(
    night: Instance, selected: Collection[str], tasks: Mapping[Place, PlacedTask]
) -> Scheduled:
    """Return the schedule of a whole night; completions are those of the selected jobs."""
    chosen = tuple(job.name for job in night.jobs if job.name in selected)
    completion = dict.fromkeys(chosen, 0.0)
    for (name, _, _), task in tasks.items():
        if name in completion:
            completion[name] = max(completion[name], task.end)
    capacity, index = night.capacity(), night.index
    shares = {
        by: {
            group: fsum(
                night.demands[index[night.jobs[j].name]]
                for j in members
                if night.jobs[j].name in selected
            )
            / capacity
            for group, members in groups.items()
        }
        for by, groups in night.groups.items()
    }
    due = night.deadline
    busy = fsum((min(t.end, due) - min(t.start, due)) * len(t.on) for t in tasks.values())
    ordered_goals = len(night.objectives) > 1
    ordered = sorted(tasks, key=lambda place: (index[place[0]], place[1:]))
    return Scheduled(
        selected=chosen,
        demand=fsum(night.demands[index[name]] for name in chosen),
        capacity=capacity,
        shares=shares,
        tasks=tuple(tasks[place] for place in ordered),
        completion=completion,
        makespan=max(completion.values(), default=0.0),
        utilization=busy / capacity,
        objectives=worths(night, [index[name] for name in chosen]) if ordered_goals else UNSET,
    )


def machine_as_known(standing: Standing) -> Instance:
    """Return a night on the machine that was reported."""
    night = standing.night
    if not standing.machine:
        return night
    pools = dict(night.machine.pools)
    for event in standing.machine:
        own = night.machine.pools[event.pool]
        pools[event.pool] = _with_processors(pools[event.pool], own, event, night.end)
    points = {}
    for name, there in pools.items():
        steps = [(float(t), int(n)) for t, n in zip(there.times, there.amounts, strict=True)]
        most = int(night.machine.pools[name].most)
        if there.most < most:  # once nothing is paid any more: no job of the file is too wide
            steps.append((1 + max(steps[-1][0], night.horizon, night.end or 0.0), most))
        points[name] = tuple(steps)
    known: Any = {"pools": points} if night.pools else {"changes": points[""]}
    return replace(night, down=(), **known)


def _with_processors(there: Steps, own: Steps, event: Processors, end: float | None) -> Steps:
    """Return a number of processors with what was reported at a time."""
    at = as_written(event.at)
    until = next((time for time in own.times if time > at), None)
    times = sorted({*there.times, at, *([until] if until is not None else [])})
    amounts = [there.at(time) for time in times]
    for i, time in enumerate(times):
        if event.change is not None and time >= at:
            amounts[i] = max(Fraction(0), amounts[i] + event.change)
        elif event.count is not None and time >= at and (until is None or time < until):
            amounts[i] = Fraction(event.count)
    return Steps(tuple(times), tuple(amounts)).up_to(end)


def _unused(name: str, taken: Collection[str | None]) -> str:
    while name in taken:
        name += "'"
    return name


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _tasks_left(job: Job, progress: Progress) -> list[list[Key]]:
    """Return a job's tasks that have not begun, stage by stage; no empty stages."""
    stages = [
        [(s, i) for i in range(len(stage)) if (s, i) not in progress.runs]
        for s, stage in enumerate(job.stages or ())
    ]
    return [stage for stage in stages if stage]
