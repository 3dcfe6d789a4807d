"""What Slurm's ``sacct -P`` (``--parsable2``) prints: a header, and a line for each job.

It needs ``Submit``; ``Elapsed`` or ``ElapsedRaw``; and one of ``AllocCPUS``, ``NCPUS`` and
``ReqCPUS`` (with ``unit=nodes``: ``AllocNodes``, ``NNodes`` and ``ReqNodes``). It takes
``Timelimit`` or ``TimelimitRaw``, ``User`` or ``UID``, ``Account`` or ``Group``, ``Partition``,
``JobID``, ``State``, ``Start`` and ``End`` where they are there, and passes over all others. So:

``sacct -aXP -o JobID,User,Account,Partition,State,Submit,Start,End,ElapsedRaw,AllocCPUS,Timelimit``

Source: Slurm's manual, sacct(1), "Job Accounting Fields" and "Job State Codes".
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.errors import InputError, shown
from schedopt.instances.files import read_bytes
from schedopt.instances.msfq.log_converters.cleaning import Raw
from schedopt.instances.msfq.log_converters.times import ZONE, lengths, points
from schedopt.instances.msfq.log_files import MOST_BYTES, labels_of, names_of
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
    "unit": Option("cpus", "cpus or nodes", lambda v: v in ("cpus", "nodes")),
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
    """Read a dump; perhaps gzipped.

    Parameters
    ----------
    path : str or Path
    unit : {"cpus", "nodes"}
        What a server is.
    states : str, optional
        Take jobs in these states alone; with commas between.
    timezone : str, optional
        Where the dump's times are local to; without it they are taken as they stand.

    Raises
    ------
    InputError
        If a column is missing or a cell cannot be read: with the line.
    """
    text = read_bytes(path, MOST_BYTES).decode("utf-8", "replace")
    columns, lines, notes, rows = _columns(text)
    columns, lines = _jobs(columns, lines, states, notes)
    submit = points(_one(columns, ("submit",)), lines, timezone)
    notes += submit.notes("submit times")
    run = lengths(_one(columns, ("elapsedraw", "elapsed")), lines)
    _clocks(columns, lines, run, timezone, notes)
    zero = float(np.nanmin(submit.seconds)) if np.isfinite(submit.seconds).any() else 0.0
    if submit.dates and rows:
        stamp = np.datetime64(int(zero), "s")
        notes.append(f"times shifted: 0 is {stamp} {'UTC' if timezone else 'on the local clock'}")
    return Raw(
        submit=submit.seconds - (zero if submit.dates else 0.0),
        need=_needs(columns, lines, _NODES if unit == "nodes" else _CPUS),
        run=run,
        estimate=_limits(columns, lines),
        line=lines,
        rows=rows,
        user=_labels(columns, ("user", "uid")),
        group=_labels(columns, ("account", "group", "gid")),
        queue=_labels(columns, ("partition",)),
        name=names_of(columns["jobid"]) if "jobid" in columns else None,
        notes=notes,
        zero=zero if submit.dates else None,
    )


def _columns(text: str) -> tuple[dict[str, pl.Series], NDArray[np.int64], list[str], int]:
    """Return cells by column, each row's line, a note of rows cut short, and how many there are."""
    import polars as pl

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
    cells, lines = cells.filter(~odd), body["line"].filter(~odd).to_numpy()
    columns = {
        title: cells.list.get(i).alias(title) for i, title in enumerate(titles) if title.strip()
    }
    return columns, lines, notes, len(body)


def _jobs(
    columns: dict[str, pl.Series],
    lines: NDArray[np.int64],
    states: str | None,
    notes: list[str],
) -> tuple[dict[str, pl.Series], NDArray[np.int64]]:
    """Leave out what is no job that ended: steps, jobs that wait or run, unwanted states."""
    kept = np.ones(len(lines), dtype=np.bool_)

    def leave(mask: NDArray[np.bool_], words: str) -> None:
        if count := int((mask & kept).sum()):
            notes.append(f"{count} left out, {words}")
        kept[mask] = False

    if "jobid" in columns:
        ids = columns["jobid"]
        leave(ids.str.contains(r"\.").to_numpy(), "a step of a job")
        leave(ids.str.contains(r"\[").to_numpy(), "of an array that has not begun")
        pieces = int((ids.str.contains(r"\+").to_numpy() & kept).sum())
        if pieces:
            notes.append(f"{pieces} components of heterogeneous jobs, each taken as a job")
    if "state" in columns:
        state = columns["state"].str.strip_chars().str.to_uppercase().str.extract(r"^(\w+)", 1)
        leave(~state.is_in(ENDED).fill_null(False).to_numpy(), "that had not ended")
        if states is not None:
            wanted = [word.strip().upper() for word in states.split(",")]
            leave(~state.is_in(wanted).fill_null(False).to_numpy(), f"in no state of {states}")
    if "start" in columns:
        begun = columns["start"].str.to_lowercase().is_in(["unknown", "none", ""])
        leave(begun.to_numpy(), "that never ran")
    if "jobid" in columns and (again := int(kept.sum()) - ids.filter(kept).n_unique()):
        notes.append(f"{again} of an id that another job has, too (requeued), taken as jobs")
    return {key: column.filter(kept) for key, column in columns.items()}, lines[kept]


def _one(columns: dict[str, pl.Series], known: tuple[str, ...]) -> pl.Series:
    """Return the first of several columns that is there."""
    for key in known:
        if key in columns:
            return columns[key]
    expected = f"a column {' or '.join(known)}"
    raise InputError(expected, found=", ".join(columns), place="line 1")


def _needs(
    columns: dict[str, pl.Series], lines: NDArray[np.int64], known: tuple[str, ...]
) -> Floats:
    """Return servers: those allocated, or where a dump says 0 or nothing, those asked for."""
    _one(columns, known)
    needs = np.full(len(lines), np.nan)
    for key in known:
        if key in columns:
            values = lengths(columns[key], lines)
            needs = np.where(~(needs > 0) & (values > 0), values, needs)
    return needs


def _limits(columns: dict[str, pl.Series], lines: NDArray[np.int64]) -> Floats:
    if "timelimitraw" in columns:  # in minutes
        return lengths(columns["timelimitraw"], lines, 60.0)
    if "timelimit" in columns:
        return lengths(columns["timelimit"], lines, 60.0)
    return np.full(len(lines), np.nan)


def _labels(columns: dict[str, pl.Series], known: tuple[str, ...]) -> Labels | None:
    found = [key for key in known if key in columns]
    return labels_of(columns[found[0]]) if found else None


def _clocks(
    columns: dict[str, pl.Series],
    lines: NDArray[np.int64],
    run: Floats,
    zone: str | None,
    notes: list[str],
) -> None:
    """Note jobs whose start and end are an hour further apart, or less far, than they ran."""
    if zone is not None or "start" not in columns or "end" not in columns:
        return
    spent = points(columns["end"], lines).seconds - points(columns["start"], lines).seconds
    hours = np.abs(np.abs(spent - run) - _HOUR) <= 1
    if count := int(hours.sum()):
        notes.append(
            f"{count} that ran while clocks changed (end minus start is an hour off the elapsed "
            "time, which is what counts); option timezone would set submit times right"
        )
