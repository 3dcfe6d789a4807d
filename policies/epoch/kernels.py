"""The policies of the 1994 paper, compiled for many sets of jobs, or run as Python.

Each plans the quantum for jobs in decreasing order of minima. Lengths and starts are integers, in
units of 1/J of the quantum.

The closed system of section 5.2 has J jobs, each replaced when it completes. Quanta are so short
compared with jobs that a job runs at S(A_j) f_j throughout, where f_j is its share of the quantum.
The printed static speedup equals S_dynamic(n) N/(n ceil(N/n)), which is used here. Source: McCann
and Zahorjan, TR 94-10-05, University of Washington, 1994.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.epoch import Partitioned, Solution
from schedopt.instances.epoch.generators import drawn_uniform, mean_minimum
from schedopt.solvers.compiling import kernel

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

BUDDY, HYBRID, EQUI, HEURISTIC, OPT = range(5)
"""Codes: BUDDY (BUDDY* where J is no power of two), HYBRID(k), EQUI-EPOCH, HEURISTIC-EPOCH(k), and
OPT-EPOCH(k) by the paper's search."""

CODES = {
    "buddy-star": BUDDY,
    "hybrid": HYBRID,
    "equi-epoch": EQUI,
    "heuristic-epoch": HEURISTIC,
    "paper-search": OPT,
}

SHORT, LONG = 400.0, 4000.0
"""Mean demands of the two classes of jobs, which are equally likely, in units of CPU time."""

BETA = (30.0, 300.0)
"""The range of the uniform distribution of a job's speedup parameter."""

UNLIMITED = 2**62
"""Limit of a search without a limit."""


class QuantumPlan(NamedTuple):
    """The plan of the jobs in decreasing order of minima: arrays of shape (J,), or lists.

    ``nodes`` is A_j; ``length`` and ``start`` are in 1/J of the quantum; ``first`` is the first
    node of contiguous nodes; ``turn`` has the jobs in the order in which they were planned.
    """

    nodes: Any
    length: Any
    start: Any
    first: Any
    turn: Any


def plan(code: int, minima: Any, total: int, k: int, most: int, made: QuantumPlan) -> int:
    """Plan a quantum; return the number of assignments tested, 0 without a search.

    Minima do not increase. ``total`` is N, a power of two for `BUDDY` and `HYBRID`; ``k`` is the
    inequity. Returns -1 if a search visits more than ``most`` slots of assignments.
    """
    if code == OPT:
        return _search_epochs(minima, total, k, most, made)
    if code == EQUI:
        _equi(minima, total, made)
        return 0
    end = len(minima)
    while end > 0 and code != HEURISTIC:  # the smallest jobs are last
        size = 1
        while 2 * size <= end:
            size *= 2
        _buddy(minima, end - size, end, total, made)
        end -= size
        if code == HYBRID:
            break
    _heuristic(minima, end, total, k, made)
    return 0


def _buddy(minima: Any, begin: int, end: int, total: int, made: QuantumPlan) -> None:
    """Schedule jobs begin..end, 2^i of them, by BUDDY in their share of the quantum.

    Each job is placed above the left edge of the min-seg: the segment of the frontier whose height,
    in units of 1/2^i, has the fewest factors of two.
    """
    size, done = end - begin, len(minima) - end
    frontier = [(0, total, 0)]  # (left, width, height)
    for j in range(begin, end):
        lowest, odd = -1, 2 * size
        for i in range(len(frontier)):
            height = frontier[i][2]
            power = (height | size) & -(height | size)
            if height < size and power < odd:
                lowest, odd = i, power
        left, room, height = frontier[lowest]
        width = max(1, total // odd)
        while width < minima[j]:
            width *= 2
        made.nodes[j], made.first[j] = width, left
        made.length[j], made.start[j] = total // width, done + height
        made.turn[done + j - begin] = j
        frontier[lowest] = (left, width, height + total // width)
        if room > width:
            frontier.insert(lowest + 1, (left + width, room - width, height))
        for i in (lowest + 1, lowest):  # neighbours of equal height join
            if 0 < i < len(frontier) and frontier[i][2] == frontier[i - 1][2]:
                left, width, height = frontier[i - 1]
                frontier[i - 1] = (left, width + frontier[i][1], height)
                frontier.pop(i)


def _divisors(total: int) -> Any:
    small = [h for h in range(1, int(total**0.5) + 1) if total % h == 0]
    return [total // h for h in small] + [h for h in small[::-1] if h * h < total]


def _equi(minima: Any, total: int, made: QuantumPlan) -> None:
    """Fill each epoch, from the smallest jobs on, with as many as can have equal allotments."""
    divisors, end = _divisors(total), len(minima)
    while end > 0:
        i = 0
        while divisors[i] > end or minima[end - divisors[i]] * divisors[i] > total:
            i += 1
        members = [end - 1 - j for j in range(divisors[i])]
        _allot_epoch(minima, members, total, len(minima) - end, made)
        end -= divisors[i]


def _heuristic(minima: Any, end: int, total: int, k: int, made: QuantumPlan) -> None:
    """Schedule the jobs before ``end`` by HEURISTIC-EPOCH(k).

    The largest remaining job opens an epoch. Then each job in decreasing order gets max(M, largest
    - k, 1) nodes if as many are left. With k = 0 the largest job alone decides how many fit.
    """
    divisors, remaining, done = _divisors(total), list(range(end)), len(minima) - end
    while len(remaining) > 0:
        largest = minima[remaining[0]]
        if k == 0:
            i = 0
            while divisors[i] > len(remaining) or largest * divisors[i] > total:
                i += 1
            taken, rest = remaining[: divisors[i]], remaining[divisors[i] :]
        else:
            floor, spare = max(1, largest - k), total
            taken, rest = remaining[:0], remaining[:0]
            for i, j in enumerate(remaining):
                if spare < floor:
                    rest.extend(remaining[i:])
                    break
                width = max(minima[j], floor)
                if width <= spare:
                    taken.append(j)
                    spare -= width
                else:
                    rest.append(j)
        _allot_epoch(minima, taken, total, done, made)
        done += len(taken)
        remaining = rest


def _allot_epoch(minima: Any, members: Any, total: int, done: int, made: QuantumPlan) -> None:
    """Divide all nodes among some jobs, after ``done`` others, as `epoch.even_shares` does."""
    count = len(members)
    low, high = 1, total // count + 1
    if max(minima[members[0]], minima[members[-1]]) < high:
        low = high - 1  # even the largest, which is at one end, has no more than its share
    while high - low > 1:
        middle = (low + high) // 2
        if sum([max(minima[j], middle) for j in members]) <= total:
            low = middle
        else:
            high = middle
    spare = total - sum([max(minima[j], low) for j in members])
    first = 0
    for i, j in enumerate(members):
        width = max(minima[j], low)
        if width == low and spare > 0:
            width += 1
            spare -= 1
        made.nodes[j], made.first[j] = width, first
        made.length[j], made.start[j] = count, done
        made.turn[done + i] = j
        first += width


def _search_epochs(minima: Any, total: int, k: int, most: int, made: QuantumPlan) -> int:
    """Search for OPT-EPOCH(k) as in section 4.2, with a stack in place of the recursion.

    Each level is an epoch that holds the largest remaining job: some epoch of an optimal schedule
    holds it, and the order of epochs does not matter.
    """
    jobs = len(minima)
    epoch, best = [jobs] * jobs, [0] * jobs  # the level of each job; J where it is left
    counts, slots = [-1] * (jobs + 1), [0] * (jobs * jobs)
    fewest, level, looked_at, tested = jobs + 1, 0, 0, 0
    while level >= 0:
        at = level * jobs
        remaining = [j for j in range(jobs) if epoch[j] >= level]
        if len(remaining) == 0:
            best, fewest = epoch[:], level
            level -= 1
            continue
        if counts[level] < 0:
            floor = max(1, minima[remaining[0]] - k)
            counts[level] = min(len(remaining), 1 + (total - minima[remaining[0]]) // floor)
            slots[at] = 0
        taken = remaining[:0]
        while len(taken) == 0 and counts[level] > 0 and level + 1 < fewest:
            if cut(slots, at, counts[level], total, k):
                looked_at += counts[level]
                if looked_at > most:
                    return -1
                taken = _largest_filling_jobs(minima, remaining, slots, at, counts[level])
            else:
                counts[level] -= 1
                slots[at] = 0
        if len(taken) == 0:
            level -= 1
            continue
        tested += 1
        for j in remaining:
            epoch[j] = jobs
        for j in taken:
            epoch[j] = level
        if k > 0 and taken[-1] == remaining[len(taken) - 1]:
            counts[level] = 0  # uninterrupted from the largest: all others leave dominated sets
        level += 1
        counts[level] = -1
    done = 0
    for e in range(fewest):
        members = [j for j in range(jobs) if best[j] == e]
        _allot_epoch(minima, members, total, done, made)
        done += len(members)
    return tested


def cut(slots: Any, at: int, count: int, total: int, k: int) -> bool:
    """Step to the next way to divide N nodes into allotments that differ by at most k, if any.

    The allotments are slots[at:at + count] and do not increase; before the first way slots[at] is
    0. With k <= 1 there is at most one way. Table 1 counts them, over all counts.
    """
    widest = slots[at]
    if widest > 0 and k <= 1:
        return False
    floor, rest = max(1, widest - k), 1
    i = count - 1 if widest > 0 else 0
    while i > 0 and (slots[at + i] <= floor or rest > (slots[at + i] - 1) * (count - 1 - i)):
        rest += slots[at + i]
        i -= 1
    if i > 0:
        slots[at + i] -= 1
    else:
        widest = max(widest + 1, -(-total // count))
        floor = max(1, widest - k)
        rest = total - widest
        if rest < floor * (count - 1):
            return False
        slots[at] = widest
    for p in range(at + i + 1, at + count):
        slots[p] = min(slots[p - 1], rest - floor * (at + count - 1 - p))
        rest -= slots[p]
    return True


def _largest_filling_jobs(minima: Any, left: Any, slots: Any, at: int, count: int) -> Any:
    """Return the largest jobs that fill all slots; none unless they include the largest of all."""
    taken, i = left[:0], 0
    for p in range(at, at + count):
        while i < len(left) and minima[left[i]] > slots[p]:
            i += 1
        if i == len(left) or (p == at and i > 0):
            return left[:0]
        taken.append(left[i])
        i += 1
    return taken


def _empty_plan(jobs: int) -> QuantumPlan:
    made = np.zeros((5, jobs), np.int64)
    return QuantumPlan(made[0], made[1], made[2], made[3], made[4])


@kernel()
def overheads(code: int, minima: Ints, total: int, k: int) -> tuple[Floats, Ints, Ints]:
    """Return sum A_j, assignments tested, and epochs, of each of many sets of jobs.

    Minima have shape (trials, J); no row increases.
    """
    trials, jobs = minima.shape
    sums, tested = np.zeros(trials), np.zeros(trials, np.int64)
    epochs = np.zeros(trials, np.int64)
    built = _empty_plan(jobs)
    for t in range(trials):
        tested[t] = plan(code, minima[t], total, k, UNLIMITED, built)
        sums[t] = built.nodes.sum()
        epochs[t] = built.nodes.sum() // total
    return sums, tested, epochs


class Arrivals(NamedTuple):
    """Jobs in the order in which they start, which is the same for every policy.

    ``jobs`` is J, the number of jobs in the system; ``demand``, ``beta`` and ``minimum`` have shape
    (starts,).
    """

    nodes: int
    jobs: int
    demand: Floats
    beta: Floats
    minimum: Ints


@kernel()
def simulate_closed_system(
    code: int, work: Arrivals, k: int, warm: int, static: bool
) -> tuple[float, float]:
    """Run the closed system of section 5.2; see `simulate`.

    Returns the sum of the response times after the first ``warm`` completions, and the time that
    these completions took.
    """
    total, jobs, demand, beta, minimum = work
    slot = np.arange(jobs)
    remaining = demand[:jobs].copy()
    started = np.zeros(jobs)
    order = np.empty(jobs, np.int64)
    sorted_, rate, planned = np.empty(jobs, np.int64), np.empty(jobs), _empty_plan(jobs)
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
        plan(code, sorted_, total, k, UNLIMITED, planned)
        wait, first = np.inf, 0
        for i in range(jobs):
            j = order[i]
            share = planned.length[i] / jobs
            rate[j] = share * speedup(planned.nodes[i], beta[slot[j]], total, static)
            if remaining[j] / rate[j] < wait:
                wait, first = remaining[j] / rate[j], j
        now += wait
        for j in range(jobs):
            remaining[j] -= wait * rate[j]
        if done == warm - 1:
            begin = now
        if done >= warm:
            responses += now - started[first]
        slot[first] = jobs + done
        remaining[first], started[first] = demand[jobs + done], now
    return responses, now - begin


def speedup(nodes: int, beta: float, total: int, static: bool) -> Any:
    """Return S(n) = (1 + beta) n/(beta + n), less what N threads leave idle for static jobs."""
    dynamic = (1.0 + beta) * nodes / (beta + nodes)
    if static:
        return dynamic * total / (nodes * -(-total // nodes))
    return dynamic


def arrivals(seed: int, nodes: int, jobs: int, load: float, completions: int) -> Arrivals:
    """Draw the jobs of section 5.2: two classes, exponential demands, uniform β and minima."""
    draw = np.random.Generator(np.random.PCG64(seed))
    starts = jobs + completions
    mean = np.where(draw.random(starts) < 0.5, SHORT, LONG)
    return Arrivals(
        nodes=nodes,
        jobs=jobs,
        demand=mean * draw.standard_exponential(starts),
        beta=draw.uniform(*BETA, starts),
        minimum=drawn_uniform(draw, nodes, starts, mean_minimum(nodes, jobs, load)),
    )


def simulate(
    policy: str, work: Arrivals, *, inequity: int = 1, static: bool = False, warm: int = 0
) -> tuple[float, float]:
    """Return the mean response time after the warm-up, and J over the throughput (Little's law).

    The policy is one of `CODES`. A job that completes is replaced by the next of ``work``.
    ``static`` jobs cannot repartition their N threads. The first ``warm`` completions do not count.
    """
    completions = len(work.demand) - work.jobs
    responses, elapsed = simulate_closed_system(CODES[policy], work, inequity, warm, static)
    return responses / (completions - warm), work.jobs * elapsed / (completions - warm)


def shares(solution: Solution) -> dict[str, tuple[int, float]]:
    """Return A_j of each job, and the part of the quantum in which it runs."""
    by_name: dict[str, Any] = {}
    if isinstance(solution, Partitioned):
        for epoch in solution.epochs:
            by_name |= {name: (a, epoch.duration) for name, a in epoch.nodes.items()}
        return by_name
    return {name: (p.nodes, p.end - p.start) for name, p in solution.rectangles.items()}
