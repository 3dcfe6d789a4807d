"""The selectors: which jobs to try to complete by the deadline.

All solve max Σ R_j x_j, Σ T_1(j) x_j <= r·P·D over the jobs with T_∞(j) <= D, exactly or not
(Anderson et al., SPAA 2005, equations 1 and 2). They ignore side constraints,
and do not apply where releases and deadlines of jobs' own ask for more than one capacity.

A selector is a function from `Items` to a mask over them; `selector` does the rest.
"""

from collections.abc import Callable
from typing import Any, Final

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
from schedopt.solvers.dssp.selection.knapsack.items import Items, Mask

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
    """Find an optimum by the least demand for every total reward; see `by_rewards.optimum`."""
    from schedopt.policies.dssp import by_rewards

    return by_rewards.optimum(items)


@selector(
    "fptas",
    source=f"Ibarra and Kim, Journal of the ACM 22, 1975; {KPP}, chapters 2 and 6",
    summary="at least 1 - epsilon of the optimum, in time polynomial in 1/epsilon",
    epsilon=EPSILON,
)
def fptas(items: Items, epsilon: float = 0.1) -> Mask:
    """Find at least (1 - epsilon) of the optimum; see `by_rewards.approximation`."""
    from schedopt.policies.dssp import by_rewards

    return by_rewards.approximation(items, epsilon)


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
