"""Any table of jobs in CSV as a log, with columns named by options and any delimiter.

The output of Slurm's ``sacct -XP`` is such a table: its titles are known, and so are the columns
and rows that only Slurm has: steps, components, arrays, states, trackable resources (TRES).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.errors import InputError, at_place, pick_name, quote
from schedopt.instances.files import MOST_TABLE, read_bytes
from schedopt.instances.msfq.log_converters.cleaning import Mask, RawLog, set_releases
from schedopt.instances.msfq.log_files import (
    OF,
    labels_of,
    names_of,
    read_numbers,
    refuse_cells,
)
from schedopt.instances.msfq.logs import GROUPINGS, Floats
from schedopt.instances.options import Option, text
from schedopt.instances.slurm import parse_job_id, parse_memory, parse_tres, status_of
from schedopt.instances.tables import read_csv

if TYPE_CHECKING:
    import polars as pl

_ELAPSED = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+(?:\.\d+)?)", re.ASCII)
_POINT = "a number or a date such as 2024-03-31T02:30:00"


def is_zone(value: object) -> bool:
    """Return True if a value is the name of a time zone."""
    try:
        return isinstance(value, str) and bool(ZoneInfo(value))
    except (KeyError, ValueError, OSError):
        return False


ZONE = Option(None, "a time zone, such as Europe/Stockholm", is_zone)


def parse_times(column: pl.Series, zone: str | None = None) -> tuple[Floats, bool]:
    """Return times as numbers, and whether they were dates: then in seconds since 1970.

    Dates without an offset are in ``zone``, or UTC. Where clocks are put back, a local time is the
    earlier of two.
    """
    local = UTC if zone is None else ZoneInfo(zone)

    def seconds(text: str) -> float | None:
        try:
            date = datetime.fromisoformat(text)
            return (date if date.tzinfo else date.replace(tzinfo=local)).timestamp()
        except (ValueError, OverflowError):
            return None

    numbers, dates = read_numbers(column, "line", seconds, _POINT)
    if dates.any() and (mixed := np.isfinite(numbers) & ~dates).any():
        row = int(mixed.argmax())
        place = f"line {row + 2}, column {column.name!r}"
        raise InputError(f"{_POINT}, alike in all rows", found=quote(column[row]), place=place)
    return _finite(numbers), bool(dates.any())


def parse_durations(column: pl.Series, unit: float = 1.0) -> Floats:
    """Return durations: numbers times a unit, or [[days-]hours:]minutes:seconds."""

    def seconds(text: str) -> float | None:
        if not (match := _ELAPSED.fullmatch(text)):
            return None
        parts = (float(part or 0) for part in match.groups())
        return sum(part * each for part, each in zip(parts, (86400, 3600, 60, 1), strict=True))

    expected = "a number, or [[days-]hours:]minutes:seconds"
    numbers, is_text = read_numbers(column, "line", seconds, expected)
    return _finite(np.where(is_text, numbers, numbers * unit))


def _finite(numbers: Floats) -> Floats:
    return np.where(np.isfinite(numbers), numbers, np.nan)


Roles = Mapping[str, tuple[str, ...]]
ROLES: Roles = {
    "submit": (),
    "need": ("alloccpus", "ncpus"),
    "run": ("elapsedraw", "elapsed"),
    "eligible": ("release",),
    "began": ("start",),
    "ended": ("end",),
    "estimate": ("timelimit", "timelimitraw"),
    "user": (),
    "group": ("account",),
    "queue": (),
    "partition": (),
    "job": ("jobid", "jobidraw", "name"),
    "state": (),
}
"""The roles of columns, and their titles in ``sacct``, in lower case."""
OPTIONS = dict.fromkeys(ROLES, text("the title of a column")) | {"timezone": ZONE}
"""The titles of columns by role; by default the role's own name, or that of ``sacct``. ``run`` is
optional with ``began`` and ``ended``. Jobs that wait or run by their ``state`` get their time limit
as run time."""
TIMES = ("submit", "eligible", "began", "ended")


def read(path: str | Path, *, timezone: str | None = None, **columns: str | None) -> RawLog:
    """Read a table; ``columns`` are titles by role, ``timezone`` is for dates without an offset."""
    data = read_bytes(path, MOST_TABLE)
    table, repeated, again = _without_repeated_rows(read_csv(data).frame())
    titles = _titles_of(table, ROLES, columns)
    missing = {"submit", "need", "run"} - titles.keys()
    if missing - {"run"} or (missing and not {"began", "ended"} <= titles.keys()):
        role = next(role for role in ROLES if role in missing)
        expected = f"a column {role!r}{' (or began and ended)' * (role == 'run')}"
        there = ", ".join(map(quote, table.columns))
        raise InputError(f"{expected}, or option {role}=TITLE", found=there, place="line 1")
    if not len(table):
        expected = "a row for each job (sacct prints the jobs of a window: -S now-30days -E now)"
        raise InputError(expected, found="nothing: the table has no rows", place="line 2")
    of = {role: table[title] for role, title in titles.items()}
    run = parse_durations(of["run"]) if "run" in of else None
    read = {role: parse_times(of[role], timezone) for role in TIMES if role in of}
    times = {role: numbers for role, (numbers, _) in read.items()}
    (submit, dates), zero, notes = read["submit"], None, list[str]()
    if dates:
        zero = float(np.nanmin(submit))
        clock = "UTC" if timezone else "on its own clock"
        notes.append(f"times shifted: 0 is {np.datetime64(int(zero), 's')} {clock}")
    minutes = titles.get("estimate", "").lower() == "timelimitraw"
    unknown = np.full(len(table), np.nan)
    labels: Any = {role: labels_of(of[role]) for role in GROUPINGS if role in of}
    needs = {title: title for title in table.columns if title.startswith(OF)}
    asked = [role for role in columns if role.startswith(OF)]
    needs |= _titles_of(table, dict.fromkeys(asked, ()), columns)
    raw = RawLog(
        submit=submit - (zero or 0.0),
        need=parse_durations(of["need"]),
        run=times["ended"] - times["began"] if run is None else run,
        estimate=parse_durations(of["estimate"], 60.0 if minutes else 1.0)
        if "estimate" in of
        else unknown,
        rows=len(table),
        name=names_of(of["job"]) if "job" in of else None,
        notes=notes,
        zero=zero,
        zone=timezone,
        needs={
            need.removeprefix(OF): parse_durations(table[title]) for need, title in needs.items()
        },
        **labels,
    )
    uses = {title: list[str]() for title in table.columns}
    for use, title in (titles | needs).items():
        uses[title].append(use)
    if "state" in of:
        read_states(raw, of["state"])
    if is_slurm := titles.get("job", "").lower().startswith("jobid"):
        for title, use in add_needs(raw, table).items():
            uses[title].append(use)
    raw.columns = [(title, ", ".join(use) or "not taken") for title, use in uses.items() if title]
    since = {
        role: numbers - (zero or 0.0) if is_date == dates else unknown
        for role, (numbers, is_date) in read.items()
    }
    set_releases(raw, since.get("eligible"), since.get("began", unknown))
    raw.rows -= int(repeated.sum())
    raw.keep(~repeated)
    raw.leave_out(again[~repeated], "the same as a row above")
    if is_slurm:  # the processors of a step such as ``7.batch`` are those of its job
        raw.leave_out(_has(raw, "."), "steps of other jobs")
        list_tasks(raw)
        leave_out_earlier_states(raw)
    take_limits(raw)
    if is_slurm:
        join_components(raw)
    return raw


def _without_repeated_rows(
    table: pl.DataFrame,
) -> tuple[pl.DataFrame, NDArray[np.bool_], NDArray[np.bool_]]:
    """Return a table with empty rows in place of repeated titles and rows, and masks of both.

    Joined exports have such rows. Equal rows are repeated only in an export of sacct, whose jobs
    have ids.
    """
    import polars as pl

    titles = pl.all_horizontal(pl.col(title) == title for title in table.columns)
    again = pl.lit(value=False)
    if any(title.lower().startswith("jobid") for title in table.columns):
        empty = pl.all_horizontal(pl.all().is_null())
        again = ~pl.struct(pl.all()).is_first_distinct() & ~empty
    masks = table.select(titles=titles.fill_null(value=False), again=again)
    repeated, again_too = masks["titles"], masks["again"] & ~masks["titles"]
    table = table.select(
        pl.when(~(repeated | again_too)).then(pl.col(title)).alias(title) for title in table.columns
    )
    return table, repeated.to_numpy(), again_too.to_numpy()


def _titles_of(
    table: pl.DataFrame, roles: Roles, columns: Mapping[str, str | None]
) -> dict[str, str]:
    """Return the title of each role's column: the one that an option names, or a known title."""
    plain = {title.lower(): title for title in table.columns}
    titles: dict[str, str] = {}
    for role, aliases in roles.items():
        candidates = (plain[word] for word in (role, *aliases) if word in plain)
        if title := columns.get(role) or next(candidates, None):
            with at_place(f"option {role}"):
                titles[role] = pick_name(title, table.columns, "the title of a column")
    return titles


# --- what only Slurm has ----------------------------------------------------------------------

UNCOUNTED = ("billing", "cpu", "energy", "node", "pages", "vmem")
"""Trackable resources that do not limit jobs, or that other columns have."""


def _parsed(column: pl.Series, parse: Callable[[str], Any], empty: Any, expected: str) -> list[Any]:
    """Return the parsed cells of a column; `InputError` names a cell that does not parse."""
    texts = [(text or "").strip() for text in column.to_list()]
    known = {text: parse(text) if text else empty for text in set(texts)}
    cells = [known[text] for text in texts]
    refuse_cells(column, np.array([cell is None for cell in cells]), "line", expected)
    return cells


def read_states(raw: RawLog, column: pl.Series) -> None:
    """Set which jobs wait or run; raise `InputError` for a state that Slurm does not have."""
    cells = _parsed(column, status_of, "", "a state of Slurm's, such as COMPLETED")
    waits, runs = (np.array([cell == word for cell in cells]) for word in ("waiting", "running"))
    # an attempt that ended before its job was requeued has a run time
    raw.waiting, raw.running = waits & ~(raw.run > 0), runs


def add_needs(raw: RawLog, table: pl.DataFrame) -> dict[str, str]:
    """Add the needs of jobs beside processors, and return the use of each column.

    Memory is in megabytes. The processors of waiting jobs are those requested.
    """
    plain = {title.lower(): title for title in table.columns}
    taken: dict[str, str] = {}
    found: dict[str, Floats] = {}
    unknown = np.full(len(table), np.nan)

    def numbers(key: str) -> Floats:
        return read_numbers(table[plain[key]], "line")[0] if key in plain else unknown

    def add(name: str, amounts: Floats) -> None:
        before = found.get(name, unknown)
        found[name] = np.where(np.isnan(before), amounts, before)

    for key in ("alloctres", "reqtres"):
        if key in plain:
            for name, amounts in _tres(table[plain[key]]).items():
                add(name, amounts)
            taken[plain[key]] = "resources"
    if raw.waiting is not None:
        asked = numbers("reqcpus") if "reqcpus" in plain else found.get("cpu", unknown)
        raw.need = np.where(raw.waiting & ~(raw.need > 0), asked, raw.need)
        taken |= {plain[key]: "need of jobs that wait" for key in ("reqcpus",) if key in plain}
    if "reqmem" in plain:
        add("memory", _memory(table[plain["reqmem"]], raw.need, numbers("nnodes")))
        taken[plain["reqmem"]] = "memory"
    raw.needs = {k: v for k, v in found.items() if k not in UNCOUNTED} | raw.needs
    return taken


def _tres(column: pl.Series) -> dict[str, Floats]:
    """Return the amounts of each trackable resource, NaN where the log lists none."""
    cells = _parsed(column, parse_tres, {}, "resources such as cpu=8,mem=16G,gres/gpu=2")
    names = dict.fromkeys(name for cell in cells for name in cell)
    return {
        name: np.array([cell.get(name, 0.0 if cell else np.nan) for cell in cells])
        for name in names
    }


def _memory(column: pl.Series, need: Floats, nodes: Floats) -> Floats:
    """Return the megabytes of requests such as ``4096Mc`` (a cpu), ``128Gn`` (a node), ``16G``."""
    cells = _parsed(column, parse_memory, (np.nan, ""), "memory such as 4096Mc or 16G")
    amounts, units = map(np.array, zip(*cells, strict=True))
    memory: Floats = amounts * np.select([units == "c", units == "n"], [need, nodes], 1.0)
    return memory


def take_limits(raw: RawLog) -> None:
    """Set the run times of jobs that have not ended to their time limits.

    A job that has run for its limit, or has no limit, is assumed to run as long again.
    """
    if raw.waiting is None or raw.running is None:
        return
    for rows, words in ((raw.waiting, "that wait"), (raw.running, "that run")):
        raw.note(rows, f"{words}, taken to run for their time limits")
    open_ended = raw.waiting | raw.running
    if open_ended.any():
        start = np.full(len(raw.submit), np.nan) if raw.start is None else raw.start
        raw.until = float(np.nanmax([raw.submit, start, start + raw.run]))
        limits = np.where(raw.estimate > 0, raw.estimate, np.nan)
        beyond = raw.running & ~(limits > raw.run)
        words = "that run beyond their time limits, or without, taken to run as long again"
        raw.note(beyond, words)
        limits[beyond] = 2 * raw.run[beyond] + 1
        raw.run = np.where(open_ended, limits, raw.run)


def join_components(raw: RawLog) -> None:
    """Make one job of the components of each heterogeneous job, such as ``7+0`` and ``7+1``."""
    rows = np.flatnonzero(_has(raw, "+"))
    if not len(rows) or raw.name is None:
        return
    first: dict[str, int] = {}
    for row in rows.tolist():
        submission = str(raw.name[row]).partition("+")[0]
        at = first.setdefault(submission, row)
        raw.name[at] = submission
        if at == row:
            continue
        raw.need[at] += raw.need[row]
        for amounts in raw.needs.values():
            amounts[at] += amounts[row]
        for column in (raw.run, raw.estimate):
            column[at] = np.fmax(column[at], column[row])
    others = np.zeros(len(raw.submit), dtype=bool)
    others[rows], others[[*first.values()]] = True, False
    raw.leave_out(others, "components that count with the first of their job")


def list_tasks(raw: RawLog) -> None:
    """Make a job of each task of a waiting array, such as ``7_[1-3%2]``."""
    if raw.waiting is None or raw.name is None:
        return
    arrays = _has(raw, "[") & raw.waiting & (raw.estimate > 0) & (raw.need > 0)
    if not arrays.any():
        return
    import polars as pl

    counts, names = np.ones(len(raw.submit), dtype=np.int64), list[str]()
    for row, name in enumerate(raw.name.tolist()):
        found = parse_job_id(name) if arrays[row] else None
        tasks = [f"{found.submission}_{task}" for task in found.tasks] if found else [name]
        counts[row] = len(tasks)
        names += tasks
    raw.note(arrays, f"rows of arrays that wait, counted as their {counts[arrays].sum()} tasks")
    raw.rows += len(names) - len(counts)
    raw.keep(np.repeat(np.arange(len(counts)), counts))
    raw.name = names_of(pl.Series(names, dtype=pl.String))


def leave_out_earlier_states(raw: RawLog) -> None:
    """Keep the last state of each job of which joined exports have several.

    A job that waits in one export and runs or has ended in the next has the same id and submit time
    in both. An attempt before a requeue has another submit time, and stays.
    """
    if raw.waiting is None or raw.running is None or raw.name is None:
        return
    if not (raw.waiting | raw.running).any():
        return
    import polars as pl

    stage = np.select([raw.waiting, raw.running], [0, 1], 2)
    states = pl.DataFrame(
        {"job": raw.name.tolist(), "submit": raw.submit, "stage": stage, "run": raw.run}
    )
    ordered = states.with_row_index("row").sort("stage", "run", maintain_order=True)
    is_last = pl.struct("job", "submit").is_last_distinct()
    earlier = ordered.filter(~is_last & (pl.col("stage") < 2) & (pl.col("job") != ""))["row"]
    rows = np.zeros(len(raw.submit), dtype=bool)
    rows[earlier.to_numpy()] = True
    raw.leave_out(rows, "an earlier state of a job that another row has")


def _has(raw: RawLog, mark: str) -> Mask:
    if raw.name is None:
        return np.zeros(len(raw.submit), dtype=bool)
    return np.array(np.strings.find(raw.name.astype(np.dtypes.StringDType()), mark) >= 0)
