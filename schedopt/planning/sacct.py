"""The output of ``sacct -XP``: which tasks of a night ran, and when.

The template ``slurm`` calls a submission ``JOB:STAGE``, with stages from 1, and submits job arrays
whose numbers are the stage's tasks, from 1. So a row's job name and job id say which task it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from schedopt.instances.dssp import Instance
from schedopt.instances.dssp.clock import dates_of
from schedopt.instances.errors import InputError, at_place, decode_utf8, quote
from schedopt.instances.files import read_bytes
from schedopt.instances.slurm import parse_job_id, status_of
from schedopt.planning.history import NightState, Observed, seconds
from schedopt.planning.observed import Planned

COLUMNS = ("JobID", "JobName", "State", "Start", "End")
COMMAND = f"sacct -XP --format={','.join(COLUMNS)}"


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
    return "|" in head and not {*COLUMNS}.isdisjoint(head.strip().split("|"))


def _precedence(one: Observed) -> tuple[int, int, bool]:
    """Return the sort key of attempts of a task, of which the last one counts."""
    rank = {"done": 2, "running": 1}
    return rank.get(one.status, 0), int(one.submission or 0), one.status != "waiting"


def _rows(text: str) -> Iterator[dict[str, str]]:
    """Yield the rows by column, each with its ``place``."""
    lines = text.replace("\r\n", "\n").split("\n")
    titles = lines[0].split("|")
    missing = [title for title in COLUMNS if title not in titles]
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


def _is_early(
    row: dict[str, str],
    night: Instance,
    *,
    # seconds before the start of the night from which on rows belong to another night
    early: float = 60.0,
) -> bool:
    """Return whether a row belongs to an earlier night."""
    with at_place(row["place"]):
        start = _time(row, "Start", night)
    return start is not None and start < -seconds(night, early)


def _attempts(row: dict[str, str], night: Instance) -> Iterator[Observed]:
    """Yield the tasks of a row."""
    name, _, digits = row["JobName"].rpartition(":")
    place = row["place"]
    with at_place(place):
        stages, stage = night.jobs[night.index[name]].stages or (), int(digits) - 1
        if not 0 <= stage < len(stages):
            expected = f"a stage of the plan's {quote(name)}, from 1 to {len(stages)}"
            raise InputError(expected, found=quote(row["JobName"]), place="column 'JobName'")
        base, numbers = _job_id(row["JobID"])
        start, end = (_time(row, title, night) for title in ("Start", "End"))
        status = status_of(row["State"])
        if status is None:
            raise InputError(
                "a state of Slurm's", found=quote(row["State"]), place="column 'State'"
            )
        if status == "failed" and (start is None or start == end):
            status, base = "waiting", ""  # it left the queue before it started
        if status == "waiting":
            start = end = None
        for number in numbers:
            if not 1 <= number <= len(stages[stage]):
                expected = f"a task of the plan, from 1 to {len(stages[stage])}"
                raise InputError(expected, found=quote(row["JobID"]), place="column 'JobID'")
            begin = None if start is None else max(0.0, start)
            done = None if end is None or begin is None else max(begin, end)
            yield Observed(
                name, stage, number - 1, status, begin, done, place=place, submission=base
            )


def _job_id(text: str) -> tuple[str, Sequence[int]]:
    """Return the id of a submission and its task numbers: 1, 2, 3 for ``7_[1-3%2]``."""
    found = parse_job_id(text)
    if found is None or found.component or found.step:
        raise InputError(
            "a job id such as 7_1 or 7_[1-8]", found=quote(text), place="column 'JobID'"
        )
    return found.submission, found.tasks or (1,)


def _time(row: dict[str, str], title: str, night: Instance) -> float | None:
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
