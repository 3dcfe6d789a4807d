"""The columns and rows that only Slurm's ``sacct`` has: steps, components, arrays, states, TRES."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from schedopt.instances.msfq.log_converters.cleaning import Mask, RawLog
from schedopt.instances.msfq.log_files import names_of, read_numbers, refuse_cells
from schedopt.instances.msfq.logs import Floats
from schedopt.instances.slurm import parse_job_id, parse_memory, parse_tres, status_of

if TYPE_CHECKING:
    import polars as pl

UNCOUNTED = ("billing", "cpu", "energy", "node", "pages", "vmem")
"""Trackable resources that do not limit jobs, or that other columns have."""


def read_states(raw: RawLog, column: pl.Series) -> None:
    """Set which jobs wait or run; raise `InputError` for a state that Slurm does not have."""
    texts = [(text or "").strip() for text in column.to_list()]
    statuses = {text: status_of(text) for text in set(texts)}
    wrong = np.array([bool(text) and statuses[text] is None for text in texts])
    refuse_cells(column, wrong, "line", "a state of Slurm's, such as COMPLETED")
    of = np.array([statuses[text] or "" for text in texts], dtype=np.dtypes.StringDType())
    # an attempt that ended before its job was requeued has a run time
    raw.waiting, raw.running = (of == "waiting") & ~(raw.run > 0), of == "running"


def add_needs(raw: RawLog, table: pl.DataFrame) -> dict[str, str]:
    """Add the needs of jobs beside processors, and return the use of each column.

    Memory is in megabytes. The processors of waiting jobs are those requested.
    """
    plain = {title.lower(): title for title in table.columns}
    taken: dict[str, str] = {}
    found: dict[str, Floats] = {}
    for key in ("alloctres", "reqtres"):
        if key in plain:
            for name, amounts in _tres(table[plain[key]]).items():
                found[name] = np.where(
                    np.isnan(before := found.get(name, amounts)), amounts, before
                )
            taken[plain[key]] = "resources"
    if raw.waiting is not None:
        asked = found.get("cpu", np.full(len(table), np.nan))
        if "reqcpus" in plain:
            asked = read_numbers(table[plain["reqcpus"]], "line")[0]
            taken[plain["reqcpus"]] = "need of jobs that wait"
        raw.need = np.where(raw.waiting & ~(raw.need > 0), asked, raw.need)
    if "reqmem" in plain:
        nodes = np.full(len(table), np.nan)
        if "nnodes" in plain:
            nodes = read_numbers(table[plain["nnodes"]], "line")[0]
        memory = _memory(table[plain["reqmem"]], raw.need, nodes)
        before = found.get("memory", memory)
        found["memory"] = np.where(np.isnan(before), memory, before)
        taken[plain["reqmem"]] = "memory"
    raw.needs = {k: v for k, v in found.items() if k not in UNCOUNTED} | raw.needs
    return taken


def _tres(column: pl.Series) -> dict[str, Floats]:
    """Return the amounts of each trackable resource, NaN where the log lists none."""
    texts = [(text or "").strip() for text in column.to_list()]
    amounts = {text: parse_tres(text) for text in dict.fromkeys(texts)}
    wrong = np.array([amounts[text] is None for text in texts])
    refuse_cells(column, wrong, "line", "resources such as cpu=8,mem=16G,gres/gpu=2")
    names = dict.fromkeys(name for of in amounts.values() for name in of or ())
    unknown = {text: 0.0 if text else np.nan for text in amounts}
    return {
        name: np.array([(amounts[text] or {}).get(name, unknown[text]) for text in texts])
        for name in names
    }


def _memory(column: pl.Series, need: Floats, nodes: Floats) -> Floats:
    """Return the megabytes of requests such as ``4096Mc`` (a cpu), ``128Gn`` (a node), ``16G``."""
    texts = [(text or "").strip() for text in column.to_list()]
    found = [parse_memory(text) if text else (np.nan, "") for text in texts]
    wrong = np.array([one is None for one in found])
    refuse_cells(column, wrong, "line", "memory such as 4096Mc or 16G")
    amounts, units = zip(*filter(None, found), strict=True)
    times = np.select([np.array(units) == "c", np.array(units) == "n"], [need, nodes], 1.0)
    memory: Floats = np.array(amounts) * times
    return memory


def rows_to_jobs(raw: RawLog, *, is_slurm: bool, drop: bool) -> None:
    """Make one job of each row: without steps, components, arrays and outdated states of Slurm.

    With ``drop``, jobs that have not ended are left out; otherwise their time limits count.
    """
    if is_slurm:  # the processors of a step such as ``7.batch`` are those of its job
        raw.leave_out(_has(raw, "."), "steps of other jobs")
    if is_slurm and not drop:
        list_tasks(raw)
        leave_out_earlier_states(raw)
    take_limits(raw, drop=drop)
    if is_slurm:
        join_components(raw)


def take_limits(raw: RawLog, *, drop: bool) -> None:
    """Set the run times of jobs that have not ended to their time limits, or remove these jobs.

    A job that has run for its limit, or has no limit, is assumed to run as long again.
    """
    if raw.waiting is None or raw.running is None:
        return
    for rows, words in ((raw.waiting, "that wait"), (raw.running, "that run")):
        raw.note(rows, words + ", taken to run for their time limits" * (not drop))
    open_ended = raw.waiting | raw.running
    if drop:
        raw.leave_out(open_ended, "that have not ended")
    elif open_ended.any():
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
    """Return a mask of the jobs whose id contains a mark."""
    if raw.name is None:
        return np.zeros(len(raw.submit), dtype=bool)
    return np.array(np.strings.find(raw.name.astype(np.dtypes.StringDType()), mark) >= 0)
