"""Logs in the Standard Workload Format (SWF), read strictly; each problem takes from them its own.

A log has a line for each job, of 18 numbers (or 21, of which the last three are extensions); -1
says that one is not known. Lines that begin with a semicolon are remarks, some of which
(``; MaxProcs: 128``) say what the machine is.

Source: Feitelson, Tsafrir and Krakov, "Experience with using the Parallel Workloads Archive",
JPDC 74, 2014.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

from schedopt.instances.errors import InputError, shown
from schedopt.instances.files import read_bytes
from schedopt.instances.options import Option, is_count, is_number

FIELDS, EXTENDED = 18, 21
MOST_PROCESSORS = 2**31 - 1
_SUBMIT, _WAIT, _RUN, _USED, _ASKED, _PLANNED, _STATUS, _USER, _GROUP, _QUEUE = (
    1, 2, 3, 4, 7, 8, 10, 11, 12, 14,
)  # fmt: skip
_PARTIAL = (2.0, 3.0, 4.0)
_PLAIN = re.compile(r"[0-9.eE+\-\s]*", re.ASCII)
_REMARK = re.compile(r";\s*(\w+):\s*(.*?)\s*$")


class Entry(NamedTuple):
    """A job of a log that ran.

    Attributes
    ----------
    line : int
        Its line in the file, from 1.
    name : str
        Its number in the log.
    submit : float
        When it came, in seconds since the log began.
    wait : float or None
        How long it waited, where the log says.
    run : float
        How long it ran, above 0.
    processors : int
        How many it held all that time, 1 or more.
    planned : float or None
        How long its user said it would run, where the log says.
    user, group, queue : int or None
        Their numbers, where the log says.
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

    Attributes
    ----------
    file : str
        Where it was read from.
    stem : str
        The file's name without its endings.
    computer : str or None
        What the header says of the machine.
    processors : int
        How many the machine has.
    entries : tuple of Entry
        Jobs that ran, in the order in which they came.
    lines : int
        How many jobs the window has, with those left out.
    notes : tuple of str
        How many were left out for which reason, and what stands in for a missing value.
    """

    file: str
    stem: str
    computer: str | None
    processors: int
    entries: tuple[Entry, ...]
    lines: int
    notes: tuple[str, ...]

    def described(self, *more: str) -> str:
        """Return what an instance's description says of where it is from.

        Parameters
        ----------
        *more : str
            What else is to be said.
        """
        machine = f" ({self.computer})" if self.computer else ""
        head = f"{len(self.entries)} of {self.lines} jobs of {self.stem}{machine}, in seconds"
        return "; ".join([head, *self.notes, *more]) + "."


def _is_time(value: Any) -> bool:
    return is_number(value) and value >= 0


WINDOW = {
    "name": Option(None, "a name", lambda v: isinstance(v, str) and bool(v)),
    "processors": Option(
        None,
        f"a whole number from 1 to {MOST_PROCESSORS}",
        lambda v: is_count(v) and v <= MOST_PROCESSORS,
    ),
    "start": Option(None, "seconds since the log began, 0 or more", _is_time),
    "end": Option(None, "seconds since the log began, 0 or more", _is_time),
    "jobs": Option(None, "a whole number of at least 1", is_count),
}
"""Options of every conversion: a name, the machine's processors where the header is not to be
believed, and the window: jobs that came from ``start`` on and before ``end``, the first ``jobs``.
"""


class Window(TypedDict, total=False):
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
    left out and counted. So are lines that tell of a part of a job (status 2, 3 and 4), since the
    whole job has a line of its own.

    Parameters
    ----------
    path : str or Path
        The file.
    processors : int, optional
        The machine's processors; ``MaxProcs`` or ``MaxNodes`` of the header if left out.
    start, end : float, optional
        Take jobs submitted from ``start`` on and before ``end``, in seconds of the log.
    jobs : int, optional
        Take the first so many of those that ran.

    Raises
    ------
    InputError
        With the file, the line, what was found and what was expected.
    """
    try:
        return _read(Path(path), processors, (start or 0.0, end), jobs)
    except InputError as error:
        error.file = error.file or str(path)
        raise


def _read(
    path: Path, given: int | None, window: tuple[float, float | None], jobs: int | None
) -> Log:
    header, rows = _parsed(read_bytes(path).decode("utf-8", errors="replace"))
    processors = given or _machine(header)
    tally, entries, lines = _Tally(), list[Entry](), 0
    for line, fields in rows:
        inside = fields[_SUBMIT] >= window[0] and (window[1] is None or fields[_SUBMIT] < window[1])
        if not inside or (jobs is not None and len(entries) == jobs):
            continue
        lines += 1
        entry = tally.entry(line, fields)
        if entry is None:
            continue
        if entry.processors > processors:
            words = f"at most {processors}, the machine's processors; or option processors=N"
            raise InputError(words, found=shown(entry.processors), place=f"line {line}")
        entries.append(entry)
    if not entries:
        raise InputError("a job or more that ran, within the window", found=f"none of {lines}")
    stem = _stem(path)
    computer = header.get("Computer") or None
    return Log(str(path), stem, computer, processors, tuple(entries), lines, tally.notes())


class _Tally:
    """Turns fields into entries, and counts what is missing."""

    def __init__(self) -> None:
        self.partial = self.unknown_time = self.never_ran = self.no_processors = self.asked = 0

    def entry(self, line: int, fields: list[float]) -> Entry | None:
        """Return a line's job, or nothing where it is to be left out."""
        if fields[_STATUS] in _PARTIAL:
            self.partial += 1
            return None
        if fields[_RUN] <= 0:
            self.unknown_time += fields[_RUN] < 0
            self.never_ran += fields[_RUN] == 0
            return None
        need = fields[_USED] if fields[_USED] > 0 else fields[_ASKED]
        if need <= 0:
            self.no_processors += 1
            return None
        if need != int(need):
            raise InputError(
                "a whole number of processors", found=shown(need), place=f"line {line}"
            )
        self.asked += fields[_USED] <= 0
        return Entry(
            line=line,
            name=f"{fields[0]:.0f}",
            submit=fields[_SUBMIT],
            wait=_known(fields[_WAIT]),
            run=fields[_RUN],
            processors=int(need),
            planned=_known(fields[_PLANNED]),
            user=_number(fields[_USER]),
            group=_number(fields[_GROUP]),
            queue=_number(fields[_QUEUE]),
        )

    def notes(self) -> tuple[str, ...]:
        """Return the counts in words, those that are not 0."""
        counts = (
            ("left out, of unknown run time", self.unknown_time),
            ("left out, of no run time", self.never_ran),
            ("left out, of unknown processors", self.no_processors),
            ("left out, a part of another", self.partial),
            ("with the processors asked for, since those used are unknown", self.asked),
        )
        return tuple(f"{count} {words}" for words, count in counts if count)


def _known(value: float) -> float | None:
    return value if value >= 0 else None


def _number(value: float) -> int | None:
    return int(value) if value >= 0 else None


def _parsed(text: str) -> tuple[dict[str, str], list[tuple[int, list[float]]]]:
    """Return the header's remarks by their word, the first of each, and the checked lines."""
    header: dict[str, str] = {}
    rows: list[tuple[int, list[float]]] = []
    before, seen = 0.0, dict[float, int]()
    for line, words in enumerate(text.splitlines(), 1):
        if words.lstrip().startswith(";"):
            if remark := _REMARK.match(words.strip()):
                header.setdefault(remark[1], remark[2])
        elif words.strip():
            fields = _fields(words, line)
            place = f"line {line}"
            if fields[_SUBMIT] < before:
                expected = f"a submit time (field {_SUBMIT + 1}) of {before:g} or later"
                raise InputError(expected, found=shown(fields[_SUBMIT]), place=place)
            if fields[_STATUS] not in _PARTIAL:  # parts have the number of their job
                if fields[0] in seen:
                    expected = f"a job number of its own: line {seen[fields[0]]} has it already"
                    raise InputError(expected, found=shown(int(fields[0])), place=place)
                seen[fields[0]] = line
            before = fields[_SUBMIT]
            rows.append((line, fields))
    return header, rows


def _fields(words: str, line: int) -> list[float]:
    """Return the numbers of a line: 18 of them, or 21, each 0 or more, or -1."""
    cells = words.split()
    place = f"line {line}"
    if len(cells) not in (FIELDS, EXTENDED):
        expected = f"the {FIELDS} fields of the Standard Workload Format, or {EXTENDED}"
        raise InputError(expected, found=f"{len(cells)}: {shown(words.strip())}", place=place)
    fields: list[float] = []
    for number, cell in enumerate(cells, 1):
        value = _float(cell)
        if value is None or (value < 0 and value != -1):
            expected = f"a number >= 0, or -1 (field {number})"
            raise InputError(expected, found=shown(cell), place=place)
        fields.append(value)
    for field, what in ((0, "a job number"), (_SUBMIT, "a submit time")):
        if fields[field] < 0 or (field == 0 and fields[0] != int(fields[0])):
            raise InputError(f"{what} (field {field + 1})", found=shown(cells[field]), place=place)
    return fields


def _float(cell: str) -> float | None:
    """Return a plain finite number; Python's own reading also takes underscores and infinities."""
    if not _PLAIN.fullmatch(cell):
        return None
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if isfinite(value) else None


def _machine(header: dict[str, str]) -> int:
    """Return the processors that the header tells of."""
    for word in ("MaxProcs", "MaxNodes"):
        digits = header.get(word, "").split()[:1]
        if digits and digits[0].isdecimal() and 1 <= int(digits[0]) <= MOST_PROCESSORS:
            return int(digits[0])
    raise InputError(
        "option 'processors', or a header that tells MaxProcs", found="none of them", place="option"
    )


def _stem(path: Path) -> str:
    name = path.name.encode("utf-8", "replace").decode("utf-8")  # any bytes may name a file
    return name.removesuffix(".gz").removesuffix(".swf") or name


def spread(entries: tuple[Entry, ...], key: Callable[[Entry], int]) -> Iterator[tuple[int, Any]]:
    """Yield each value of a key, from the least, with the entries that have it."""
    found: dict[int, list[Entry]] = {}
    for entry in entries:
        found.setdefault(key(entry), []).append(entry)
    yield from sorted(found.items())
