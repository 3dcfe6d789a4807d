"""Any table of jobs in CSV, its columns named by options; a delimiter of its own choice."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.errors import InputError, shown, suggestion
from schedopt.instances.files import MOST_TABLE, check_rows, read_bytes
from schedopt.instances.msfq.log_converters.cleaning import Raw, unused
from schedopt.instances.msfq.log_converters.times import ZONE, lengths, points
from schedopt.instances.msfq.log_files import labels_of, names_of
from schedopt.instances.msfq.logs import GROUPINGS, Floats
from schedopt.instances.options import text
from schedopt.instances.tables import read_csv

if TYPE_CHECKING:
    import polars as pl

_ROLES = (
    "submit",
    "need",
    "run",
    "began",
    "ended",
    "estimate",
    "user",
    "group",
    "queue",
    "partition",
    "job",
)
OPTIONS = dict.fromkeys(_ROLES, text("the title of a column")) | {"timezone": ZONE}
"""Which column is which; those not named are looked for under the role's own name. ``run`` may be
left out where there are ``began`` and ``ended``."""


def read(path: str | Path, *, timezone: str | None = None, **columns: str | None) -> Raw:
    """Read a table; ``columns``: titles by role; ``timezone``: of dates without an offset."""
    table = _table(read_bytes(path, MOST_TABLE))
    lines = np.arange(2, len(table) + 2)
    by_role = _found(table, columns)
    times = points(by_role["submit"], lines, timezone)
    notes = times.notes()
    submit, zero = times.since_first("UTC" if timezone else "on its own clock", notes)
    need = lengths(by_role["need"], lines)
    more = _needs(table, columns, lines)
    if "run" in by_role:
        run = lengths(by_role["run"], lines)
    else:
        began, ended = (points(by_role[role], lines, timezone) for role in ("began", "ended"))
        run = ended.seconds - began.seconds
    unknown = np.full(len(lines), np.nan)
    labels: Any = {role: labels_of(by_role[role]) for role in GROUPINGS if role in by_role}
    raw = Raw(
        submit=submit,
        need=need,
        run=run,
        estimate=lengths(by_role["estimate"], lines) if "estimate" in by_role else unknown,
        line=lines,
        rows=len(table),
        name=names_of(by_role["job"]) if "job" in by_role else None,
        notes=notes,
        zero=zero,
        zone=timezone,
        needs={name: of for name, (_, of) in more.items()},
        **labels,
    )
    roles = {column.name: role for role, column in by_role.items()}
    roles |= {title: f"need:{name}" for name, (title, _) in more.items()}
    for title in table.columns:
        raw.became(title, roles.get(title, ""))
    raw.notes[:0] = unused(table.columns, roles)
    return raw


def _needs(
    table: pl.DataFrame,
    columns: dict[str, str | None],
    lines: NDArray[np.int64],
) -> dict[str, tuple[str, Floats]]:
    """Return what is needed of each resource: its title, and amounts."""
    titles = {title[len("need:") :]: title for title in table.columns if title.startswith("need:")}
    titles |= {key[len("need:") :]: of for key, of in columns.items() if of and "need:" in key}
    found: dict[str, tuple[str, Floats]] = {}
    for name, title in titles.items():
        if title not in table.columns:
            expected = f"the title of a column{suggestion(title, table.columns)}"
            raise InputError(expected, found=shown(title), place=f"option need:{name}")
        found[name] = title, lengths(table[title], lines)
    return found


def _table(data: bytes) -> pl.DataFrame:
    import polars as pl
    from polars.exceptions import PolarsError

    head = re.sub(rb'"[^"]*"', b"", data.lstrip(b"\r\n").split(b"\n", 1)[0])
    delimiter = max(",;\t|", key=lambda mark: head.count(mark.encode()))
    check_rows(data.count(b"\n"), 16 * (head.count(delimiter.encode()) + 1))
    try:
        table = pl.read_csv(
            io.BytesIO(data), separator=delimiter, infer_schema=False, encoding="utf8-lossy"
        )
    except PolarsError as error:
        read_csv(data)  # which names the line
        raise InputError("a table in CSV", found=str(error).splitlines()[0]) from None
    return table.rename({title: title.strip() for title in table.columns})


def _found(table: pl.DataFrame, columns: dict[str, str | None]) -> dict[str, pl.Series]:
    """Return columns by role: those that options name, or of the role's own name."""
    plain = {title.lower(): title for title in table.columns}
    by_role: dict[str, pl.Series] = {}
    for role in _ROLES:
        title = columns.get(role) or plain.get(role)
        if title is None:
            continue
        if title not in table.columns:
            hint = suggestion(title, table.columns) or f" ({', '.join(table.columns)})"
            expected = f"the title of a column{hint}"
            raise InputError(expected, found=shown(title), place=f"option {role}")
        by_role[role] = table[title]
    ended = {"began", "ended"} <= by_role.keys()
    for role, also in (("submit", ""), ("need", ""), ("run", " (or began and ended)")):
        if role not in by_role and not (also and ended):
            expected = f"a column {role!r}{also}, or option {role}=TITLE"
            there = ", ".join(map(shown, table.columns))
            raise InputError(expected, found=there, place="line 1")
    return by_role
