"""Any table of jobs in CSV as a log, with columns named by options and any delimiter.

The output of Slurm's ``sacct -XP`` is such a table: its titles are known, and `sacct` reads what
only Slurm has.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.errors import InputError, at_place, pick_name, quote
from schedopt.instances.files import MOST_TABLE, read_bytes
from schedopt.instances.msfq.log_converters import sacct
from schedopt.instances.msfq.log_converters.cleaning import RawLog, set_releases
from schedopt.instances.msfq.log_files import OF, labels_of, names_of, read_numbers
from schedopt.instances.msfq.logs import GROUPINGS, Floats
from schedopt.instances.options import Option, one_of, text
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
    """Return numbers with NaN for infinite ones."""
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
OPTIONS = dict.fromkeys(ROLES, text("the title of a column")) | {
    "timezone": ZONE,
    "unfinished": one_of("limit", ("limit", "drop")),
}
"""The titles of columns by role; by default the role's own name, or that of ``sacct``. ``run`` is
optional with ``began`` and ``ended``. Jobs that wait or run by their ``state`` get their time limit
as run time, or are left out."""
TIMES = ("submit", "eligible", "began", "ended")


def read(
    path: str | Path,
    *,
    timezone: str | None = None,
    unfinished: str = "limit",
    **columns: str | None,
) -> RawLog:
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
        sacct.read_states(raw, of["state"])
    if is_slurm := titles.get("job", "").lower().startswith("jobid"):
        for title, use in sacct.add_needs(raw, table).items():
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
    sacct.rows_to_jobs(raw, is_slurm=is_slurm, drop=unfinished == "drop")
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
