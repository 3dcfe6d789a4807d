"""A table of jobs in CSV, turned into a dssp instance.

Columns ``name``, ``reward``, ``demand`` and ``critical_path``, perhaps ``priority``; of the others
those of text become groupings, named by their header, and an empty cell of them means no group.
A column of numbers, and one that is named like a field of a job or of a night, becomes a grouping
only where that is asked for: it is left out, and `convert` says so.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from instances.dssp.jobs import Job
from instances.dssp.records import Instance
from instances.dssp.rewards import REWARDS
from instances.errors import InputError, listing, shown, suggestion
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
    "groups": Option(
        None,
        "titles of columns with commas between, such as team,show",
        lambda v: isinstance(v, str) and all(title.strip() for title in v.split(",")),
    ),
}
"""The options of `convert`; ``processors`` and ``deadline`` have no default."""

Tell = Callable[[str], None]
"""Called with each line about what became of the file."""

_KNOWN = ("name", "reward", "priority", "demand", "critical_path")
_FIELDS = frozenset(
    {*Job.__struct_fields__, *Instance.__struct_fields__}
    | {"arrival", "due", "due_date", "end", "release", "size", "start", "submit", "tasks", "weight"}
)
"""What a column may hold that is no group, though it be text: fields, here and in other tables."""
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def convert(
    path: str | Path,
    *,
    name: str | None = None,
    processors: int | None = None,
    deadline: float | None = None,
    reward: str | None = None,
    groups: str | None = None,
    tell: Tell | None = None,
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
    groups : str, optional
        The columns that are groupings, with commas between; if left out, the columns of text that
        are not named like a field.
    tell : callable, optional
        Called with a line on what each column became, and on how many jobs there are.

    Raises
    ------
    InputError
        With the line and the column, what was found and what was expected.
    """
    asked = {
        "name": name,
        "processors": processors,
        "deadline": deadline,
        "reward": reward,
        "groups": groups,
    }
    checked({key: value for key, value in asked.items() if value is not None}, OPTIONS, "csv")
    if processors is None or deadline is None:
        missing = "processors" if processors is None else "deadline"
        raise InputError(f"option {missing!r}, which a table cannot tell", place="option")
    try:
        table = _table(_text(read_bytes(path)), reward, groups)
        jobs = tuple(_jobs(table, reward))
        instance = Instance(
            name=name or _stem(path), processors=processors, deadline=float(deadline), jobs=jobs
        )
    except InputError as error:
        error.file = error.file or str(path)
        raise
    if tell is not None:
        for line in _notes(table, instance, reward):
            tell(line)
    return instance


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


@dataclass(frozen=True)
class _Table:
    """A table: where each column is, which are groupings, why others are not, and its rows.

    Attributes
    ----------
    columns : dict of str to int
        The position of each column; those that are known have their own spelling.
    groupings : list of str
    left_out : dict of str to str
        The other columns that are not known, each with the reason.
    rows : list of (int, list of str)
        The cells of each job, and their line.
    """

    columns: dict[str, int]
    groupings: list[str]
    left_out: dict[str, str]
    rows: list[tuple[int, list[str]]]


def _table(text: str, reward: str | None, groups: str | None) -> _Table:
    lines = _rows(text)
    line, header = next(lines)
    columns = _columns(line, header, reward)
    rows = []
    for number, row in lines:
        if len(row) != len(header):
            expected = f"{len(header)} cells, as in the header"
            raise InputError(expected, found=f"{len(row)}", place=f"line {number}")
        rows.append((number, row))
    others = {title: i for title, i in columns.items() if title not in _KNOWN}
    why = {title: _no_grouping(title, [row[i] for _, row in rows]) for title, i in others.items()}
    groupings = [title for title, reason in why.items() if not reason]
    if groups is not None:
        groupings = list(dict.fromkeys(title.strip() for title in groups.split(",")))
        for title in groupings:
            if title not in others:
                hint = suggestion(title, others) or listing(others) or ": there is no other column"
                expected = f"a column that is no field{hint}"
                raise InputError(expected, found=shown(title), place="option groups")
        why |= {title: reason or "not asked for" for title, reason in why.items()}
    left_out = {title: reason for title, reason in why.items() if title not in groupings}
    return _Table(columns, groupings, left_out, rows)


def _no_grouping(title: str, cells: list[str]) -> str:
    """Return why a column is not a grouping by itself; nothing where it is."""
    if _plain(title) in _FIELDS:
        return "named like a field, which a table does not give"
    filled = [cell for cell in cells if cell]
    if cells and not filled:
        return "empty"
    if filled and all(_NUMBER.fullmatch(cell) for cell in filled):
        return "numbers"
    return ""


def _plain(title: str) -> str:
    return title.lower().replace(" ", "_")


def _notes(table: _Table, instance: Instance, reward: str | None) -> Iterator[str]:
    """Yield what became of each column, and of the jobs."""
    fields = [title for title in table.columns if title in _KNOWN]
    if reward and "reward" in fields:
        fields.remove("reward")
        yield f"column 'reward': left out: the reward is {reward}, as asked"
    yield f"columns {', '.join(map(shown, fields))}: fields of the jobs"
    for title in table.groupings:
        found = instance.groups.get(title, {})
        without = len(instance.jobs) - sum(map(len, found.values()))
        more = f"; {without} of {len(instance.jobs)} jobs in none" if without else ""
        yield f"column {shown(title)}: a grouping of {_count(len(found), 'group')}{more}"
    for title, reason in table.left_out.items():
        asks = "; --option groups=... makes it a grouping" if reason != "empty" else ""
        yield f"column {shown(title)}: left out: {reason}{asks}"
    yield f"{_count(len(instance.jobs), 'job')} read, none left out"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _jobs(table: _Table, reward: str | None) -> Iterator[Job]:
    seen: dict[str, int] = {}
    for number, row in table.rows:
        cells = {column: row[i] for column, i in table.columns.items()}
        if cells["name"] in seen:
            raise InputError(
                f"a name of its own: line {seen[cells['name']]} has it already",
                found=shown(cells["name"]),
                place=f"line {number}, column 'name'",
            )
        seen[cells["name"]] = number
        yield _job(number, cells, table.groupings, reward)


def _columns(line: int, header: list[str], reward: str | None) -> dict[str, int]:
    """Return the position of each column, the known ones under their own spelling."""
    columns: dict[str, int] = {}
    place = f"line {line}"
    for i, title in enumerate(header):
        plain = _plain(title)
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
