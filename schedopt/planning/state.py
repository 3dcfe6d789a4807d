"""Read reports: a table of job states, and a table of jobs to add."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from math import ceil, floor
from pathlib import Path

from schedopt.instances.constraints import Seats
from schedopt.instances.dssp import Instance
from schedopt.instances.dssp.clock import Clock, dates_of
from schedopt.instances.dssp.columns import FIELDS, HOLDS, SEATS, done_of, frame_count
from schedopt.instances.errors import InputError, at_parameter, at_place, pick_name, quote
from schedopt.instances.tables import Column, Source, TextRow, TextTable
from schedopt.instances.times import SPELLED
from schedopt.planning.farm import Settings
from schedopt.planning.history import STATUSES, Added, NightState, Observed, Processors
from schedopt.planning.observed import Planned
from schedopt.planning.sacct import is_sacct, read_sacct, with_waiting

COLUMNS = {
    column.name: column
    for column in (
        Column("job"),
        Column("status"),
        Column("start", "point"),
        Column("processors"),
        Column("end", "point"),
        Column("pool"),
        Column("done"),
        Column("frames"),
        Column("chunk"),
    )
}
"""The columns of a state; rows of the machine have neither job nor status."""
WORDS = {
    "waiting": "queued pending submitted ready idle depend suspended paused inactive",
    "running": "active rendering started",
    "done": "completed complete finished succeeded success ended",
    "failed": "dead error eaten",
    "cancelled": "canceled killed deleted archived",
}
STATUS_OF = {word: status for status, words in WORDS.items() for word in (status, *words.split())}
"""The statuses of farms, and ours."""
NOW = "now"
_CHANGE = re.compile(r"[+-]\d+", re.ASCII)


def read_time(night: Instance, text: str) -> float:
    """Return a time such as ``23:30`` or ``now``, in units after the night's start."""
    if text == NOW:
        if night.start is None:
            expected = "a time: the night has no start by the clock"
            raise InputError(expected, found=quote(text), parameter="at")
        dates = dates_of(night.start, night.unit)
        return max(0.0, dates.since(datetime.now().astimezone()))
    with at_parameter("at"):
        return _clock(night).point(text)


def _clock(night: Instance) -> Clock:
    """Return what reads times in a night's unit, by the clock if the night has a start."""
    start = dates_of(night.start, night.unit).start if night.start else None
    return Clock(SPELLED[night.unit], start)


def read_state(
    night_state: NightState, source: Source | None, now: float, planned: Planned
) -> tuple[Sequence[Observed], Sequence[Processors]]:
    """Read the reports on jobs and on the machine.

    A table with other columns is an export of a farm. Its columns ``name``, ``status``, ``done``,
    ``frames`` and ``chunk`` are recognized by the titles that `plan` knows, and jobs outside the
    night are ignored. The output of ``sacct -XP`` is read too.
    """
    if source is None:
        return (), ()
    if isinstance(source, str | Path) and is_sacct(source):
        return with_waiting(read_sacct(source, night_state.night), planned, night_state), ()
    file = str(source) if isinstance(source, str | Path) else None
    night, reports, machine = night_state.night, dict[str, Observed](), list[Processors]()
    with at_place(file=file):
        table = TextTable.read(source)
        titles = table.titles
        is_export = not {*titles} <= {*COLUMNS}
        if is_export:
            table = TextTable(table.head, [*map(_recognized, titles)], table.rows)
        if "job" not in table.titles or not {"status", "done", "processors"} & {*table.titles}:
            expected = "a column `job` or `name`, and one of `status` or `done`"
            raise InputError(expected, found=", ".join(map(quote, titles)), place=table.head)
        for row in table.declared(COLUMNS.values(), "states", _clock(night), others=is_export):
            name = row.text("job")
            if not name and not is_export:
                machine.append(_machine(night, row, now))
            elif name in night.index or not is_export:
                report = _report(night, row, name)
                if name in reports:
                    raise row.wrong("job", "one row for each job")
                if report is not None:
                    reports[name] = report
    return [*reports.values()], sorted(machine, key=lambda event: event.at)


def _plain(title: str) -> str:
    return re.sub(r"\s+", "_", title.strip().lower())


def _recognized(title: str) -> str:
    """Return the field of a title of a farm's export; unknown titles are marked."""
    plain = _plain(title)
    for key in ("name", "status", "done", "frames", "chunk"):
        if plain == key or plain in FIELDS[key].titles:
            return "job" if key == "name" else key
    return f"export {title}"  # none of ours


def _machine(night: Instance, row: TextRow, now: float) -> Processors:
    text, start = row.text("processors"), row.value(COLUMNS["start"])
    if row.text("status") or not text:
        raise row.wrong("job", "a job; or `processors` of the machine, and no status")
    pool = row.text("pool")
    if night.pools and not pool:
        raise row.wrong("pool", "the `pool` that has so many")
    if pool:
        with at_place(f"{row.place}, column 'pool'"):
            pick_name(pool, night.pools, "one of the file's `pools`")
    at = now if start is None else max(start, 0.0)
    if _CHANGE.fullmatch(text):
        return Processors(at=at, pool=pool, change=int(text))
    return Processors(at=at, pool=pool, count=_whole(row))


def _whole(row: TextRow) -> int:
    number: int = row.value(Column("processors", "whole"))
    return number


def _report(night: Instance, row: TextRow, name: str) -> Observed | None:
    with at_place(f"{row.place}, column 'job'"):
        job = night.jobs[night.index[pick_name(name, night.index, "a job of the night")]]
    status, count = row.text("status").lower(), sum(map(len, job.stages or ()))
    done = _done(row, count) if row.text("done") else None
    if not status and not done:
        return None
    if not status:
        status = "done" if done == count else "running"
    if status not in STATUS_OF:
        with at_place(f"{row.place}, column 'status'"):
            pick_name(status, STATUSES, "a status")
    status = STATUS_OF[status]
    if status == "running" and done == count:
        status = "done"
    return Observed(
        name,
        status=status,
        start=row.value(COLUMNS["start"]),
        end=row.value(COLUMNS["end"]),
        pool=row.text("pool"),
        processors=_whole(row) if row.text("processors") else None,
        done=done if status == "running" else None,
        place=row.place,
    )


def _done(row: TextRow, count: int) -> int:
    """Return the number of completed tasks of a job.

    If the export has the number of frames, the frames that are not done are tasks of the night; the
    others were done before it began.
    """
    with at_place(f"{row.place}, column 'done'"):
        done = done_of(row.text("done"))
    if row.text("frames"):
        with at_place(f"{row.place}, column 'frames'"):
            frames = frame_count(row.text("frames"))
        chunk: int = row.value(Column("chunk", "whole", least=1)) or 1
        left = frames - (done if isinstance(done, int) else floor(done * frames))
        return max(0, count - ceil(left / chunk))
    return min(count, done if isinstance(done, int) else floor(done * count))


def read_jobs(
    night_state: NightState, source: Source | None, now: float, table: Settings
) -> list[Added]:
    """Read a table of jobs to add to a night, in its unit and from its start.

    Without a column of seats or of a resource, jobs hold none.
    ``table`` has the settings of a farm for reading the table.
    """
    from schedopt.planning import farm, plan

    if source is None:
        for key, value in table.items():
            if value:
                raise InputError("a table of jobs to add, together with it", parameter=key)
        return []
    night = night_state.night
    titles = {_plain(title) for title in TextTable.read(source).titles}
    has_names = bool(titles & {"seats", *FIELDS["seats"].titles})
    seats_of = {
        rule.name: rule.capacity
        for rule in night.constraints
        if isinstance(rule, Seats) and rule.name
        if has_names or _plain(f"{SEATS}{rule.name}") in titles
    }
    resources = [name for name in night.resources if _plain(f"{HOLDS}{name}") in titles]
    settings = farm.merge(farm.Farm(), table, farm.FLAGS)
    settings |= farm.Farm(
        processors=night.processors or None,
        until=repr(night.deadline),
        from_=night.start,
        unit=night.unit,
        seats=seats_of,
        resources=dict.fromkeys(resources, 0),
        pools=dict.fromkeys(night.pools, 1),
    )
    read = plan.read(source, settings, farm.FLAGS)
    most = max(int(there.most) for there in night.machine.by_number.values())
    added = []
    for job in read.jobs:
        if job.name in night.index:
            expected = "jobs with names that are new to the night"
            raise InputError(expected, found=quote(job.name), parameter="add")
        if job.processors > most:
            expected = f"jobs of at most {most} processors, which there are"
            found = f"{job.name}, which takes {job.processors} processors"
            raise InputError(expected, found=found, parameter="add")
        held = {rule.name: rule.use for rule in read.constraints if isinstance(rule, Seats)}
        seats = {str(name): use[job.name] for name, use in held.items() if use.get(job.name)}
        added.append(Added(at=now, job=job, seats=seats))
    return added
