"""Carry: rules that know what earlier results used."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from schedopt.instances.constraints import Constraint
from schedopt.instances.errors import InputError, quote
from schedopt.problems import problem
from schedopt.solvers.result import Result
from schedopt.verbs.load import load


def carry(
    results: str | Path | Result | Iterable[str | Path | Result],
    *,
    half_life: float | str | None = None,
    window: int | str | None = None,
    constraints: Sequence[Constraint] = (),
) -> list[Constraint]:
    """Return side constraints with the use of earlier nights.

    Parameters
    ----------
    results : Result or path, or iterable of them
        Plans or results of the nights before, the earliest first, or files of them. Of a plan what
        the whole night used counts, as its history has it.
    half_life, window : number or str, optional
        One of them, in nights, or as ``7d``: what counts less by the night, or which nights count
        (tonight is one of a window).
    constraints : sequence of Constraint
        The rules to carry on, such as fair shares; those of the last plan where there are none.

    Returns
    -------
    list of Constraint
        As `solve` and an instance take them.

    Raises
    ------
    InputError
        If a file cannot be read, or results are of no or of several problems.
    """
    several = [results] if isinstance(results, str | Path | Result) else list(results)
    read = [one if isinstance(one, Result) else _read(one) for one in several]
    names = {result.problem for result in read}
    if len(names) != 1:
        raise InputError("results of one problem", found=" and ".join(sorted(names)) or "none")
    life, nights = (None if value is None else str(value) for value in (half_life, window))
    return problem(names.pop()).carry(read, constraints, half_life=life, window=nights)


def _read(path: str | Path) -> Result:
    expected = "a plan document or a result, as `schedopt plan ... --output plan.json` writes it"
    if not str(path).lower().endswith((".json", ".json.gz")):
        raise InputError(expected, found=quote(Path(path).name), file=str(path))
    held = load(path)
    if not isinstance(held, Result):
        raise InputError(expected, found="something else", file=str(path))
    return held
