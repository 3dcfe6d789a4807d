"""Tables of jobs as logs: any CSV, and what Slurm's ``sacct -P`` or ``squeue`` prints.

Each is a table of texts, and a declaration of which columns play which role. ``sacct`` needs
``Submit``, ``Elapsed`` or ``ElapsedRaw``, and one of ``AllocCPUS``, ``NCPUS`` and ``ReqCPUS`` (with
``unit=nodes``: ``AllocNodes``, ``NNodes``, ``ReqNodes``). What jobs held beside processors is read
from ``AllocTRES``, where that says nothing from ``ReqTRES``: memory in MiB, GPUs by their names.

Source: Slurm's manual, sacct(1), "Job Accounting Fields" and "Job State Codes".
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.errors import InputError, shown, suggestion
from schedopt.instances.files import MOST_TABLE, check_rows, read_bytes
from schedopt.instances.msfq.log_converters.cleaning import Raw
from schedopt.instances.msfq.log_converters.columns import ZONE, lengths, points
from schedopt.instances.msfq.log_converters.swf import UNIT
from schedopt.instances.msfq.log_files import labels_of, names_of
from schedopt.instances.msfq.logs import GROUPINGS, Floats
from schedopt.instances.options import text
from schedopt.instances.tables import delimiter_of, read_csv

if TYPE_CHECKING:
    import polars as pl

NEED = "need:"  # before the name of a resource, in titles and options
ROLES = (
    *("submit", "need", "run", "began", "ended", "estimate"),
    *(*GROUPINGS, "job"),
)
CSV_OPTIONS = dict.fromkeys(ROLES, text("the title of a column")) | {"timezone": ZONE}
"""Which column is which; those not named are looked for under the role's own name. ``run`` may be
left out where there are ``began`` and ``ended``."""
SACCT_OPTIONS = {"unit": UNIT, "timezone": ZONE}
"""What a server is; the zone of the dump's local times."""

_CPUS = ("alloccpus", "ncpus", "reqcpus", "cpus")
_NODES = ("allocnodes", "nnodes", "reqnodes", "nodes")
_TRES = ("alloctres", "reqtres")
SACCT: Mapping[str, Sequence[str]] = {
    "submit": ("submit", "submit_time"),
    "need": _CPUS,
    "run": ("elapsedraw", "elapsed"),
    "estimate": ("timelimitraw", "timelimit", "time_limit"),
    "user": ("user", "uid"),
    "group": ("account", "group", "gid"),
    "queue": ("partition",),
    "partition": ("partition",),
    "job": ("jobid",),
    "start": ("start", "start_time"),
    "state": ("state",),
}
"""Titles of `sacct` and `squeue` by role; of several the first that is there, of needs the first
that is above 0."""
DUMP = (
    "sacct -aXP -o JobID,User,Account,Partition,State,Submit,Start,End,ElapsedRaw,AllocCPUS,"
    "Timelimit,AllocTRES"
)
"""The command whose output is read."""
ENDED = (
    *("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY"),
    *("PREEMPTED", "REVOKED", "TIMEOUT", "LAUNCH_FAILED", "RECONFIG_FAIL"),
)
"""States of a job that has come to an end; all that ran are taken, however they ended."""
RUNS, WAITS = ("RUNNING", "R", "COMPLETING", "CG", "SUSPENDED", "S"), ("PENDING", "PD")
"""States of jobs that have not ended, also as `squeue` abbreviates them."""
_SIZE = r"^([0-9.]+)([KMGTP]?)[nc]?$"
_MIB = {"": 1.0, "K": 2.0**-10, "M": 1.0, "G": 2.0**10, "T": 2.0**20, "P": 2.0**30}
_NO_RESOURCE = ("cpu", "node", "billing", "energy", "pages", "vmem")


class _Log(NamedTuple):
    """A table of texts, the line of each row, and its columns by role."""

    table: pl.DataFrame
    lines: NDArray[np.int64]
    roles: Mapping[str, list[str]]

    def role(self, role: str) -> pl.Series | None:
        """Return the column of a role, None where there is none."""
        return self.table[self.roles[role][0]] if self.roles.get(role) else None

    def needed(self, role: str) -> pl.Series:
        """Return the column of a role; `InputError` if there is none."""
        if (column := self.role(role)) is None:
            expected = f"a column {' or '.join(SACCT[role])}, as `{DUMP}` prints them"
            raise InputError(expected, found=", ".join(self.table.columns), place="line 1")
        return column

    def raw(
        self, zone: str | None, clock: str, minutes: float, need: Floats, needs: dict[str, Floats]
    ) -> Raw:
        """Return the log as columns of numbers, before any rule."""
        times, notes = points(self.needed("submit"), self.lines, zone), list[str]()
        notes += times.notes()
        submit, zero = times.since_first("UTC" if zone else clock, notes)
        began, ended = self.role("began"), self.role("ended")
        if self.role("run") is None and began is not None and ended is not None:
            run = points(ended, self.lines, zone).seconds - points(began, self.lines, zone).seconds
        else:
            run = lengths(self.needed("run"), self.lines)
        limit, name = self.role("estimate"), self.role("job")
        unknown = np.full(len(self.lines), np.nan)
        labels: Any = {by: labels_of(of) for by in GROUPINGS if (of := self.role(by)) is not None}
        return Raw(
            submit=submit,
            need=need,
            run=run,
            estimate=unknown if limit is None else lengths(limit, self.lines, minutes),
            line=self.lines,
            rows=len(self.lines),
            name=None if name is None else names_of(name),
            notes=notes,
            zero=zero,
            zone=zone,
            needs=needs,
            **labels,
        )


def _account(raw: Raw, table: pl.DataFrame, became: Mapping[str, str]) -> Raw:
    """Note what each column became, those first that nothing is taken from."""
    unused = [title for title in table.columns if title.strip() and title not in became]
    if unused:
        raw.notes.append(f"columns not taken: {', '.join(unused)}")
    for title in filter(str.strip, table.columns):
        raw.became(title, became.get(title, ""))
    return raw


# --- any CSV ----------------------------------------------------------------------------------


def read_any_csv(path: str | Path, *, timezone: str | None = None, **columns: str | None) -> Raw:
    """Read a table; ``columns``: titles by role; ``timezone``: of dates without an offset."""
    table = _csv(read_bytes(path, MOST_TABLE))
    log = _Log(table, np.arange(2, len(table) + 2), _named_roles(table, columns))
    need = lengths(log.needed("need"), log.lines)
    titles = {title[len(NEED) :]: title for title in table.columns if title.startswith(NEED)}
    titles |= {key[len(NEED) :]: of for key, of in columns.items() if of and NEED in key}
    for name, title in titles.items():
        _expect_title(title, table, f"option {NEED}{name}")
    needs = {name: lengths(table[title], log.lines) for name, title in titles.items()}
    raw = log.raw(timezone, "on its own clock", 1.0, need, needs)
    became = {titles[0]: role for role, titles in log.roles.items()}
    return _account(raw, table, became | {title: f"{NEED}{name}" for name, title in titles.items()})


def _csv(data: bytes) -> pl.DataFrame:
    import polars as pl
    from polars.exceptions import PolarsError

    head = data.lstrip(b"\r\n").split(b"\n", 1)[0].decode("utf-8", "replace")
    delimiter = delimiter_of(head)
    check_rows(data.count(b"\n"), 16 * (head.count(delimiter) + 1))
    try:
        table = pl.read_csv(
            io.BytesIO(data), separator=delimiter, infer_schema=False, encoding="utf8-lossy"
        )
    except PolarsError as error:
        read_csv(data)  # which names the line
        raise InputError("a table in CSV", found=str(error).splitlines()[0]) from None
    return table.rename({title: title.strip() for title in table.columns})


def _expect_title(title: str, table: pl.DataFrame, place: str) -> None:
    if title not in table.columns:
        hint = suggestion(title, table.columns) or f" ({', '.join(table.columns)})"
        raise InputError(f"the title of a column{hint}", found=shown(title), place=place)


def _named_roles(table: pl.DataFrame, columns: Mapping[str, str | None]) -> dict[str, list[str]]:
    """Return the column of each role: one that an option names, or of the role's own name."""
    plain = {title.lower(): title for title in table.columns}
    roles: dict[str, list[str]] = {}
    for role in ROLES:
        if title := columns.get(role) or plain.get(role):
            _expect_title(title, table, f"option {role}")
            roles[role] = [title]
    ended = {"began", "ended"} <= roles.keys()
    for role, also in (("submit", ""), ("need", ""), ("run", " (or began and ended)")):
        if role not in roles and not (also and ended):
            expected = f"a column {role!r}{also}, or option {role}=TITLE"
            there = ", ".join(map(shown, table.columns))
            raise InputError(expected, found=there, place="line 1")
    return roles


# --- sacct ------------------------------------------------------------------------------------


def read_sacct(path: str | Path, *, unit: str = "cpus", timezone: str | None = None) -> Raw:
    """Read a dump; ``unit``: what a server is; without a ``timezone`` times are as they stand."""
    dump, notes, rows = _dump(path)
    dump = _ended_jobs(dump, notes)
    tres = [_amounts(dump.table[title], dump.lines) for title in _TRES if title in dump.table]
    known, own = (_NODES, "node") if unit == "nodes" else (_CPUS, "cpu")
    titles = [title for title in known if title in dump.table.columns]
    counts = [lengths(dump.table[title], dump.lines) for title in titles]
    counts += [of[own] for of in tres if own in of]
    if not counts:
        dump.needed("need")
    needs = _first_told(tres)
    raw = dump.raw(timezone, "on the local clock", 60.0, _first_positive(counts), needs)
    raw.rows, raw.notes[:0] = rows, notes
    became = dict.fromkeys(_TRES, ", ".join(f"{NEED}{name}" for name in needs) or "need")
    became |= dict.fromkeys(titles, "need") | {"partition": "queue, partition"}
    became |= {"start": "who never ran is left out", "state": "who has not ended is left out"}
    for role in ("submit", "run", "estimate", "user", "group", "job"):
        became |= dict.fromkeys(dump.roles[role], role)
    return _account(raw, dump.table, became)


def _dump(path: str | Path) -> tuple[_Log, list[str], int]:
    """Return a dump, a note on rows of another number of cells, and how many rows there were."""
    import polars as pl

    content = read_bytes(path, MOST_TABLE).decode("utf-8", "replace")
    check_rows(content.count("\n"), 16 * (content[: content.find("\n")].count("|") + 4))
    head, *rest = content.split("\n")
    titles = [title.strip().lower() for title in head.split("|")]
    if not set(titles) & set(SACCT["submit"]):
        found = shown(head.strip("\r"))
        raise InputError("the header of `sacct -P`, with Submit", found=found, place="line 1")
    body = pl.DataFrame({"line": np.arange(2, len(rest) + 2), "text": rest})
    body = body.with_columns(pl.col("text").str.strip_chars("\r")).filter(pl.col("text") != "")
    cells = body["text"].str.split("|")
    odd = cells.list.len() != len(titles)
    notes = []
    if count := int(odd.sum()):
        first = body["line"][int(odd.arg_max() or 0)]
        words = f"of another number of cells than the header's {len(titles)} (first: line {first})"
        notes.append(f"{count} left out, {words}")
    cells = cells.filter(~odd)
    table = pl.DataFrame({title: cells.list.get(i) for i, title in enumerate(titles) if title})
    roles = {role: [t for t in known if t in titles][:1] for role, known in SACCT.items()}
    return _Log(table, body["line"].filter(~odd).to_numpy(), roles), notes, len(body)


def _keep(log: _Log, kept: NDArray[np.bool_]) -> _Log:
    return log._replace(table=log.table.filter(kept), lines=log.lines[kept])


def _states(log: _Log) -> pl.Series:
    column = log.needed("state")
    return column.str.strip_chars().str.to_uppercase().str.extract(r"^(\w+)", 1)


def _ended_jobs(dump: _Log, notes: list[str]) -> _Log:
    """Leave out steps, and jobs that have not ended or never ran."""
    kept = np.ones(len(dump.lines), dtype=np.bool_)

    def leave_out(rows: pl.Series, words: str) -> None:
        left = rows.fill_null(False).to_numpy()
        if count := int((left & kept).sum()):
            notes.append(f"{count} left out, {words}")
        kept[left] = False

    ids, start = dump.role("job"), dump.role("start")
    if ids is not None:
        leave_out(ids.str.contains(r"\."), "a step of a job")
        leave_out(ids.str.contains(r"\["), "of an array that has not begun")
        if pieces := int((ids.str.contains(r"\+").to_numpy() & kept).sum()):
            notes.append(f"{pieces} components of heterogeneous jobs, each taken as a job")
    if dump.role("state") is not None:
        leave_out(~_states(dump).is_in(ENDED).fill_null(False), "that had not ended")
    if start is not None:
        leave_out(start.str.to_lowercase().is_in(["unknown", "none", ""]), "that never ran")
    if ids is not None and (again := int(kept.sum()) - ids.filter(kept).n_unique()):
        notes.append(f"{again} of an id that another job has, too (requeued), taken as jobs")
    return _keep(dump, kept)


def _first_positive(columns: Sequence[Floats]) -> Floats:
    """Return what is allocated, or where a dump says 0 or nothing, asked for."""
    need = np.full(len(columns[0]), np.nan)
    for values in columns:
        need = np.where(~(need > 0) & (values > 0), values, need)
    return need


def _amounts(column: pl.Series, lines: NDArray[np.int64]) -> dict[str, Floats]:
    """Return what a column such as ``cpu=4,mem=16G,gres/gpu=2`` says of each resource, in MiB."""
    import polars as pl

    kinds = column.fill_null("").str.extract_all(r"[^,=]+=").explode().drop_nulls()
    found: dict[str, Floats] = {}
    for key in kinds.unique(maintain_order=True).str.strip_chars_end("=").to_list():
        if key in _NO_RESOURCE and key not in ("cpu", "node"):
            continue
        texts = column.str.extract(rf"(?:^|,){re.escape(key)}=([^,]*)", 1)
        number = texts.str.extract(_SIZE, 1).cast(pl.Float64, strict=False)
        bad = (number.is_null() & texts.is_not_null() & (texts != "")).fill_null(False)
        if bad.any():
            first = int(bad.arg_max() or 0)
            place = f"line {lines[first]}, column {column.name!r}"
            raise InputError("an amount such as 8 or 16G", found=shown(texts[first]), place=place)
        unit = texts.str.extract(_SIZE, 2)
        unit = unit.replace_strict(_MIB, default=None, return_dtype=pl.Float64)
        name = "memory" if key == "mem" else key.removeprefix("gres/").removeprefix("license/")
        found[name] = (number * unit).fill_null(float("nan")).to_numpy()
    return found


def _first_told(columns: Sequence[Mapping[str, Floats]]) -> dict[str, Floats]:
    """Return what jobs hold beside processors, by the first column that tells of them."""
    found: dict[str, Floats] = {}
    for name in dict.fromkeys(name for of in columns for name in of if name not in _NO_RESOURCE):
        size = len(next(of for mapping in columns for of in mapping.values()))
        amount = np.full(size, np.nan)
        for of in columns:
            told = np.any([np.isfinite(column) for column in of.values()], axis=0) if of else False
            value = of.get(name, np.full(size, np.nan))
            value = np.where(told & np.isnan(value) & (name != "memory"), 0.0, value)
            amount = np.where(np.isnan(amount), value, amount)
        found[name] = amount
    return found


class OpenJobs(NamedTuple):
    """Jobs that wait or run, by row; times are those of the dump's clock, NaN for who waits."""

    name: list[str]
    user: list[str] | None
    submit: Floats
    start: Floats
    need: Floats
    estimate: Floats


def read_open_jobs(path: str | Path) -> OpenJobs:
    """Read waiting and running jobs from a dump of `sacct -P`, or of `squeue` with its titles."""
    dump = _dump(path)[0]
    states, ids = _states(dump), dump.needed("job")
    runs = states.is_in(RUNS).fill_null(False)
    kept = (runs | states.is_in(WAITS).fill_null(False)) & ~ids.str.contains(r"[.\[]")
    dump = _keep(dump, kept.to_numpy())
    counts = [lengths(dump.table[title], dump.lines) for title in _CPUS if title in dump.table]
    start, users = points(dump.needed("start"), dump.lines).seconds, dump.role("user")
    return OpenJobs(
        name=dump.needed("job").to_list(),
        user=None if users is None else users.to_list(),
        submit=points(dump.needed("submit"), dump.lines).seconds,
        start=np.where(runs.filter(kept).to_numpy(), start, np.nan),
        need=_first_positive(counts or [lengths(dump.needed("need"), dump.lines)]),
        estimate=lengths(dump.needed("estimate"), dump.lines, 60.0),
    )
