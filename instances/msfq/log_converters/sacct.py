"""What Slurm's ``sacct -P`` (``--parsable2``) prints: a header, and a line for each job.

It needs ``Submit``; ``Elapsed`` or ``ElapsedRaw``; and one of ``AllocCPUS``, ``NCPUS`` and
``ReqCPUS`` (with ``unit=nodes``: ``AllocNodes``, ``NNodes`` and ``ReqNodes``). It takes
``Timelimit`` or ``TimelimitRaw``, ``User`` or ``UID``, ``Account`` or ``Group``, ``Partition``,
``JobID``, ``State``, ``Start`` and ``End`` where they are there, and names the columns
that it did not take. So:

``sacct -aXP -o JobID,User,Account,Partition,State,Submit,Start,End,ElapsedRaw,AllocCPUS,Timelimit``

Source: Slurm's manual, sacct(1), "Job Accounting Fields" and "Job State Codes".
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.errors import InputError, shown
from schedopt.instances.files import MOST_TABLE, check_rows, read_bytes
from schedopt.instances.msfq.log_converters.cleaning import Raw, unused
from schedopt.instances.msfq.log_converters.swf import UNIT
from schedopt.instances.msfq.log_converters.times import ZONE, lengths, points
from schedopt.instances.msfq.log_files import labels_of, names_of
from schedopt.instances.msfq.logs import Floats, Labels
from schedopt.instances.options import Option

if TYPE_CHECKING:
    import polars as pl

ENDED = (
    "BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY",
    "PREEMPTED", "REVOKED", "TIMEOUT", "LAUNCH_FAILED", "RECONFIG_FAIL",
)  # fmt: skip
"""States of a job that has come to an end; all that ran are taken, however they ended."""
_CPUS, _NODES = ("alloccpus", "ncpus", "reqcpus"), ("allocnodes", "nnodes", "reqnodes")
_HOUR = 3600.0


def _is_states(value: object) -> bool:
    return isinstance(value, str) and all(
        word.strip().upper() in ENDED for word in value.split(",")
    )


OPTIONS = {
    "unit": UNIT,
    "states": Option(None, f"states with commas between, of {', '.join(ENDED)}", _is_states),
    "timezone": ZONE,
}
"""What a server is; which states are taken; the zone of the dump's local times."""


def read(
    path: str | Path,
    *,
    unit: str = "cpus",
    states: str | None = None,
    timezone: str | None = None,
) -> Raw:
    """Read a dump, perhaps gzipped; ``unit`` is what a server is, ``states`` which jobs are taken.

    Times are local to the ``timezone``; without it they are taken as they stand. `InputError` tells
    of a column that is missing or, with its line, of a cell that cannot be read.
    """
    text = read_bytes(path, MOST_TABLE).decode("utf-8", "replace")
    table, notes, rows = _cells(text)
    table = _jobs(table, states, notes)
    lines = table[""].to_numpy()

    used = {"jobid", "state", "start", "end"}

    def there(*known: str) -> list[pl.Series]:
        """Return those of some columns that are there."""
        used.update(known)
        return [table[key] for key in known if key in table.columns]

    def one(*known: str) -> pl.Series:
        if present := there(*known):
            return present[0]
        titles = ", ".join(table.columns[1:])
        raise InputError(f"a column {' or '.join(known)}", found=titles, place="line 1")

    times = points(one("submit"), lines, timezone)
    notes += times.notes()
    run = lengths(one("elapsedraw", "elapsed"), lines)
    if timezone is None and len(ends := there("start", "end")) == 2:
        _note_clocks(ends[0], ends[1], lines, run, notes)
    submit, zero = times.since_first("UTC" if timezone else "on the local clock", notes)
    needs = np.full(len(lines), np.nan)
    known = _NODES if unit == "nodes" else _CPUS
    one(*known)
    for column in there(*known):  # those allocated, or where a dump says 0 or nothing, asked for
        values = lengths(column, lines)
        needs = np.where(~(needs > 0) & (values > 0), values, needs)
    limits = [lengths(column, lines, 60.0) for column in there("timelimitraw", "timelimit")[:1]]

    def labels(*known: str) -> Labels | None:
        return next(map(labels_of, there(*known)), None)

    raw = Raw(
        submit=submit,
        need=needs,
        run=run,
        estimate=limits[0] if limits else np.full(len(lines), np.nan),
        line=lines,
        rows=rows,
        user=labels("user", "uid"),
        group=labels("account", "group", "gid"),
        queue=labels("partition"),
        name=next(map(names_of, there("jobid")), None),
        notes=notes,
        zero=zero,
    )
    notes += unused(table.columns, used)
    return raw


def _cells(text: str) -> tuple[pl.DataFrame, list[str], int]:
    """Return each row's line and its cells by title, a note of rows cut short, and their number."""
    import polars as pl

    check_rows(text.count("\n"), 16 * (text[: text.find("\n")].count("|") + 4))
    all_lines = pl.Series("line", text.split("\n")).str.strip_chars("\r")
    titles = (all_lines[0] or "").strip().lower().split("|")
    if "submit" not in titles:
        found = shown(all_lines[0])
        raise InputError("the header of `sacct -P`, with Submit", found=found, place="line 1")
    body = pl.DataFrame({"line": np.arange(2, len(all_lines) + 1), "text": all_lines[1:]})
    body = body.filter(pl.col("text") != "")
    cells = body["text"].str.split("|")
    odd = cells.list.len() != len(titles)
    notes = []
    if count := int(odd.sum()):
        first = body["line"][int(odd.arg_max() or 0)]
        words = f"of another number of cells than the header's {len(titles)} (first: line {first})"
        notes.append(f"{count} left out, {words}")
    cells = cells.filter(~odd)
    columns = {title: cells.list.get(i) for i, title in enumerate(titles) if title.strip()}
    return pl.DataFrame({"": body["line"].filter(~odd)} | columns), notes, len(body)


def _jobs(table: pl.DataFrame, states: str | None, notes: list[str]) -> pl.DataFrame:
    """Leave out steps, jobs that have not ended, and unwanted states."""
    kept = np.ones(len(table), dtype=np.bool_)

    def leave(rows: pl.Series, words: str) -> None:
        left = rows.fill_null(False).to_numpy()
        if count := int((left & kept).sum()):
            notes.append(f"{count} left out, {words}")
        kept[left] = False

    if "jobid" in table.columns:
        ids = table["jobid"]
        leave(ids.str.contains(r"\."), "a step of a job")
        leave(ids.str.contains(r"\["), "of an array that has not begun")
        pieces = int((ids.str.contains(r"\+").to_numpy() & kept).sum())
        if pieces:
            notes.append(f"{pieces} components of heterogeneous jobs, each taken as a job")
    if "state" in table.columns:
        state = table["state"].str.strip_chars().str.to_uppercase().str.extract(r"^(\w+)", 1)
        leave(~state.is_in(ENDED).fill_null(False), "that had not ended")
        if states is not None:
            wanted = [word.strip().upper() for word in states.split(",")]
            leave(~state.is_in(wanted).fill_null(False), f"in no state of {states}")
    if "start" in table.columns:
        begun = table["start"].str.to_lowercase().is_in(["unknown", "none", ""])
        leave(begun, "that never ran")
    if "jobid" in table.columns and (again := int(kept.sum()) - ids.filter(kept).n_unique()):
        notes.append(f"{again} of an id that another job has, too (requeued), taken as jobs")
    return table.filter(kept)


def _note_clocks(
    start: pl.Series, end: pl.Series, lines: NDArray[np.int64], run: Floats, notes: list[str]
) -> None:
    """Note jobs whose end minus start differs from their run time by an hour."""
    spent = points(end, lines).seconds - points(start, lines).seconds
    if count := int((np.abs(np.abs(spent - run) - _HOUR) <= 1).sum()):
        notes.append(
            f"{count} that ran while clocks changed (end minus start is an hour off the elapsed "
            "time, which is what counts); option timezone would set submit times right"
        )
