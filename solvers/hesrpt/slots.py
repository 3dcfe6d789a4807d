"""A quick allocation of many jobs: servers in equal slots, one job after another in each.

It is in hand before any search begins, whatever the time limit, and has few shares to write. Of
very many jobs it is waves: jobs that complete together, so that there are few epochs.
"""

from collections.abc import Iterator
from heapq import heapify, heapreplace

import numpy as np

from schedopt.formulations.hesrpt.epochs import Bounds, Rules, bounds_of, smiths_order
from schedopt.instances.hesrpt import Allocated, Instance, allocated
from schedopt.solvers.hesrpt.kernels import Curves, Floats, Ints, curves, speeds

SLOTS = (1, 2, 4, 8, 16, 32, 64, 128)
MOST_SHARES = 300_000
"""Shares that are written in a fraction of a second."""


MOST_SLOTTED = 20_000
"""Jobs up to which there are slots."""
WAVES = (4, 16, 64)
MANY = (8,)
"""Waves of jobs beyond `MOST_SHARES`: a single attempt, near the best for a million unlike jobs."""
CLOSER = 3
"""How often the lengths of waves are improved."""


class Waves:
    """Jobs by Smith's rule in waves, each of which has all servers and completes at once.

    As speedups are concave, the servers that a wave asks for are convex in 1 over its length: a
    line between two lengths finds one that is long enough, and nearer to the shortest.
    """

    def __init__(self, instance: Instance, order: Ints, count: int) -> None:
        self.instance, servers = instance, float(instance.servers)
        ranks = np.empty(len(order), dtype=np.int64)
        ranks[order] = np.arange(len(order))
        kinds = instance.kinds
        self.jobs = np.argsort(kinds, kind="stable")
        self.cuts = np.flatnonzero(np.diff(kinds[self.jobs])) + 1
        self.waves = (ranks * count // len(order))[self.jobs]
        self.sizes = instance.sizes[self.jobs]
        even = servers / np.bincount(self.waves)
        times = self.sizes / self._each("at", even[self.waves])
        longest = np.zeros(count)
        np.maximum.at(longest, self.waves, times)
        pace, asked = 1.0 / longest, self._asked(1.0 / longest)
        for _ in range(CLOSER):
            further = pace * servers / asked
            more = self._asked(further)
            between = np.where(
                np.isfinite(more) & (more > asked),
                pace + (further - pace) * (servers - asked) / np.maximum(more - asked, 1e-300),
                (pace + further) / 2,
            )
            now = self._asked(between)
            fits = now <= servers
            pace, asked = np.where(fits, between, pace), np.where(fits, now, asked)
        self.pace, self.ends = pace, np.cumsum(1.0 / pace)
        self.cost = float(instance.costs[self.jobs] @ self.ends[self.waves])

    def _each(self, method: str, values: Floats) -> Floats:
        parts = np.split(values, self.cuts)
        kinds = self.instance.kinds[self.jobs[np.append(0, self.cuts)]]
        of = self.instance.speedups
        made = [getattr(of[k], method)(v) for k, v in zip(kinds, parts, strict=True)]
        return np.concatenate(made)

    def _asked(self, pace: Floats) -> Floats:
        """Return the servers that each wave asks for."""
        asked: Floats = np.bincount(
            self.waves, self._each("servers_for", self.sizes * pace[self.waves])
        ).astype(np.float64)
        return asked

    def written(self) -> Allocated:
        """Return the allocation."""
        shares = self._each("servers_for", self.sizes * self.pace[self.waves])
        shares /= self.instance.servers
        who = np.argsort(self.waves, kind="stable")
        cuts = np.searchsorted(self.waves[who], np.arange(1, len(self.pace)))
        starts = np.append(0.0, self.ends[:-1])
        ends = np.empty(len(self.jobs))
        ends[self.jobs] = self.ends[self.waves]
        held = zip(np.split(self.jobs[who], cuts), np.split(shares[who], cuts), strict=True)
        times = zip(starts, self.ends, held, strict=True)
        epochs = ((start, end, *its) for start, end, its in times)
        return allocated(self.instance, ends, epochs)


class Part:
    """Jobs that share a part of the servers in equal slots, by Smith's rule."""

    def __init__(self, instance: Instance, c: Curves, jobs: Ints, share: float, slots: int) -> None:
        self.shares = np.minimum(share / slots, c.mosts[jobs] / c.servers)
        rates = speeds(c, jobs, self.shares * c.servers, np.zeros(len(jobs)))
        times = instance.sizes[jobs] / np.maximum(rates, 1e-300)
        first = np.argsort(times / instance.costs[jobs], kind="stable")
        self.jobs, self.shares, times = jobs[first], self.shares[first], times[first]
        self.starts, self.ends = np.zeros(len(jobs)), np.zeros(len(jobs))
        free = [0.0] * slots
        heapify(free)
        for i, time in enumerate(times.tolist()):
            self.starts[i] = free[0]
            self.ends[i] = free[0] + time
            heapreplace(free, float(self.ends[i]))
        self.cost = float(instance.costs[jobs] @ self.ends[np.argsort(first, kind="stable")])


def in_slots(instance: Instance, rules: Rules) -> Allocated | None:
    """Return the cheapest allocation in slots that satisfies the rules, None where none does.

    A team that has bounds has its own part of the servers, within them. Where it has a floor, it
    has one slot, which is never empty before its last job completes.
    """
    count = len(instance.jobs)
    waves = _waves(instance) if count >= WAVES[-1] and not rules.bounds else None
    if waves is not None and count > MOST_SLOTTED:
        return waves.written()
    bounds = bounds_of(rules, count)
    c = curves(instance, bounds)
    if not bounds.whole or bounds.leasts.any() or not bounds.mosts.all():
        return None
    parts = []
    for jobs, share, alone in _parts(instance, c, bounds):
        if share <= 0.0 or (alone and (bounds.mosts[jobs] < share).any()):
            return None
        made = [
            Part(instance, c, jobs, share, slots)
            for slots in (SLOTS[:1] if alone else SLOTS)
            if slots == 1 or slots * len(jobs) <= MOST_SHARES
        ]
        parts.append(min(made, key=lambda part: part.cost))
    if waves is not None and waves.cost < sum(part.cost for part in parts):
        return waves.written()
    ends = np.zeros(count)
    for part in parts:
        ends[part.jobs] = part.ends
    return allocated(instance, ends, _epochs(parts))


def _waves(instance: Instance) -> Waves:
    """Return the cheapest waves."""
    order = smiths_order(instance)[::-1]
    counts = WAVES if len(order) <= MOST_SHARES else MANY
    return min((Waves(instance, order, count) for count in counts), key=lambda one: one.cost)


def _parts(instance: Instance, c: Curves, bounds: Bounds) -> Iterator[tuple[Ints, float, bool]]:
    """Yield jobs, the part of the servers that they have, and whether they must have it."""
    everyone = np.arange(len(bounds.teams))
    work = instance.sizes / speeds(
        c, everyone, np.full(len(everyone), c.servers), np.zeros(len(everyone))
    )
    lows = np.append(bounds.team_leasts, 0.0)
    highs = np.append(bounds.team_mosts, 1.0)
    teams = np.where(bounds.teams < 0, len(lows) - 1, bounds.teams)
    wanted = np.bincount(teams, work, len(lows))
    shares = np.clip(wanted / wanted.sum(), lows, highs) * (wanted > 0)
    if shares.sum() > 1.0:  # floors stay, what is above them shrinks
        above = shares - lows * (wanted > 0)
        shares -= above * min((shares.sum() - 1.0) / max(above.sum(), 1e-300), 1.0)
    if shares.sum() <= 1.0 + 1e-12:
        for team in range(len(lows)):
            jobs = np.flatnonzero(teams == team)
            if len(jobs):
                yield jobs, float(shares[team]), bool(lows[team] > 0.0)
    else:
        yield everyone, 0.0, False


def _epochs(parts: list[Part]) -> Iterator[tuple[float, float, list[int], Floats]]:
    """Yield the epochs of some parts: who runs between two events, and with which share."""
    joined = [np.concatenate([getattr(part, of) for part in parts]) for of in ("jobs", "shares")]
    starts = np.concatenate([part.starts for part in parts])
    ends = np.concatenate([part.ends for part in parts])
    order, leaving = np.argsort(starts, kind="stable"), np.argsort(ends, kind="stable")
    running: dict[int, None] = {}
    come = gone = 0
    now = 0.0
    while gone < len(ends):
        while come < len(starts) and starts[order[come]] <= now:
            running[int(order[come])] = None
            come += 1
        until = float(ends[leaving[gone]])
        if come < len(starts):
            until = min(until, float(starts[order[come]]))
        who = list(running)
        yield now, until, joined[0][who].tolist(), joined[1][who]
        now = until
        while gone < len(ends) and ends[leaving[gone]] <= now:
            running.pop(int(leaving[gone]))
            gone += 1
