"""What Slurm's ``sacct -P`` (``--parsable2``) prints: a header, and a line for each job.

It needs ``Submit``; ``Elapsed`` or ``ElapsedRaw``; and one of ``AllocCPUS``, ``NCPUS`` and
``ReqCPUS`` (with ``unit=nodes``: ``AllocNodes``, ``NNodes`` and ``ReqNodes``). It takes
``Timelimit`` or ``TimelimitRaw``, ``User`` or ``UID``, ``Account`` or ``Group``, ``Partition``,
``JobID``, ``State``, ``Start`` and ``End`` where they are there, and names the columns
that it did not take. What jobs held beside processors is read from ``AllocTRES``, where that says
nothing from ``ReqTRES``, then from ``ReqMem`` and ``AllocGRES`` or ``ReqGRES``: memory in MiB, GPUs
and others by their names. So:

``sacct -aXP -o JobID,User,Account,Partition,State,Submit,Start,End,ElapsedRaw,``
``AllocCPUS,Timelimit,AllocTRES``

Source: Slurm's manual, sacct(1), "Job Accounting Fields" and "Job State Codes".
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

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
    "BOOT_FAIL",
    "CANCELLED",
    "COMPLETED",
    "DEADLINE",
    "FAILED",
    "NODE_FAIL",
    "OUT_OF_MEMORY",
    "PREEMPTED",
    "REVOKED",
    "TIMEOUT",
    "LAUNCH_FAILED",
    "RECONFIG_FAIL",
)
"""States of a job that has come to an end; all that ran are taken, however they ended."""
_TRES = ("alloctres", "reqtres")
_GRES = ("allocgres", "reqgres")
_UNTOLD = ("cpu", "node", "billing", "energy", "pages", "vmem")
_SIZE = r"^([0-9.]+)([KMGTP]?)([nc]?)$"
_MIB = {"": 1.0, "K": 2.0**-10, "M": 1.0, "G": 2.0**10, "T": 2.0**20, "P": 2.0**30}
_CPUS, _NODES = ("alloccpus", "ncpus", "reqcpus"), ("allocnodes", "nnodes", "reqnodes")
BECAME = {
    "submit": "submit",
    "user": "user",
    "uid": "user",
    "account": "group",
    "group": "group",
    "gid": "group",
    "partition": "queue, partition",
    "jobid": "name; steps left out",
    "start": "who never ran is left out",
    "state": "who has not ended is left out",
    "end": "checked",
    "timelimit": "estimate",
    "timelimitraw": "estimate",
    "elapsed": "run",
    "elapsedraw": "run",
    "reqmem": "need:memory",
    "nodelist": "nodes",
    **dict.fromkeys((*_CPUS, *_NODES), "need"),
    **dict.fromkeys(_GRES, "need:gpu"),
}
"""What becomes of columns; what `_TRES` do is in them."""
_HOUR = 3600.0

DUMP = (
    "sacct -aXP -o JobID,User,Account,Partition,State,Submit,Start,End,ElapsedRaw,AllocCPUS,"
    "Timelimit,AllocTRES"
)
"""The command whose output is read."""
RUNS, WAITS = ("RUNNING", "R", "COMPLETING", "CG", "SUSPENDED", "S"), ("PENDING", "PD")
"""States of jobs that have not ended, also as `squeue` abbreviates them."""
_QUEUED = {
    "submit_time": "submit",
    "start_time": "start",
    "time_limit": "timelimit",
    "cpus": "ncpus",
}
"""Columns of `sacct` under their names in `squeue`."""


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
    """Read a dump; ``unit``: what a server is; without a ``timezone`` times are as they stand."""
    text = read_bytes(path, MOST_TABLE).decode("utf-8", "replace")
    table, notes, rows = _cells(text)
    table = _jobs(table, states, notes)
    lines = table[""].to_numpy()

    dump = _Dump(table, lines, {"jobid", "state", "start", "end"})
    times = points(dump.one("submit"), lines, timezone)
    notes += times.notes()
    run = lengths(dump.one("elapsedraw", "elapsed"), lines)
    if timezone is None and len(ends := dump.there("start", "end")) == 2:
        _note_clocks(ends[0], ends[1], lines, run, notes)
    submit, zero = times.since_first("UTC" if timezone else "on the local clock", notes)
    needs, amounts = _held(dump, unit)
    limits = dump.there("timelimitraw", "timelimit")[:1]
    raw = Raw(
        submit=submit,
        need=needs,
        run=run,
        estimate=lengths(limits[0], lines, 60.0) if limits else np.full(len(lines), np.nan),
        line=lines,
        rows=rows,
        user=dump.labels("user", "uid"),
        group=dump.labels("account", "group", "gid"),
        queue=dump.labels("partition"),
        partition=dump.labels("partition"),
        needs=amounts,
        name=next(map(names_of, dump.there("jobid")), None),
        notes=notes,
        zero=zero,
        zone=timezone,
    )
    notes += unused(table.columns, dump.used)
    became = BECAME | dict.fromkeys(_TRES, ", ".join(f"need:{name}" for name in amounts) or "need")
    for title in table.columns[1:]:
        raw.became(title, became.get(title, "") if title in dump.used else "")
    return raw


class _Dump(NamedTuple):
    """A dump's columns, with each row's line, and which of them were of use."""

    table: pl.DataFrame
    lines: NDArray[np.int64]
    used: set[str]

    def there(self, *known: str) -> list[pl.Series]:
        """Return the present ones of some columns."""
        self.used.update(known)
        return [self.table[key] for key in known if key in self.table.columns]

    def one(self, *known: str) -> pl.Series:
        """Return the first of some columns that is there; `InputError` if none is."""
        if present := self.there(*known):
            return present[0]
        titles = ", ".join(self.table.columns[1:])
        expected = f"a column {' or '.join(known)}, as `{DUMP}` prints them"
        raise InputError(expected, found=titles, place="line 1")

    def labels(self, *known: str) -> Labels | None:
        """Return the first of some columns that is there, as labels."""
        return next(map(labels_of, self.there(*known)), None)


def _held(dump: _Dump, unit: str) -> tuple[Floats, dict[str, Floats]]:
    """Return the servers of each job, and what it held of each other resource."""
    lines, by_node = dump.lines, unit == "nodes"
    known, name = (_NODES, "node") if by_node else (_CPUS, "cpu")
    tres = [_tres(column, lines) for column in dump.there(*_TRES)]
    listed = [_listed(column) for column in dump.there("nodelist")] if by_node else []
    counts = [lengths(column, lines) for column in dump.there(*known)]
    counts += [of[name] for of in tres if name in of] + listed
    if not counts:
        dump.one(*known)
    needs = np.full(len(lines), np.nan)
    for values in counts:  # those allocated, or where a dump says 0 or nothing, asked for
        needs = np.where(~(needs > 0) & (values > 0), values, needs)
    memory, generic = dump.there("reqmem"), dump.there(*_GRES)
    nodes = np.full(len(lines), np.nan)
    if memory or generic:
        of_nodes = [lengths(column, lines) for column in dump.there(*_NODES)]
        of_nodes += [of["node"] for of in tres if "node" in of]
        for values in [*of_nodes, *map(_listed, dump.there("nodelist"))]:
            nodes = np.where(np.isnan(nodes), values, nodes)
    tres.append(_older(memory, generic, lines, nodes, needs))
    return needs, _amounts(tres)


def _sizes(texts: pl.Series, lines: NDArray[np.int64]) -> tuple[Floats, pl.Series]:
    """Return amounts, those with a unit in MiB, and what they are of: n(ode), c(pu) or nothing."""
    import polars as pl

    number = texts.str.extract(_SIZE, 1).cast(pl.Float64, strict=False)
    bad = (number.is_null() & texts.is_not_null() & (texts != "")).fill_null(False)
    if bad.any():
        first = int(bad.arg_max() or 0)
        place = f"line {lines[first]}, column {texts.name!r}"
        raise InputError("an amount such as 8 or 16G", found=shown(texts[first]), place=place)
    unit = texts.str.extract(_SIZE, 2).replace_strict(_MIB, default=None, return_dtype=pl.Float64)
    return (number * unit).fill_null(float("nan")).to_numpy(), texts.str.extract(_SIZE, 3)


def _tres(column: pl.Series, lines: NDArray[np.int64]) -> dict[str, Floats]:
    """Return what a column such as ``cpu=4,mem=16G,gres/gpu=2`` says of each resource."""
    kinds = column.fill_null("").str.extract_all(r"[^,=]+=").explode().drop_nulls()
    found: dict[str, Floats] = {}
    for key in kinds.unique(maintain_order=True).str.strip_chars_end("=").to_list():
        texts = column.str.extract(rf"(?:^|,){re.escape(key)}=([^,]*)", 1)
        if key not in _UNTOLD or key in ("cpu", "node"):
            name = "memory" if key == "mem" else key.removeprefix("gres/").removeprefix("license/")
            found[name] = _sizes(texts.rename(column.name), lines)[0]
    return found


def _older(
    memory: list[pl.Series],
    generic: list[pl.Series],
    lines: NDArray[np.int64],
    nodes: Floats,
    cpus: Floats,
) -> dict[str, Floats]:
    """Return what older dumps say: memory by node or CPU (16Gn, 4Gc), and GPUs by node (gpu:2)."""
    import polars as pl

    found: dict[str, Floats] = {}
    for column in memory[:1]:
        size, of = _sizes(column.str.strip_chars(), lines)
        times = np.select([(of == "n").to_numpy(), (of == "c").to_numpy()], [nodes, cpus], 1.0)
        found["memory"] = size * times
    for column in generic[:1]:
        count = column.str.extract(r"(?:^|,)(?:gres/)?gpu(?::[^:,()]+)?:(\d+)", 1)
        found["gpu"] = count.cast(pl.Float64).fill_null(float("nan")).to_numpy() * nodes
    return found


def _amounts(told: list[dict[str, Floats]]) -> dict[str, Floats]:
    """Return what jobs hold beside processors, by whichever source says it first."""
    names = dict.fromkeys(name for of in told for name in of if name not in _UNTOLD)
    found = {}
    for name in names:
        amount = np.full(len(next(iter(told[-1].values()), next(iter(told[0].values())))), np.nan)
        for of in told:
            said = np.any([np.isfinite(column) for column in of.values()], axis=0) if of else False
            value = of.get(name, np.full(len(amount), np.nan))
            value = np.where(said & np.isnan(value) & (name != "memory"), 0.0, value)
            amount = np.where(np.isnan(amount), value, amount)
        found[name] = amount
    return found


def _listed(column: pl.Series) -> Floats:
    """Return how many nodes a list such as ``n[001-004,7],gpu2`` names."""
    return np.array([_nodes(text) for text in column.fill_null("").to_list()])


def _nodes(text: str) -> float:
    count = 0
    for name, inside in re.findall(r"([^,\[\]]+)(?:\[([^\]]*)\])?", text.strip()):
        if name.lower() in ("none assigned", "unknown", "none"):
            continue
        count += 0 if inside else 1
        for part in inside.split(",") if inside else ():
            first, _, last = part.partition("-")
            count += int(last) - int(first) + 1 if last.isdigit() and first.isdigit() else 1
    return float(count) if count else np.nan


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


class Open(NamedTuple):
    """Jobs that wait or run, by row; times are those of the dump's clock, NaN for who waits."""

    name: list[str]
    user: list[str] | None
    submit: Floats
    start: Floats
    need: Floats
    estimate: Floats


def still_open(path: str | Path) -> Open:
    """Read waiting and running jobs from a dump of `sacct -P`, or of `squeue` with its titles."""
    text = read_bytes(path, MOST_TABLE).decode("utf-8", "replace")
    head, _, body = text.partition("\n")
    titles = [title.strip().lower() for title in head.split("|")]
    head = "|".join(_QUEUED.get(title, title) for title in titles)
    table, _, _ = _cells(f"{head}\n{body}")
    dump = _Dump(table, table[""].to_numpy(), set())
    state = dump.one("state").str.strip_chars().str.to_uppercase().str.extract(r"^(\w+)", 1)
    runs = state.is_in(RUNS).fill_null(False)
    whole = ~dump.one("jobid").str.contains(r"[.\[]")
    dump = _Dump(table.filter(taken := (runs | state.is_in(WAITS)) & whole), dump.lines, set())
    dump = dump._replace(lines=dump.table[""].to_numpy())
    users, needs = dump.there("user"), np.full(len(dump.lines), np.nan)
    for column in dump.there(*_CPUS):  # allocated to those who run, asked for by the others
        values = lengths(column, dump.lines)
        needs = np.where(~(needs > 0) & (values > 0), values, needs)
    start = points(dump.one("start"), dump.lines).seconds
    return Open(
        name=dump.one("jobid").to_list(),
        user=users[0].to_list() if users else None,
        submit=points(dump.one("submit"), dump.lines).seconds,
        start=np.where(runs.filter(taken).to_numpy(), start, np.nan),
        need=needs,
        estimate=lengths(dump.one("timelimit"), dump.lines, 60.0),
    )


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
