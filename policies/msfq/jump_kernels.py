"""The jump chain of a one-or-all system under MSFQ: no clock, no jobs, numbers only.

Each state counts for the mean time that it lasts, 1/(rate out of it), instead of a drawn one; mean
response times follow by Little's law.

While a large job runs, and while small jobs have all servers, the rate does not change, and what
happens next does not depend on what happened before: there is a loop for either, in which
processors need not guess. They turn a comparison into a number, 0 or 1, that is added.
"""

from __future__ import annotations

from typing import Any

from schedopt.policies.msfq.compiling import compiled
from schedopt.policies.msfq.random_kernels import uniforms

Sums = tuple[float, float, float]
"""Time so far, and the areas under small and large jobs."""


@compiled
def jump(
    k: int, l1: float, lk: float, m1: float, mk: float, threshold: int, lazy: bool,
    events: int, warm: int, draw: Any, picks: Any, rates: Any, means: Any, areas: Any,
) -> None:  # fmt: skip
    """Fill in, by batch, time and the areas under small and large jobs, shape (B, 3).

    Parameters
    ----------
    events, warm : int
        Arrivals and completions in all, and those before anything is counted.
    draw, picks : ndarray
        A stream of random numbers, and room for some that are drawn at a time.
    rates, means : ndarray, shape (k + 2,)
        Room for the rate out of a state and its inverse: with so many small jobs running, and at
        the end with a large one.
    """
    batches = areas.shape[0]
    for r in range(k + 2):
        rates[r] = (l1 + lk) + (r * m1 if r <= k else mk)
        means[r] = 1.0 / rates[r]
    small = large = running = 0  # small and large jobs in the system, small jobs that run
    draining = False
    step = max(1, (events - warm) // batches)
    at, used = 0, picks.size
    for batch in range(-1, batches):
        end = warm if batch < 0 else at + step
        sums = 0.0, 0.0, 0.0
        while at < end:
            if used == picks.size:
                uniforms(draw, picks)
                used = 0
            last = used + min(end - at, picks.size - used)
            at += last - used
            while used < last:
                # What runs: a large job where no small one does; the drain keeps arrivals waiting.
                if large > 0 and running == 0:
                    used, small, large, sums = _a_large_one_runs(
                        picks, used, last, l1, l1 + lk, rates[k + 1], means[k + 1], small, large,
                        sums,
                    )  # fmt: skip
                elif running == k and not draining:
                    used, small, large, sums = _small_ones_have_all(
                        picks, used, last, l1, l1 + lk, rates[k], means[k], k, small, large, sums
                    )
                    running = min(small, k)
                else:
                    used, small, large, running, draining, sums = _small_ones_have_some(
                        picks, used, last, l1, l1 + lk, rates, means, k, threshold, lazy, small,
                        large, running, draining, sums,
                    )  # fmt: skip
                if running:
                    draining = draining or (small <= threshold and (large > 0 or not lazy))
                elif large:
                    draining = False
                else:  # empty servers: the small jobs' turn
                    draining = not lazy and small <= threshold
                    running = min(small, k)
        if batch >= 0:
            areas[batch, 0], areas[batch, 1], areas[batch, 2] = sums


@compiled
def _a_large_one_runs(
    picks: Any, used: int, last: int, l1: float, arrival: float, rate: float, mean: float,
    small: int, large: int, sums: Sums,
) -> tuple[int, int, int, Sums]:  # fmt: skip
    """Play until no large job is left, or the numbers are used up."""
    time, area_small, area_large = sums
    while used < last and large:
        time += mean
        area_small += small * mean
        area_large += large * mean
        pick = picks[used] * rate
        used += 1
        small += pick < l1
        large += pick >= l1
        large -= 2 * (pick >= arrival)
    return used, small, large, (time, area_small, area_large)


@compiled
def _small_ones_have_all(
    picks: Any, used: int, last: int, l1: float, arrival: float, rate: float, mean: float,
    k: int, small: int, large: int, sums: Sums,
) -> tuple[int, int, int, Sums]:  # fmt: skip
    """Play until there are fewer than k small jobs, or the numbers are used up."""
    time, area_small, area_large = sums
    while used < last and small >= k:
        time += mean
        area_small += small * mean
        area_large += large * mean
        pick = picks[used] * rate
        used += 1
        small += pick < l1
        small -= pick >= arrival
        large += pick >= l1
        large -= pick >= arrival
    return used, small, large, (time, area_small, area_large)


@compiled
def _small_ones_have_some(
    picks: Any, used: int, last: int, l1: float, arrival: float, rates: Any, means: Any,
    k: int, threshold: int, lazy: bool, small: int, large: int, running: int, draining: bool,
    sums: Sums,
) -> tuple[int, int, int, int, bool, Sums]:  # fmt: skip
    """Play until no job runs, or the numbers are used up."""
    time, area_small, area_large = sums
    while used < last:
        mean = means[running]
        time += mean
        area_small += small * mean
        area_large += large * mean
        pick = picks[used] * rates[running]
        used += 1
        if pick < l1:
            small += 1
            running += running < k and not draining
        elif pick < arrival:
            large += 1
        else:
            small -= 1
            running -= draining or small < running
        if running == 0:
            break
        if small <= threshold and (large > 0 or not lazy):
            draining = True
    return used, small, large, running, draining, (time, area_small, area_large)
