"""Rows of a bench, and their files."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import structs

from schedopt.instances.csv_text import as_csv
from schedopt.instances.encoding import to_builtins, to_json
from schedopt.instances.errors import InputError, shown
from schedopt.sweep.journal import LINES, read_lines, to_lines

if TYPE_CHECKING:
    import polars as pl

FORMATS = (LINES, ".csv", ".parquet")
AS_JSON = ("options", "measures")  # fields that a cell of a table holds as JSON
NOTHING = 1e-10  # a reference below this is 0, of which nothing is a fraction


class Row(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One policy on one instance, beside the reference.

    Attributes
    ----------
    instance, problem, policy : str
    objective : float or None
        What the policy got; None where it does not apply.
    reference, reference_bound : float or None
        The solver's best solution and bound.
    reference_proven : bool
        Whether the reference is the optimum.
    gap : float or None
        How far the policy falls short of the reference, as a fraction of it, or of a log's bound;
        None where one of them is missing, and where the policy breaks side constraints, since then
        the two are not answers to the same question.
    seconds, reference_seconds : float
        Time of the policy and of the reference.
    seed : int
    violations : tuple of str
        What the checker found wrong with the policy's solution.
    message : str or None
        Why a policy does not apply.
    file : str
        Where the instance is, or what it was generated from.
    reference_formulation, reference_solver, reference_bounded_by, reference_proved_by : str or None
        Which formulation the reference is of, and which engines found, bounded and proved it.
    key : str
        A digest of all that the row depends on, by which a bench knows what is done.
    options : dict
        What was given of the options that the policy or its reference knows.
    termination : str
        How the policy ended: ``completed``, ``not-applicable``, ``unstable``, or ``time-limit``
        where its process was ended since it went on beyond the time limit and the grace.
    confidence : float or None
        Where the objective was simulated: the half-width of its 95% interval; None of replays,
        which are exact, and of runs that are too short to tell.
    sampled : bool
        Whether the objective was simulated; its gap to a proven optimum may be below 0.
    bound_checked : bool
        Whether the checker has re-proved the reference's bound.
    measures : dict of str to float
        What else the policy got, by name, where its problem measures more than the objective.
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


def to_frame(rows: Sequence[Row]) -> pl.DataFrame:
    """Return rows as a frame of polars: a column for each field, options and measures as JSON."""
    import polars as pl

    own = {float: pl.Float64, float | None: pl.Float64, bool: pl.Boolean, int: pl.Int64}
    schema: dict[str, Any] = {
        field.name: own.get(field.type, pl.String) for field in structs.fields(Row)
    }
    schema["violations"] = pl.List(pl.String)
    records = [to_builtins(row) for row in rows]
    for record in records:  # a column has one type
        record |= {key: to_json(record[key]).decode() for key in AS_JSON}
    return pl.DataFrame(records, schema=schema)


def table(rows: Sequence[Row], suffix: str) -> bytes:
    """Return rows as the text or bytes of a file with an ending of `FORMATS`."""
    if suffix == LINES:
        return to_lines(rows)
    if suffix == ".csv":
        names = Row.__struct_fields__
        cells = ([_cell(name, getattr(row, name)) for name in names] for row in rows)
        return as_csv(names, cells).encode()
    buffer = BytesIO()
    to_frame(rows).write_parquet(buffer)
    return buffer.getvalue()


def _cell(name: str, value: object) -> object:
    return to_json(value).decode() if name in (*AS_JSON, "violations") else value


def read_rows(path: str | Path) -> list[Row]:
    """Read the rows that a bench wrote as JSON lines."""
    path = Path(path)
    if path.suffix.lower() != LINES:
        raise InputError(f"rows of a bench as {LINES}", found=shown(path.name), file=str(path))
    return read_lines(path, Row)
