"""Any table of jobs in CSV as a log, its columns named by options; a delimiter of its own choice.

A dump of Slurm's ``sacct -XP`` is such a table: its titles are known under their own names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import numpy as np

from schedopt.instances.errors import InputError, at_place, quote
from schedopt.instances.files import MOST_TABLE, read_bytes
from schedopt.instances.msfq.log_converters.cleaning import Raw
from schedopt.instances.msfq.log_files import OF, labels_of, names_of, read_numbers
from schedopt.instances.msfq.logs import GROUPINGS, Floats
from schedopt.instances.naming import pick_name
from schedopt.instances.options import Option, text
from schedopt.instances.tables import read_frame

if TYPE_CHECKING:
    import polars as pl

_ELAPSED = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+(?:\.\d+)?)", re.ASCII)
_POINT = "a number or a date such as 2024-03-31T02:30:00"


def is_zone(value: object) -> bool:
    """Tell whether a value is the name of a time zone."""
    try:
        return isinstance(value, str) and bool(ZoneInfo(value))
    except (KeyError, ValueError, OSError):
        return False


ZONE = Option(None, "a time zone, such as Europe/Stockholm", is_zone)


def points(column: pl.Series, zone: str | None = None) -> tuple[Floats, bool]:
    """Return numbers, or dates in seconds since 1970, and which; of dates the zone is, or UTC."""
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


def lengths(column: pl.Series, unit: float = 1.0) -> Floats:
    """Return durations: numbers of a unit, or [[days-]hours:]minutes:seconds."""

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
    "began": (),
    "ended": (),
    "estimate": ("timelimit",),
    "user": (),
    "group": ("account",),
    "queue": (),
    "partition": (),
    "job": ("jobid",),
}
"""The roles of columns, and what ``sacct`` calls them, in lower case."""
OPTIONS = dict.fromkeys(ROLES, text("the title of a column")) | {"timezone": ZONE}
"""Which column is which; those not named are looked for under the role's own name, or that of
``sacct``. ``run`` may be left out where there are ``began`` and ``ended``."""


def read(path: str | Path, *, timezone: str | None = None, **columns: str | None) -> Raw:
    """Read a table; ``columns``: titles by role; ``timezone``: of dates without an offset."""
    table = read_frame(read_bytes(path, MOST_TABLE))
    titles = _titles_of(table, ROLES, columns)
    missing = {"submit", "need", "run"} - titles.keys()
    if missing - {"run"} or (missing and not {"began", "ended"} <= titles.keys()):
        role = next(role for role in ROLES if role in missing)
        expected = f"a column {role!r}{' (or began and ended)' * (role == 'run')}"
        there = ", ".join(map(quote, table.columns))
        raise InputError(f"{expected}, or option {role}=TITLE", found=there, place="line 1")
    of = {role: table[title] for role, title in titles.items()}
    submit, dates = points(of["submit"], timezone)
    notes, zero = list[str](), None
    if dates:
        zero = float(np.nanmin(submit))
        clock = "UTC" if timezone else "on its own clock"
        notes.append(f"times shifted: 0 is {np.datetime64(int(zero), 's')} {clock}")
    if "run" in of:
        run = lengths(of["run"])
    else:
        run = points(of["ended"], timezone)[0] - points(of["began"], timezone)[0]
    labels: Any = {role: labels_of(of[role]) for role in GROUPINGS if role in of}
    needs = {title: title for title in table.columns if title.startswith(OF)}
    needs |= _titles_of(table, dict.fromkeys(filter(_is_need, columns), ()), columns)
    uses = {title: list[str]() for title in table.columns}
    for use, title in (titles | needs).items():
        uses[title].append(use)
    if unused := [title for title in uses if title and not uses[title]]:
        notes.insert(0, f"columns not taken: {', '.join(unused)}")
    return Raw(
        submit=submit - (zero or 0.0),
        need=lengths(of["need"]),
        run=run,
        estimate=lengths(of["estimate"]) if "estimate" in of else np.full(len(table), np.nan),
        rows=len(table),
        name=names_of(of["job"]) if "job" in of else None,
        notes=notes,
        zero=zero,
        zone=timezone,
        needs={need.removeprefix(OF): lengths(table[title]) for need, title in needs.items()},
        columns=[f"{title}: {', '.join(use) or 'not taken'}" for title, use in uses.items()],
        **labels,
    )


def _is_need(role: str) -> bool:
    return role.startswith(OF)


def _titles_of(
    table: pl.DataFrame, roles: Roles, columns: Mapping[str, str | None]
) -> dict[str, str]:
    """Return the title of each role's column: one that an option names, or that is known."""
    plain = {title.lower(): title for title in table.columns}
    titles: dict[str, str] = {}
    for role, aliases in roles.items():
        candidates = (plain[word] for word in (role, *aliases) if word in plain)
        if title := columns.get(role) or next(candidates, None):
            with at_place(f"option {role}"):
                titles[role] = pick_name(title, table.columns, "the title of a column")
    return titles


# --- jobs that have not ended -----------------------------------------------------------------
