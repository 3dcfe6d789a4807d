"""What has happened in a night by a time: as reported, else as planned."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from itertools import accumulate
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

from schedopt.instances.decimals import as_written
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.dssp.clock import dates_of, time_of
from schedopt.instances.errors import InputError, at_place, quote
from schedopt.instances.naming import pick_name
from schedopt.instances.tables import Column, Row, Source, Table
from schedopt.problems.summary import Span, same_time

STATUSES = ("done", "running", "failed", "waiting")
COLUMNS = {
    column.name: column
    for column in (
        Column("job", needed=True),
        Column("status", needed=True),
        Column("start", "point"),
        Column("processors", "whole"),
        Column("end", "point"),
        Column("pool"),
    )
}
"""The columns of a state; rows of the machine have neither job nor status."""
NEAR = 1 + 1e-11  # relative rounding within which an end counts as at a time


class Task(NamedTuple):
    """A task that has run, runs, or is planned, by its place in its job."""

    stage: int
    task: int
    start: float
    end: float
    pool: str = ""  # of whose processors; empty where that is not known, or there are no pools


class StateRow(NamedTuple):
    """A row of a state: about a job, or about the machine where no job is named."""

    place: str
    status: str = ""
    start: float | None = None
    processors: int | None = None
    end: float | None = None
    pool: str = ""


class Level(NamedTuple):
    """A time, and the number of processors, by pool, from then on."""

    time: float
    processors: int
    pool: str = ""


@dataclass(frozen=True)
class State:
    """A reported state: rows by job, and the numbers of processors."""

    jobs: Mapping[str, StateRow]
    levels: Sequence[Level]
    file: str | None = None


@dataclass(frozen=True)
class Progress:
    """The progress of a job."""

    status: str = "waiting"  # of `STATUSES`
    past: Sequence[Task] = ()  # what of it has run, or runs until its end
    width: int = 1  # the processors of each of them
    lost: float = 0.0  # the processor time that failed
    at: float = 0.0  # when that is

    @property
    def start(self) -> float:
        """When it started."""
        return min(task.start for task in self.past)

    @property
    def end(self) -> float:
        """When the last begun task ends."""
        return max(task.end for task in self.past)

    @property
    def widest(self) -> int:
        """The most processors that it held at once."""
        changes = [(task.start, self.width) for task in self.past]
        changes += [(task.end, -self.width) for task in self.past]
        return max(self.width, *accumulate(change for _, change in sorted(changes)))

    def running(self, at: float) -> list[tuple[float, int, str]]:
        """Return the processors held, by pool, and until when."""
        return [(task.end, self.width, task.pool) for task in self.past if task.end > at]

    def used(self) -> float:
        """Return the processor time that is used already, or by the ends of what runs."""
        return self.lost + self.width * sum(task.end - task.start for task in self.past)


@dataclass(frozen=True)
class PlannedNight:
    """What was planned."""

    # When each job that is run starts and ends; None where that is not said.
    spans: Mapping[str, Span]
    # How many processors each of them holds at most.
    widths: Mapping[str, int] = field(default_factory=dict)
    # The tasks of each of them, where they are known.
    tasks: Mapping[str, Sequence[Task]] = field(default_factory=dict)
    # The progress of jobs, of those too that are not run, when the plan was made.
    progress: Mapping[str, Progress] = field(default_factory=dict)
    answer: Any = None  # which question the plan answers, and the answer, where that is known

    @property
    def at(self) -> float:
        """When it was last planned again, or 0."""
        return max((begun.at for begun in self.progress.values()), default=0.0)


class _Times:
    """Reads times as people write them, in a night's unit."""

    def __init__(self, night: Instance) -> None:
        self.unit = night.unit
        self.dates = dates_of(night.start, night.unit) if night.start else None

    def point(self, text: str) -> float:
        """Return a point in time."""
        return time_of(text, self.unit, self.dates)


def read_time(night: Instance, text: str, place: str) -> float:
    """Return a time as people write it, in the night's unit."""
    with at_place(place):
        return _Times(night).point(text)


def read_state(night: Instance, source: Source | None, at: float) -> State:
    """Read a state: rows of jobs of which something is said, and without a job of the machine."""
    if source is None:
        return State({}, ())
    file = str(source) if isinstance(source, str | Path) else None
    jobs: dict[str, StateRow] = {}
    levels: list[Level] = []
    with at_place(file=file):
        for row in Table.read(source).declared(COLUMNS.values(), "states", _Times(night)):
            observed, name = _row(night, row, at), row.text("job")
            if name:
                with at_place(row.place):
                    pick_name(name, night.index, "a job of the instance")
                    pick_name(observed.status, STATUSES, "a status")
                if name in jobs:
                    raise row.wrong("job", "each job once")
                jobs[name] = observed
                continue
            if observed.processors is None or observed.status:
                raise row.wrong("job", "a job; or `processors` of the machine, and no status")
            if night.pools and not observed.pool:
                raise row.wrong("pool", "which `pool` has so many")
            start = at if observed.start is None else observed.start
            levels.append(Level(start, observed.processors, observed.pool))
    return State(jobs, sorted(levels), file)


def _row(night: Instance, row: Row, at: float) -> StateRow:
    start, end, count = (row.value(COLUMNS[name]) for name in ("start", "end", "processors"))
    status, pool = row.text("status").lower(), row.text("pool")
    if start is not None and row.text("job") and start > at * NEAR:
        raise row.wrong("start", f"a time by now, {at:g}")
    if end is not None and status == "running" and end < at:
        raise row.wrong("end", f"a time from now on, {at:g}")
    if end is not None and status in ("done", "failed") and end > at * NEAR:
        raise row.wrong("end", f"a time by now, {at:g}")
    if pool:
        with at_place(f"{row.place}, column 'pool'"):
            pick_name(pool, night.pools, "one of the file's `pools`")
    return StateRow(row.place, status, start, count, end, pool)


def observe_progress(
    night: Instance, old: PlannedNight, state: State, at: float
) -> tuple[list[Progress], list[str]]:
    """Return each job's progress at a time, and the assumptions that were made."""
    notes: list[str] = []
    progress = []
    for job in night.jobs:
        observed = state.jobs.get(job.name)
        with at_place(observed.place if observed else "", file=state.file):
            begun = _progress(job, old, observed, at, notes)
            pools = [*night.machine.of_job(job)]
            home = (observed.pool if observed else "") or (pools[0] if len(pools) == 1 else "")
            if home not in ("", *pools):
                raise InputError(f"a pool of {job.name}", found=quote(home), place="pool")
            past = [task._replace(pool=home or task.pool) for task in begun.past]
            progress.append(replace(begun, past=past, at=at))
    if not night.pools:
        return progress, notes
    free = {name: int(there.at(as_written(at))) for name, there in night.machine.pools.items()}
    for begun in progress:
        for _, width, pool in begun.running(at):
            if pool:
                free[pool] -= width
    for n, job in enumerate(night.jobs):  # where no pool is stated, it is the first with room
        begun, pools = progress[n], [*night.machine.of_job(job)]
        past = [*begun.past]
        for i, task in enumerate(past):
            if not task.pool and task.end > at:
                room = (name for name in pools if free[name] >= begun.width)
                past[i] = task._replace(pool=next(room, pools[0]))
                free[past[i].pool] -= begun.width
                notes.append(
                    f"{job.name} is taken to run in pool {past[i].pool}: nobody says in which"
                )
        progress[n] = replace(begun, past=past)
    return progress, [*dict.fromkeys(notes)]


def pool_of(night: Instance, processor: int) -> str:
    """Return the pool of a processor."""
    layers = night.machine.layers
    return next((one.pool for one in layers if processor < one.first + one.size), "")


def _progress(
    job: Job, old: PlannedNight, observed: StateRow | None, at: float, notes: list[str]
) -> Progress:
    before = old.progress.get(job.name, Progress())
    if observed is None and before.status == "done":
        return before
    row = observed or StateRow("")
    tasks, width = _planned_tasks(job, old, row)
    past, count = {*before.past}, sum(map(len, job.stages or ((0,),)))
    begun = [t for t in tasks if t in past or (t.start < at and not same_time(t.start, at))]
    status = row.status or _by_plan(count, begun, at)
    failed = status == "failed" and before.lost and not before.past  # that it failed, long since
    if status == "waiting" or (failed and row.start is not None and row.start < before.at):
        return Progress(lost=before.lost)
    if status == "failed":
        until = at if row.end is None else row.end
        lost = width * sum(max(0.0, min(t.end, until) - t.start) for t in begun)
        return Progress(lost=before.lost + lost)
    if status == "done":
        return Progress("done", _tasks_done(tasks, row, at), width, before.lost)
    if not begun:
        if not tasks or (row.start is None and not same_time(min(t.start for t in tasks), at)):
            expected = "when it started: it is not in the plan by now"
            raise InputError(expected, found="none", place="start")
        begun = [task for task in tasks if same_time(task.start, at)]
    running = [task for task in begun if task.end > at * NEAR]
    if row.end is not None and not running:
        running = [max(begun, key=lambda task: task.end)]
    if row.end is not None:
        begun = [task._replace(end=row.end) if task in running else task for task in begun]
    elif not running and len(begun) == count:
        last = max(begun, key=lambda task: task.end)
        begun = [task._replace(end=at) if task is last else task for task in begun]
        notes.append(f"{job.name} should have ended at {last.end:g}: it is taken to end now")
    return Progress("done" if len(begun) == count else "running", begun, width, before.lost)


def _by_plan(count: int, begun: Sequence[Task], at: float) -> str:
    """Return the planned status of a job of so many tasks, where nothing is reported."""
    if not begun:
        return "waiting"
    done = len(begun) == count and all(task.end <= at * NEAR for task in begun)
    return "done" if done else "running"


def _tasks_done(tasks: Sequence[Task], row: StateRow, at: float) -> list[Task]:
    """Return the tasks of a job that is done, none of which ends after it."""
    last = max((task.end for task in tasks), default=inf)
    end = row.end if row.end is not None else min(last, at)
    if not tasks:
        return [Task(0, 0, end if row.start is None else row.start, end)]
    cut = [task._replace(start=min(task.start, end), end=min(task.end, end)) for task in tasks]
    late = max(range(len(cut)), key=lambda i: cut[i].end)
    cut[late] = cut[late]._replace(end=end)
    return cut


def _planned_tasks(job: Job, old: PlannedNight, row: StateRow) -> tuple[list[Task], int]:
    """Return when each task of a job runs, at guessed lengths, and on how many processors."""
    before, tasks = old.progress.get(job.name, Progress()), old.tasks.get(job.name)
    span, wide = old.spans.get(job.name), old.widths.get(job.name)
    if before.past:
        span = (before.start, before.end)
    start = row.start if row.start is not None else (span[0] if span else None)
    count = row.processors if row.processors is not None else wide
    is_stated = row.processors not in (None, wide) or not (
        row.start is None or (span and same_time(row.start, span[0]))
    )
    if row.status in ("failed", "done") and row.start is None:
        is_stated = False
    if not is_stated and before.past:
        if tasks is None and job.name in old.spans and job.stages is not None:
            count = max(1, (wide or 0) // job.processors)
            return _replay(job, before.at, count, before.past), before.width
        past = {task[:2] for task in before.past}
        return [*before.past, *(t for t in tasks or () if t[:2] not in past)], before.width
    if not is_stated and tasks is not None and job.stages is not None:
        return list(tasks), job.processors
    if start is None or row.status == "waiting":
        return [], job.processors
    if job.stages is None:  # one block, which nobody can look into
        count = count or job.processors
        length = max(job.planned_critical_path, job.planned_demand / count)
        return [Task(0, 0, start, start + length)], count
    if count is None or count < job.processors:
        if row.status != "done":
            expected = f"at least {job.processors}, what each task takes"
            raise InputError(expected, found=quote(count), place="processors")
        count = job.processors
    return _replay(job, start, count // job.processors), job.processors


def _replay(job: Job, start: float, wide: int, past: Sequence[Task] = ()) -> list[Task]:
    """Return a job's tasks, stage after stage in the file's order, so many at a time."""
    starts = list(past)
    begun = {task[:2] for task in past}
    for s, stage in enumerate(job.stages or ()):
        free = sorted(max(start, task.end) for task in past if task.stage == s)[-wide:]
        free = [start] * (min(wide, len(stage)) - len(free)) + free
        for i, length in enumerate(stage):
            if (s, i) not in begun:
                begin = heappop(free)
                starts.append(Task(s, i, begin, begin + length))
                heappush(free, begin + length)
        start = max(start, *free)
    return starts
