"""The rest of a night as an instance, derived from the original night, its history, and now.

Times stay those of the night; before now the machine has no processors. The rest is an instance
like any other, so that searches and checkers need to know nothing else:

- A running task keeps its processors, which are down until it ends. Its seats and resources are
  unavailable until then.
- A job that has begun is replaced by its tasks that have not started. If tasks of a stage are
  running, it becomes two jobs: the other tasks of that stage, and the later stages.
- A job without a task left to start is a required job of length 0 with the reward that it earns.
- A job that cannot run any more is replaced by a job that is too long to be selected.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from math import fsum, inf
from typing import Any

import numpy as np
from msgspec.structs import asdict, replace

from schedopt.formats import count_of
from schedopt.instances import constraints as kinds
from schedopt.instances.decimals import as_written
from schedopt.instances.dssp import Instance, Job, PlacedTask, Scheduled, scheduled
from schedopt.instances.dssp.machine import Down, Steps
from schedopt.instances.dssp.placing import selected as selected_record
from schedopt.instances.errors import InputError
from schedopt.instances.fair_share import weight
from schedopt.planning.history import ON_TIME, Key, NightState, Progress, Run, machine_as_known

Place = tuple[str, int, int]  # a task of the night: its job, stage and number
Points = list[tuple[float, int]]  # times, and the processors from each on
REQUIRED = "running"  # the rule that requires the jobs without a task left to start


class RemainingNight:
    """The part of a night that is still to be planned at a time within it.

    ``night`` is the whole night, with added jobs, on the machine as reported, and ``instance`` the
    rest of it. ``settled`` are the jobs without a task left to start, and ``on`` has the processors
    of each running task.
    """

    def __init__(
        self, night_state: NightState, at: float, rules: Sequence[kinds.Constraint] = ()
    ) -> None:
        """Build the rest at a time of the night, not before the last replanning."""
        self.at, self.progress, self.without = at, night_state.progress, night_state.without
        self.night = night = machine_as_known(night_state)
        self._all_rules = (*night.constraints, *rules)
        self.settled = {
            job.name
            for job in night.jobs
            if not self.progress[job.name].cancelled
            and not _tasks_left(job, self.progress[job.name])
        }
        self.notes: list[str] = []  # rules that the usage so far already violates
        self.parts: dict[str, str] = {}  # by job, the job that is the rest of its present stage
        self.out: dict[str, str] = {}  # the jobs that can no longer run, and why
        # For each job of the rest, its tasks in the night, stage by stage
        self.places: dict[str, list[list[Place]]] = {}
        self._names = {*night.index}
        self._own_rules: set[str] = set()
        self._resources: dict[str, Steps] = {}
        self.running_on: dict[str, list[tuple[Job, Key, Run]]] = {
            name: [] for name in night.machine.by_number
        }
        for job in night.jobs:
            for key, run in self.running(job.name).items():
                self.running_on[self.pool_of(run)].append((job, key, run))
        self._seats: dict[str, dict[str, float]] = {}
        self._state_resources()
        self._pools = {name: self._pool(name, own) for name, own in night.machine.by_number.items()}
        self.on = self._processors_of_running(self._pools)

    @cached_property
    def instance(self) -> Instance:
        """The rest as an instance with its rules."""
        pools = self._pools
        jobs = [rest for job in self.night.jobs for rest in self._jobs(job, pools)]
        until: dict[float, list[int]] = {}
        for (name, *key), on in self.on.items():
            end = self.progress[name].runs[key[0], key[1]].end
            until.setdefault(end, []).extend(on)
        is_idle = any(
            count > self._held(name, time)
            for name, points in pools.items()
            for time, count in points
            if time < self.night.deadline
        )
        if not self.at and not is_idle:
            expected = "a processor before the deadline"
            raise InputError(expected, found="none", parameter="state")
        # An instance has some processor: if none, one is there while nothing can start.
        before = 0 if is_idle else 1
        counts = {name: self._as_numbered(name, own, before) for name, own in pools.items()}
        there: Any = {"pools": counts} if self.night.pools else {"changes": counts[""]}
        down = [one for one in self.night.down if one.end > self.at]
        down += [Down(start=self.at, end=end, numbers=tuple(on)) for end, on in until.items()]
        bare = replace(
            self.night,
            jobs=tuple(jobs),
            resources={name: points_of(there) for name, there in self._resources.items()},
            constraints=(),
            down=tuple(down),
            end=None,
            **there,
        )
        return replace(bare, constraints=tuple(self._rules(bare)))

    # --- what runs ----------------------------------------------------------------------------

    def running(self, name: str) -> dict[Key, Run]:
        """Return the tasks of a job that run now."""
        return {key: run for key, run in self.progress[name].runs.items() if run.end > self.at}

    def pool_of(self, run: Run) -> str:
        """Return the pool that a task runs on; by default the first pool."""
        return (
            run.pool if run.pool in self.night.machine.pools else next(iter(self.night.pools), "")
        )

    def _end(self, name: str) -> float:
        return max((run.end for run in self.progress[name].runs.values()), default=self.at)

    # --- the machine --------------------------------------------------------------------------

    def _held(self, pool: str, time: float) -> int:
        """Return the processors of a pool that running tasks hold at a time from now on."""
        return sum(job.processors for job, _, run in self.running_on[pool] if run.end > time)

    def _pool(self, name: str, there: Steps) -> Points:
        """Return the processors of a pool from now on: at least as many as running tasks hold."""
        changes = {float(time) for time in there.times if time > as_written(self.at)}
        times = sorted({self.at, *changes, *(run.end for _, _, run in self.running_on[name])})
        return [
            (time, max(int(there.at(as_written(time))), self._held(name, time))) for time in times
        ]

    def _as_numbered(self, name: str, points: Points, before: int) -> tuple[tuple[float, int], ...]:
        """Return a profile in which processors have the same numbers as in the night.

        Processors that are gone come back after the end of the night.
        """
        counts = [(0.0, before), *points] if self.at else points
        most = int(self.night.machine.by_number[name].most)
        if max(count for _, count in counts) < most:
            over = 1 + max(counts[-1][0], self.night.horizon, self.night.end or 0.0)
            counts.append((over, most))
        steps = enumerate(counts)
        return tuple(point for i, point in steps if not i or point[1] != counts[i - 1][1])

    def _processors_of_running(self, pools: Mapping[str, Points]) -> dict[Place, tuple[int, ...]]:
        """Return the processors of each running task.

        A task keeps its known processors if they stay until it ends. Otherwise it gets idle
        processors that do, those first that leave first. If there are none, all running tasks of
        the pool get new processors: the last task to end has the lowest numbers.
        """
        found: dict[Place, tuple[int, ...]] = {}
        for pool, points in pools.items():
            numbers = self.night.machine.numbers[pool]
            most = max(len(numbers), *(count for _, count in points))
            leaves = [self._leaves(numbers.start + k, k, points) for k in range(most)]
            order = self.night.index
            runs = sorted(
                self.running_on[pool], key=lambda one: (-one[2].end, order[one[0].name], one[1])
            )
            on: dict[Place, Sequence[int]] = {}
            idle = {*range(most)}
            for job, key, run in runs:
                known = {*run.processors}
                stay = known <= idle and all(leaves[k] * ON_TIME >= run.end for k in known)
                if stay and len(known) == job.processors:
                    on[job.name, *key] = run.processors
                    idle -= known
            for job, key, run in runs:
                if (job.name, *key) not in on:
                    able = (k for k in idle if leaves[k] * ON_TIME >= run.end)
                    taken = sorted(able, key=lambda k: (leaves[k], k))[: job.processors]
                    on[job.name, *key] = sorted(taken)
                    idle -= {*taken}
            if any(len(on[job.name, *key]) < job.processors for job, key, _ in runs):
                first = 0
                for job, key, _ in runs:
                    on[job.name, *key] = range(first, first + job.processors)
                    first += job.processors
            for place, own in on.items():
                found[place] = tuple(numbers.start + k for k in own)
        return found

    def _leaves(self, number: int, k: int, points: Points) -> float:
        away = self.night.machine.away.get(number, ())
        gone = [float(span.start) for span in away if span.end is None or span.end > self.at]
        return min([*gone, *(time for time, count in points if count <= k)], default=inf)

    def _state_resources(self) -> None:
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
            self._resources[name] = self._less_held(there, use)

    def _less_held(self, there: Steps, use: Mapping[str, float]) -> Steps:
        return there.less(
            [
                (use[name], self.at, run.end)
                for name in self.progress
                if use.get(name)
                for run in self.running(name).values()
            ]
        )

    # --- the jobs -----------------------------------------------------------------------------

    def _jobs(self, job: Job, pools: Mapping[str, Points]) -> list[Job]:
        progress = self.progress[job.name]
        if job.name in self.settled:
            worth = as_written(self.night.worth(self.night.index[job.name], self._end(job.name)))
            earned = float(as_written(job.reward) * worth)
            return [_of_one_task(job, 0.0, reward=earned, deadline=None)]
        held = {name: use[job.name] for name, use in self._seats.items() if use.get(job.name)}
        holds = job.holds | held
        why = "cancelled" if progress.cancelled else self._obstacle(job, holds, pools)
        if why:
            self.out[job.name] = why
            return [_of_one_task(job, 4 * self.night.horizon + 1)]  # too long to be on time
        left = _tasks_left(job, progress)
        places: list[list[Place]] = [[(job.name, *key) for key in stage] for stage in left]
        self.places[job.name] = places
        if not progress.runs:
            waits = [name for name in job.after if name not in self.settled]
            ended = [self._end(name) for name in job.after if name in self.settled]
            release = max([job.release, self.at, *ended])
            return [replace(job, holds=holds, release=release, after=tuple(waits))]
        running = self.running(job.name)
        end = max((run.end for run in running.values()), default=self.at)
        if not running or left[0][0][0] > max(stage for stage, _ in progress.runs):
            return [self._rest_of(job, left, end, holds)]
        first = _unused(f"{job.name} (begun)", self._names)
        self._names.add(first)
        self.parts[job.name] = first
        self.places[first], self.places[job.name] = places[:1], places[1:]
        if job.max_processors is not None:  # of what runs and what starts together
            name = _unused(f"processors of {job.name}", self._resources)
            most = max(job.max_processors, len(running) * job.processors)
            use = {job.name: float(job.processors)}
            self._resources[name] = self._less_held(Steps.of(most), use)
            holds = holds | {name: float(job.processors)}
        part = self._rest_of(job, left[:1], self.at, holds)
        part = replace(part, name=first, reward=0.0, values={})
        return [part, replace(self._rest_of(job, left[1:], end, holds), after=(first,))]

    def _obstacle(self, job: Job, holds: Mapping[str, float], pools: Mapping[str, Points]) -> str:
        most = max(count for name in self.night.machine.of_job(job) for _, count in pools[name])
        if job.processors > most:
            needs = count_of(job.processors, "processor")
            return f"it needs {needs}; from now on there are {most}"
        for name, amount in holds.items():
            there = max(span.amount for span in self._resources[name].spans(as_written(self.at)))
            if as_written(amount) > there:
                left = f"{float(there):g}"
                return f"it needs {amount:g} of {name}; from now on there are {left}"
        night = self.night
        for name in () if self.progress[job.name].runs else job.after:
            if name in self.settled and not night.worth(night.index[name], self._end(name)):
                return f"it waits for {name}, which ends too late"
        return ""

    def _rest_of(
        self, job: Job, left: Sequence[Sequence[Key]], at: float, holds: dict[str, float]
    ) -> Job:
        """Return a job reduced to its unstarted tasks, without predictions for all of them."""
        whole = job.stages or ()
        stages = tuple(tuple(whole[s][i] for s, i in stage) for stage in left) or ((0.0,),)
        none: Any = {"after": (), "demand": None, "critical_path": None}
        rest: Job = replace(job, stages=stages, release=at, holds=holds, **none)
        return rest

    # --- the rules ----------------------------------------------------------------------------

    def _rules(self, rest: Instance) -> list[kinds.Constraint]:
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
        if self.settled:
            self._own_rules.add(own := _unused(REQUIRED, names))
            required = sorted(self.settled, key=self.night.index.__getitem__)
            rules.append(kinds.Require(name=own, jobs=tuple(required)))
        for name, first in self.parts.items():
            self._own_rules.add(own := _unused(f"begun: {name}", names))
            rules.append(kinds.Imply(name=own, if_=first, then=name))
        return rules

    def keeps_begun(self, rule: str) -> bool:
        """Return whether a rule of the rest is not one of the night."""
        return rule in self._own_rules

    def used(self, by: str) -> dict[str, Fraction]:
        """Return the processor time of completed and running tasks, by group."""
        used: dict[str, Fraction] = {}
        for job in self.night.jobs:
            if (group := job.groups.get(by)) is not None:
                own = self.progress[job.name].used(job.processors)
                used[group] = used.get(group, Fraction(0)) + own
        return used

    def _share(self, rule: kinds.FairShare, rest: Instance) -> kinds.FairShare:
        """Return a fair share that includes tonight's usage so far."""
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
        else:
            every = ((self.progress[job.name], job.processors) for job in self.night.jobs)
            before += sum((one.used(width) for one, width in every), Fraction(0))
        shared: kinds.FairShare = replace(
            rule,
            past={group: float(amount) for group, amount in past.items()},
            past_total=float(before),
            window=None,
            half_life=None,
        )
        return shared

    # --- schedules ----------------------------------------------------------------------------

    def parts_of(self, name: str) -> tuple[str, ...]:
        """Return the jobs of the rest that are a job of the night."""
        return (self.parts[name], name) if name in self.parts else (name,)

    def places_left(self, name: str) -> list[Place]:
        """Return the tasks of a job that are left to start, in order."""
        stages = (stage for part in self.parts_of(name) for stage in self.places.get(part, ()))
        return [place for stage in stages for place in stage]

    def from_night(self, selected: Collection[str], tasks: Mapping[Place, PlacedTask]) -> Scheduled:
        """Return the schedule of the rest that keeps the times of planned tasks.

        Raises `KeyError` if a task of a selected job is not among them.
        """
        rest, index = self.instance, self.instance.index
        chosen = {index[name] for name in self.settled}
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
                starts[at], places[at] = task.start, task.processor
                if len(task.on) > 1:
                    several[at] = task.on
                ends[job.name] = max(ends[job.name], starts[at] + rest.tasks.lengths[at])
                at += 1
        return scheduled(rest, chosen, starts, places, several=several)

    def to_night(self, schedule: Scheduled) -> dict[Place, PlacedTask]:
        """Return the tasks of the whole night: past, running and planned."""
        tasks = {
            (name, *key): self._placed_run((name, *key), run)
            for name, progress in self.progress.items()
            for key, run in progress.runs.items()
        }
        for task in schedule.tasks:
            if self.places.get(task.job):
                place = self.places[task.job][task.stage][task.task]
                name, stage, number = place
                tasks[place] = replace(task, job=name, stage=stage, task=number)
        return tasks

    def _placed_run(self, place: Place, run: Run) -> PlacedTask:
        pool = self.night.machine.numbers[self.pool_of(run)]
        on = self.on.get(place) or [pool.start + k for k in run.processors or (0,)]
        several: Any = {"processors": tuple(on)} if len(on) > 1 else {}
        name, stage, number = place
        return PlacedTask(
            job=name,
            stage=stage,
            task=number,
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
    index, due = night.index, night.deadline
    base = selected_record(night, [index[name] for name in chosen])
    busy = fsum((min(t.end, due) - min(t.start, due)) * len(t.on) for t in tasks.values())
    ordered = sorted(tasks, key=lambda place: (index[place[0]], place[1:]))
    return Scheduled(
        **asdict(base),
        tasks=tuple(tasks[place] for place in ordered),
        completion=completion,
        makespan=max(completion.values(), default=0.0),
        utilization=busy / night.capacity(),
    )


def points_of(there: Steps) -> tuple[tuple[float, float], ...]:
    """Return an amount as pairs of time and amount."""
    return tuple((float(t), float(a)) for t, a in zip(there.times, there.amounts, strict=True))


def _unused(name: str, taken: Collection[str | None]) -> str:
    while name in taken:
        name += "'"
    return name


def _of_one_task(job: Job, length: float, **fields: Any) -> Job:
    """Return a job of one task, with the name, the values and the groups of a job."""
    own = {key: getattr(job, key) for key in ("name", "reward", "values", "groups", "deadline")}
    return Job(**{**own, "stages": ((length,),), **fields})


def _tasks_left(job: Job, progress: Progress) -> list[list[Key]]:
    stages = [
        [(s, i) for i in range(len(stage)) if (s, i) not in progress.runs]
        for s, stage in enumerate(job.stages or ())
    ]
    return [stage for stage in stages if stage]
