"""The policies of `buddies`, `greedy` and `search`, compiled: the same steps over flat arrays.

Each fills ``nodes`` with A_j and ``part`` with the share of the quantum for which a job runs, for
jobs by non-increasing minimum. `tests` hold them to their plain definitions.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedopt.solvers.compiling import njit

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

BUDDY, HYBRID, EQUI, HEURISTIC, OPT = range(5)
"""Codes: BUDDY (BUDDY* where J is no power of two), HYBRID(k), EQUI-EPOCH, HEURISTIC-EPOCH(k), and
OPT-EPOCH(1) by the paper's search."""

CODES = {
    "buddy-star": BUDDY,
    "hybrid": HYBRID,
    "equi-epoch": EQUI,
    "heuristic-epoch": HEURISTIC,
    "paper-search": OPT,
}


@njit(cache=True)
def plan(code: int, minima: Ints, total: int, k: int, nodes: Ints, part: Floats) -> int:
    """Plan a quantum; return how many assignments were tested, 0 where nothing is searched.

    Minima, shape (J,), do not increase. ``total`` is N, a power of two for `BUDDY` and `HYBRID`;
    ``k`` is the inequity, 1 for `OPT`. ``nodes`` and ``part``, shape (J,), are filled.
    """
    jobs = len(minima)
    if code in (BUDDY, HYBRID):
        end = jobs  # the smallest jobs are last
        while end > 0:
            size = 1
            while 2 * size <= end:
                size *= 2
            _buddy(minima, end - size, end, total, nodes)
            for j in range(end - size, end):
                part[j] = total / (jobs * nodes[j])
            end -= size
            if code == HYBRID:
                _heuristic(minima, end, total, k, nodes, part)
                end = 0
        return 0
    if code == EQUI:
        _equi(minima, total, nodes, part)
        return 0
    if code == HEURISTIC:
        _heuristic(minima, jobs, total, k, nodes, part)
        return 0
    return _search(minima, total, nodes, part)


@njit(cache=True)
def _buddy(minima: Ints, begin: int, end: int, total: int, nodes: Ints) -> None:
    """Schedule jobs begin..end, 2^i of them; heights are whole in units of 1/2^i."""
    size = end - begin
    left, width = np.empty(size + 1, np.int64), np.empty(size + 1, np.int64)
    height = np.zeros(size + 1, np.int64)
    left[0], width[0], segments = 0, total, 1
    for j in range(begin, end):
        lowest, odd = -1, 0
        for i in range(segments):
            if height[i] >= size:
                continue
            power = height[i] & -height[i] if height[i] > 0 else size
            if lowest < 0 or power < odd:
                lowest, odd = i, power
        w = 1
        while w < minima[j]:
            w *= 2
        w = max(w, total // odd)
        nodes[j] = w
        new = height[lowest] + total // w
        if width[lowest] > w:  # the rest of the segment stays where it was
            for i in range(segments, lowest + 1, -1):
                left[i], width[i], height[i] = left[i - 1], width[i - 1], height[i - 1]
            left[lowest + 1], width[lowest + 1] = left[lowest] + w, width[lowest] - w
            height[lowest + 1] = height[lowest]
            segments += 1
            width[lowest] = w
        height[lowest] = new
        kept = 0
        for i in range(1, segments):  # neighbours of equal height join
            if height[i] == height[kept]:
                width[kept] += width[i]
            else:
                kept += 1
                left[kept], width[kept], height[kept] = left[i], width[i], height[i]
        segments = kept + 1


@njit(cache=True)
def _equi(minima: Ints, total: int, nodes: Ints, part: Floats) -> None:
    jobs = len(minima)
    end = jobs
    while end > 0:
        h = min(end, total)
        while total % h != 0 or minima[end - h] * h > total:
            h -= 1
        for j in range(end - h, end):
            nodes[j], part[j] = total // h, h / jobs
        end -= h


@njit(cache=True)
def _allot(minima: Ints, taken: Ints, count: int, total: int, k: int, nodes: Ints) -> None:
    """Share all nodes among some jobs, as `instances.epoch.allotted` does."""
    if k == 0:
        for i in range(count):
            nodes[taken[i]] = total // count
        return
    floor = 1
    for i in range(count):
        floor = max(floor, minima[taken[i]] - k)
    low, high = floor, total + 1
    while high - low > 1:
        middle = (low + high) // 2
        used = 0
        for i in range(count):
            used += max(minima[taken[i]], middle)
        if used <= total:
            low = middle
        else:
            high = middle
    spare = total
    for i in range(count):
        nodes[taken[i]] = max(minima[taken[i]], low)
        spare -= nodes[taken[i]]
    for i in range(count):
        if spare > 0 and nodes[taken[i]] == low:
            nodes[taken[i]] += 1
            spare -= 1


@njit(cache=True)
def _heuristic(minima: Ints, end: int, total: int, k: int, nodes: Ints, part: Floats) -> None:
    """Schedule the jobs before `end`."""
    jobs = len(minima)
    gone = np.zeros(end, np.bool_)
    taken = np.empty(end, np.int64)
    first = 0
    while first < end:
        count = 0
        if k == 0:
            h = min(end - first, total)  # with k = 0 the jobs that are left are consecutive
            while total % h != 0 or minima[first] * h > total:
                h -= 1
            for j in range(first, first + h):
                taken[count] = j
                count += 1
        else:
            floor, spare = max(1, minima[first] - k), total
            for j in range(first, end):
                width = max(minima[j], floor)
                if not gone[j] and width <= spare:
                    taken[count] = j
                    count += 1
                    spare -= width
                if spare < floor:
                    break
        _allot(minima, taken, count, total, k, nodes)
        for i in range(count):
            gone[taken[i]] = True
            part[taken[i]] = count / jobs
        while first < end and gone[first]:
            first += 1


@njit(cache=True)
def _search(minima: Ints, total: int, nodes: Ints, part: Floats) -> int:
    """Search as `search.opt_epochs` does with k = 1, its recursion as a stack."""
    jobs = len(minima)
    left = np.empty((jobs + 1, jobs), np.int64)
    count, next_h = np.zeros(jobs + 1, np.int64), np.zeros(jobs + 1, np.int64)
    epoch, best_epoch = np.zeros(jobs, np.int64), np.zeros(jobs, np.int64)
    taken = np.empty(jobs, np.int64)
    best, level, tested = jobs + 1, 0, 0
    for j in range(jobs):
        left[0, j] = j
    count[0] = jobs
    next_h[0] = _most(minima, left[0], jobs, total)
    while level >= 0:
        n = count[level]
        if n == 0:
            best = level
            best_epoch[:] = epoch
            level -= 1
            continue
        h = next_h[level]
        if h == 0 or level + 1 >= best:
            level -= 1
            continue
        next_h[level] = h - 1
        if not _fill(minima, left[level], n, total, h, taken):
            continue
        tested += 1
        if taken[h - 1] == h - 1:
            next_h[level] = 0
        kept = _split(left, level, n, h, taken, epoch)
        level += 1
        count[level] = kept
        if kept > 0:
            next_h[level] = _most(minima, left[level], kept, total)
    for e in range(best):
        size = 0
        for j in range(jobs):
            if best_epoch[j] == e:
                taken[size] = j
                size += 1
        _allot(minima, taken, size, total, 1, nodes)
        for i in range(size):
            part[taken[i]] = size / jobs
    return tested


@njit(cache=True)
def _fill(minima: Ints, left: Ints, n: int, total: int, h: int, taken: Ints) -> bool:
    """Find the largest jobs for h slots, the largest included; tell whether there are any."""
    width, wider = total // h, total % h
    i = 0
    for filled in range(h):
        slot = width + 1 if filled < wider else width
        while i < n and minima[left[i]] > slot:
            i += 1
        if i == n or (filled == 0 and i > 0):
            return False
        taken[filled] = i
        i += 1
    return True


@njit(cache=True)
def _split(left: Ints, level: int, n: int, h: int, taken: Ints, epoch: Ints) -> int:
    """Move the chosen jobs into an epoch, and return how many go to the next level."""
    kept = at = 0
    for i in range(n):
        if at < h and taken[at] == i:
            epoch[left[level, i]] = level
            at += 1
        else:
            left[level + 1, kept] = left[level, i]
            kept += 1
    return kept


@njit(cache=True)
def _most(minima: Ints, left: Ints, count: int, total: int) -> Any:
    """Return the most jobs that an epoch led by the largest can hold."""
    largest = minima[left[0]]
    return min(count, 1 + (total - largest) // max(1, largest - 1))


@njit(cache=True)
def overheads(code: int, minima: Ints, total: int, k: int) -> tuple[Floats, Ints, Ints]:
    """Return Σ A_j, assignments tested, and epochs, of each of many sets of jobs.

    Minima are of shape (trials, J); no row increases.
    """
    trials, jobs = minima.shape
    sums, tested = np.zeros(trials), np.zeros(trials, np.int64)
    epochs = np.zeros(trials, np.int64)
    nodes, part = np.zeros(jobs, np.int64), np.zeros(jobs)
    for t in range(trials):
        tested[t] = plan(code, minima[t], total, k, nodes, part)
        sums[t] = nodes.sum()
        epochs[t] = nodes.sum() // total
    return sums, tested, epochs


@njit(cache=True)
def closed(
    code: int,
    total: int,
    k: int,
    jobs: int,
    demand: Floats,
    beta: Floats,
    minimum: Ints,
    warm: int,
    static: bool,
) -> tuple[float, float]:
    """Run the closed system of section 5.2; see `closed_system.simulate`.

    Returns the sum of the response times after the first `warm` completions, and how long these
    completions took.
    """
    slot = np.arange(jobs)
    left = demand[:jobs].copy()
    started = np.zeros(jobs)
    order = np.empty(jobs, np.int64)
    sorted_, nodes = np.empty(jobs, np.int64), np.empty(jobs, np.int64)
    part, rate = np.empty(jobs), np.empty(jobs)
    now = begin = responses = 0.0
    for done in range(len(demand) - jobs):
        for i in range(jobs):  # by non-increasing minimum, the order of the slots on ties
            at = i
            while at > 0 and minimum[slot[order[at - 1]]] < minimum[slot[i]]:
                order[at] = order[at - 1]
                at -= 1
            order[at] = i
        for i in range(jobs):
            sorted_[i] = minimum[slot[order[i]]]
        plan(code, sorted_, total, k, nodes, part)
        wait, first = np.inf, 0
        for i in range(jobs):
            j = order[i]
            rate[j] = part[i] * speedup(nodes[i], beta[slot[j]], total, static)
            if left[j] / rate[j] < wait:
                wait, first = left[j] / rate[j], j
        now += wait
        for j in range(jobs):
            left[j] -= wait * rate[j]
        if done == warm - 1:
            begin = now
        if done >= warm:
            responses += now - started[first]
        slot[first] = jobs + done
        left[first], started[first] = demand[jobs + done], now
    return responses, now - begin


@njit(cache=True)
def speedup(nodes: int, beta: float, total: int, static: bool) -> Any:
    """Return S(n): (1 + β)n/(β + n); static jobs lose what N threads on n nodes leave idle."""
    dynamic = (1.0 + beta) * nodes / (beta + nodes)
    if static:
        return dynamic * total / (nodes * -(-total // nodes))
    return dynamic
