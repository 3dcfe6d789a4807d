"""FCFS with exponential sizes as a truncated Markov chain, solved as a sparse linear system.

Written for the checker alone: a state says what is in service and, where a job waits, the class of
the first that does and how many wait behind it, whose classes are drawn as each becomes the first.
Where more than some number would wait behind it, arrivals are lost; that number is doubled until
doubling changes next to nothing.
"""

from collections.abc import Iterator
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.msfq import Expected, Instance
from schedopt.validation.report import Report

NEAR = 1e-8  # relative tolerance on claimed times
SETTLED = 1e-6
"""The relative change at which doubling the chain stops. The truncation error falls geometrically
in its length, so that of the doubled chain is about the square of this."""
MOST_STATES, MOST_MOVES = 300_000, 600_000  # the largest chain that is solved
FEWEST = 32
Busy = tuple[int, ...]
Floats = NDArray[np.float64]


class _Moves(NamedTuple):
    """All moves, whatever the number behind the first.

    ``busy`` lists what may be in service; ``heads`` the states with a first job that waits, as a
    place in ``busy`` and that job's class. ``free`` moves go from a place in ``busy`` to another
    or, counted on from the last of these, to a head. ``drawn`` moves go from head to head, with how
    many jobs are drawn; ``emptied`` ones from a head to a place in ``busy``, if just so many were
    behind it.
    """

    busy: list[Busy]
    heads: list[tuple[int, int]]
    free: list[tuple[int, int, float]]
    drawn: list[tuple[int, int, int, float]]
    emptied: list[tuple[int, int, int, float]]


def check(queue: Instance, solution: Expected, report: Report) -> None:
    """Recompute both the times and the other figures, and add what is wrong to the report."""
    claimed = [entry.mean_response_time for entry in solution.classes]
    report.expect(solution.method == "exact", f"method: {solution.method} is none of fcfs")
    report.expect(
        abs(solution.utilization - queue.load) <= NEAR,
        f"utilization: {solution.utilization:.9g}, where the load is {queue.load:.9g}",
    )
    report.expect(queue.memoryless, "method: exact, and sizes are not exponential")
    moves = _moves(queue) if queue.memoryless else None
    if moves is None:
        report.unchecked.append(f"limit: recomputed on chains of {MOST_STATES:,} states at most")
    else:
        limit = saturated(moves)
        report.expect(
            abs(solution.limit - limit) <= NEAR * limit,
            f"limit: {solution.limit:.9g}, where {limit:.9g} start in a unit of time at most",
        )
    ours = _settled(queue, moves)
    if ours is None:
        report.unchecked.append(f"times: recomputed on chains of {MOST_STATES:,} states at most")
        return
    for job, time, own in zip(queue.classes, claimed, ours.tolist(), strict=True):
        report.expect(
            time is not None and abs(time - own) <= NEAR * own < inf,
            f"need {job.need}: a mean response time of {time}, where it is {own:.12g}",
        )


def times(queue: Instance) -> Floats | None:
    """Return the mean response time of each class, None where the chain would be too large."""
    return _settled(queue, _moves(queue) if queue.memoryless else None)


def _settled(queue: Instance, moves: _Moves | None) -> Floats | None:
    if moves is None:
        return None
    behind, before = FEWEST, None
    most = min(MOST_STATES // len(moves.heads), MOST_MOVES // len(moves.drawn))
    while behind <= most:
        now = _times(queue, moves, behind)
        if before is not None and (np.abs(now - before) <= SETTLED * now).all():
            return now
        behind, before = 2 * behind, now
    return None


def _moves(queue: Instance) -> _Moves | None:
    """Explore, from empty servers on."""
    start: Busy = (0,) * len(queue.classes)
    busy, seen = [start], {start: 0}
    moves = _Moves(busy, [], [], [], [])
    for now in busy:  # grows meanwhile
        for c, job in enumerate(queue.classes):
            more = (*now[:c], now[c] + 1, *now[c + 1 :])
            if job.need <= _room(queue, now) and more not in seen:
                seen[more] = len(busy)
                busy.append(more)
        if len(busy) > MOST_STATES:
            return None
    for i, now in enumerate(busy):
        room = _room(queue, now)
        moves.heads.extend((i, c) for c, job in enumerate(queue.classes) if job.need > room)
    waits = {head: h for h, head in enumerate(moves.heads)}
    for i, now in enumerate(busy):
        for c, job in enumerate(queue.classes):
            fits = job.need <= _room(queue, now)
            more = (*now[:c], now[c] + 1, *now[c + 1 :])
            to = seen[more] if fits else len(busy) + waits[i, c]
            moves.free.append((i, to, job.arrival_rate))
        moves.free.extend((i, seen[less], rate) for less, rate in _ends(queue, now))
    for h, (i, c) in enumerate(moves.heads):
        for less, rate in _ends(queue, busy[i]):
            if queue.classes[c].need > _room(queue, less):
                moves.drawn.append((h, waits[seen[less], c], 0, rate))
            else:
                begun = {(*less[:c], less[c] + 1, *less[c + 1 :]): rate}
                _draw(queue, moves, h, begun, (seen, waits))
        if len(moves.drawn) + len(moves.emptied) > MOST_MOVES:
            return None
    return moves


def _draw(
    queue: Instance,
    moves: _Moves,
    h: int,
    odds: dict[Busy, float],
    places: tuple[dict[Busy, int], dict[tuple[int, int], int]],
) -> None:
    """Add the outcomes of drawing jobs until one has to wait, with their rates."""
    seen, waits = places
    shares = [job.arrival_rate / queue.arrival_rate for job in queue.classes]
    drawn = 0
    while odds:
        moves.emptied.extend((h, seen[now], drawn, part) for now, part in odds.items())
        after: dict[Busy, float] = {}
        drawn += 1
        for now, part in odds.items():
            for c, job in enumerate(queue.classes):
                if job.need > _room(queue, now):
                    moves.drawn.append((h, waits[seen[now], c], drawn, part * shares[c]))
                else:
                    more = (*now[:c], now[c] + 1, *now[c + 1 :])
                    after[more] = after.get(more, 0.0) + part * shares[c]
        odds = after


def _room(queue: Instance, now: Busy) -> int:
    return queue.servers - sum(j.need * n for j, n in zip(queue.classes, now, strict=True))


def _ends(queue: Instance, now: Busy) -> Iterator[tuple[Busy, float]]:
    """Yield the jobs in service after a completion, with its rate."""
    for c, job in enumerate(queue.classes):
        if now[c]:
            yield (*now[:c], now[c] - 1, *now[c + 1 :]), now[c] * job.service_rate


def saturated(moves: _Moves) -> float:
    """Return the completion rate of a saturated system."""
    from scipy.sparse import csc_matrix
    from scipy.sparse.linalg import spsolve

    count = len(moves.heads)
    heads, after, drawn, rates = np.array(moves.drawn).T
    rows, columns = heads.astype(np.int64), after.astype(np.int64)
    kept = columns > 0  # the first balance equation gives way to Σ π = 1
    every = np.arange(count)
    entries = (
        np.concatenate([rates[kept], -rates[rows > 0], np.ones(count)]),
        (
            np.concatenate([columns[kept], rows[rows > 0], np.zeros(count, np.int64)]),
            np.concatenate([rows[kept], rows[rows > 0], every]),
        ),
    )
    right = np.zeros(count)
    right[0] = 1.0
    law = np.atleast_1d(spsolve(csc_matrix(entries, shape=(count, count)), right))
    return float(np.bincount(rows, drawn * rates, count) @ law)


def _times(queue: Instance, moves: _Moves, most: int) -> Floats:
    """Return the mean response times with a truncated queue behind the first job."""
    from scipy.sparse import csc_matrix
    from scipy.sparse.linalg import splu

    size, count = len(moves.busy), len(moves.heads)
    states = size + (most + 1) * count
    entries: list[tuple[Any, Any, Any]] = [tuple(np.array(moves.free).T)]
    for h, to, drawn, rate in moves.drawn:
        behind = np.arange(drawn, most + 1)
        entries.append((size + behind * count + h, size + (behind - drawn) * count + to, rate))
    for h, to, drawn, rate in moves.emptied:
        if drawn <= most:
            entries.append((np.array([size + drawn * count + h]), np.array([to]), rate))
    lower = size + np.arange(most * count)
    entries.append((lower, lower + count, queue.arrival_rate))
    rows = np.concatenate([e[0] for e in entries]).astype(np.int64)
    columns = np.concatenate([e[1] for e in entries]).astype(np.int64)
    rates = np.concatenate([np.broadcast_to(e[2], len(e[0])) for e in entries])
    leaving = np.bincount(rows, rates, states)
    diagonal = np.arange(states)
    balance = csc_matrix(
        (
            np.concatenate([rates, -leaving]),
            (np.concatenate([columns, diagonal]), np.concatenate([rows, diagonal])),
        ),
        shape=(states, states),
    )
    factors = splu(
        balance[1:, 1:],
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,  # the diagonal dominates
        options={"SymmetricMode": True},
    )
    rest = factors.solve(-balance[1:, 0].toarray().ravel())  # but for a factor
    law = np.append(1.0, rest) / (1.0 + rest.sum())
    waiting = law[size:].reshape(most + 1, count)
    first, others = waiting.sum(axis=0), float(np.arange(most + 1) @ waiting.sum(axis=1))
    means = []
    for c, job in enumerate(queue.classes):
        served = sum(now[c] * p for now, p in zip(moves.busy, law[:size], strict=True))
        served += sum(moves.busy[i][c] * p for (i, _), p in zip(moves.heads, first, strict=True))
        heads = sum(p for (_, head), p in zip(moves.heads, first, strict=True) if head == c)
        number = served + heads + others * job.arrival_rate / queue.arrival_rate
        means.append(number / job.arrival_rate)
    return np.array(means)
