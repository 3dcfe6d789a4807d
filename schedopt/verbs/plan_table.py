"""Plan tables: a row for each job of a result; a selection is dispatched to get its times."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from schedopt.instances.errors import InputError, quote
from schedopt.instances.files import load, write_bytes
from schedopt.instances.protocol import AnyInstance
from schedopt.instances.tables import as_csv
from schedopt.problems import problem_of
from schedopt.problems.summary import Plan
from schedopt.solvers.result import Result
from schedopt.validation.documents import check

if TYPE_CHECKING:
    import polars as pl

FORMATS = (".csv", ".parquet")  # endings of plans


def carried_out(instance: AnyInstance, result: Result) -> Result | None:
    """Return a result with times: itself, or dispatched and checked; None without a solution."""
    run = problem_of(instance).carried_out(instance, result)
    if run is None or run is result:
        return run
    report = check(instance, run.written(question=False), run.constraints)
    return msgspec.structs.replace(
        run, checked=not (report.unchecked or report.unjudged), violations=tuple(report.violations)
    )


def plan_table(
    what: AnyInstance | str | Path, result: Result, run: Result | None = None
) -> pl.DataFrame:
    """Return a frame with a row for each job: whether it runs, the reason if not, and its times.

    Parameters
    ----------
    what : Instance, str or Path
        The instance; a path is loaded.
    result : Result
        A result of that instance.
    run : Result, optional
        The result with times, if it is known: see `carried_out`.

    Raises
    ------
    InputError
        If the result has no solution.
    """
    instance = load(what) if isinstance(what, str | Path) else what
    return plan_of(instance, result, run).frame()


def plan_of(instance: AnyInstance, result: Result, run: Result | None = None) -> Plan:
    """Return the plan of which `plan_table` returns the frame."""
    if result.solution is None:
        raise InputError("a result with a solution", found=quote(result.termination))
    return problem_of(instance).plan(instance, result, run or carried_out(instance, result))


def write(plan: Plan, path: str | Path) -> None:
    """Write a plan as CSV or Parquet, atomically; cells of a CSV cannot act as formulas."""
    path, buffer = Path(path), BytesIO()
    ending = path.suffix.lower()
    if ending not in FORMATS:
        raise InputError(f"a name ending in {', '.join(FORMATS)}", found=quote(path.name))
    if ending == ".parquet":
        plan.frame().write_parquet(buffer)
    else:
        columns = plan.columns()
        texts = (
            [str(cell).lower() if isinstance(cell, bool) else cell for cell in cells]
            for cells in columns.values()
        )
        buffer.write(as_csv(columns, zip(*texts, strict=True)).encode())
    write_bytes(path, buffer.getvalue())
