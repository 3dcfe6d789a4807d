"""The selectors: which jobs to try to complete by the deadline.

All solve max Σ R_j x_j, Σ T_1(j) x_j <= r·P·D over the jobs with T_∞(j) <= D, exactly or not
(Anderson et al., SPAA 2005, equations 1 and 2). They ignore side constraints,
and do not apply where releases and deadlines of jobs' own ask for more than one capacity.

A selector is a function from `Items` to a mask over them; `selector` does the rest.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.dssp.rows import selectable, window_rows
from schedopt.instances.dssp import FILL, Instance, Selected, selected
from schedopt.instances.options import Option, is_number
from schedopt.policies.registry import (
    NotApplicableError,
    Policy,
    as_array,
    register,
    single_night,
)
from schedopt.solvers.dssp.selection.knapsack.items import Floats, Items, Mask

MEMORY: Final = 1 << 30
"""Bytes that the table of decisions may take."""

_BLOCK: Final = 50_000_000  # table entries between two looks at the keyboard


def optimum(items: Items) -> Mask:
    """Find an optimum of whole rewards by the least demand for every total up to Dantzig's bound.

    Raises `NotApplicableError` if a reward is not whole, or the decisions need more memory than
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
    """Find a selection worth at least (1 - epsilon) of the optimum.

    Let z be the optimum and U Dantzig's bound: z <= U <= 2z, since U is at most what greedy takes
    before its first miss, plus that item. Let e = epsilon/3. Items worth more than e·U are large;
    their rewards are rounded down to multiples of d = e²·U, by less than e of each, since each is
    worth more than d/e. For every sum of rounded rewards (there are U/d = 1/e² of them) the table
    has the least demand, and the room that this leaves is filled with small items by ratio.

    One of these sums is that of the optimum's large items: the table's set is worth at least
    (1 - e) of them and leaves no less room. Filling up by ratio loses at most one small item
    against the best use of the room, at most e·U <= 2e·z. All in all at most 3e·z is lost.

    Of the large items of one rounded reward q only the U/(d·q) lightest can be of use, so the
    table has O(log(1/epsilon)/epsilon²) items at most, however many there are.

    ``items``: rewards and demands may be any; ``epsilon``: between 0 and 1.

    Returns the selection.

    Raises `NotApplicableError` if the decisions need more memory than `MEMORY`.
    """
    from schedopt.policies.dssp import selector_kernels as kernels

    fallback = kernels.greedy_half(items.rewards, items.weights, items.room, items.order)
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
    kernels.add_greedily(
        chosen, items.weights, items.room - float(items.weights[chosen].sum()), items.order
    )
    if items.rewards[chosen].sum() < items.rewards[fallback].sum():
        return fallback
    return chosen


def _lightest_items(
    large: NDArray[np.intp], scaled: Floats, weights: Floats, top: int
) -> NDArray[np.intp]:
    """Keep, of the large items of each rounded reward q, the `top`/q lightest."""
    rounded = np.floor(scaled[large]).astype(np.int64)
    by_class = np.lexsort((weights[large], rounded))  # stable: the file's order on ties
    rounded = rounded[by_class]
    first = np.searchsorted(rounded, rounded)
    return np.sort(large[by_class[np.arange(large.size) - first < top // rounded]])


class _LeastWeights:
    """The least weight of a set of each total reward, and the set.

    ``whose``: the policy, for messages; ``rewards``: at least 1 each (shape (n,)); ``weights``:
    whole numbers (shape (n,)); ``top``: the largest total reward to look at.
    """

    def __init__(self, whose: str, rewards: NDArray[np.int64], weights: Floats, top: int) -> None:
        from schedopt.policies.dssp import selector_kernels as kernels

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
        self.taken = np.zeros((rewards.size, row), dtype=np.uint8)
        step = max(1, _BLOCK // (top + 1))
        for start in range(0, rewards.size, step):
            kernels.extend(self.least, self.taken, rewards, weights, start, start + step)

    def members(self, total: int) -> Mask:
        """Return the set of that total reward, shape (n,)."""
        from schedopt.policies.dssp import selector_kernels as kernels

        return kernels.trace(self.taken, self.rewards, total)


KPP: Final = "Kellerer, Pferschy and Pisinger, Knapsack Problems, Springer 2004"

EPSILON: Final = Option(
    default=0.1,
    expected="a number between 0 and 1, both excluded",
    accepts=lambda value: is_number(value) and 0 < value < 1,
)

KNOWN: Final = ("capacity", "end", "max_processors", "processors")
"""Features that selectors see through capacities and feasible jobs, on a machine that changes."""

THREE_QUARTERS_MOST: Final = 20_000
"""Items up to which all pairs are tried: the time grows with their square."""


def selector(
    name: str,
    *,
    source: str,
    summary: str,
    **options: Option,
) -> Callable[[Callable[..., Mask]], Callable[..., Mask]]:
    """Register a function ``choose(items, **options) -> mask`` as a policy with option `fill`.

    It is given the profits and weights of the jobs that can be in time, shape (items,), and the
    room, and returns a mask over them; ``name+lcpf`` dispatches what it selects.

    Parameters
    ----------
    name, source, summary : str
        As in `Policy`.
    **options : Option
        The selector's own.
    """

    def decorate(choose: Callable[..., Mask]) -> Callable[..., Mask]:
        def run(instance: Instance, *, fill: float | str = 1.0, **given: Any) -> Selected:
            single_night(instance.nights, name)
            refused = [key for key in instance.features if key not in KNOWN]
            if refused:
                raise NotApplicableError(f"{name} does not know `{refused[0]}`")
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
                    f"{name} is for one capacity: releases and deadlines of jobs' own ask for more"
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
    """Take items by non-increasing ratio (ties in file order), skipping what does not fit."""
    from schedopt.policies.dssp import selector_kernels as kernels

    return kernels.greedy(items.rewards, items.weights, items.room, items.order)


@selector(
    "greedy-half",
    source=f"{KPP}, chapter 2 (Ext-Greedy)",
    summary="the better of greedy and the most rewarding job: at least 1/2 of the optimum",
)
def greedy_half(items: Items) -> Mask:
    """Take the better of greedy and the single most rewarding item.

    Up to the first item that does not fit, greedy has what the relaxation has; the relaxation adds
    less than that item's reward. So greedy and the best item together reach the optimum, and the
    better of the two reaches half of it.
    """
    from schedopt.policies.dssp import selector_kernels as kernels

    return kernels.greedy_half(items.rewards, items.weights, items.room, items.order)


@selector(
    "greedy-three-quarters",
    source=f"{KPP}, chapter 2",
    summary="every pair of jobs, then greedy on lesser ones: at least 3/4 of the optimum",
)
def greedy_three_quarters(items: Items) -> Mask:
    """Guess the two most rewarding items of the optimum, and add lesser ones by `greedy_half`.

    An optimum z of at most two items is met exactly. Otherwise look at the guess that is its two
    most rewarding items, worth g. If g >= z/2, half of the remaining z - g is added: together
    (z + g)/2 >= 3z/4. If g < z/2, the lesser of the two, and so all below it, are worth less than
    z/4; greedy loses less than one of these against the relaxation, and 3z/4 remains.

    Raises
    ------
    NotApplicableError
        For more than 20,000 items: the time is O(n² log n).
    """
    from schedopt.policies.dssp import selector_kernels as kernels

    if items.rewards.size > THREE_QUARTERS_MOST:
        raise NotApplicableError(
            f"greedy-three-quarters tries all pairs of jobs: {items.rewards.size} jobs are more "
            f"than the {THREE_QUARTERS_MOST} it is for"
        )
    return kernels.greedy_three_quarters(items)


@selector(
    "dp-profits",
    source=f"{KPP}, chapter 2 (dynamic programming by profits)",
    summary="exact for whole rewards: the least demand for every total reward",
)
def dp_profits(items: Items) -> Mask:
    """Find an optimum by the least demand for every total reward; see `selectors.optimum`."""
    from schedopt.policies.dssp import selectors

    return selectors.optimum(items)


@selector(
    "fptas",
    source=f"Ibarra and Kim, Journal of the ACM 22, 1975; {KPP}, chapters 2 and 6",
    summary="at least 1 - epsilon of the optimum, in time polynomial in 1/epsilon",
    epsilon=EPSILON,
)
def fptas(items: Items, epsilon: float = 0.1) -> Mask:
    """Find at least (1 - epsilon) of the optimum; see `selectors.approximation`."""
    from schedopt.policies.dssp import selectors

    return selectors.approximation(items, epsilon)


@selector(
    "core",
    source="Pisinger, Operations Research 45, 1997 (minknap); Dantzig, Operations Research 5, 1957",
    summary="exact: dynamic programming outwards from the break item, with bounds",
)
def core(items: Items) -> Mask:
    """Find an optimum by `Core`, run until it is proven.

    Raises
    ------
    NotApplicableError
        If the search outgrows its memory; the message says so.
    """
    from schedopt.solvers.dssp.selection.knapsack.search import Core, CoreMemoryError

    search = Core(items.rewards, items.weights, items.room)
    try:
        while not search.advance(60.0):
            pass
    except CoreMemoryError as error:
        raise NotApplicableError(f"core cannot prove an optimum here: {error}") from error
    return search.chosen()
