"""The jump chain of a one-or-all system under MSFQ: no clock, no jobs, numbers only.

Each state counts for the mean time that it lasts, 1/(rate out of it), instead of a drawn one; mean
response times follow by Little's law.
"""

from __future__ import annotations

from typing import Any

from policies.msfq.compiling import compiled
from policies.msfq.random_kernels import uniform


@compiled
def jump(
    k: int, l1: float, lk: float, m1: float, mk: float, threshold: int, lazy: bool,
    events: int, warm: int, draw: Any, areas: Any,
) -> None:  # fmt: skip
    """Fill in, by batch, time and the areas under small and large jobs, shape (B, 3).

    Parameters
    ----------
    events, warm : int
        Arrivals and completions in all, and those before anything is counted.
    """
    batches = areas.shape[0]
    small = large = running = 0  # small and large jobs in the system, small jobs that run
    draining = False
    arrival = l1 + lk
    step = max(1, (events - warm) // batches)
    at = 0
    for batch in range(-1, batches):
        end = warm if batch < 0 else at + step
        time = area_small = area_large = 0.0
        while at < end:
            at += 1
            # What runs: a large job where no small one does; the drain keeps arrivals waiting.
            served = running * m1 if running else (mk if large else 0.0)
            rate = arrival + served
            mean = 1.0 / rate
            time += mean
            area_small += small * mean
            area_large += large * mean
            pick = uniform(draw) * rate
            serves_large = large > 0 and running == 0
            if pick < l1:
                small += 1
                running += running < k and not draining and not serves_large
            elif pick < arrival:
                large += 1
            elif running:
                small -= 1
                running -= not (small >= running and not draining)
            else:
                large -= 1
            if running:
                if small <= threshold and (large > 0 or not lazy):
                    draining = True
            elif large == 0:  # empty servers: the small jobs' turn
                draining = not lazy and small <= threshold
                running = min(small, k)
            else:
                draining = False
        if batch >= 0:
            areas[batch, 0], areas[batch, 1], areas[batch, 2] = time, area_small, area_large
