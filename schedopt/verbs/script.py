"""Script: a plan as commands, written by a template that people edit.

A template is a shell script. What stands between the lines ``#: each job`` and ``#: end`` is
written once for each job that runs, in the order in which to release them, with the plan's value in
place of each ``{{field}}``, quoted for the shell. Nothing of a template is evaluated.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schedopt.instances import plugins
from schedopt.instances.errors import InputError, decoded, listing, placed, shown
from schedopt.instances.files import read_bytes, write_bytes
from schedopt.problems.shown import CLOCKED, FIXED

if TYPE_CHECKING:
    import polars as pl

PLAIN = "plain"  # the template where none is named
ENDING = ".sh"  # how the names of scripts and of templates end
BEGIN, END = "#: each job", "#: end"
FIELD = re.compile(r"\{\{\s*([^{}\n]*?)\s*\}\}")
MADE = ("priority", "percent")
"""Fields beside a plan's columns: higher is sooner, from the number of jobs, or 100, down to 1."""

BREAKING = ("`", "<<", "$'")  # shell constructs in which a quoted value would not be safe


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
    lines, file = lines_of(template)
    with placed(file=file):
        return _written(plan, lines)


def write(plan: pl.DataFrame, path: str | Path, template: str | Path = PLAIN) -> int:
    """Write a plan as a shell script, whole or not at all; return how many jobs run."""
    write_bytes(Path(path), script(plan, template).encode())
    return int(plan["run"].sum())


def lines_of(template: str | Path) -> tuple[list[str], str]:
    """Return a template's validated lines, and its name in messages."""
    known = templates()
    if str(template) in known:
        return known[str(template)].split("\n"), f"template {template}"
    if not Path(template).suffix:
        what = f"a template{listing(known)}, or a file ending in {ENDING}"
        raise InputError(what, found=shown(str(template)), place="template")
    with placed(file=template):
        lines = decoded(read_bytes(template)).replace("\r\n", "\n").split("\n")
        _expect_plain(lines, *_marks(lines))
    return lines, str(template)


def _marks(lines: list[str]) -> tuple[int, int]:
    marks = [n for n, line in enumerate(lines) if line.strip() in (BEGIN, END)]
    if [lines[n].strip() for n in marks] != [BEGIN, END]:
        raise InputError(f"one line `{BEGIN}`, and after it one `{END}`")
    return marks[0], marks[1]


def _written(plan: pl.DataFrame, lines: list[str]) -> str:
    first, last = _marks(lines)
    block = lines[first + 1 : last]
    fields = dict.fromkeys([*plan.columns, *FIXED, *CLOCKED, *MADE])
    for n, line in enumerate(block, start=first + 2):
        if "{{" in FIELD.sub("", line):
            raise InputError("{{ with }} on the same line", found=line.strip(), place=f"line {n}")
        for name in FIELD.findall(line):
            if name not in fields:
                expected = f"a field of the plan{listing([*fields])}"
                raise InputError(expected, found=shown(name), place=f"line {n}")
    made = [line for row in _released(plan) for line in _block(block, row, first + 2)]
    return "\n".join([*lines[:first], *made, *lines[last + 1 :]])


def _released(plan: pl.DataFrame) -> Iterator[dict[str, Any]]:
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


def _expect_plain(lines: list[str], first: int, last: int) -> None:
    """Require fields outside quotes, comments and other shell constructs."""
    quote = ""
    for n, line in enumerate(lines):
        inside = first < n < last
        where, quote = _read(line, quote)
        for found in FIELD.finditer(line):
            at = where[found.start()]
            before = line[: found.start()][-1:]
            if not inside and at != "#":
                expected = f"fields after `{BEGIN}` alone"
                raise InputError(expected, found=found[0], place=f"line {n + 1}")
            if inside and (at or before in ("\\", "$")):
                expected = "a field by itself: it is quoted already"
                raise InputError(expected, found=f"{at or before}{found[0]}", place=f"line {n + 1}")
        if inside and (sign := next((sign for sign in BREAKING if sign in line), None)):
            raise InputError("no such thing beside fields", found=sign, place=f"line {n + 1}")


def _read(line: str, quote: str) -> tuple[list[str], str]:
    """Return the quote around each character (``#`` in comments), and any left open."""
    where: list[str] = []
    for i, sign in enumerate(line):
        where.append(quote)
        before = line[:i]
        if quote != "'" and (len(before) - len(before.rstrip("\\"))) % 2:
            continue
        if sign == "#" and not quote and (not before or before[-1] in " \t;&|()"):
            return [*where[:-1], *("#" * (len(line) - i))], ""
        if sign in ("'", '"') and quote in ("", sign):
            quote = "" if quote else sign
    return where, quote
