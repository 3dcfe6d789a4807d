"""The verb carry: adds the use of earlier nights to fair shares."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from schedopt.instances.constraints import Constraint
from schedopt.instances.errors import InputError, quote
from schedopt.solvers.result import Result
from schedopt.verbs.load import load


def carry(
    results: str | Path | Result | Iterable[str | Path | Result],
    *,
    half_life: float | str | None = None,
    window: int | str | None = None,
    constraints: Sequence[Constraint] = (),
) -> list[Constraint]:
    """Return side constraints that count the use of earlier nights.

    Parameters
    ----------
    results : Result or path, or iterable of them
        Plans or results of earlier nights, in order of time, or files of them. The use of a plan is
        that of its whole night, including its history.
    half_life : number or str, optional
        The number of nights, or a time such as ``7d``, after which use counts half.
    window : number or str, optional
        The number of nights, or a time, that count, including tonight. Give one of the two.
    constraints : sequence of Constraint
        The side constraints, such as fair shares; by default those of the last plan.

    Returns
    -------
    list of Constraint
        Side constraints for `solve` or an instance.

    Raises
    ------
    InputError
        If a file cannot be read, or the results are not all of one problem.
    """
    from schedopt.planning.carry import carry as carried

    several = [results] if isinstance(results, str | Path | Result) else list(results)
    read = [one if isinstance(one, Result) else _read(one) for one in several]
    names = {result.problem for result in read}
    if len(names) != 1:
        raise InputError("results of one problem", found=" and ".join(sorted(names)) or "none")
    life, nights = (None if value is None else str(value) for value in (half_life, window))
    if names != {"dssp"}:
        expected = "results of a problem with fair shares"
        raise InputError(expected, found=f"results of {names.pop()}")
    return carried(read, constraints, half_life=life, window=nights)


def _read(path: str | Path) -> Result:
    expected = "a plan document or a result, as `schedopt plan ... --output plan.json` writes it"
    if not str(path).lower().endswith((".json", ".json.gz")):
        raise InputError(expected, found=quote(Path(path).name), file=str(path))
    held = load(path)
    if not isinstance(held, Result):
        raise InputError(expected, found="an instance", file=str(path))
    return held
