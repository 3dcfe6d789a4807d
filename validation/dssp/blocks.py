"""Lower bounds on the cost of satisfying one row: sets of changes, enumerated without a solver.

Columns start at what their own worth asks for, which costs nothing. Changing column j costs its
loss, and what a row with multiplier y leaves unused costs y a unit. To show that every way to keep
the row costs `least` or more, all sets of changes that cost less are gone through, as pairs of the
row's activity and the cost; a pair is dropped where another is no worse however the rest is chosen,
or where what is missing to keep the row must cost too much.
"""

from typing import NamedTuple

import numpy as np

from schedopt.validation.dssp.program import ROOMY, Whole

MOST = 1_000_000  # most pairs at a time, and `WORK` in all; beyond, nothing is shown
WORK = 300_000_000
FEW = 128  # pairs up to which no dominance is applied
LESS = 1 - 1e-9  # factor that rounds a cost in floating point safely down


class Block(NamedTuple):
    """A row over its free columns.

    ``coefficients``: none 0 (shape (n,)); ``start``: what each column is worth being (shape (n,));
    ``losses``: what changing it costs, 0 or more (shape (n,)); ``multiplier``: y: above 0 of the
    upper bound, below 0 of the lower.
    """

    coefficients: Whole
    start: Whole
    losses: Whole
    lower: int | None
    upper: int | None
    multiplier: int


class TooManyError(ValueError):
    """There are more sets of changes than are enumerated."""


def costs_at_least(block: Block, least: int) -> bool:
    """Tell whether every choice that satisfies a block's row costs at least so much.

    Raises `TooManyError` if there are too many sets of changes to go through.
    """
    can = (block.losses < least).astype(bool)
    change = np.where(block.start, -block.coefficients, block.coefficients)[can]
    loss = block.losses[can]
    ratio = loss.astype(np.float64) / np.abs(change).astype(np.float64)
    order = np.argsort(ratio, kind="stable")
    change, loss, ratio = change[order], loss[order], np.append(ratio[order], np.inf)
    activity = int(block.coefficients[block.start.astype(bool)].sum())
    roomy = _fits_int64(block, least)
    acts = np.array([activity], dtype=np.int64 if roomy else object)
    costs = np.array([0], dtype=acts.dtype)
    work = 0
    enough = FEW
    for j in range(len(change)):
        if len(acts) > enough:  # to sift fewer takes longer than to carry them along
            kept = ~_is_costly(block, acts, costs, float(ratio[j]), least)
            acts, costs = _drop_dominated(block, acts[kept], costs[kept])
            if not len(acts):
                return True
            enough = max(FEW, 2 * len(acts))
        more = (costs < least - int(loss[j])).astype(bool)
        acts = np.concatenate((acts, acts[more] + change[j]))
        costs = np.concatenate((costs, costs[more] + loss[j]))
        work += len(acts)
        if len(acts) > MOST or work > WORK:
            raise TooManyError(f"more than {MOST:,} sets of changes to go through")
    return bool(_is_costly(block, acts, costs, np.inf, least, exactly=True).all())


def _fits_int64(block: Block, least: int) -> bool:
    """Tell whether 64 bits hold every sum and product."""
    reach = int(np.abs(block.coefficients).sum()) + max(
        abs(block.lower or 0), abs(block.upper or 0)
    )
    held = object not in (block.coefficients.dtype, block.losses.dtype)
    return held and max(reach, abs(block.multiplier) * reach + 2 * least) < ROOMY


def _is_costly(
    block: Block, acts: Whole, costs: Whole, ratio: float, least: int, *, exactly: bool = False
) -> Whole:
    """Tell which pairs must cost `least`, where further changes cost at least `ratio` a unit."""
    if exactly:  # no changes are left
        dear: Whole = np.zeros(len(acts), dtype=bool)
        total = costs
        if block.upper is not None:
            dear |= (acts > block.upper).astype(bool)
            if block.multiplier > 0:
                total = total + block.multiplier * (block.upper - acts)
        if block.lower is not None:
            dear |= (acts < block.lower).astype(bool)
            if block.multiplier < 0:
                total = total + block.multiplier * (block.lower - acts)
        dear |= (total >= least).astype(bool)
        return dear
    most = np.zeros(len(acts))
    sides = ((block.upper, 1, block.multiplier), (block.lower, -1, -block.multiplier))
    for bound, sign, price in sides:
        if bound is not None:
            room = (sign * (bound - acts)).astype(np.float64)
            unused = min(ratio, float(max(price, 0)))
            most = np.maximum(most, np.where(room < 0, -room * ratio, room * unused))
    shown: Whole = (costs.astype(np.float64) + most) * LESS >= least
    return shown


def _drop_dominated(block: Block, acts: Whole, costs: Whole) -> tuple[Whole, Whole]:
    """Return the pairs that no other dominates."""
    value = block.multiplier * acts - costs  # what is left of it once the row is paid for
    if block.lower is None:
        order = np.lexsort((-value, acts))
    elif block.upper is None:
        order = np.lexsort((-value, -acts))
    else:  # of the same activity alone
        order = np.lexsort((-value, acts))
        kept = np.ones(len(acts), dtype=bool)
        kept[1:] = (acts[order][1:] != acts[order][:-1]).astype(bool)
        return acts[order][kept], costs[order][kept]
    ranked = value[order]
    kept = np.ones(len(acts), dtype=bool)
    kept[1:] = (ranked[1:] > np.maximum.accumulate(ranked)[:-1]).astype(bool)
    return acts[order][kept], costs[order][kept]
