"""The verb script: writes a plan as a shell script, by a template.

A template is a script with blocks. A block stands between a line such as ``#: each job`` and
``#: end``. It is written once for each row of its kind (`BLOCKS`), and each ``{{field}}`` is
replaced by the row's value. Values may have letters, digits, spaces and ``._:+,=@/-`` only, and are
quoted, so that a shell never reads them as code.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from unicodedata import category

from schedopt.instances import plugins
from schedopt.instances.errors import InputError, at_place, decode_utf8, listing, quote
from schedopt.instances.files import read_bytes, write_bytes
from schedopt.problems.summary import KINDS, Plan, PlanRow

if TYPE_CHECKING:
    import polars as pl

PLAIN = "plain"  # the default template
ENDING = ".sh"  # of scripts and templates
END = "#: end"
BLOCKS = {
    "job": "each job that is to be released, the first first",
    "release": "each submission of tasks that start together, the first first",
    "left out": "each job that does not run",
    "change": "after a replanning, each stage with waiting submissions that the new plan replaces",
}
"""The kinds of blocks, by the words after ``#: each``."""
MADE: Mapping[str, tuple[str, ...]] = {
    "job": ("priority", "percent", "id", "account"),
    "release": (
        *("order", "stage", "tasks", "array", "at_once", "minutes", "due_time", "after"),
        *("licences", "pool", "id", "account"),
    ),
    "left out": ("id", "account"),
    "change": ("stage", "id", "account"),
}
"""Fields in addition to the plan's columns, by the kind of block."""
VERBATIM = ("array", "after")  # fields of several words, which are not quoted
ID_TITLES = ("id", "jobid", "job id", "job_id")  # titles of the column of the field `id`
FIELD = re.compile(r"\{\{\s*([^{}\n]*?)\s*\}\}")
ALLOWED = " ._:+,=@/-"


class Block(NamedTuple):
    """A block of a template: its kind, the number of its first line, and its lines."""

    kind: str
    first: int
    lines: Sequence[str]


def templates() -> dict[str, str]:
    """Return the bundled templates by name, each with its text."""
    more = [files(point.value) for point in plugins.points("templates").values()]
    homes = [files("schedopt") / "templates", *more]
    listed = [entry for home in reversed(homes) for entry in home.iterdir()]
    listed = [entry for entry in listed if entry.name.endswith(ENDING)]
    texts = {entry.name.removesuffix(ENDING): entry.read_text("utf-8") for entry in listed}
    return dict(sorted(texts.items()))


def script(plan: pl.DataFrame | Plan, template: str | Path = PLAIN) -> str:
    """Return a plan as a shell script.

    Parameters
    ----------
    plan : Plan or polars.DataFrame
        A frame, such as of `schedopt.plan_table`, has jobs but no submissions of tasks.
    template : str or Path
        The name of a bundled template (see `schedopt list templates`), or a file.

    Raises
    ------
    InputError
        If the template has an unknown block or field, or the plan lacks a value.
    """
    lines, file = read_template(template)
    with at_place(file=file):
        blocks = _blocks(lines)
        plan = Plan.of(plan)
        rows = {kind: _rows(plan, kind) for kind in {block.kind for block in blocks}}
        for block in blocks:
            _expect_fields(plan, block)
        text: list[str] = []
        last = 0
        for block in blocks:
            text += lines[last : block.first - 2]
            text += [line for row in rows[block.kind] for line in _filled(block, row)]
            last = block.first + len(block.lines)
        return "\n".join([*text, *lines[last:]])


def write(plan: pl.DataFrame | Plan, path: str | Path, template: str | Path = PLAIN) -> None:
    """Write a plan as a shell script, atomically."""
    write_bytes(Path(path), script(plan, template).encode())


def read_template(template: str | Path) -> tuple[list[str], str]:
    """Return the lines of a template, and its name in messages."""
    bundled = templates()
    if str(template) in bundled:
        return bundled[str(template)].split("\n"), f"template {template}"
    if not Path(template).suffix:
        what = f"a template{listing(bundled)}, or a file ending in {ENDING}"
        raise InputError(what, found=quote(str(template)), parameter="template")
    with at_place(file=template):
        lines = decode_utf8(read_bytes(template)).replace("\r\n", "\n").split("\n")
        _blocks(lines)
    return lines, str(template)


def _blocks(lines: Sequence[str]) -> list[Block]:
    """Return the blocks of a template; `InputError` if a line is not valid."""
    blocks: list[Block] = []
    begun: int | None = None
    for n, line in enumerate(lines, start=1):
        mark, place = line.strip(), f"line {n}"
        if mark.startswith("#: ") and begun is None:
            if mark.removeprefix("#: each ") not in BLOCKS:
                expected = ", ".join(f"`#: each {kind}`" for kind in BLOCKS)
                raise InputError(expected, found=quote(mark), place=place)
            begun = n
        elif mark == END and begun is not None:
            kind = lines[begun - 1].strip().removeprefix("#: each ")
            blocks.append(Block(kind, begun + 1, lines[begun : n - 1]))
            begun = None
        elif mark.startswith("#: "):
            raise InputError(f"`{END}` before it", found=quote(mark), place=place)
        elif begun is None and FIELD.search(line) and not line.startswith("#"):
            raise InputError("fields in blocks only", found=line, place=place)
        elif begun is not None and "{{" in FIELD.sub("", line):
            raise InputError("{{ with }} on the same line", found=mark, place=place)
    if begun is not None or not blocks:
        expected = f"a line such as `#: each job`, and after it a line `{END}`"
        raise InputError(expected, place=f"line {begun}" if begun else "")
    return blocks


def _expect_fields(plan: Plan, block: Block) -> None:
    fields = dict.fromkeys([*plan.titles, *KINDS, *MADE[block.kind]])
    for n, line in enumerate(block.lines, start=block.first):
        for name in FIELD.findall(line):
            if name not in fields:
                expected = f"a field of the plan{listing([*fields])}"
                raise InputError(expected, found=quote(name), place=f"line {n}")


# --- rows -------------------------------------------------------------------------------------


def _rows(plan: Plan, kind: str) -> list[PlanRow]:
    """Return the rows of a kind of block, in order."""
    if kind == "change" and plan.carried is None:
        return []
    if kind in ("release", "change"):
        if plan.carried is None:
            expected = "a plan with the times of its tasks, from `plan`, `solve` or `replan`"
            raise InputError(expected, found="jobs alone", place=f"`#: each {kind}`")
        return [_with_made(row) for row in plan.carried()[kind]]
    if kind == "left out":
        return [_with_made(row) for row in plan.rows if not row["run"]]
    ranked = [row for row in plan.rows if row["run"] and row["rank"] is not None]
    ranked.sort(key=lambda row: row["rank"])
    most = max(1, len(ranked) - 1)
    return [
        _with_made(row) | {"priority": len(ranked) - n, "percent": 100 - 99 * n // most}
        for n, row in enumerate(ranked)
    ]


def _with_made(row: PlanRow) -> PlanRow:
    """Return a row with ``id``, the farm manager's id of the job; by default the job's name."""
    own = (value for title, value in row.items() if title.lower() in ID_TITLES and value)
    return row | {"id": next(own, row.get("job"))}


# --- text -------------------------------------------------------------------------------------


def _filled(block: Block, row: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a row; lines of a command whose value is missing are omitted."""
    for n, line in enumerate(block.lines):
        missing = [name for name in FIELD.findall(line) if row.get(name) in (None, "")]
        if missing and n and line.endswith("\\") and block.lines[n - 1].endswith("\\"):
            continue
        with at_place(f"line {block.first + n}"):
            if missing:
                of = quote(row.get("job", block.kind))
                raise InputError(f"a plan with `{missing[0]}` of {of}", found="none")
            yield FIELD.sub(lambda found: _word(row, found[1]), line)


def _word(row: Mapping[str, Any], field: str) -> str:
    """Return a value as one quoted word; `InputError` if it has a character that is not allowed."""
    value = row[field]
    text = f"{value:.15g}" if isinstance(value, float) else str(value)
    if field in VERBATIM:
        return text
    wrong = next((char for char in text if not _is_allowed(char)), "")
    if wrong or text.startswith("-"):
        what = f"{quote(wrong)} in it" if wrong else "a leading -"
        expected = (
            f"letters, digits, spaces and `{ALLOWED.strip()}` in the {field} of a script, with no "
            "leading -; rename it in the table, or use another column in the template"
        )
        raise InputError(expected, found=f"{quote(text)} with {what}")
    return shlex.quote(text)


def _is_allowed(char: str) -> bool:
    """Return True for letters and digits of any language, and the characters in `ALLOWED`."""
    return char in ALLOWED or category(char)[0] in "LM" or category(char) == "Nd"
