"""Events of a night from reports on jobs and tasks; all others ran as planned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from schedopt.instances.dssp import Instance, Job
from schedopt.instances.errors import InputError, at_place, pick_name
from schedopt.planning.history import (
    Cancelled,
    Event,
    Failed,
    Key,
    NightState,
    Run,
    Started,
    Waiting,
)
from schedopt.planning.moments import time_of_day
from schedopt.planning.release import list_schedule, most_at_once
from schedopt.problems.summary import same_time

if TYPE_CHECKING:
    from schedopt.instances.dssp import PlacedTask
    from schedopt.instances.dssp.machine import Machine

STATUSES = ("waiting", "running", "done", "failed", "cancelled")


class Observed(NamedTuple):
    """A report on a task, or on a whole job if ``stage`` and ``task`` are None.

    Attributes
    ----------
    job : str
        The job's name in the night.
    stage, task : int, optional
        The stage and the task, counted from 0. Tasks without a report are assumed to have run as
        planned.
    status : str
        One of `STATUSES`. A task that ``failed`` starts again; ``waiting`` has not started.
    start, end : float, optional
        The start and the end, in the night's unit from its start; the expected end of a running
        task. Missing times are those of the plan.
    pool : str
        The pool in which it runs; empty if it is not known.
    processors : int, optional
        The number of processors of a whole job; by default as planned.
    done : int, optional
        The number of tasks of a whole job that are done: those that were planned to start first.
    place : str
        The place of the report for messages, such as ``line 3``.
    submission : str
        The id of the task's submission in Slurm; empty if it has left the queue or is not known.
    """

    job: str
    stage: int | None = None
    task: int | None = None
    status: str = ""
    start: float | None = None
    end: float | None = None
    pool: str = ""
    processors: int | None = None
    done: int | None = None
    place: str = ""
    submission: str = ""

    @property
    def key(self) -> tuple[str, int, int]:
        """The job, the stage and the task."""
        return self.job, self.stage or 0, self.task or 0


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

    Parameters
    ----------
    night_state : NightState
        The state of the night after its history; it is not changed.
    planned : mapping
        The tasks of the plan in hand, by job and by stage and task.
    now : float
        The time of the report, in the night's unit.
    reports : sequence of Observed
        The reports; all other tasks are assumed to have run as planned.
    machine : Machine, optional
        The machine of the plan in hand, which numbers the processors; by default that of the night.

    Raises
    ------
    InputError
        If a report contradicts the night, the history or itself; its place is the report's.
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
        at, ended = time_of_day(night, now), one.status in ("done", "failed", "cancelled")
        start = "" if one.start is None else time_of_day(night, one.start)
        end = "" if one.end is None else time_of_day(night, one.end)
        if one.start is not None and one.start > now and not same_time(one.start, now):
            raise InputError(f"a start up to {at}, the time of the state", found=start)
        if one.end is not None and one.status == "running" and one.end < now:
            raise InputError(f"an end from {at} on, the time of the state", found=end)
        if one.end is not None and ended and one.end > now and not same_time(one.end, now):
            raise InputError(f"an end up to {at}, the time of the state", found=end)
        if one.start is not None and one.end is not None and one.end < one.start:
            raise InputError(f"an end after the start, {start}", found=end)


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
        """Yield the events that follow from a report on one task."""
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
        """Yield the events that follow from a report on the whole job."""
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
        """Return the started tasks if the first ``done`` tasks are complete."""
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
        """Return all tasks of a completed job; none ends after the job."""
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
        stated = one.processors not in (None, wide) or not (
            one.start is None or (first is not None and same_time(one.start, first))
        )
        if one.status in ("failed", "done") and one.start is None:
            stated = False
        if known and not stated:
            return dict(known)
        start = first if one.start is None else one.start
        if start is None:
            return {}
        count = wide if one.processors is None else one.processors
        if count < self.job.processors:
            if one.status != "done":
                expected = f"at least {self.job.processors} processors, what each task takes"
                raise InputError(expected, found=str(count))
            count = self.job.processors
        return _list_scheduled(self.job, start, count // self.job.processors)


def _list_scheduled(job: Job, start: float, wide: int) -> dict[Key, Run]:
    """Return list-scheduled runs of all tasks of a job, stage after stage."""
    runs: dict[Key, Run] = {}
    for s, stage in enumerate(job.stages or ()):
        spans = list_schedule(start, stage, min(wide, len(stage)))
        runs |= {(s, i): Run(*span) for i, span in enumerate(spans)}
        start = max(end for _, end in spans)
    return runs
