"""Which engine solves a selection: one of its own where it is a knapsack or shares, else HiGHS."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from schedopt.instances.errors import InputError
from schedopt.solvers import mip
from schedopt.solvers.catalog import engine_of
from schedopt.solvers.result import Limits, Result

if TYPE_CHECKING:
    from schedopt.formulations.dssp.season import Season
    from schedopt.formulations.dssp.selection import Selection
    from schedopt.instances.dssp import Selected, SelectedNights
    from schedopt.solvers.dssp.selection.shares.reading import Shape

FEW = 24
"""Jobs up to which searching in whole numbers takes no longer than loading compiled code."""

MANY = 500
"""Jobs from which on a bound from part of the rules pays: it takes compiled code."""


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
        ``core``, ``shares``, or an engine of mixed-integer programs. By default, where there are
        more than a few jobs, ``core`` for a plain knapsack and ``shares`` where disjoint groups
        have caps and floors; where there are other rules too it comes before ``highs``.
    hint : callable, optional
        Finds a selection to start HiGHS from; called only where HiGHS is.

    Returns
    -------
    Result
        Not yet checked.

    Raises
    ------
    InputError
        If an engine is asked for that does not take the selection, or the model is not linear.
    """
    many = limits is not None and limits.many
    few = solver is None and not many and len(model.instance.jobs) <= FEW
    if solver in (None, "core") and not few and model.plain() is not None:
        from schedopt.solvers.dssp.selection import knapsack

        return knapsack.solve(model, limits)
    if solver == "core":
        raise InputError(
            "a selection without side constraints, or --solver highs",
            found=f"side constraints {', '.join(model.side()) or 'in the model'}",
            place="solver core",
        )
    if solver == "shares" or (solver is None and not few):
        from schedopt.solvers.dssp.selection.shares import engine as shares
        from schedopt.solvers.dssp.selection.shares.reading import shape_of

        shape = shape_of(model)
        if shape is not None and (shape.whole or (solver is None and _worth_it(shape))):
            return shares.solve(model, shape, limits, alone=solver == "shares", hint=hint)
        if solver == "shares":
            raise InputError(
                "shares of the capacity over one grouping, jobs required or forbidden, or "
                "--solver highs",
                found=f"side constraints {', '.join(model.side()) or 'in the model'}",
                place="solver shares",
            )
    start = hint() if hint else None
    asked = engine_of(solver) if solver else None
    if model.changed:
        return mip.solve(asked or engine_of("highs"), model, limits, hint=start)
    from schedopt.solvers.dssp.selection.binary import engine

    return engine.solve(model, limits, hints=[start], asked=asked)


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
        If an engine is asked for that takes a single night alone.
    """
    if solver in ("core", "shares"):
        place = f"solver {solver}"
        raise InputError("a single night, or --solver highs", found="a season", place=place)
    asked = engine_of(solver) if solver else None
    if model.changed:
        return mip.solve(asked or engine_of("highs"), model, limits)
    from schedopt.solvers.dssp.selection.binary import engine

    return engine.solve(model, limits, asked=asked)


def _worth_it(shape: Shape) -> bool:
    """Tell whether the part of a selection that has this shape is worth solving first."""
    return len(shape.groups.weights) >= MANY and len(shape.groups.low) > 1
