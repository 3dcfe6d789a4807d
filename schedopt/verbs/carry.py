"""Carry: rules that know what earlier results used."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from schedopt.instances.constraints import Constraint
from schedopt.instances.errors import InputError
from schedopt.instances.files import decode, read_bytes
from schedopt.problems import problem as record_of
from schedopt.problems import problems
from schedopt.solvers.result import Document, Result

TABLES = (".csv", ".csv.gz", ".tsv", ".parquet", ".xlsx")
"""Endings of usage tables; whatever else is given is a result."""


def carry(
    results: str | Path | Result | Iterable[str | Path | Result],
    *,
    half_life: float | str | None = None,
    window: int | str | None = None,
    constraints: Sequence[Constraint] = (),
    tell: Callable[[str], None] | None = None,
) -> list[Constraint]:
    """Return side constraints with the use of earlier nights.

    Parameters
    ----------
    results : Result or path, or iterable of them
        Results of the nights before, the earliest first, or files of them; or usage tables (.csv,
        .tsv, .parquet) with columns ``night`` (a whole number or a date), ``demand``, ``capacity``
        and one for each grouping.
    half_life, window : number or str, optional
        One of them, in nights, or as ``7d``: what counts less by the night, or which nights count
        (tonight is one of a window).
    constraints : sequence of Constraint
        The rules to carry on, such as fair shares; those of the last result where there are none.
    tell : callable, optional
        Called with lines on what became of what.

    Returns
    -------
    list of Constraint
        As `solve` and an instance take them.

    Raises
    ------
    InputError
        If a file cannot be read, or results are of no or of several problems.
    """
    given = [results] if isinstance(results, str | Path | Result) else list(results)
    documents: list[Document] = []
    tables: list[Path] = []
    for one in given:
        if isinstance(one, Result):
            documents.append(one.document())
        elif str(one).lower().endswith(TABLES):
            tables.append(Path(one))
        else:
            documents.append(decode(read_bytes(one), Document, file=str(one)))
    found = {document.problem for document in documents}
    if len(found) > 1:
        raise InputError("results of one problem", found=" and ".join(sorted(found)))
    name = found.pop() if found else next(iter(problems())).name
    life, nights = (None if value is None else str(value) for value in (half_life, window))
    record = record_of(name)
    rules, notes = record.carry(documents, tables, constraints, half_life=life, window=nights)
    for note in notes:
        if tell:
            tell(note)
    return rules
