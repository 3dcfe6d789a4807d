"""Read reports: a table of job states, the output of ``sacct -XP``, and a table of jobs to add.

The template ``slurm`` calls a submission ``JOB:STAGE``, with stages from 1, and submits job arrays
whose numbers are the stage's tasks, from 1. So a job name and a job id of sacct say which task it
is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from math import ceil, floor
from pathlib import Path

from schedopt.instances.constraints import Seats
from schedopt.instances.dssp import Instance
from schedopt.instances.dssp.clock import Clock, dates_of
from schedopt.instances.dssp.columns import FIELDS, HOLDS, SEATS, done_of, frame_count
from schedopt.instances.errors import (
    InputError,
    at_parameter,
    at_place,
    decode_utf8,
    pick_name,
    quote,
)
from schedopt.instances.files import read_bytes
from schedopt.instances.slurm import parse_job_id, status_of
from schedopt.instances.tables import Column, Source, TextRow, TextTable
from schedopt.instances.times import SPELLED
from schedopt.planning.farm import Settings
from schedopt.planning.history import STATUSES, Added, NightState, Observed, Processors, seconds
from schedopt.planning.observed import Planned

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
SACCT = ("JobID", "JobName", "State", "Start", "End")  # the columns of sacct
COMMAND = f"sacct -XP --format={','.join(SACCT)}"
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


# --- sacct ------------------------------------------------------------------------------------


def with_waiting(
    reports: Sequence[Observed], planned: Planned, night_state: NightState
) -> list[Observed]:
    """Return reports together with reports on the tasks that Slurm does not know yet.

    Slurm omits tasks that are not eligible yet. A planned task without a row is waiting if its
    predecessors are not done, or if its planned start is after the first start in the account.
    Other tasks without a row are assumed to have run as planned, before the account begins.
    """
    known = {one.key for one in reports}
    open_stages = {(one.job, one.stage) for one in reports if one.status != "done"}
    first = min((one.start for one in reports if one.start is not None), default=0.0)
    return [
        *reports,
        *(
            Observed(job, stage, task, "waiting")
            for job, tasks in planned.items()
            for (stage, task), one in tasks.items()
            if (job, stage, task) not in known
            and (stage, task) not in night_state.progress[job].runs
            and ((job, stage - 1) in open_stages or one.start >= first)
        ),
    ]


def read_sacct(file: str | Path, night: Instance) -> list[Observed]:
    """Read the last attempt of each of a night's tasks from the output of ``sacct -XP``.

    Rows of other jobs are left out. `InputError` if a column is missing, if no row is of the
    night's jobs, or if a row cannot be of this night.
    """
    with at_place(file=file):
        if night.start is None:
            raise InputError("a plan by the clock, as `plan --from 20:00` makes it", found="none")
        rows = [*_rows(decode_utf8(read_bytes(file)))]
        own = [row for row in rows if _names_stage(row["JobName"], night)]
        tonight = [row for row in own if not _is_early(row, night)]
        if not own:
            some = ", ".join(quote(row["JobName"]) for row in rows[:3]) or "no rows"
            expected = f"jobs of the plan, such as {quote(f'{night.jobs[0].name}:1')}"
            raise InputError(expected, found=some, place="column 'JobName'")
        if not tonight:
            expected = f"rows of this night, which begins at {night.start}"
            raise InputError(expected, found=quote(own[-1]["Start"]), place="column 'Start'")
        last: dict[tuple[str, int, int], Observed] = {}
        for one in (one for row in tonight for one in _attempts(row, night)):
            known = last.get(one.key, one)
            last[one.key] = max(one, known, key=_precedence)  # the later of equal ones
        return [*last.values()]


def is_sacct(file: str | Path) -> bool:
    """Return whether a file looks like the output of ``sacct -P``."""
    head = read_bytes(file)[:4096].split(b"\n", 1)[0].decode("utf-8", "replace")
    return "|" in head and not {*SACCT}.isdisjoint(head.strip().split("|"))


def _precedence(one: Observed) -> tuple[int, int, bool]:
    """Return the sort key of attempts of a task, of which the last one counts."""
    rank = {"done": 2, "running": 1}
    return rank.get(one.status, 0), int(one.submission or 0), one.status != "waiting"


def _rows(text: str) -> Iterator[dict[str, str]]:
    lines = text.replace("\r\n", "\n").split("\n")
    titles = lines[0].split("|")
    missing = [title for title in SACCT if title not in titles]
    if missing:
        expected = f"column {quote(missing[0])}, as `{COMMAND}` prints it"
        raise InputError(expected, found=quote(lines[0]) if lines[0] else "no text", place="line 1")
    for n, line in enumerate(lines[1:], start=2):
        if not line.strip() or line == lines[0]:  # of several accounts, one after the other
            continue
        cells = line.split("|")
        if len(cells) != len(titles):
            found = f"{len(cells)} of {len(titles)} cells"
            raise InputError("a cell for each column", found=found, place=f"line {n}")
        yield {**dict(zip(titles, cells, strict=True)), "place": f"line {n}"}


def _names_stage(name: str, night: Instance) -> bool:
    """Return whether a submission is named like a stage of one of the night's jobs."""
    job, _, digits = name.rpartition(":")
    return job in night.index and digits.isdecimal()


def _is_early(row: dict[str, str], night: Instance) -> bool:
    """Return whether a row belongs to an earlier night: a minute or more before this one."""
    with at_place(row["place"]):
        start = _sacct_time(row, "Start", night)
    return start is not None and start < -seconds(night, 60)


def _attempts(row: dict[str, str], night: Instance) -> Iterator[Observed]:
    name, _, digits = row["JobName"].rpartition(":")
    place = row["place"]
    with at_place(place):
        stages, stage = night.jobs[night.index[name]].stages or (), int(digits) - 1
        if not 0 <= stage < len(stages):
            expected = f"a stage of the plan's {quote(name)}, from 1 to {len(stages)}"
            raise InputError(expected, found=quote(row["JobName"]), place="column 'JobName'")
        job = parse_job_id(row["JobID"])
        if job is None or job.component or job.step:
            expected = "a job id such as 7_1 or 7_[1-8]"
            raise InputError(expected, found=quote(row["JobID"]), place="column 'JobID'")
        base = job.submission
        start, end = (_sacct_time(row, title, night) for title in ("Start", "End"))
        status = status_of(row["State"])
        if status is None:
            raise InputError(
                "a state of Slurm's", found=quote(row["State"]), place="column 'State'"
            )
        if status == "failed" and (start is None or start == end):
            status, base = "waiting", ""  # it left the queue before it started
        if status == "waiting":
            start = end = None
        for number in job.tasks or (1,):
            if not 1 <= number <= len(stages[stage]):
                expected = f"a task of the plan, from 1 to {len(stages[stage])}"
                raise InputError(expected, found=quote(row["JobID"]), place="column 'JobID'")
            begin = None if start is None else max(0.0, start)
            done = None if end is None or begin is None else max(begin, end)
            yield Observed(
                name, stage, number - 1, status, begin, done, place=place, submission=base
            )


def _sacct_time(row: dict[str, str], title: str, night: Instance) -> float | None:
    """Return a time of sacct, which is in this machine's zone, in the night's unit."""
    text = row[title]
    if text in ("", "Unknown", "None"):
        return None
    try:
        moment = datetime.fromisoformat(text).astimezone()
    except ValueError:
        expected, place = "a time such as 2026-11-22T20:00:00", f"column {title!r}"
        raise InputError(expected, found=quote(text), place=place) from None
    return dates_of(str(night.start), night.unit).since(moment)


# --- jobs to add ------------------------------------------------------------------------------


def read_jobs(
    night_state: NightState, source: Source | None, now: float, table: Settings
) -> list[Added]:
    """Read a table of jobs to add to a night, in its unit and from its start.

    Without a column of seats or of a resource, jobs hold none. ``table`` has the settings of a farm
    for reading the table.
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
    added = []
    for job in read.jobs:
        if job.name in night.index:
            expected = "jobs with names that are new to the night"
            raise InputError(expected, found=quote(job.name), parameter="add")
        held = {rule.name: rule.use for rule in read.constraints if isinstance(rule, Seats)}
        seats = {str(name): use[job.name] for name, use in held.items() if use.get(job.name)}
        added.append(Added(at=now, job=job, seats=seats))
    return added
