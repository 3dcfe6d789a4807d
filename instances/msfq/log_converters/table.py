"""Any table of jobs in CSV, its columns named by options; a delimiter of its own choice."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.errors import InputError, shown, suggestion
from schedopt.instances.files import read_bytes
from schedopt.instances.msfq.log_converters.cleaning import Raw
from schedopt.instances.msfq.log_converters.times import ZONE, Times, lengths, points
from schedopt.instances.msfq.log_files import MOST_BYTES, labels_of, names_of
from schedopt.instances.msfq.logs import Floats, Labels
from schedopt.instances.options import Option

if TYPE_CHECKING:
    import polars as pl

_ROLES = ("submit", "need", "run", "began", "ended", "estimate", "user", "group", "queue", "job")
OPTIONS = {
    role: Option(None, "the title of a column", lambda v: isinstance(v, str) and bool(v))
    for role in _ROLES
} | {"timezone": ZONE}
"""Which column is which; those not named are looked for under the role's own name. ``run`` may be
left out where there are ``began`` and ``ended``."""


def read(path: str | Path, *, timezone: str | None = None, **columns: str | None) -> Raw:
    """Read a table; perhaps gzipped.

    Parameters
    ----------
    path : str or Path
    timezone : str, optional
        The zone of dates that have no offset of their own.
    **columns : str
        ``submit`` and so on: titles, in place of the roles' own names.

    Raises
    ------
    InputError
        If a column is missing or a cell cannot be read: with the line.
    """
    table = _table(read_bytes(path, MOST_BYTES))
    lines = np.arange(2, len(table) + 2)
    found = _found(table, columns)
    submit = points(found["submit"], lines, timezone)
    notes = submit.notes("submit times")
    known = np.isfinite(submit.seconds)
    zero = float(submit.seconds[known].min()) if submit.dates and known.any() else 0.0
    if submit.dates:
        stamp = np.datetime64(int(zero), "s")
        notes.append(f"times shifted: 0 is {stamp} {'UTC' if timezone else 'on its own clock'}")
    return Raw(
        submit=submit.seconds - zero,
        need=lengths(found["need"], lines),
        run=_run(found, lines, timezone),
        estimate=_estimate(found, lines),
        line=lines,
        rows=len(table),
        user=_labels(found, "user"),
        group=_labels(found, "group"),
        queue=_labels(found, "queue"),
        name=names_of(found["job"]) if "job" in found else None,
        notes=notes,
        zero=zero if submit.dates else None,
    )


def _table(data: bytes) -> pl.DataFrame:
    import polars as pl
    from polars.exceptions import PolarsError

    head = re.sub(rb'"[^"]*"', b"", data.lstrip(b"\r\n").split(b"\n", 1)[0])
    delimiter = max(",;\t|", key=lambda mark: head.count(mark.encode()))
    try:
        table = pl.read_csv(
            io.BytesIO(data), separator=delimiter, infer_schema=False, encoding="utf8-lossy"
        )
    except PolarsError as error:
        raise InputError("a table in CSV", found=str(error).splitlines()[0]) from None
    return table.rename({title: title.strip() for title in table.columns})


def _found(table: pl.DataFrame, columns: dict[str, str | None]) -> dict[str, pl.Series]:
    """Return columns by role: those that options name, or of the role's own name."""
    named = {role: title for role, title in columns.items() if title}
    found: dict[str, pl.Series] = {}
    plain = {title.lower(): title for title in table.columns}
    for role in _ROLES:
        title = named.get(role, plain.get(role))
        if title is None:
            continue
        if title not in table.columns:
            hint = suggestion(title, table.columns) or f" ({', '.join(table.columns)})"
            place = f"option {role}"
            raise InputError(f"the title of a column{hint}", found=shown(title), place=place)
        found[role] = table[title]
    for role in ("submit", "need"):
        if role not in found:
            raise _missing(role, table)
    if "run" not in found and not {"began", "ended"} <= set(found):
        raise _missing("run", table)
    return found


def _missing(role: str, table: pl.DataFrame) -> InputError:
    also = " (or began and ended)" if role == "run" else ""
    expected = f"a column {role!r}{also}, or option {role}=TITLE"
    return InputError(expected, found=", ".join(map(shown, table.columns)), place="line 1")


def _run(found: dict[str, pl.Series], lines: NDArray[np.int64], zone: str | None) -> Floats:
    if "run" in found:
        return lengths(found["run"], lines)
    began: Times = points(found["began"], lines, zone)
    return points(found["ended"], lines, zone).seconds - began.seconds


def _estimate(found: dict[str, pl.Series], lines: NDArray[np.int64]) -> Floats:
    if "estimate" in found:
        return lengths(found["estimate"], lines)
    return np.full(len(lines), np.nan)


def _labels(found: dict[str, pl.Series], role: str) -> Labels | None:
    return labels_of(found[role]) if role in found else None
