"""A table of jobs in CSV, turned into a dssp instance.

Columns ``name``, ``reward``, ``demand`` and ``critical_path``, perhaps ``priority``; every other
column is a grouping, named by its header, and an empty cell of it means no group.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from instances.dssp.records import Instance, Job
from instances.dssp.rewards import REWARDS
from instances.errors import InputError, shown, suggestion
from instances.files import read_bytes
from instances.options import Option, checked, is_count, is_number

OPTIONS = {
    "name": Option(None, "a name", lambda v: isinstance(v, str) and bool(v)),
    "processors": Option(
        None, "a whole number of at least 1", lambda v: is_count(v) and v <= 10**9
    ),
    "deadline": Option(
        None, "a number above 0, in the table's unit", lambda v: is_number(v) and v > 0
    ),
    "reward": Option(
        None, f"one of {', '.join(REWARDS)}", lambda v: isinstance(v, str) and v in REWARDS
    ),
}
"""The options of `convert`; ``processors`` and ``deadline`` have no default."""

_KNOWN = ("name", "reward", "priority", "demand", "critical_path")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def convert(
    path: str | Path,
    *,
    name: str | None = None,
    processors: int | None = None,
    deadline: float | None = None,
    reward: str | None = None,
) -> Instance:
    """Read a table of jobs: UTF-8, with or without byte order mark, perhaps gzipped.

    Parameters
    ----------
    path : str or Path
        The file; its delimiter (comma, semicolon or tab) is told from the header.
    name : str, optional
        The instance's name; the file's stem if left out.
    processors : int
        P. It has no default: a table does not know it.
    deadline : float
        D, in the unit of the table's lengths. It has no default either.
    reward : {"linear", "size", "banded"}, optional
        A reward function, in place of a column ``reward`` (also where there is one).

    Raises
    ------
    InputError
        With the line and the column, what was found and what was expected.
    """
    asked = {"name": name, "processors": processors, "deadline": deadline, "reward": reward}
    checked({key: value for key, value in asked.items() if value is not None}, OPTIONS, "csv")
    if processors is None or deadline is None:
        missing = "processors" if processors is None else "deadline"
        raise InputError(f"option {missing!r}, which a table cannot tell", place="option")
    try:
        rows = _rows(_text(read_bytes(path)))
        jobs = tuple(_jobs(*next(rows), rows, reward))
        return Instance(
            name=name or _stem(path), processors=processors, deadline=float(deadline), jobs=jobs
        )
    except InputError as error:
        error.file = error.file or str(path)
        raise


def _stem(path: str | Path) -> str:
    plain = str(path).encode("utf-8", "replace").decode("utf-8")  # any bytes may name a file
    return Path(plain.removesuffix(".gz")).stem


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            "text in UTF-8", found="bytes that are not", place=f"line {line}"
        ) from None


def _rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the header, then each row that is not blank, with its number of line."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text), strict=True)
    started, empty = 1, True
    while True:
        try:
            row = next(reader)
        except StopIteration:
            break
        except csv.Error as error:
            raise InputError("CSV", found=str(error), place=f"line {reader.line_num}") from None
        if any(cell.strip() for cell in row):
            empty = False
            yield started, [cell.strip() for cell in row]
        started = reader.line_num + 1
    if empty:
        raise InputError("a header with a column for each of name, reward, demand, critical_path")


def _delimiter(text: str) -> str:
    """Tell the delimiter: the one that the header holds most, outside of quotes."""
    header = re.sub(r'"[^"]*"', "", text.lstrip("\r\n").split("\n", 1)[0])
    return max(",;\t", key=header.count)


def _jobs(
    line: int, header: list[str], rows: Iterator[tuple[int, list[str]]], reward: str | None
) -> Iterator[Job]:
    columns = _columns(line, header, reward)
    groupings = [column for column in columns if column not in _KNOWN]
    seen: dict[str, int] = {}
    for number, row in rows:
        if len(row) != len(header):
            raise InputError(
                f"{len(header)} cells, as in the header",
                found=f"{len(row)}",
                place=f"line {number}",
            )
        cells = {column: row[i] for column, i in columns.items()}
        if cells["name"] in seen:
            raise InputError(
                f"a name of its own: line {seen[cells['name']]} has it already",
                found=shown(cells["name"]),
                place=f"line {number}, column 'name'",
            )
        seen[cells["name"]] = number
        yield _job(number, cells, groupings, reward)


def _columns(line: int, header: list[str], reward: str | None) -> dict[str, int]:
    """Return the position of each column, the known ones under their own spelling."""
    columns: dict[str, int] = {}
    place = f"line {line}"
    for i, title in enumerate(header):
        plain = title.lower().replace(" ", "_")
        column = plain if plain in _KNOWN else title
        if not column:
            raise InputError(
                "a title for each column", found="none", place=f"{place}, cell {i + 1}"
            )
        if column in columns:
            raise InputError("each column once", found=f"{shown(column)} twice", place=place)
        columns[column] = i
    for column in _KNOWN:
        needed = column != "priority" and not (column == "reward" and reward)
        near = [title for title in columns if title not in _KNOWN and suggestion(title, [column])]
        # A misspelt column would pass for a grouping, and what it holds would go unused.
        if column not in columns and (needed or near):
            also = " (or option 'reward')" if column == "reward" else ""
            raise InputError(
                f"a column {column!r}{also}",
                found=", ".join(map(shown, near or columns)),
                place=place,
            )
    return columns


def _job(line: int, cells: dict[str, str], groupings: list[str], reward: str | None) -> Job:
    if not cells["name"]:
        raise InputError("a name", found="an empty cell", place=f"line {line}, column 'name'")
    demand = _number(line, cells, "demand")
    priority = _number(line, cells, "priority", least=None) if cells.get("priority") else None
    values: dict[str, Any] = {
        "name": cells["name"],
        "priority": priority,
        "groups": {by: cells[by] for by in groupings if cells[by]},
        "demand": demand,
        "critical_path": _number(line, cells, "critical_path"),
    }
    if reward is None:
        return Job(reward=_number(line, cells, "reward"), **values)
    try:
        return Job(reward=REWARDS[reward](priority, demand), **values)
    except InputError as error:
        raise error.within(f"line {line}") from None


def _number(line: int, cells: dict[str, str], column: str, least: float | None = 0) -> float:
    """Read a finite number with a decimal point; nothing else that Python would take."""
    text = cells[column]
    value = float(text) if _NUMBER.fullmatch(text) else float("nan")
    if not is_number(value) or (least is not None and value < least):
        words = "a finite number" + ("" if least is None else f" >= {least}")
        place = f"line {line}, column {column!r}"
        raise InputError(words, found=shown(text) if text else "an empty cell", place=place)
    return value
