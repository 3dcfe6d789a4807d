"""Rows of a bench or of a what-if, and their file of JSON lines, from which a sweep resumes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import structs

from schedopt.instances.encoding import to_json
from schedopt.instances.errors import InputError, at_place, quote
from schedopt.instances.files import read_bytes, write_bytes
from schedopt.instances.tables import as_csv

if TYPE_CHECKING:
    import polars as pl


LINES = ".jsonl"  # the ending of a journal
_BEGINNING = b'{"instance":'  # how each row begins

T = TypeVar("T")


class SweepInterrupt(KeyboardInterrupt):
    """An interruption of a sweep, with the finished ``rows``."""

    def __init__(self, rows: Sequence[Any]) -> None:
        super().__init__()
        self.rows = rows


class Journal:
    """The rows of a sweep. New rows are appended to a file at once, and its rows are reused.

    The keys of all rows, in order, are digests of everything that a row depends on. The record
    ``kind`` of a row has a field ``key``.
    """

    def __init__(self, path: Path | None, keys: Sequence[str], kind: type[Any]) -> None:
        self._order = {key: i for i, key in enumerate(keys)}
        self._rows: dict[str, Any] = {}
        self._path = path
        if path is not None and path.exists():
            rows = read_lines(path, kind, cut=True)
            if others := sum(row.key not in self._order for row in rows):
                expected = "rows of this bench; choose another output, or remove that file"
                found = f"{others} with other options or contents"
                raise InputError(expected, found=found, file=str(path))
            self._rows = {row.key: row for row in rows}
        elif path is not None:
            write_bytes(path, b"")

    def __contains__(self, key: str) -> bool:
        return key in self._rows

    def extend(self, rows: Iterable[Any]) -> None:
        """Add rows, and write them at once, so that a killed sweep does not lose them."""
        rows = list(rows)
        if self._path is not None:
            try:
                with self._path.open("ab") as file:
                    file.write(to_lines(rows))
            except OSError as error:
                expected = "room to write; finished rows are safe, run again to continue"
                raise InputError(expected, found=error.strerror, file=str(self._path)) from None
        self._rows.update((row.key, row) for row in rows)

    @property
    def complete(self) -> bool:
        """Whether all rows of the sweep are finished."""
        return len(self._rows) == len(self._order)

    def finish(self) -> list[Any]:
        """Return all rows in the order of the sweep, and write them to the file in this order."""
        rows = sorted(self._rows.values(), key=lambda row: self._order[row.key])
        if self._path is not None and (self.complete or rows != [*self._rows.values()]):
            write_bytes(self._path, to_lines(rows))
        return rows


def to_lines(rows: Iterable[Any]) -> bytes:
    """Return rows as JSON lines."""
    return b"".join(to_json(row) + b"\n" for row in rows)


def read_lines(path: Path, kind: type[T], *, cut: bool = False) -> list[T]:
    """Read rows of JSON lines; ``cut`` removes an unfinished last row from the file."""
    data = read_bytes(path)
    if cut and (rest := data[data.rfind(b"\n") + 1 :]):
        if not (rest.startswith(_BEGINNING) or _BEGINNING.startswith(rest)):
            raise InputError("rows of a sweep", found=quote(rest), file=str(path))
        data = data[: -len(rest)]
        write_bytes(path, data)
    rows = []
    for number, line in enumerate(data.splitlines(), start=1):
        with at_place(f"row {number}", path):
            try:
                rows.append(msgspec.json.decode(line, type=kind))
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise InputError(f"a {kind.__name__.lower()} of a sweep: {error}") from None
    return rows


FORMATS = (LINES, ".csv", ".parquet")
AS_JSON = ("options", "measures")  # fields that a cell of a table holds as JSON
NOTHING = 1e-10  # a reference below this counts as 0, so that no relative gap is defined


class BenchRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One policy on one instance, and its reference.

    Attributes
    ----------
    instance, problem, policy : str
    objective : float or None
        The objective of the policy's solution; None if it does not apply.
    reference, reference_bound : float or None
        The objective of the solver's best solution, and its bound.
    reference_proven : bool
        Whether the reference is the optimum.
    gap : float or None
        The relative distance of the policy from the reference, or from the bound of a log. None if
        either is unknown, or if the policy violates side constraints, so that the two are not
        comparable.
    seconds, reference_seconds : float
        Times of the policy and of the reference.
    seed : int
    violations : tuple of str
        The violations that the checker found in the policy's solution.
    message : str or None
        Why the policy does not apply, or other notes.
    file : str
        The path of the instance, or the text from which it was generated.
    reference_formulation, reference_solver, reference_bounded_by, reference_proved_by : str or None
        The formulation of the reference, and the engines that found, bounded and proved it.
    key : str
        A digest of everything that the row depends on, by which a bench knows finished rows.
    options : dict
        The given options of the policy and its reference.
    termination : str
        How the policy ended: ``completed``, ``not-applicable``, ``unstable`` or ``error``.
    confidence : float or None
        The half-width of the 95% interval of a simulated objective; None for replays, which are
        exact, and for runs that are too short.
    sampled : bool
        Whether the objective was simulated; its gap to a proven optimum may be below 0.
    bound_checked : bool
        Whether the checker has proved the bound of the reference again.
    measures : dict of str to float
        Other measures of the policy, by name.
    """

    instance: str
    problem: str
    policy: str
    objective: float | None
    reference: float | None
    reference_bound: float | None
    reference_proven: bool
    gap: float | None
    seconds: float
    seed: int
    violations: tuple[str, ...]
    message: str | None
    file: str
    reference_seconds: float
    key: str
    reference_formulation: str | None = None
    reference_solver: str | None = None
    reference_bounded_by: str | None = None
    reference_proved_by: str | None = None
    options: dict[str, Any] = {}
    termination: str = "completed"
    confidence: float | None = None
    sampled: bool = False
    bound_checked: bool = False
    measures: dict[str, float] = {}


def to_frame(rows: Sequence[BenchRow]) -> pl.DataFrame:
    """Return rows as a polars frame: a column for each field, with options and measures as JSON."""
    import polars as pl

    own = {float: pl.Float64, float | None: pl.Float64, bool: pl.Boolean, int: pl.Int64}
    schema: dict[str, Any] = {
        field.name: own.get(field.type, pl.String) for field in structs.fields(BenchRow)
    }
    schema["violations"] = pl.List(pl.String)
    records: list[dict[str, Any]] = msgspec.json.decode(to_json(rows))
    for record in records:  # a column has one type
        record |= {key: to_json(record[key]).decode() for key in AS_JSON}
    return pl.DataFrame(records, schema=schema)


def table(rows: Sequence[BenchRow], suffix: str) -> bytes:
    """Return rows as the bytes of a file with an ending of `FORMATS`."""
    if suffix == LINES:
        return to_lines(rows)
    if suffix == ".csv":
        names, encoded = BenchRow.__struct_fields__, (*AS_JSON, "violations")
        records = map(structs.asdict, rows)
        cells = (
            [to_json(row[name]).decode() if name in encoded else row[name] for name in names]
            for row in records
        )
        return as_csv(names, cells).encode()
    buffer = BytesIO()
    to_frame(rows).write_parquet(buffer)
    return buffer.getvalue()


def read_rows(path: str | Path) -> list[BenchRow]:
    """Read the rows that a bench wrote as JSON lines."""
    path = Path(path)
    if path.suffix.lower() != LINES:
        raise InputError(f"rows of a bench as {LINES}", found=quote(path.name), file=str(path))
    return read_lines(path, BenchRow)
