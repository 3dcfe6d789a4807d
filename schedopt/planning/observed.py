"""Events of a night from reports on jobs and tasks; all others ran as planned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from schedopt.instances.dssp import Instance, Job
from schedopt.instances.errors import InputError, at_place, pick_name
from schedopt.planning.history import (
    Cancelled,
    Event,
    Failed,
    Key,
    NightState,
    Observed,
    Run,
    Started,
    Waiting,
    time_of_day,
)
from schedopt.planning.release import list_schedule, most_at_once
from schedopt.problems.summary import same_time

if TYPE_CHECKING:
    from schedopt.instances.dssp import PlacedTask
    from schedopt.instances.dssp.machine import Machine


ENDED = ("done", "failed", "cancelled")
Planned = Mapping[str, Mapping[Key, "PlacedTask"]]  # the tasks of each job that the plan runs


def observe(
    night_state: NightState,
    planned: Planned,
    now: float,
    reports: Sequence[Observed] = (),
    *,
    machine: Machine | None = None,
) -> tuple[list[Event], list[str]]:
    """Return the events since the last replanning, and the assumptions behind them.

    ``planned`` are the tasks of the plan in hand, whose processors are numbered on its ``machine``.
    Without a report, they are assumed to have run as planned.
    """
    by_job: dict[str, list[Observed]] = {}
    for one in reports:
        _check_report(night_state.night, one, now)
        by_job.setdefault(one.job, []).append(one)
    notes: list[str] = []
    events: list[Event] = []
    machine = machine or night_state.night.machine
    for job in night_state.night.jobs:
        runs = dict[Key, Run]()
        for key, task in planned.get(job.name, {}).items():
            pool = machine.pool_of(task.processor)
            first = machine.numbers[pool].start if pool in machine.numbers else 0
            on = tuple(number - first for number in task.on)
            runs[key] = Run(task.start, task.end, pool, on)
        reported = _ReportsOfJob(job, night_state, runs, now, notes, numbers=machine.numbers)
        events += reported.events(by_job.get(job.name, []))
    return events, notes


def _check_report(night: Instance, one: Observed, now: float) -> None:
    with at_place(one.place):
        if one.pool:
            job = night.jobs[night.index[one.job]]
            pick_name(one.pool, night.machine.of_job(job), f"a pool of {one.job}")
        at, words = time_of_day(night, now), ""
        start = now if one.start is None else one.start
        end = max(start, now) if one.end is None else one.end
        if start > now and not same_time(start, now):
            words, end = f"a start up to {at}, the time of the state", start
        elif one.status == "running" and end < now:
            words = f"an end from {at} on, the time of the state"
        elif one.status in ENDED and end > now and not same_time(end, now):
            words = f"an end up to {at}, the time of the state"
        elif one.start is not None and end < start:
            words = f"an end after the start, {time_of_day(night, start)}"
        if words:
            raise InputError(words, found=time_of_day(night, end))


class _ReportsOfJob:
    """Converts the reports on one job into events."""

    def __init__(
        self,
        job: Job,
        night_state: NightState,
        planned: Mapping[Key, Run],
        now: float,
        notes: list[str],
        *,
        numbers: Mapping[str, range],
    ) -> None:
        self.job, self.now, self.notes, self.numbers = job, now, notes, numbers
        self.night = night_state.night
        self.before = night_state.progress[job.name]
        pools = [*night_state.night.machine.of_job(job)]
        self.home = pools[0] if len(pools) == 1 else ""
        begun = self.before.runs
        self.expected = begun | {key: run for key, run in planned.items() if key not in begun}

    def events(self, reports: Sequence[Observed]) -> Iterator[Event]:
        """Yield the events of the job since the last replanning."""
        if self.before.cancelled:
            return
        if reports and reports[0].stage is None:
            yield from self._whole_job(reports[0])
            return
        reported = {one.key[1:] for one in reports}
        for key, run in self.expected.items():
            if key not in self.before.runs and key not in reported and self._is_past(run.start):
                yield self._started(key, run)
        for one in reports:
            yield from self._task(one)

    def _is_past(self, time: float) -> bool:
        return time < self.now and not same_time(time, self.now)

    def _started(self, key: Key, run: Run, pool: str = "") -> Started:
        pool = pool or run.pool or self.home
        first = self.numbers[pool].start if pool in self.numbers else 0
        on = run.processors if pool == run.pool else ()
        return Started(
            at=run.start,
            job=self.job.name,
            stage=key[0],
            task=key[1],
            until=max(run.start, run.end),
            pool=pool,
            processors=tuple(first + k for k in on),
        )

    def _task(self, one: Observed) -> Iterator[Event]:
        key = one.key[1:]
        length = (self.job.stages or ())[key[0]][key[1]]
        known = self.expected.get(key)
        begun = known if known is not None and known.start <= self.now else None
        start = one.start if one.start is not None else begun.start if begun else None
        if one.status == "waiting":
            if key in self.before.runs:
                at = self.before.runs[key].start
                yield Failed(at=at, job=self.job.name, stage=key[0], task=key[1])
            return
        if start is None and one.status == "done":
            end = self.now if one.end is None else one.end
            start = max(0.0, end - length)
        if start is None and one.status == "running":
            start = self._now(f"task {key[1]} of stage {key[0]} of {self.job.name}")
        if start is None:
            return  # failed before it started
        planned = begun.end if begun and start == begun.start else start + length
        end = planned if one.end is None else one.end
        if one.status == "running" and one.end is None and end < self.now:
            end = self._overdue(end)
        if one.status != "running":
            end = min(end, self.now)
        run = Run(start, end, begun.pool if begun else "", begun.processors if begun else ())
        yield self._started(key, run, one.pool)
        if one.status in ("failed", "cancelled"):
            yield Failed(at=end, job=self.job.name, stage=key[0], task=key[1])

    def _whole_job(self, one: Observed) -> Iterator[Event]:
        if one.status == "waiting":
            if self.before.runs:
                yield Waiting(at=self.now, job=self.job.name)
            return
        with at_place(one.place):
            tasks = self._reported_runs(one)
        begun = {key: run for key, run in tasks.items() if self._is_past(run.start)}
        if one.status == "done":
            begun = self._all_done(one, tasks)
        elif one.status == "running":
            begun = self._running(one, tasks, begun)
        for key, run in begun.items():
            yield self._started(key, run, one.pool)
        if one.status in ("failed", "cancelled"):
            kind = Failed if one.status == "failed" else Cancelled
            yield kind(at=self.now if one.end is None else one.end, job=self.job.name)

    def _overdue(self, end: float) -> float:
        planned = f"{self.job.name} was expected to end at {time_of_day(self.night, end)}"
        self.notes.append(f"{planned}; it is assumed to end now")
        return self.now

    def _now(self, what: str) -> float:
        self.notes.append(f"{what}: the start is unknown, and is assumed to be now")
        return self.now

    def _with_completed(
        self, begun: dict[Key, Run], tasks: dict[Key, Run], done: int
    ) -> dict[Key, Run]:
        order = sorted(tasks, key=lambda key: (key[0], tasks[key].start, key))
        taken = {}
        for n, key in enumerate(order):
            run = tasks[key]
            if n < done:
                start = min(run.start, self.now)
                taken[key] = run._replace(start=start, end=min(run.end, self.now))
            elif key in begun:
                taken[key] = run._replace(end=max(run.end, self.now))
        return taken

    def _running(
        self, one: Observed, tasks: dict[Key, Run], begun: dict[Key, Run]
    ) -> dict[Key, Run]:
        """Return the started tasks of a running job, with the reported end."""
        now = self.now
        if not begun:  # it starts now
            begun = {key: run for key, run in tasks.items() if same_time(run.start, now)}
        if not begun:  # the first tasks of a job that runs earlier than planned
            wide = max(1, (one.processors or 0) // self.job.processors)
            tasks = _list_scheduled(self.job, self._now(self.job.name), wide)
            begun = {key: run for key, run in tasks.items() if same_time(run.start, now)}
        if one.done is not None:
            begun = self._with_completed(begun, tasks, one.done)
        running = {k: r for k, r in begun.items() if r.end > now and not same_time(r.end, now)}
        last = max(begun, key=lambda key: begun[key].end)
        if one.end is not None:
            late = running or {last: begun[last]}
            return begun | {key: run._replace(end=one.end) for key, run in late.items()}
        if not running and len(begun) == sum(map(len, self.job.stages or ())):
            return begun | {last: begun[last]._replace(end=self._overdue(begun[last].end))}
        return begun

    def _all_done(self, one: Observed, tasks: dict[Key, Run]) -> dict[Key, Run]:
        last = max((run.end for run in tasks.values()), default=self.now)
        end = one.end if one.end is not None else min(last, self.now)
        stages = enumerate(self.job.stages or ())
        every = [(s, i) for s, stage in stages for i in range(len(stage))]
        start = end if one.start is None else one.start
        cut = {key: tasks.get(key, Run(start, end)) for key in every}
        late = max(cut, key=lambda key: cut[key].end)
        until = {key: end if key == late else min(run.end, end) for key, run in cut.items()}
        return {
            key: run._replace(start=min(run.start, until[key]), end=until[key])
            for key, run in cut.items()
        }

    def _reported_runs(self, one: Observed) -> dict[Key, Run]:
        """Return the runs of all tasks of the job, as known or as reported."""
        known = self.expected
        first = min((run.start for run in known.values()), default=None)
        wide = most_at_once((r.start, r.end, self.job.processors) for r in known.values())
        start = first if one.start is None else one.start
        if known and one.processors in (None, wide) and same_time(start or 0.0, first or 0.0):
            return dict(known)
        if start is None:
            return {}
        count = one.processors or wide or self.job.processors
        if count < self.job.processors and one.status == "done":
            count = self.job.processors
        if count < self.job.processors:
            expected = f"at least {self.job.processors} processors, what each task takes"
            raise InputError(expected, found=str(count))
        return _list_scheduled(self.job, start, count // self.job.processors)


def _list_scheduled(job: Job, start: float, wide: int) -> dict[Key, Run]:
    runs: dict[Key, Run] = {}
    for s, stage in enumerate(job.stages or ()):
        spans = list_schedule(start, stage, min(wide, len(stage)))
        runs |= {(s, i): Run(*span) for i, span in enumerate(spans)}
        start = max(end for _, end in spans)
    return runs
