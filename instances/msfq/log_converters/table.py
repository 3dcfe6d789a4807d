"""Any table of jobs in CSV as a log, its columns named by options; a delimiter of its own choice.

A dump of Slurm's ``sacct -XP`` is such a table: its titles are known under their own names.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from schedopt.instances.errors import InputError, shown, suggestion
from schedopt.instances.files import MOST_TABLE, read_bytes
from schedopt.instances.msfq.log_converters.cleaning import Raw
from schedopt.instances.msfq.log_converters.columns import ZONE, lengths, points
from schedopt.instances.msfq.log_files import labels_of, names_of
from schedopt.instances.msfq.logs import GROUPINGS, Floats
from schedopt.instances.options import text
from schedopt.instances.tables import read_frame

if TYPE_CHECKING:
    import polars as pl

NEED = "need:"  # before the name of a resource, in titles and options
ROLES: Mapping[str, tuple[str, ...]] = {
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
    lines, notes = np.arange(2, len(table) + 2), list[str]()
    titles = _titles_of(table, columns)
    of = {role: table[title] for role, title in titles.items()}
    times = points(of["submit"], lines, timezone)
    notes += times.notes()
    submit, zero = times.since_first("UTC" if timezone else "on its own clock", notes)
    if "run" in of:
        run = lengths(of["run"], lines)
    else:
        began, ended = (points(of[role], lines, timezone).seconds for role in ("began", "ended"))
        run = ended - began
    unknown = np.full(len(lines), np.nan)
    labels: Any = {role: labels_of(of[role]) for role in GROUPINGS if role in of}
    needs = _titles_of_needs(table, columns)
    raw = Raw(
        submit=submit,
        need=lengths(of["need"], lines),
        run=run,
        estimate=lengths(of["estimate"], lines) if "estimate" in of else unknown,
        line=lines,
        rows=len(table),
        name=names_of(of["job"]) if "job" in of else None,
        notes=notes,
        zero=zero,
        zone=timezone,
        needs={name: lengths(table[title], lines) for name, title in needs.items()},
        **labels,
    )
    became: dict[str, list[str]] = {title: [] for title in table.columns}
    for what, title in (titles | {f"{NEED}{name}": title for name, title in needs.items()}).items():
        became[title].append(what)
    if unused := [title for title, uses in became.items() if title and not uses]:
        raw.notes.insert(0, f"columns not taken: {', '.join(unused)}")
    for title, uses in became.items():
        raw.became(title, ", ".join(uses))
    return raw


def _titles_of(table: pl.DataFrame, columns: Mapping[str, str | None]) -> dict[str, str]:
    """Return the title of each role's column: one that an option names, or that is known."""
    titles = _known_titles(table, ROLES, columns)
    ended = {"began", "ended"} <= titles.keys()
    for role, also in (("submit", ""), ("need", ""), ("run", " (or began and ended)")):
        if role not in titles and not (also and ended):
            expected = f"a column {role!r}{also}, or option {role}=TITLE"
            there = ", ".join(map(shown, table.columns))
            raise InputError(expected, found=there, place="line 1")
    return titles


def _known_titles(
    table: pl.DataFrame, roles: Mapping[str, tuple[str, ...]], columns: Mapping[str, str | None]
) -> dict[str, str]:
    plain = {title.lower(): title for title in table.columns}
    titles: dict[str, str] = {}
    for role, aliases in roles.items():
        known = (plain[word] for word in (role, *aliases) if word in plain)
        if title := columns.get(role) or next(known, None):
            titles[role] = _expect_title(title, table, f"option {role}")
    return titles


def _titles_of_needs(table: pl.DataFrame, columns: Mapping[str, str | None]) -> dict[str, str]:
    """Return the title of what is needed of each resource beside servers."""
    titles = {title[len(NEED) :]: title for title in table.columns if title.startswith(NEED)}
    for key, title in columns.items():
        if title and key.startswith(NEED):
            titles[key[len(NEED) :]] = _expect_title(title, table, f"option {key}")
    return titles


def _expect_title(title: str, table: pl.DataFrame, place: str) -> str:
    if title not in table.columns:
        hint = suggestion(title, table.columns) or f" ({', '.join(table.columns)})"
        raise InputError(f"the title of a column{hint}", found=shown(title), place=place)
    return title


# --- jobs that have not ended -----------------------------------------------------------------

OPEN_ROLES: Mapping[str, tuple[str, ...]] = {
    "job": ("jobid",),
    "state": (),
    "submit": ("submit_time",),
    "start": ("start_time",),
    "need": ("cpus",),
    "estimate": ("time_limit",),
    "user": (),
}
"""The roles of columns of what ``squeue`` prints; the last may be missing."""


class OpenJobs(NamedTuple):
    """Jobs that wait or run, by row; times are those of the dump's clock, NaN for who waits."""

    name: list[str]
    user: list[str] | None
    submit: Floats
    start: Floats
    need: Floats
    estimate: Floats


def read_open_jobs(path: str | Path) -> OpenJobs:
    """Read waiting and running jobs from a table such as `squeue` prints, with its titles."""
    table = read_frame(read_bytes(path, MOST_TABLE))
    of = {role: table[title] for role, title in _known_titles(table, OPEN_ROLES, {}).items()}
    for role, aliases in OPEN_ROLES.items():
        if role not in of and role != "user":
            expected = f"a column {' or '.join((role, *aliases))}, as `squeue` prints it"
            raise InputError(expected, found=", ".join(table.columns), place="line 1")
    states = of["state"].str.strip_chars().str.to_uppercase()
    runs = states.is_in(("RUNNING", "COMPLETING", "SUSPENDED")).fill_null(False)
    kept = runs | (states == "PENDING").fill_null(False)
    of = {role: column.filter(kept) for role, column in of.items()}
    lines = np.arange(2, len(kept) + 2)[kept.to_numpy()]
    start = points(of["start"], lines).seconds
    return OpenJobs(
        name=of["job"].to_list(),
        user=of["user"].to_list() if "user" in of else None,
        submit=points(of["submit"], lines).seconds,
        start=np.where(runs.filter(kept).to_numpy(), start, np.nan),
        need=lengths(of["need"], lines),
        estimate=lengths(of["estimate"], lines, 60.0),
    )
