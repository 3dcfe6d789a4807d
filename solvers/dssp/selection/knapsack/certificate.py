"""Certificates of a plain knapsack's optimum: one price, and the reduced rewards of jobs.

At the price of the relaxation what is left of each job's reward says what a change of it costs; a
better selection may lose no more than the relaxation is above the optimum. Nearly always so few
jobs cost less than that, that the checker goes through all sets of them. Where rewards are like
demand + constant, a price on the number of jobs is needed too.

The checker, `validation.dssp.blocks`, shares no code with this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.decimals import Whole
from schedopt.solvers.dssp.selection.knapsack.counting import priced_by_count
from schedopt.solvers.result import Limits, Result

if TYPE_CHECKING:
    from schedopt.formulations.dssp.selection import Selection

Certificate = dict[str, object]
Integers = NDArray[Any]
ROOMY = 1 << 61
FEW = 100
"""Jobs that a better selection may change, up to which no other price is looked for."""
PARTS = 1 << 10
"""Of a unit of reward: what a price on the number of jobs is a multiple of."""


@dataclass(frozen=True, eq=False)
class _Priced:
    """A certificate, and how many jobs a better selection may change."""

    certificate: Certificate
    core: int


def certify(
    model: Selection, result: Result, _: Limits, holds: Callable[[Certificate], bool]
) -> Certificate | None:
    """Return the first of `certificates` that holds; None where a branching is needed."""
    return next((made for made in certificates(model, result) if holds(made)), None)


def certificates(model: Selection, result: Result) -> Iterator[Certificate]:
    """Yield certificates of a plain knapsack's optimum, the most promising first.

    There is none where the result is no optimum of a plain knapsack, or its numbers are too large.
    """
    knapsack = model.plain()
    if knapsack is None or result.solution is None or result.bound != result.objective:
        return
    demands = knapsack.demands.numbers
    rewards = Whole.of(model.instance.rewards).numbers
    if object in (demands.dtype, rewards.dtype):
        return
    sizes = demands // (int(np.gcd.reduce(demands)) or 1)
    room = knapsack.room // (int(np.gcd.reduce(demands)) or 1)
    units = rewards // (int(np.gcd.reduce(rewards)) or 1)
    chosen = np.fromiter(model.columns(result.solution), dtype=np.intp)
    units, value = units[knapsack.positions], int(units[chosen].sum())
    step = int(np.gcd.reduce(units)) or 1
    first = _priced(units, sizes, room, value + step)
    if first is None:
        return
    if first.core > FEW:
        other = _priced(units, sizes, room, value + step, counted=True)
        if other is not None and other.core < first.core:
            yield other.certificate
            return
    yield first.certificate


def _priced(
    units: Integers, sizes: Integers, room: int, target: int, *, counted: bool = False
) -> _Priced | None:
    """Return a certificate from the price of room, and of the number of jobs if that is counted.

    None where 64 bits do not hold the numbers.
    """
    most, part, parts = 0, 0, 1
    if counted:
        most = int(np.searchsorted(np.cumsum(np.sort(sizes)), room, side="right"))
        real = units[sizes > 0].astype(np.float64), sizes[sizes > 0].astype(np.float64)
        free = int(units[sizes == 0].sum())
        _, price = priced_by_count(
            *real, float(room), float(target - 1 - free), float(target - free)
        )
        part, parts = max(round(price * PARTS), 0), PARTS
    left = units * parts - np.where(sizes > 0, part, 0)
    some = np.flatnonzero((left > 0) & (sizes > 0))
    order = some[np.argsort(-left[some] / sizes[some], kind="stable")]
    split = int(np.searchsorted(np.cumsum(sizes[order]), room, side="right"))
    weight, price_of_room = 1, 0
    if split < len(order):
        weight, price_of_room = int(sizes[order[split]]), int(left[order[split]])
    largest = weight * (int(np.abs(left).sum()) + target * parts + part * most)
    if largest + price_of_room * (int(sizes.sum()) + room) >= ROOMY:
        return None
    losses = weight * left - price_of_room * sizes
    slack = int(np.maximum(losses, 0).sum()) - weight * parts * target
    slack += price_of_room * room + weight * part * most
    keys = ["capacity", "count"] if part else ["capacity"]
    prices = [[0, price_of_room]] if price_of_room else []
    if part:
        prices.append([1, weight * part])
    node: Certificate = {"reasons": [[weight * parts, prices]]}
    if slack >= 0:
        node["blocks"] = [[0, slack + 1]]
    given: Certificate = {"kind": "branchings", "rows": keys, "nodes": [node]}
    return _Priced(given, int((np.abs(losses) <= slack).sum()))
