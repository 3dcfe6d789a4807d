"""Script: a plan as commands, written by a template that people edit.

A template is a shell script. What stands between the lines ``#: each job`` and ``#: end`` is
written once for each job that runs, in the order in which to release them, with the plan's value in
place of each ``{{field}}``, quoted for the shell. A quoted value of any letters is one word of a
simple command; in all else that a shell can do with it, values have to be `INERT`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schedopt.instances import plugins
from schedopt.instances.errors import InputError, at_place, decode_utf8, listing, quote
from schedopt.instances.files import read_bytes, write_bytes
from schedopt.problems.summary import KINDS, Plan

if TYPE_CHECKING:
    import polars as pl

PLAIN = "plain"  # the template where none is named
ENDING = ".sh"  # how the names of scripts and of templates end
BEGIN, END = "#: each job", "#: end"
MADE = ("priority", "percent")
"""Fields beside a plan's columns: higher is sooner, from the number of jobs, or 100, down to 1."""
FIELD = re.compile(r"\{\{\s*([^{}\n]*?)\s*\}\}")
INERT = re.compile(r"[A-Za-z0-9_.:+][A-Za-z0-9_.:+-]*")
"""A value that does nothing wherever a shell, or another program, reads it once more."""
SHELLS = re.compile(r"#!\s*(/usr/bin/env\s+)?(\S*/)?(sh|bash|dash|ash|ksh|mksh|zsh)\b")
QUOTED = re.compile(r"(?<!\$)'[^'\n]*'|\"[^\"\\`\n]*\"")
SUBSTITUTED = re.compile(r"\$\([^()'\"`$]*\)")
SIMPLE = re.compile(  # a command, and words that a shell reads once
    r"\s*[./-]*\w[\w./-]*(\s+([\w@%+=:,./-]|\$\w|\\ |\{\{[^{}\n]*\}\})+)*\s*"
)
OPEN = re.compile(r"<<|[`'\"]|\(\(|\[\[|\w\[|\$[\[{](?!\{)|\\['\"]|\$\(\s*$", re.MULTILINE)
"""What may reach over lines, so that of none of them it can be said what a shell makes of it."""
READERS = re.compile(  # words before which, or among which, a word may be read once more
    r"(?:^|[\s;|&(/!])(if|then|else|elif|do|while|until|for|case|\{|time|exec|command|builtin|coproc"
    r"|nohup|env|nice|sudo|timeout|setsid|source|alias|eval|ssh|rsh|pdsh|su|xargs|parallel|at"
    r"|batch|crontab|watch|trap|[gm]?awk|sed|let|declare|typeset|local|readonly|export|unset|read"
    r"|mapfile|readarray|getopts|test|printf|(?:ba|da|a|k|mk|z)?sh|busybox|python[\d.]*|perl|ruby"
    r"|node)(?=[\s;|&)]|$)|--wrap\b",
    re.MULTILINE,
)


def templates() -> dict[str, str]:
    """Return the bundled templates by name, each with its text."""
    homes = [files("schedopt") / "templates", *map(files, plugins.values("templates"))]
    listed = [entry for home in reversed(homes) for entry in home.iterdir()]
    listed = [entry for entry in listed if entry.name.endswith(ENDING)]
    texts = {entry.name.removesuffix(ENDING): entry.read_text("utf-8") for entry in listed}
    return dict(sorted(texts.items()))


def script(plan: pl.DataFrame | Plan, template: str | Path = PLAIN) -> str:
    """Return a plan as a shell script.

    Parameters
    ----------
    plan : polars.DataFrame
        As `schedopt.plan_table` returns it.
    template : str or Path
        The name of a bundled template (see `schedopt list templates`), or a file of your own.
    """
    lines, file = read_template(template)
    with at_place(file=file):
        return _fill(Plan.of(plan), lines)


def write(plan: pl.DataFrame | Plan, path: str | Path, template: str | Path = PLAIN) -> None:
    """Write a plan as a shell script, whole or not at all."""
    write_bytes(Path(path), script(plan, template).encode())


def read_template(template: str | Path) -> tuple[list[str], str]:
    """Return a template's lines, and its name in messages."""
    bundled = templates()
    if str(template) in bundled:
        return bundled[str(template)].split("\n"), f"template {template}"
    if not Path(template).suffix:
        what = f"a template{listing(bundled)}, or a file ending in {ENDING}"
        raise InputError(what, found=quote(str(template)), place="template")
    with at_place(file=template):
        lines = decode_utf8(read_bytes(template)).replace("\r\n", "\n").split("\n")
        _block_marks(lines)
    return lines, str(template)


def _block_marks(lines: list[str]) -> tuple[int, int]:
    """Return the lines that begin and end the block; `InputError` if it cannot be written."""
    if lines[0].startswith("#!") and not SHELLS.match(lines[0]):
        raise InputError("a script for a shell that quotes as sh does", found=lines[0])
    marks = [n for n, line in enumerate(lines) if line.strip() in (BEGIN, END)]
    if [lines[n].strip() for n in marks] != [BEGIN, END]:
        raise InputError(f"one line `{BEGIN}`, and after it one `{END}`")
    for n, line in enumerate(lines):
        inside = marks[0] < n < marks[1]
        if FIELD.search(line) and not (inside or line.startswith("#")):
            raise InputError("fields in the block alone", found=line, place=f"line {n + 1}")
        if inside and "{{" in FIELD.sub("", line):
            expected = "{{ with }} on the same line"
            raise InputError(expected, found=line.strip(), place=f"line {n + 1}")
    return marks[0], marks[1]


def _fill(plan: Plan, lines: list[str]) -> str:
    """Return the script of a plan; `InputError` where a value might do more than be a word."""
    first, last = _block_marks(lines)
    block, rows = lines[first + 1 : last], list(_in_order(plan))
    fields = dict.fromkeys([*plan.titles, *KINDS, *MADE])
    for n, line in enumerate(block, start=first + 2):
        for name in FIELD.findall(line):
            if name not in fields:
                expected = f"a field of the plan{listing([*fields])}"
                raise InputError(expected, found=quote(name), place=f"line {n}")
    code = QUOTED.sub("", "\n".join(line for line in lines if not line.lstrip().startswith("#")))
    risky, at = READERS.search(code) or OPEN.search(code), first + 2
    for command in re.split(r"(?<!\\)\n", "\n".join(block)):
        with at_place(f"line {at}"):
            _expect_words(command.replace("\\\n", " "), rows, risky[0].strip() if risky else "")
        at += command.count("\n") + 1
    filled = [line for row in rows for line in _block(block, row, first + 2)]
    return "\n".join([*lines[:first], *filled, *lines[last + 1 :]])


def _expect_words(command: str, rows: list[dict[str, Any]], risky: str) -> None:
    """Refuse values that would be more to a shell than a word of a command, or an option."""
    once = QUOTED.sub("x", SUBSTITUTED.sub("x", command))
    simple = not risky and SIMPLE.fullmatch(once)
    for spot in FIELD.finditer(command):
        before = command[: spot.start()]
        free = simple and once.count(spot[0]) == command.count(spot[0])
        for value in (str(row.get(spot[1]) or "") for row in rows):
            if not value or INERT.fullmatch(value):
                continue
            if not free:
                expected = f"letters, digits and `._:+-` alone, beside {quote(risky or command)}"
                raise InputError(expected, found=quote(value))
            if value.startswith("-") and before[-1:].isspace() and " -- " not in before:
                expected = f"`--` before {spot[0]}, or a value that does not begin with -"
                raise InputError(expected, found=quote(value))


def _in_order(plan: Plan) -> Iterator[dict[str, Any]]:
    """Yield the jobs to release in order; running jobs have no rank."""
    released = (row for row in plan.rows if row["run"] and row["rank"] is not None)
    rows = sorted(released, key=lambda row: int(row["rank"]))
    for n, row in enumerate(rows):
        yield row | {"priority": len(rows) - n, "percent": 100 - 99 * n // max(1, len(rows) - 1)}


def _block(block: list[str], row: Mapping[str, Any], first: int) -> Iterator[str]:
    """Yield a job's lines; of a command over several lines, leave out options without a value."""
    for n, line in enumerate(block, start=first):
        missing = [name for name in FIELD.findall(line) if row.get(name) in (None, "")]
        if missing and n > first and line.endswith("\\") and block[n - first - 1].endswith("\\"):
            continue
        if missing:
            expected = f"a plan that says `{missing[0]}` of {quote(row['job'])}"
            raise InputError(expected, found="none", place=f"line {n}")
        yield FIELD.sub(lambda found: _quoted(row[found[1]]), line)


def _quoted(value: object) -> str:
    text = f"{value:.15g}" if isinstance(value, float) else str(value)
    if "\0" in text:
        raise InputError("a name without a NUL", found=quote(text))
    return shlex.quote(text)
