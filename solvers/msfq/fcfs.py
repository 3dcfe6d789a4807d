"""FCFS exactly: mean response times by class, and where it is stable, for exponential sizes.

The classes of the jobs behind the head of the queue have had no influence on anything yet: they are
drawn, with the odds of the arrivals, as the jobs come to the head. So what is in service and the
class of the head, together with how many wait behind it, make a Markov chain: the first two are its
phase, of which there are few (with two classes, of needs a and b, some k/a + k/b). Arrivals raise
the number behind the head by 1 and leave the phase; each job that is drawn lowers it by 1. After a
completion the head may start, then the next job, and so on: in between the system is in a passing
phase, which takes no time, and whose head's class is about to be drawn.

From n to n + 1 behind the head the stationary law goes over by a matrix R: π_{n+1} = π_n·R, where
R = λ·(-stay - λ·G)^-1 and G tells in which phase n is first reached from n + 1 (Latouche and
Ramaswami, Introduction to Matrix Analytic Methods in Stochastic Modeling, SIAM 1999, chapters 6 and
8; G by their logarithmic reduction). The states in which nobody waits behind a head, finitely many,
are solved as they are. Little's law then gives the times.

Source of the phases: Grosof, Harchol-Balter and Scheller-Wolf, Stability for two-class
multiserver-job systems, 2020.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.msfq import Instance

Floats = NDArray[np.float64]
Service = tuple[int, ...]
"""How many jobs of each class are in service."""
MOST_PHASES = 2500
"""Phases up to which matrices are solved: those of some 1,200 servers, one-or-all, in a minute."""
STEPS = 64
"""Doublings of logarithmic reduction at most: beyond, the load cannot be told from 1."""
NEAR = 1e-9
"""Relative error allowed in the mean numbers in service, which are known beforehand."""


class TooManyPhasesError(Exception):
    """There are more phases than were asked for."""

    def __init__(self, most: int) -> None:
        super().__init__(f"more than {most:,} phases")


class UnsettledError(ArithmeticError):
    """So near to the limit of stability that floating point cannot tell."""


class Fcfs(NamedTuple):
    """Mean response times, and mean numbers in the system, by class, shape (C,)."""

    times: Floats
    numbers: Floats


class Phases(NamedTuple):
    """The phases of FCFS, and how it moves between them."""

    shares: Floats  # the part of the arrivals of each class, (C,)
    free: list[Service]  # what may be in service where nobody waits, G of them
    blocked: list[tuple[Service, int]]  # what is in service and the class of the head, M of them
    passing: list[Service]  # what is in service as the next head is about to be drawn, P of them
    stay: Floats  # rates between blocked phases, minus the total rate on the diagonal, (M, M)
    start: Floats  # rates at which the head starts, (M, P)
    drawn: Floats  # odds that the next head is blocked, (P, M)
    passed: Floats  # odds that it starts, (P, P)


def fcfs(queue: Instance, most: int = MOST_PHASES) -> Fcfs:
    """Return the exact mean response times of FCFS, for exponential sizes where it is stable.

    Raises `TooManyPhasesError` if there are more than `most` phases, and `UnsettledError` if
    floating point cannot tell.
    """
    moves = phases(queue, most)
    rates = np.array([job.arrival_rate for job in queue.classes])
    sizes = 1.0 / np.array([job.service_rate for job in queue.classes])
    rate = float(rates.sum())
    first = _first_passage(moves, rate)
    count = len(moves.blocked)
    leaving = -(moves.stay - rate * np.eye(count)) - rate * first[:, :count]
    free, blocked = _boundary_distribution(queue, moves, rate, first)
    # Σ_n π_n = π_0·(I - R)^-1 =: a, and Σ_n n·π_n = a·R·(I - R)^-1, with R = λ·leaving^-1
    drift = leaving - rate * np.eye(count)
    total = np.linalg.solve(drift.T, leaving.T @ blocked)
    behind = np.linalg.solve(drift.T, rate * total)
    mass = free.sum() + total.sum()
    served = np.array(moves.free).T @ free + np.array([now for now, _ in moves.blocked]).T @ total
    heads = np.bincount([head for _, head in moves.blocked], total, len(rates))
    if not (
        np.isfinite(behind).all()
        and min(free.min(), total.min(), behind.min()) > -NEAR * mass
        and np.allclose(served / mass, rates * sizes, rtol=NEAR, atol=0.0)
    ):
        raise UnsettledError("FCFS is too near to the limit of stability to be told from it")
    waiting = (heads + moves.shares * behind.sum()) / mass
    times = waiting / rates + sizes
    return Fcfs(times, rates * times)


def _first_passage(moves: Phases, rate: float) -> Floats:
    """Return G, shape (M, M + P): from each blocked phase, the odds of the phase one level down.

    It is logarithmic reduction of the jump chain; passing phases are states that always go down.
    """
    count, passing = moves.start.shape
    size = count + passing
    leave = rate - moves.stay.diagonal()
    local = np.eye(size)
    local[:count, :count] -= (moves.stay - np.diag(moves.stay.diagonal())) / leave[:, None]
    local[:count, count:] = -moves.start / leave[:, None]
    up, down = np.zeros((size, size)), np.zeros((size, size))
    up[np.arange(count), np.arange(count)] = rate / leave
    down[count:, :count], down[count:, count:] = moves.drawn, moves.passed
    # the shift of He, Meini and Rhee: 1 is no eigenvalue of G - Q, Q = 1·1ᵀ/size
    sums = down.sum(axis=1, keepdims=True) / size
    local -= up.sum(axis=1, keepdims=True) / size
    both = np.linalg.solve(local, np.hstack([down - sums, up]))
    lower, higher = both[:, :size], both[:, size:]
    first, reached = lower.copy(), higher.copy()
    for _ in range(STEPS):
        turned = np.eye(size) - higher @ lower - lower @ higher
        both = np.linalg.solve(turned, np.hstack([lower @ lower, higher @ higher]))
        lower, higher = both[:, :size], both[:, size:]
        more = reached @ lower
        first += more
        reached = reached @ higher
        if np.abs(more).max() < 1e-17:
            return np.asarray(first[:count] + 1.0 / size)
    raise UnsettledError("FCFS is too near to the limit of stability to be told from it")


def _boundary_distribution(
    queue: Instance, moves: Phases, rate: float, first: Floats
) -> tuple[Floats, Floats]:
    """Return the law of free states, and of blocked ones with none behind, up to a factor.

    While there are more behind nothing is looked at: that ends in a phase that G tells.
    """
    where = {now: i for i, now in enumerate(moves.free)}
    heads = {phase: i for i, phase in enumerate(moves.blocked)}
    size, count = len(moves.free), len(moves.blocked)
    generator = np.zeros((size + count, size + count))
    for i, now in enumerate(moves.free):
        for c, job in enumerate(queue.classes):
            j = where.get(_changed(now, c, 1))
            generator[i, size + heads[now, c] if j is None else j] += job.arrival_rate
            if now[c]:
                generator[i, where[_changed(now, c, -1)]] += now[c] * job.service_rate
    begun = [where[now] for now in moves.passing]
    generator[size:, size:] = moves.stay + rate * first[:, :count]
    generator[size:, begun] += moves.start + rate * first[:, count:]
    diagonal = np.arange(size + count)
    generator[diagonal, diagonal] = 0.0
    generator[diagonal, diagonal] = -generator.sum(axis=1)
    generator[:, 0] = 1.0  # one balance equation gives way to Σ π = 1
    right = np.zeros(size + count)
    right[0] = 1.0
    law: Floats = np.asarray(np.linalg.solve(generator.T, right), dtype=np.float64)
    return law[:size], law[size:]


def saturated_rate(queue: Instance, most: int = MOST_PHASES) -> float:
    """Return how many jobs leave per unit of time where jobs wait at all times.

    FCFS is stable where fewer arrive, and unstable where more do (Baccelli and Foss, On the
    saturation rule for the stability of queues, 1995). Of the arrival rates only the proportions
    count. Raises `TooManyPhasesError` if there are more than `most` phases.
    """
    classes = tuple((j.need, j.arrival_rate, j.service_rate) for j in queue.classes)
    return _saturated_departure_rate(queue.servers, classes, most)


@lru_cache(maxsize=64)
def _saturated_departure_rate(
    servers: int, classes: tuple[tuple[int, float, float], ...], most: int
) -> float:
    """Solve the chain of phases in which jobs always wait."""
    from schedopt.instances.msfq import JobClass

    jobs = tuple(JobClass(need=n, arrival_rate=a, service_rate=s) for n, a, s in classes)
    moves = phases(Instance(name="saturated", servers=servers, classes=jobs), most)
    count, passing = moves.start.shape
    # where the drawing ends, and how many are drawn until then
    ends = np.column_stack([moves.drawn, np.ones(passing)])
    ends = np.linalg.solve(np.eye(passing) - moves.passed, ends)
    generator = moves.stay + moves.start @ ends[:, :count]
    generator[:, 0] = 1.0
    right = np.zeros(count)
    right[0] = 1.0
    law = np.linalg.solve(generator.T, right)
    return float(law @ moves.start @ ends[:, count])


def phases(queue: Instance, most: int) -> Phases:
    """Return the phases of FCFS; there may be so many without a queue, and so many others."""
    needs = [job.need for job in queue.classes]
    rates = [job.service_rate for job in queue.classes]
    arrivals = np.array([job.arrival_rate for job in queue.classes])
    shares = arrivals / arrivals.sum()
    left = _possible_services(queue.servers, needs, most)
    free = list(left)
    blocked = [(now, h) for now in free for h, need in enumerate(needs) if need > left[now]]
    if len(blocked) > most:
        raise TooManyPhasesError(most)
    where = {phase: i for i, phase in enumerate(blocked)}
    passing: dict[Service, int] = {}  # grows as they are met, first by what starts
    stay = np.zeros((len(blocked), len(blocked)))
    start: list[tuple[int, int, float]] = []
    for i, (now, head) in enumerate(blocked):
        for c, count in enumerate(now):
            if not count:
                continue
            after, rate = _changed(now, c, -1), count * rates[c]
            stay[i, i] -= rate
            if needs[head] > left[after]:
                stay[i, where[after, head]] += rate
            else:
                begun = _changed(after, head, 1)
                start.append((i, passing.setdefault(begun, len(passing)), rate))
    drawn: list[tuple[int, int, float]] = []
    passed: list[tuple[int, int, float]] = []
    met = list(passing)
    for p, now in enumerate(met):
        for c, need in enumerate(needs):
            if need > left[now]:
                drawn.append((p, where[now, c], float(shares[c])))
                continue
            begun = _changed(now, c, 1)
            if begun not in passing:
                passing[begun] = len(passing)
                met.append(begun)
            passed.append((p, passing[begun], float(shares[c])))
    if len(blocked) + len(met) > most:
        raise TooManyPhasesError(most)
    count = len(met)
    return Phases(
        shares,
        free,
        blocked,
        met,
        stay,
        _matrix(start, len(blocked), count),
        _matrix(drawn, count, len(blocked)),
        _matrix(passed, count, count),
    )


def _matrix(entries: list[tuple[int, int, float]], rows: int, columns: int) -> Floats:
    """Return the matrix of entries by row and column; those of one place are added up."""
    matrix = np.zeros((rows, columns))
    for i, j, value in entries:
        matrix[i, j] += value
    return matrix


def _possible_services(servers: int, needs: list[int], most: int) -> dict[Service, int]:
    """Return all that may be in service, with how many servers it leaves."""
    fitting: dict[Service, int] = {(): servers}
    for need in needs:
        longer: dict[Service, int] = {}
        for now, left in fitting.items():
            for count in range(left // need + 1):
                longer[(*now, count)] = left - count * need
                if len(longer) > most:
                    raise TooManyPhasesError(most)
        fitting = longer
    return fitting


def _changed(now: Service, c: int, by: int) -> Service:
    return (*now[:c], now[c] + by, *now[c + 1 :])
