"""Which engine solves a selection: the knapsack's own where it is plain, else HiGHS."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from instances.errors import InputError
from solvers import mip
from solvers.catalog import engine_of
from solvers.result import Limits, Result

if TYPE_CHECKING:
    from formulations.dssp.season import Season
    from formulations.dssp.selection import Selection
    from instances.dssp import Selected, SelectedNights

FEW = 24
"""Jobs up to which searching in whole numbers takes no longer than loading compiled code."""


def solve(
    model: Selection,
    limits: Limits | None = None,
    *,
    solver: str | None = None,
    hint: Callable[[], Selected | None] | None = None,
) -> Result[Selected]:
    """Solve a selection with the engine that suits it.

    Parameters
    ----------
    model : Selection
        With any side constraints, native ones too.
    limits : Limits, optional
        When to stop; by default with a proof.
    solver : str, optional
        ``core``, or an engine of mixed-integer programs; by default ``core`` for a plain knapsack
        of more than a few jobs and ``highs`` for any other.
    hint : callable, optional
        Finds a selection to start HiGHS from; called only where ``core`` is not.

    Returns
    -------
    Result
        Not yet checked.

    Raises
    ------
    InputError
        If ``core`` is asked for and the selection is no plain knapsack, or the model is not linear.
    """
    few = solver is None and len(model.instance.jobs) <= FEW
    if solver in (None, "core") and not few and model.plain() is not None:
        from solvers import knapsack

        return knapsack.solve(model, limits)
    if solver == "core":
        raise InputError(
            "a selection without side constraints, or --solver highs",
            found=f"side constraints {', '.join(model.side()) or 'in the model'}",
            place="solver core",
        )
    start = hint() if hint else None
    asked = engine_of(solver) if solver else None
    if model.changed:
        return mip.solve(asked or engine_of("highs"), model, limits, hint=start)
    from solvers.binary import engine

    return engine.solve(model, limits, hint=start, asked=asked)


def season(
    model: Season, limits: Limits | None = None, *, solver: str | None = None
) -> Result[SelectedNights]:
    """Solve a season: an engine of mixed-integer programs, then exactly what it leaves undecided.

    Parameters
    ----------
    model : Season
        With any side constraints, native ones too.
    limits : Limits, optional
        When to stop; by default with a proof.
    solver : str, optional
        An engine of mixed-integer programs; by default ``highs``.

    Returns
    -------
    Result
        Not yet checked.

    Raises
    ------
    InputError
        If ``core`` is asked for.
    """
    if solver == "core":
        raise InputError("a single night, or --solver highs", found="a season", place="solver core")
    asked = engine_of(solver) if solver else None
    if model.changed:
        return mip.solve(asked or engine_of("highs"), model, limits)
    from solvers.binary import engine

    return engine.solve(model, limits, asked=asked)
