"""Simulation of one-or-all MSFQ cycle by cycle, to test the lemmas of the msfq paper.

It shares no code with the formulas or with the simulator of the policies. At the end of phase 1,
and after a drain that finds no large job, as many small jobs are admitted as there are servers; if
these are l or fewer, they form another drain.
"""

# ruff: noqa: PLR0915 (a compiled loop is one function)

from typing import Any

import numpy as np

from schedopt.solvers.compiling import kernel

RING = 1 << 20  # longer than any queue at the loads that are simulated


@kernel()
def simulate_cycles(
    k: int, l: int, l1: float, lk: float, m1: float, mk: float, wanted: int, seed: int
) -> Any:
    """Simulate ``wanted`` cycles, each from the start of a phase 1 to the next; see `Cycles`."""
    np.random.seed(seed)
    lengths, heads = np.zeros((wanted, 4)), np.zeros((wanted, 2))
    passes, areas = np.zeros((wanted, 4)), np.zeros(wanted)
    whole = np.zeros(wanted, dtype=np.bool_)
    sums, counts = np.zeros((5, 2)), np.zeros((5, 2))
    came, phases = np.zeros((2, RING)), np.zeros((2, RING), dtype=np.int64)
    first, last = np.zeros(2, dtype=np.int64), np.zeros(2, dtype=np.int64)
    serving, of_phase = np.zeros(k), np.zeros(k, dtype=np.int64)
    busy, phase, now, cycle, turns = 0, 0, 0.0, -1, 0
    while True:
        small, large = last[0] - first[0], last[1] - first[1]  # waiting; in phase 1 also served
        leaving = mk if phase == 1 else busy * m1
        rate = l1 + lk + leaving
        step = np.random.exponential(1.0 / rate)
        now += step
        if cycle >= 0:
            areas[cycle] += step * (small + large + busy)
            if phase > 0:
                lengths[cycle, phase - 1] += step
            if phase > 1 and turns == 1:
                passes[cycle, phase - 2] += step
        u = np.random.random() * rate
        if u < l1 + lk:
            c = 0 if u < l1 else 1
            came[c, last[c] % RING], phases[c, last[c] % RING] = now, phase
            last[c] += 1
        elif phase == 1:
            at = first[1] % RING
            sums[phases[1, at], 1] += now - came[1, at]
            counts[phases[1, at], 1] += 1
            first[1] += 1
        else:
            i = np.random.randint(busy)
            sums[of_phase[i], 0] += now - serving[i]
            counts[of_phase[i], 0] += 1
            busy -= 1
            serving[i], of_phase[i] = serving[busy], of_phase[busy]
        small, large = last[0] - first[0], last[1] - first[1]
        begins = False
        if phase == 1 and large == 0:
            heads[cycle, 1] = small
            begins = True
        elif phase == 3 and busy + small <= l:
            phase = 4
        if phase == 2 and busy + small < k:
            phase = 3
            if busy + small <= l:
                phase = 4
        if phase == 0 or (phase == 4 and busy == 0):
            if cycle >= 0 and turns == 1:
                passes[cycle, 3] = large
            if large > 0:
                phase, turns, cycle = 1, 0, cycle + 1
                if cycle == wanted:
                    return lengths, heads, passes, whole, areas, sums, counts
                heads[cycle, 0] = large
            else:
                begins = True
        if begins:  # small jobs are served, however many wait
            phase = 0 if small == 0 else 2 if small >= k else 3 if small > l else 4
            turns += 1
            if cycle >= 0 and turns == 1:
                whole[cycle] = phase == 2
        if phase in (2, 3) or begins:
            while busy < k and last[0] > first[0]:
                serving[busy] = came[0, first[0] % RING]
                of_phase[busy] = phases[0, first[0] % RING]
                busy += 1
                first[0] += 1


@kernel()
def simulate_exceptional_first(
    rate: float, mean: float, first: float, arrivals: int, seed: int
) -> Any:
    """Return mean work and idle fraction at arrivals of an M/G/1 queue with other first jobs.

    The first job of a busy period has an Erlang-2 distribution and another mean.
    """
    np.random.seed(seed)
    work = total = empty = 0.0
    for _ in range(arrivals):
        work = max(0.0, work - np.random.exponential(1.0 / rate))
        total += work
        if work == 0.0:
            empty += 1.0
            work = np.random.gamma(2.0, first / 2.0)
        else:
            work += np.random.exponential(mean)
    return total / arrivals, empty / arrivals
