"""Rows of a bench, and their files."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import structs

from schedopt.instances.csv_text import escape_columns, unescape_columns
from schedopt.instances.decimals import check_cells
from schedopt.instances.encoding import to_builtins, to_json
from schedopt.instances.errors import InputError, placed, shown
from schedopt.instances.files import read_bytes
from schedopt.instances.tables import plain_csv, read_parquet
from schedopt.sweep.journal import LINES, read_lines, rows_of

if TYPE_CHECKING:
    import polars as pl

FORMATS = (LINES, ".csv", ".parquet")
AS_JSON = ("options", "measures")  # what a cell of a table holds as JSON


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
    difference : float or None
        Where the reference is 0, of which nothing is a fraction: how far the policy falls short of
        it, in the objective's unit; there is no gap then.
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
    difference: float | None = None


_NEEDED = [field.name for field in structs.fields(Row) if field.required]
_NUMBERS = [field.name for field in structs.fields(Row) if field.type in (float, float | None)]


def _types() -> dict[str, Any]:
    """Return the type of each column of a .csv."""
    import polars as pl

    own = {float: pl.Float64, float | None: pl.Float64, bool: pl.Boolean, int: pl.Int64}
    return {field.name: own.get(field.type, pl.String) for field in structs.fields(Row)}


def table(rows: Sequence[Row], suffix: str) -> bytes:
    """Return rows as the text or bytes of a file with an ending of `FORMATS`."""
    if suffix == LINES:
        return b"".join(to_json(row) + b"\n" for row in rows)
    import polars as pl

    records = [to_builtins(row) for row in rows]
    for record in records:  # a column has one type: options as JSON, since each has its own
        for key in AS_JSON:
            record[key] = to_json(record[key]).decode()
    buffer = BytesIO()
    if suffix == ".parquet":
        schema = _types() | {"violations": pl.List(pl.String)}
        pl.DataFrame(records, schema=schema).write_parquet(buffer)
    else:  # a cell holds text: the list as JSON
        for record in records:
            record["violations"] = to_json(record["violations"]).decode()
        plain = pl.DataFrame(records, schema=_types())
        texts = [name for name in plain.columns if plain[name].dtype == pl.String]
        escape_columns(plain, texts).write_csv(buffer)
    return buffer.getvalue()


def read_rows(path: str | Path, *, cut: bool = False) -> list[Row]:
    """Read the rows that a bench wrote; ``cut``: whether to cut off an unfinished last line."""
    path = Path(path)
    if path.suffix.lower() == LINES:
        return read_lines(path, Row, "a bench", cut=cut)
    return rows_of(_records(path, read_bytes(path)), Row, "a row of a bench", path)


def _records(path: Path, data: bytes) -> list[dict[str, Any]]:
    import polars as pl

    try:
        found = read_parquet(data) if path.suffix.lower() == ".parquet" else _cells(data)
        records = _of_rows(found).to_dicts() if data else []
        for record in records:
            if isinstance(record["violations"], str):
                record["violations"] = msgspec.json.decode(record["violations"])
            for key in AS_JSON:
                if key in record:  # files of earlier releases have none
                    record[key] = msgspec.json.decode(record[key])
    except InputError as error:
        if error.place:
            with placed(file=path):
                raise
        raise InputError("rows of a bench", found=error.found, file=str(path)) from None
    except (pl.exceptions.PolarsError, msgspec.DecodeError, TypeError) as error:
        reason = shown(str(error))
        raise InputError("rows of a bench", found=reason, file=str(path)) from None
    return records


def _of_rows(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table that has the columns of rows; it may have no row."""
    missing = [name for name in _NEEDED if name not in table.columns]
    if missing:
        raise InputError("the columns of rows", found=f"no {missing[0]!r}")
    return table


def _cells(data: bytes) -> pl.DataFrame:
    """Read the cells of a CSV, each column with its type."""
    import polars as pl

    schema = _types()
    if b"\r" in data or b"\n\n" in data or not data.startswith(b"instance,"):
        data = plain_csv(data)  # as a spreadsheet may have saved it
    check_cells(data, _NUMBERS)
    found = pl.read_csv(BytesIO(data), schema_overrides=schema) if data else pl.DataFrame()
    texts = [name for name in found.columns if schema.get(name) == pl.String]
    return unescape_columns(found, texts)
