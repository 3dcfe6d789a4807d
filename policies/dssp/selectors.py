"""Selectors: which jobs to run by the deadline.

They maximize Σ R_j x_j subject to Σ T_1(j) x_j <= r·P·D over the jobs with T_∞(j) <= D, exactly or
approximately (Anderson et al., SPAA 2005, equations 1 and 2). Side constraints are ignored.
Selectors do not apply to instances whose releases and deadlines require several capacity
constraints.

A selector is a function from `Items` to a mask of items.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.dssp.rows import Row, selectable, window_rows
from schedopt.instances.decimals import Whole
from schedopt.instances.dssp import FILL, Instance, Selected, selected
from schedopt.instances.options import Option, is_number
from schedopt.policies.registry import (
    NotApplicableError,
    Policy,
    as_array,
    register,
    single_night,
)
from schedopt.solvers.compiling import kernel
from schedopt.solvers.dssp.selection.knapsack.items import Floats, Items, Mask
from schedopt.solvers.result import Limits

MEMORY: Final = 1 << 30
"""Bytes that the table of decisions may take."""

Array = Any  # kernels pass numba's own types to each other


@kernel(python_up_to=2000)
def _greedy(rewards: Floats, weights: Floats, room: float, order: Array) -> Mask:
    """Return the items that are taken greedily in the given order."""
    chosen = np.zeros(rewards.size, dtype=np.bool_)
    _add_greedily(chosen, weights, room, order)
    return chosen


@kernel(python_up_to=2000)
def _add_greedily(chosen: Mask, weights: Floats, room: float, order: Array) -> None:
    """Add items to a selection in the given order while they fit into the remaining ``room``."""
    for j in order:
        if not chosen[j] and weights[j] <= room:
            chosen[j] = True
            room -= weights[j]


@kernel(python_up_to=2000)
def _greedy_half(rewards: Floats, weights: Floats, room: float, order: Array) -> Mask:
    """Return the better of greedy and the most rewarding item, completed greedily."""
    chosen = _greedy(rewards, weights, room, order)
    if rewards.size == 0:
        return chosen
    best = np.argmax(rewards)
    if rewards[best] > rewards[chosen].sum():
        chosen[:] = False
        chosen[best] = True
        _add_greedily(chosen, weights, room - weights[best], order)
    return chosen


@kernel(python_up_to=200)
def _greedy_three_quarters(
    rewards: Floats, weights: Floats, room: float, order: Array, rank: Array
) -> Mask:
    """Return the best pair of items, completed by less rewarding items as by `greedy_half`.

    ``rank`` is the place of each item by increasing reward; see the selector of this name.
    """
    best = _greedy_half(rewards, weights, room, order)
    value = rewards[best].sum()
    chosen = np.zeros(rewards.size, dtype=np.bool_)
    for i in range(rewards.size):
        for k in range(rewards.size):
            remaining = room - weights[i] - weights[k]
            if rank[k] >= rank[i] or remaining < 0:
                continue
            total, left, single = rewards[i] + rewards[k], remaining, -1
            for j in order:
                if rank[j] < rank[k] and weights[j] <= remaining:
                    if single < 0 or rewards[j] > rewards[single]:
                        single = j
                    if weights[j] <= left:
                        total += rewards[j]
                        left -= weights[j]
            by_single = single >= 0 and rewards[i] + rewards[k] + rewards[single] > total
            if by_single:
                total = rewards[i] + rewards[k] + rewards[single]
            if total > value:
                value = total
                chosen[:] = False
                chosen[i] = chosen[k] = True
                if by_single:
                    chosen[single] = True
                else:
                    _add_greedily(chosen, weights, remaining, order[rank[order] < rank[k]])
                _add_greedily(chosen, weights, room - weights[chosen].sum(), order)
                best[:] = chosen
                value = max(value, rewards[best].sum())
    return best


def optimum(items: Items) -> Mask:
    """Return an optimal selection by dynamic programming over total rewards up to Dantzig's bound.

    `NotApplicableError` if a reward is not an integer, or the table needs more memory than
    `MEMORY`.
    """
    rewards = items.rewards
    if not np.array_equal(rewards, np.floor(rewards)) or rewards.max(initial=0.0) > 2.0**53:
        odd = next(r for r in rewards if r != np.floor(r) or r > 2.0**53)
        raise NotApplicableError(
            f"dp-profits needs whole rewards of at most 2^53: one is {float(odd)!r}"
        )
    if rewards.size == 0:
        return np.zeros(0, dtype=np.bool_)
    common = int(np.gcd.reduce(rewards.astype(np.int64)))
    # One more than the bound, lest its rounding cost the optimum.
    top = int(items.fractional_bound / common * (1 + 1e-12)) + 1
    table = _LeastWeights("dp-profits", (rewards / common).astype(np.int64), items.weights, top)
    reached = table.least <= items.room
    return table.members(int(np.flatnonzero(reached)[-1]))


def approximation(items: Items, epsilon: float) -> Mask:
    """Return a selection with at least (1 - epsilon) of the optimal reward.

    Let z be the optimum and U Dantzig's bound. Then z <= U <= 2z, since U is at most the greedy
    reward before the first item that does not fit, plus that item. Let e = epsilon/3. Items worth
    more than e·U are large. Their rewards are rounded down to multiples of d = e²·U, which loses
    less than the fraction e of each, since each is worth more than d/e. For each of the U/d = 1/e²
    sums of rounded rewards the table has the smallest demand, and the remaining capacity is filled
    with small items by ratio.

    One of these sums is that of the large items in the optimum. The set in the table is worth at
    least (1 - e) of these and leaves at least as much capacity. Filling by ratio loses at most one
    small item, which is worth at most e·U <= 2e·z. In all, at most 3e·z is lost.

    Only the U/(d·q) lightest large items of a rounded reward q can be useful. So the table has at
    most O(log(1/epsilon)/epsilon²) items.

    Parameters
    ----------
    items : Items
        Rewards and demands of any size.
    epsilon : float
        Between 0 and 1.

    Raises
    ------
    NotApplicableError
        If the table needs more memory than `MEMORY`.
    """
    fallback = _greedy_half(items.rewards, items.weights, items.room, items.order)
    if fallback.all():
        return fallback
    shares = items.rewards / items.fractional_bound  # of U, and so are the threshold and the unit
    threshold = epsilon / 3
    unit = threshold**2
    top = int(1 / unit) + 1  # one more than U/d, lest rounding cost a sum
    large = shares > threshold
    candidates = _lightest_items(np.flatnonzero(large), shares / unit, items.weights, top)
    rounded = np.floor(shares[candidates] / unit).astype(np.int64)
    table = _LeastWeights("fptas", rounded, items.weights[candidates], top)

    small = items.order[~large[items.order]]
    filled = np.concatenate(([0.0], np.cumsum(items.weights[small])))
    gained = np.concatenate(([0.0], np.cumsum(shares[small])))
    sums = np.flatnonzero(table.least <= items.room)
    fits = np.searchsorted(filled, items.room - table.least[sums], side="right") - 1
    best = int(np.argmax(sums * unit + gained[fits]))

    chosen = np.zeros(items.rewards.size, dtype=np.bool_)
    chosen[candidates[table.members(int(sums[best]))]] = True
    chosen[small[: fits[best]]] = True
    _add_greedily(
        chosen, items.weights, items.room - float(items.weights[chosen].sum()), items.order
    )
    if items.rewards[chosen].sum() < items.rewards[fallback].sum():
        return fallback
    return chosen


def _lightest_items(
    large: NDArray[np.intp], scaled: Floats, weights: Floats, top: int
) -> NDArray[np.intp]:
    """Return, for each rounded reward q, the ``top``/q lightest of the large items."""
    rounded = np.floor(scaled[large]).astype(np.int64)
    by_class = np.lexsort((weights[large], rounded))  # stable: the file's order on ties
    rounded = rounded[by_class]
    first = np.searchsorted(rounded, rounded)
    return np.sort(large[by_class[np.arange(large.size) - first < top // rounded]])


class _LeastWeights:
    """Dynamic program: the smallest weight of a set for each total reward.

    Parameters
    ----------
    whose : str
        The policy, for messages.
    rewards : ndarray of int64, shape (n,)
        Rewards, at least 1.
    weights : ndarray of float, shape (n,)
        Integer weights.
    top : int
        The largest total reward.
    """

    def __init__(self, whose: str, rewards: NDArray[np.int64], weights: Floats, top: int) -> None:
        row = top // 8 + 1
        needed = rewards.size * row + 8 * top
        if needed > MEMORY:
            raise NotApplicableError(
                f"{whose} needs {needed / 2**30:.3g} GiB for {rewards.size} jobs and {top} total "
                f"rewards: more than the {MEMORY / 2**30:.3g} GiB it may take"
            )
        self.rewards = rewards
        self.least = np.full(top + 1, np.inf)
        self.least[0] = 0.0
        self.taken: list[NDArray[np.uint8]] = []  # a bit for each total reward
        for reward, weight in zip(rewards.tolist(), weights.tolist(), strict=True):
            with_it = np.full(top + 1, np.inf)
            with_it[reward:] = self.least[: max(0, top + 1 - reward)] + weight
            self.taken.append(np.packbits(with_it < self.least, bitorder="little"))
            np.minimum(self.least, with_it, out=self.least)

    def members(self, total: int) -> Mask:
        """Return the mask of the lightest set with a total reward, shape (n,)."""
        chosen = np.zeros(self.rewards.size, dtype=np.bool_)
        for j in range(self.rewards.size - 1, -1, -1):
            if self.taken[j][total >> 3] >> (total & 7) & 1:
                chosen[j] = True
                total -= int(self.rewards[j])
        return chosen


KPP: Final = "Kellerer, Pferschy and Pisinger, Knapsack Problems, Springer 2004"

EPSILON: Final = Option(
    default=0.1,
    expected="a number between 0 and 1, both excluded",
    accepts=lambda value: is_number(value) and 0 < value < 1,
)

KNOWN: Final = ("capacity", "end", "max_processors", "processors")
"""Features that selectors see through capacities and feasible jobs, on a machine that changes."""

THREE_QUARTERS_MOST: Final = 1_000
"""Items up to which all pairs are tried: the time grows with their cube."""


def selector(
    name: str,
    *,
    source: str,
    summary: str,
    **options: Option,
) -> Callable[[Callable[..., Mask]], Callable[..., Mask]]:
    """Register a function ``choose(items, **options) -> mask`` as a policy with the option `fill`.

    The function gets profits and weights of the jobs that can be on time, shape (items,), and the
    capacity, and returns a mask. The policy ``name+lcpf`` dispatches the selected jobs.

    Parameters
    ----------
    name, source, summary : str
        As in `Policy`.
    **options : Option
        The selector's own options.
    """

    def decorate(choose: Callable[..., Mask]) -> Callable[..., Mask]:
        def run(instance: Instance, *, fill: float | str = 1.0, **given: Any) -> Selected:
            single_night(instance.nights, name)
            refused = [key for key in instance.features if key not in KNOWN]
            if refused:
                raise NotApplicableError(f"{name} does not support `{refused[0]}`")
            if fill == "guaranteed" and (why := instance.unguaranteed):
                raise NotApplicableError(f"fill=guaranteed rests on Theorem 4: {why}")
            r = instance.fill(fill)
            demands = instance.planned.demands
            plain = not (instance.windowed or instance.features)
            open_ = instance.in_time if plain else selectable(instance, r)
            rows = window_rows(instance, open_, r) if instance.windowed else []
            due = bool(instance.due[open_].all())
            room = demands.down(instance.room(r)) if due else int(demands.numbers.sum())
            items = Items.of_whole(instance.rewards, demands, room, open_)
            if len(rows) > 1 or not due:
                raise NotApplicableError(
                    f"{name} supports one capacity; releases and deadlines of jobs require several"
                )
            mask = as_array(choose(items, **given), name, "item", bool, len(items.weights))
            return selected(instance, items.jobs(mask), r)

        register(
            Policy(
                name=name,
                problem="dssp",
                run=run,
                source=source,
                summary=summary,
                options={"fill": FILL, **options},
                phase="choose",
            )
        )
        return choose

    return decorate


@selector(
    "greedy",
    source="Anderson et al., SPAA 2005, section 3.1",
    summary="by reward over demand, whatever still fits",
)
def greedy(items: Items) -> Mask:
    """Take items by decreasing ratio, ties in file order, and skip those that do not fit."""
    return _greedy(items.rewards, items.weights, items.room, items.order)


@selector(
    "greedy-half",
    source=f"{KPP}, chapter 2 (Ext-Greedy)",
    summary="the better of greedy and the most rewarding job: at least 1/2 of the optimum",
)
def greedy_half(items: Items) -> Mask:
    """Return the better of greedy and the single most rewarding item.

    Up to the first item that does not fit, greedy equals the linear relaxation, and the relaxation
    adds less than that item's reward. So the greedy reward plus the best single reward is at least
    the optimum, and the better of the two is at least half of it.
    """
    return _greedy_half(items.rewards, items.weights, items.room, items.order)


@selector(
    "greedy-three-quarters",
    source=f"{KPP}, chapter 2",
    summary="every pair of jobs, then greedy on lesser ones: at least 3/4 of the optimum",
)
def greedy_three_quarters(items: Items) -> Mask:
    """Return the best pair of items, each completed by `greedy_half` with less rewarding items.

    An optimum z of at most two items is found exactly. Otherwise consider the pair that is the
    optimum's two most rewarding items, worth g. If g >= z/2, at least half of the remaining z - g
    is added, which gives (z + g)/2 >= 3z/4. If g < z/2, the less rewarding item of the pair, and so
    each item below it, is worth less than z/4; greedy loses less than one of these against the
    relaxation, and 3z/4 remains.

    `NotApplicableError` for more than 1,000 items: the time is O(n³).
    """
    if items.rewards.size > THREE_QUARTERS_MOST:
        raise NotApplicableError(
            f"greedy-three-quarters tries all pairs of jobs: {items.rewards.size} jobs are more "
            f"than the {THREE_QUARTERS_MOST} it is for"
        )
    rank = np.empty(items.rewards.size, dtype=np.int64)
    rank[np.argsort(items.rewards, kind="stable")] = np.arange(rank.size)
    return _greedy_three_quarters(items.rewards, items.weights, items.room, items.order, rank)


@selector(
    "dp-profits",
    source=f"{KPP}, chapter 2 (dynamic programming by profits)",
    summary="exact for whole rewards: the least demand for every total reward",
)
def dp_profits(items: Items) -> Mask:
    """Return an optimal selection by dynamic programming over rewards; see `optimum`."""
    return optimum(items)


@selector(
    "fptas",
    source=f"Ibarra and Kim, Journal of the ACM 22, 1975; {KPP}, chapters 2 and 6",
    summary="at least 1 - epsilon of the optimum, in time polynomial in 1/epsilon",
    epsilon=EPSILON,
)
def fptas(items: Items, epsilon: float = 0.1) -> Mask:
    """Return a selection with at least (1 - epsilon) of the optimum; see `approximation`."""
    return approximation(items, epsilon)


@selector(
    "core",
    source="Pisinger, Operations Research 45, 1997 (the core); docs/problems/dssp.md",
    summary="exact: prices of the capacity, and a search over the jobs that they leave open",
)
def core(items: Items) -> Mask:
    """Return an optimal selection by the search of the engine `priced-core`.

    `NotApplicableError` if optimality is not proven.
    """
    from schedopt.formulations.dssp.base import integer_program
    from schedopt.solvers.priced_core.search import PricedCoreSearch

    count = items.rewards.size
    row = Row("capacity", range(count), Whole.of(items.weights), upper=items.room)
    names, open_ = list(map(str, range(count))), np.ones(count, dtype=np.bool_)
    program = integer_program(names, items.rewards, open_, [("", row)])
    search = PricedCoreSearch(program.with_count(), Limits(threads=1)).run()
    if search.x is None or not search.proven:
        raise NotApplicableError("core cannot prove an optimum here")
    return np.asarray(search.x == 1)
