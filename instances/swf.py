"""The reader of logs in the Standard Workload Format (SWF), for every problem.

A log has a line for each job, of 18 numbers (or 21, of which the last three are extensions and the
very last is the nodes that a job had); -1 says that one is not known. Lines that begin with a
semicolon are remarks, some of which (``; MaxProcs: 128``) say what the machine is.

Source: Feitelson, Tsafrir and Krakov, "Experience with using the Parallel Workloads Archive",
JPDC 74, 2014.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.decimals import EXPECTED as HELD
from schedopt.instances.decimals import lost_cell
from schedopt.instances.errors import InputError, placed, shown
from schedopt.instances.extras import need
from schedopt.instances.files import check_rows, read_bytes, stem
from schedopt.instances.options import Option, is_count, number, text, whole

FIELDS, EXTENDED = 18, 21
MOST_PROCESSORS = 2**31 - 1
NUMBER, SUBMIT, WAIT, RUN, USED, ASKED, PLANNED, STATUS = 0, 1, 2, 3, 4, 7, 8, 10
MEMORY, USER, GROUP, QUEUE, PARTITION, NODES = 9, 11, 12, 14, 15, 20  # positions of fields, from 0
PARTIAL = (2.0, 3.0, 4.0)  # statuses of lines for parts of a job, which also has a line as a whole
ASKED_FOR = "with the processors asked for, since those used are unknown"
_REMARK = re.compile(r";\s*(\w+):\s*(.*?)\s*$")
_CHUNK = 2**18


class Fields(NamedTuple):
    """The whole of a log.

    ``header`` holds its remarks by their word, the first of each; ``lines`` where each line of
    numbers stands, from 1; ``cells``, shape (21, lines), its numbers by field, -1 for unknown.
    """

    header: dict[str, str]
    lines: NDArray[np.int64]
    cells: NDArray[np.float64]

    def take(self, rows: NDArray[Any]) -> Fields:
        """Return some of the lines, by number or truth values."""
        return Fields(self.header, self.lines[rows], self.cells[:, rows])

    def said(self, *words: str, most: float = MOST_PROCESSORS) -> int | None:
        """Return the number from 1 that the header gives under the first of some words."""
        for word in words:
            digits = self.header.get(word, "").split()[:1]
            if digits and digits[0].isdecimal() and 1 <= int(digits[0]) <= most:
                return int(digits[0])
        return None


def read_fields(data: bytes, *, strict: bool = False) -> Fields:
    """Read the numbers of a log, and what its header says.

    `InputError` names the line that is not of 18 or 21 finite numbers, or, where ``strict``, of
    which one is below 0 and not -1.
    """
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    check_rows(data.count(b"\n"), 8 * EXTENDED)
    header: dict[str, str] = {}
    parts = [_numbers(*chunk, header, strict) for chunk in _chunks(data)]
    parts = parts or [(np.empty(0, np.int64), np.empty((EXTENDED, 0)))]
    lines = np.concatenate([part[0] for part in parts])
    return Fields(header, lines, np.concatenate([part[1] for part in parts], axis=1))


def _chunks(data: bytes) -> Iterator[tuple[int, list[str]]]:
    """Yield lines, so many at a time, with the number of the first, from 1."""
    first, at = 1, 0
    while at < len(data):
        stop = at
        for _ in range(_CHUNK):
            stop = data.find(b"\n", stop) + 1
            if not stop:
                stop = len(data)
                break
        lines = data[at:stop].decode("utf-8", "replace").removesuffix("\n").split("\n")
        yield first, lines
        first, at = first + len(lines), stop


def _numbers(
    first: int, texts: list[str], header: dict[str, str], strict: bool
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return where lines of numbers stand and their cells by field; note what remarks say."""
    need("polars")
    import polars as pl

    lines = pl.Series("text", texts).str.strip_chars()
    remarks = lines.str.starts_with(";")
    for remark in filter(None, map(_REMARK.match, lines.filter(remarks))):
        header.setdefault(remark[1], remark[2])
    kept = ~remarks & (lines != "")
    at = np.flatnonzero(kept.to_numpy()) + first
    lines = lines.filter(kept)
    plain = lines.str.replace_all(r"\s+", " ")
    counts = plain.str.count_matches(" ", literal=True) + 1
    wrong = ~counts.is_in([FIELDS, EXTENDED])
    until = int(wrong.arg_max() or 0) if wrong.any() else len(lines)
    short = plain.head(until).zip_with(
        counts.head(until) == EXTENDED, plain.head(until) + " -1" * 3
    )
    words = short.str.split(" ").explode()
    values = words.cast(pl.Float64, strict=False)
    odd = values.is_null() | ~values.is_finite()
    if strict:
        odd |= (values < 0) & (values != -1)
    expected, at_word = f"a number{' >= 0, or -1' * strict}", odd.arg_max() if odd.any() else None
    if at_word is None:
        expected, at_word = HELD, lost_cell(words)
    if at_word is not None:
        row, field = divmod(at_word, EXTENDED)
        found = shown(words[row * EXTENDED + field])
        place = f"line {at[row]}"
        raise InputError(f"{expected} (field {field + 1})", found=found, place=place)
    if until < len(lines):
        expected = f"the {FIELDS} fields of the Standard Workload Format, or {EXTENDED}"
        found = f"{counts[until]}: {shown(lines[until])}"
        raise InputError(expected, found=found, place=f"line {at[until]}")
    return at, values.to_numpy().reshape(-1, EXTENDED).T


class Entry(NamedTuple):
    """A job of a log that ran; None where the log does not say.

    ``line`` is its line in the file, from 1; ``submit``, in seconds since the log began, its
    arrival; ``run``, above 0, how long it held its ``processors``; ``planned`` the run time that
    its user requested.
    """

    line: int
    name: str
    submit: float
    wait: float | None
    run: float
    processors: int
    planned: float | None
    user: int | None
    group: int | None
    queue: int | None


@dataclass(frozen=True)
class Log:
    """A log, or a window of it.

    ``lines`` counts the jobs of the window, those that were left out among them; ``entries`` are
    those that ran, by submit time. ``notes`` tell how many were left out for which reason, and what
    stands in for a missing value.
    """

    file: str
    stem: str
    computer: str | None
    processors: int
    entries: tuple[Entry, ...]
    lines: int
    notes: tuple[str, ...]

    def described(self, *more: str) -> str:
        """Return what an instance's description says of where it is from, and more."""
        machine = f" ({self.computer})" if self.computer else ""
        head = f"{len(self.entries)} of {self.lines} jobs of {self.stem}{machine}, in seconds"
        return "; ".join([head, *self.notes, *more]) + "."


_TIME = number(None, "seconds since the log began, 0 or more", lambda v: v >= 0)
WINDOW = {
    "name": text("a name"),
    "processors": whole(None, 1, MOST_PROCESSORS),
    "start": _TIME,
    "end": _TIME,
    "jobs": Option(None, "a whole number of at least 1", is_count),
}
"""Options of every conversion: a name, the machine's processors where the header is not to be
believed, and the window: jobs that came from ``start`` on and before ``end``, the first ``jobs``.
"""


class LogRange(TypedDict, total=False):
    """What `read_log` takes besides the path."""

    processors: int | None
    start: float | None
    end: float | None
    jobs: int | None


def read_log(
    path: str | Path,
    *,
    processors: int | None = None,
    start: float | None = None,
    end: float | None = None,
    jobs: int | None = None,
) -> Log:
    """Read a log, perhaps gzipped, or a window of it; every line is checked all the same.

    Jobs that never ran, or for which neither the processors used nor those asked for are known, are
    left out and counted. So are lines about a part of a job (status 2, 3 and 4), since the whole
    job has a line of its own.

    ``processors`` are the machine's, by default ``MaxProcs`` or ``MaxNodes`` of the header. The
    window is that of the first ``jobs`` that ran of those submitted from ``start`` on and before
    ``end``, in seconds of the log. `InputError` names the file and the line.
    """
    with placed(file=path):
        data = read_bytes(path)
        log = read_fields(data, strict=True)
        _check_order(log, data)
        servers = processors or log.said("MaxProcs", "MaxNodes")
        if servers is None:
            expected = "option 'processors', or a header that tells MaxProcs"
            raise InputError(expected, found="none of them", place="option")
        submit = log.cells[SUBMIT]
        log = log.take((submit >= (start or 0.0)) & (submit < (np.inf if end is None else end)))
        ran = _ran(log)
        if jobs is not None and ran.sum() >= jobs:  # what comes after the last of them is not seen
            log = log.take(np.arange(np.flatnonzero(ran)[jobs - 1] + 1))
            ran = ran[: len(log.lines)]
        entries = tuple(_entries(log.take(ran), servers))
        if not entries:
            found = f"none of {len(log.lines)}"
            raise InputError("a job or more that ran, within the window", found=found)
    return Log(
        file=str(path),
        stem=stem(path, ".swf"),
        computer=log.header.get("Computer") or None,
        processors=servers,
        entries=entries,
        lines=len(log.lines),
        notes=tuple(_notes(log, ran)),
    )


def _check_order(log: Fields, data: bytes) -> None:
    number, submit, status = log.cells[[NUMBER, SUBMIT, STATUS]]
    before = np.concatenate([[0.0], submit[:-1]])
    whole = np.flatnonzero(~np.isin(status, PARTIAL))  # parts have the number of their job
    _, first, of = np.unique(number[whole], return_index=True, return_inverse=True)
    again = np.zeros(len(number), dtype=np.bool_)
    again[whole] = first[of] != np.arange(len(whole))
    kinds = ((number < 0) | (number != np.floor(number)), submit < 0, submit < before, again)
    wrong = np.any(kinds, axis=0)
    if not wrong.any():
        return
    row = int(wrong.argmax())
    place = f"line {log.lines[row]}"
    kind = next(i for i, mask in enumerate(kinds) if mask[row])
    if kind < 2:
        what, field = (("a job number", NUMBER), ("a submit time", SUBMIT))[kind]
        cells = data.splitlines()[log.lines[row] - 1].decode("utf-8", "replace").split()
        raise InputError(f"{what} (field {field + 1})", found=shown(cells[field]), place=place)
    if kind == 2:
        expected = f"a submit time (field {SUBMIT + 1}) of {before[row]:g} or later"
        raise InputError(expected, found=shown(float(submit[row])), place=place)
    line = log.lines[whole[first[of[np.searchsorted(whole, row)]]]]
    expected = f"a job number of its own: line {line} has it already"
    raise InputError(expected, found=shown(int(number[row])), place=place)


def _ran(log: Fields) -> NDArray[np.bool_]:
    """Tell which lines are of whole jobs that ran on a known number of processors."""
    known = (log.cells[USED] > 0) | (log.cells[ASKED] > 0)
    ran: NDArray[np.bool_] = known & (log.cells[RUN] > 0) & ~np.isin(log.cells[STATUS], PARTIAL)
    return ran


def _notes(log: Fields, ran: NDArray[np.bool_]) -> Iterator[str]:
    """Yield notes on how many lines are left out, why, and on substitutes for unknown values."""
    run, partial = log.cells[RUN], np.isin(log.cells[STATUS], PARTIAL)
    for words, rows in (
        ("left out, of unknown run time", ~partial & (run < 0)),
        ("left out, of no run time", ~partial & (run == 0)),
        ("left out, of unknown processors", ~partial & (run > 0) & ~ran),
        ("left out, a part of another", partial),
        (ASKED_FOR, ran & (log.cells[USED] <= 0)),
    ):
        if rows.any():
            yield f"{int(rows.sum())} {words}"


def _entries(log: Fields, processors: int) -> Iterator[Entry]:
    """Yield the jobs of lines, all of which ran."""

    def known(value: float) -> float | None:
        return value if value >= 0 else None

    def number(value: float) -> int | None:
        return int(value) if value >= 0 else None

    for line, cells in zip(log.lines.tolist(), log.cells.T.tolist(), strict=True):
        need = cells[USED] if cells[USED] > 0 else cells[ASKED]
        if need != int(need):
            expected = "a whole number of processors"
            raise InputError(expected, found=shown(need), place=f"line {line}")
        if need > processors:
            expected = f"at most {processors}, the machine's processors; or option processors=N"
            raise InputError(expected, found=shown(int(need)), place=f"line {line}")
        yield Entry(
            line=line,
            name=f"{cells[NUMBER]:.0f}",
            submit=cells[SUBMIT],
            wait=known(cells[WAIT]),
            run=cells[RUN],
            processors=int(need),
            planned=known(cells[PLANNED]),
            user=number(cells[USER]),
            group=number(cells[GROUP]),
            queue=number(cells[QUEUE]),
        )
