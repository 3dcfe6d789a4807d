"""Script: a plan as commands, written by a template that people edit.

A template is a shell script. What stands between the lines ``#: each job`` and ``#: end`` is
written once for each job that runs, in the order in which to release them, with the plan's value in
place of each ``{{field}}``, quoted for the shell. Nothing of a template is evaluated. Where a shell
would read a value once more, as in arithmetic or as the command itself, a field is refused; beside
what reads its words once more, such as ``eval``, and in names of files, values have to be of
letters, digits, ``.``, ``_`` and ``-`` alone.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schedopt.instances import plugins
from schedopt.instances.errors import InputError, decoded, listing, placed, shown
from schedopt.instances.files import read_bytes, write_bytes
from schedopt.problems.summary import CLOCKED, FIXED
from schedopt.verbs.shell_words import FIELD, Field, fields_of

if TYPE_CHECKING:
    import polars as pl

PLAIN = "plain"  # the template where none is named
ENDING = ".sh"  # how the names of scripts and of templates end
BEGIN, END = "#: each job", "#: end"
MADE = ("priority", "percent")
"""Fields beside a plan's columns: higher is sooner, from the number of jobs, or 100, down to 1."""
NAME = re.compile(r"[A-Za-z0-9._-]+")  # a value that is safe wherever it is read once more


def templates() -> dict[str, str]:
    """Return the bundled templates by name, each with its text."""
    homes = [files("schedopt") / "templates", *map(files, plugins.values("templates"))]
    found = [entry for home in reversed(homes) for entry in home.iterdir()]
    found = [entry for entry in found if entry.name.endswith(ENDING)]
    texts = {entry.name.removesuffix(ENDING): entry.read_text("utf-8") for entry in found}
    return dict(sorted(texts.items()))


def script(plan: pl.DataFrame, template: str | Path = PLAIN) -> str:
    """Return a plan as a shell script.

    Parameters
    ----------
    plan : polars.DataFrame
        As `schedopt.plan_table` returns it.
    template : str or Path
        The name of a bundled template (see `schedopt list templates`), or a file of your own.

    Raises
    ------
    InputError
        If the template is not right, or asks for what the plan does not say.
    """
    lines, file = read_template(template)
    with placed(file=file):
        return _fill(plan, lines)


def write(plan: pl.DataFrame, path: str | Path, template: str | Path = PLAIN) -> int:
    """Write a plan as a shell script, whole or not at all; return how many jobs run."""
    write_bytes(Path(path), script(plan, template).encode())
    return int(plan["run"].sum())


def read_template(template: str | Path) -> tuple[list[str], str]:
    """Return a template's validated lines, and its name in messages."""
    known = templates()
    if str(template) in known:
        return known[str(template)].split("\n"), f"template {template}"
    if not Path(template).suffix:
        what = f"a template{listing(known)}, or a file ending in {ENDING}"
        raise InputError(what, found=shown(str(template)), place="template")
    with placed(file=template):
        lines = decoded(read_bytes(template)).replace("\r\n", "\n").split("\n")
        fields_of(lines, *_block_marks(lines))
    return lines, str(template)


def _block_marks(lines: list[str]) -> tuple[int, int]:
    marks = [n for n, line in enumerate(lines) if line.strip() in (BEGIN, END)]
    if [lines[n].strip() for n in marks] != [BEGIN, END]:
        raise InputError(f"one line `{BEGIN}`, and after it one `{END}`")
    return marks[0], marks[1]


def _fill(plan: pl.DataFrame, lines: list[str]) -> str:
    first, last = _block_marks(lines)
    spots, readers = fields_of(lines, first, last)
    block = lines[first + 1 : last]
    fields = dict.fromkeys([*plan.columns, *FIXED, *CLOCKED, *MADE])
    for n, line in enumerate(block, start=first + 2):
        if "{{" in FIELD.sub("", line):
            raise InputError("{{ with }} on the same line", found=line.strip(), place=f"line {n}")
        for name in FIELD.findall(line):
            if name not in fields:
                expected = f"a field of the plan{listing([*fields])}"
                raise InputError(expected, found=shown(name), place=f"line {n}")
    rows = list(_in_order(plan))
    for spot, row in product(spots, rows):
        if row.get(spot.name) is not None:
            with placed(f"line {spot.line}"):
                _expect_inert(spot, str(row[spot.name]), readers)
    made = [line for row in rows for line in _block(block, row, first + 2)]
    return "\n".join([*lines[:first], *made, *lines[last + 1 :]])


def _expect_inert(spot: Field, value: str, readers: set[str]) -> None:
    """Refuse a value that would be an option, or a program to what reads words once more."""
    if spot.may_be_option and value.startswith("-"):
        expected = f"`--` before {spot.written}, or a value that does not begin with -"
        raise InputError(expected, found=shown(value))
    if (readers or spot.names_file) and not NAME.fullmatch(value):
        where = f"beside {min(readers)}" if readers else "in the name of a file"
        expected = f"letters, digits, `.`, `_` and `-` alone, {where}"
        raise InputError(expected, found=shown(value))


def _in_order(plan: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the jobs to release in order; running jobs have no rank."""
    rows = plan.filter(plan["run"] & plan["rank"].is_not_null()).sort("rank").to_dicts()
    for n, row in enumerate(rows):
        yield row | {"priority": len(rows) - n, "percent": 100 - 99 * n // max(1, len(rows) - 1)}


def _block(block: list[str], row: Mapping[str, Any], first: int) -> Iterator[str]:
    """Yield a job's lines; of a command over several lines, leave out options without a value."""
    for n, line in enumerate(block, start=first):
        missing = [name for name in FIELD.findall(line) if row.get(name) in (None, "")]
        if missing and n > first and line.endswith("\\") and block[n - first - 1].endswith("\\"):
            continue
        if missing:
            expected = f"a plan that says `{missing[0]}` of {shown(row['job'])}"
            raise InputError(expected, found="none", place=f"line {n}")
        yield FIELD.sub(lambda found: _quoted(row[found[1]]), line)


def _quoted(value: object) -> str:
    text = f"{value:.15g}" if isinstance(value, float) else str(value)
    if "\0" in text:
        raise InputError("a name without a NUL", found=shown(text))
    return shlex.quote(text)
