"""What-ifs: an instance with values at some of its places, each combination solved as a row."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from schedopt.instances.constraints import Constraint
from schedopt.instances.csv_text import as_csv
from schedopt.instances.encoding import to_json
from schedopt.instances.errors import InputError, shown
from schedopt.instances.files import encode, parse, read_bytes
from schedopt.instances.protocol import AnyInstance, problem_name
from schedopt.problems import problem_of
from schedopt.sweep.journal import Journal, Keyed, finished, rows_of
from schedopt.sweep.measure import Done, Failed, Step, Task, uninterrupted
from schedopt.sweep.sources import Source
from schedopt.sweep.varying import Value, changed
from schedopt.verbs.constraints import rules_from
from schedopt.verbs.solve import solve

FORMATS = (".jsonl", ".csv")
WHAT = "rows of a what-if"
SAME = (
    "instance",
    "problem",
    "termination",
    "solution_status",
    "objective",
    "bound",
    "gap",
    "violations",
    "conflict",
)
"""Fields of a row that equal those of the result's document."""

FLAT = ("objective", "bound", "gap", "termination", "solution_status", "seconds")


class Variation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One combination of values, solved."""

    instance: str
    problem: str
    values: dict[str, Value]  # the value at each place
    formulation: str
    solver: str
    termination: str
    solution_status: str
    objective: float | None
    bound: float | None
    gap: float | None
    numbers: dict[str, float] = {}  # what the solution says in single numbers, such as its demand
    shares: dict[str, dict[str, float]] = {}  # of a solution with shares: by grouping and group
    violations: tuple[str, ...] = ()
    conflict: tuple[str, ...] = ()
    message: str = ""
    seconds: float = 0.0
    key: str = ""  # a digest of all that the row depends on


@dataclass(frozen=True)
class VariedSource(Source):
    """An instance and further rules as files hold them, with values at some of their places."""

    label: str
    document: Mapping[str, Any]
    rules: tuple[Any, ...]
    values: Mapping[str, Value]

    def read(self) -> tuple[AnyInstance, list[Constraint], dict[str, Value]]:
        """Return the instance, further rules and options, all of them read afresh."""
        own, more, options = changed(self.document, self.rules, self.values)
        instance = parse(encode(own))
        return instance, rules_from(encode(more), problem_name(instance)), options


@dataclass(frozen=True, kw_only=True)
class Variant(Task):
    """One combination of values to be solved."""

    source: VariedSource
    how: Mapping[str, Any]  # further arguments of `schedopt.solve`

    made: ClassVar[type[Keyed]] = Variation

    def steps(self) -> Iterator[Step[Keyed]]:
        """Solve it."""
        try:
            yield Done(self.solved())
        except InputError as error:
            yield Failed(str(error))

    def solved(self) -> Variation:
        """Return the row of the combination."""
        instance, rules, options = self.source.read()
        how = {**self.how, "options": {**self.how.get("options", {}), **options}}
        result = uninterrupted(solve(instance, constraints=rules, **how))
        document = result.document()
        return Variation(
            **{name: getattr(document, name) for name in SAME},
            values=dict(self.source.values),
            formulation=str(document.formulation),
            solver=str(document.solver),
            numbers={
                name: float(value)
                for name, value in document.solution.items()
                if isinstance(value, int | float) and not isinstance(value, bool)
            },
            shares={by: dict(parts) for by, parts in problem_of(instance).shares(result).items()},
            message=str(document.message or ""),
            seconds=document.seconds.solve,
            key=self.digest,
        )


class Variations(Journal[Variation]):
    """The rows of a what-if."""

    formats = FORMATS[:1]

    def _held(self, path: Path) -> list[Variation]:
        return read(path, cut=True)

    def _table(self, rows: Sequence[Variation], suffix: str) -> bytes:
        return table(rows, suffix)

    def _strange(self, rows: Sequence[Variation]) -> InputError:
        expected = "rows of this what-if, or no such file"
        return InputError(expected, found=f"{len(rows)} others")


def read(path: Path, *, cut: bool = False) -> list[Variation]:
    """Read the rows of a what-if; ``cut``: whether to cut off an unfinished last line."""
    data, rest = finished(read_bytes(path), path, WHAT)
    rows = rows_of(data.splitlines(), Variation, "a row of a what-if", path)
    if cut and rest:
        os.truncate(path, path.stat().st_size - len(rest))
    return rows


def is_variations(data: bytes) -> bool:
    """Tell whether a file of rows is of a what-if."""
    first = data.lstrip().split(b"\n", 1)[0]
    return first.startswith(b'{"instance"') and b'"values":{' in first


def table(rows: Sequence[Variation], ending: str) -> bytes:
    """Return rows as a file of them: JSON lines, or CSV with a column for each place and share."""
    if ending == ".jsonl":
        return b"".join(to_json(row) + b"\n" for row in rows)
    if ending != ".csv":
        raise InputError(f"a name ending in {', '.join(FORMATS)}", found=shown(ending))
    flat = [_flat(row) for row in rows]
    heads = dict.fromkeys(name for row in flat for name in row)
    lines = ([row.get(head) for head in heads] for row in flat)
    return as_csv([*heads], lines, end="\r\n").encode()


def _flat(row: Variation) -> dict[str, Any]:
    return {
        "instance": row.instance,
        **row.values,
        **{name: getattr(row, name) for name in FLAT},
        **row.numbers,
        **{
            f"share {by} {group}": share
            for by, shares in row.shares.items()
            for group, share in shares.items()
        },
        "conflict": "; ".join(row.conflict),
        "message": row.message,
    }
