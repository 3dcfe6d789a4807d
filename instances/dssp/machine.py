"""Machines that change: how many processors there are when, in which pools, and other resources.

Processor k of a pool is there at a time if the pool has more than k processors then: so the last to
come are the first to go, and a task runs on processors that stay until it ends.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, cached_property
from graphlib import CycleError, TopologicalSorter
from itertools import accumulate, chain, groupby, pairwise, starmap
from operator import itemgetter, mul, sub
from typing import Annotated, Any, NamedTuple

import msgspec

from schedopt.instances.decimals import as_written
from schedopt.instances.declarations import CheckedRecord, Count, Name, NonNegative
from schedopt.instances.dssp.jobs import Job, Night

NONE, ONE = Fraction(0), Fraction(1)
Instance = Any  # `records.Instance`, which is made of what stands here


class Down(CheckedRecord, kw_only=True, omit_defaults=True):
    """Processors that are reserved or down for a time.

    Attributes
    ----------
    start, end : float
        From when to when.
    processors : int
        How many; all that are there, where these are fewer.
    numbers : tuple of int
        Which ones, in place of how many and of which pool.
    pool : str, optional
        Of which of the file's `pools`.
    night : int, optional
        Where the file has several nights: on which of them, counted from 1; on each if left out.
    """

    start: NonNegative
    end: NonNegative
    processors: Annotated[int, msgspec.Meta(ge=0, le=10**9, extra_json_schema={"minimum": 1})] = 0
    numbers: tuple[Count, ...] = ()
    pool: Name | None = None
    night: Night | None = None


class Span(NamedTuple):
    """An amount from a time on, up to another or, where that is None, for good."""

    start: Fraction
    end: Fraction | None
    amount: Fraction


@dataclass(frozen=True)
class Steps:
    """An amount that changes at some times, exactly; the first of them is 0."""

    times: tuple[Fraction, ...]
    amounts: tuple[Fraction, ...]

    @classmethod
    def of(cls, given: float | Iterable[tuple[float, float]], before: float = 0) -> Steps:
        """Return an amount as steps, with its value before the first change."""
        points = {NONE: as_written(before if isinstance(given, Iterable) else given)}
        changes = given if isinstance(given, Iterable) else ()
        points |= {as_written(time): as_written(amount) for time, amount in changes}
        return cls(tuple(points), tuple(points.values()))

    @classmethod
    def summed(cls, changes: Iterable[tuple[Fraction, Fraction]]) -> Steps:
        """Return the sum of changes, each a time and by how much, in one sweep."""
        at: dict[Fraction, Fraction] = defaultdict(Fraction)
        for time, change in changes:
            at[time] += change
        times = sorted(at, key=float)  # all of them are written for doubles, in the same order
        return cls(tuple(times), tuple(accumulate(at[time] for time in times)))

    def changes(self) -> Iterator[tuple[Fraction, Fraction]]:
        """Yield each time with what is added there; at the first all that there is."""
        return zip(self.times, map(sub, self.amounts, (NONE, *self.amounts)), strict=False)

    def less(self, away: Sequence[tuple[int, float, float]]) -> Steps:
        """Return the amount less what is away from a time to another: all where there is no more.

        ``away``: how many, from when, to when.
        """
        if not away:
            return self
        gone = [(as_written(start), Fraction(-count)) for count, start, _ in away]
        back = [(as_written(end), Fraction(count)) for count, _, end in away]
        remaining = Steps.summed(chain(self.changes(), gone, back))
        return remaining.map_amounts(lambda amount: max(NONE, amount))

    def up_to(self, end: float | None) -> Steps:
        """Return the amount, none of it from a time on."""
        if end is None:
            return self
        last = as_written(end)
        count = bisect_left(self.times, last)
        return Steps((*self.times[:count], last), (*self.amounts[:count], NONE))

    def spans(self, start: Fraction = NONE) -> Iterator[Span]:
        """Yield the intervals between changes, from that of a time on."""
        last = len(self.times) - 1
        for i in range(max(0, bisect_right(self.times, start) - 1), last):
            yield Span(self.times[i], self.times[i + 1], self.amounts[i])
        yield Span(self.times[last], None, self.amounts[last])

    def map_amounts(self, amount: Callable[[Fraction], Fraction]) -> Steps:
        """Return another amount at each time, changing only where that does."""
        points = zip(self.times, map(amount, self.amounts), strict=True)
        times, amounts = zip(
            *(next(alike) for _, alike in groupby(points, itemgetter(1))), strict=True
        )
        return Steps(times, amounts)

    def at(self, time: Fraction) -> Fraction:
        """Return the amount at a time."""
        return self.amounts[max(0, bisect_right(self.times, time) - 1)]

    @cached_property
    def most(self) -> Fraction:
        """The largest amount at any time."""
        return max(self.amounts)

    def until(self, time: Fraction) -> Fraction:
        """Return the amount, summed over time, from 0 on."""
        last = max(0, bisect_right(self.times, time) - 1)
        return self._sums[last] + self.amounts[last] * (time - self.times[last])

    @cached_property
    def _sums(self) -> list[Fraction]:
        """The amount up to each change, summed over time."""
        lengths = (after - before for before, after in pairwise(self.times))
        return [*accumulate(map(mul, self.amounts, lengths), initial=NONE)]

    def time_reached(self, start: Fraction, work: Fraction) -> Fraction | None:
        """Return when the amount, summed over time from a start, reaches a total; None if never."""
        if work <= 0:
            return start
        whole = self.until(start) + work
        i = bisect_left(self._sums, whole) - 1
        remaining = whole - self._sums[i]
        return self.times[i] + remaining / self.amounts[i] if self.amounts[i] else None

    def fits(self, start: Fraction, length: Fraction, need: Fraction) -> Fraction | None:
        """Return the earliest time from which an amount lasts for some time; None if never."""
        for span in self.spans(start):
            if span.amount < need:
                if span.end is None:
                    return None
                start = span.end
            elif span.end is None or start + length <= span.end:
                return start
        return None


class Layer(NamedTuple):
    """Processors of a pool that leave together, whenever each of them comes.

    So a task that finds some of them there keeps them until all of them leave.
    """

    pool: str
    numbers: Sequence[int]  # among the processors of all pools, those that come first first
    there: Steps  # how many of them are there


@dataclass(frozen=True, eq=False)
class Machine:
    """The machine, and what each job may use of it.

    Attributes
    ----------
    by_number : dict of str to Steps
        For each pool an amount P(t): its processor k is there if P(t) > k, unless it is away.
        Without pools there is one, under an empty name.
    resources : dict of str to Steps
        What running tasks hold beside processors.
    away : dict of int to list of Span
        When single processors are away, by number.
    """

    by_number: dict[str, Steps]
    resources: dict[str, Steps]
    away: dict[int, list[Span]] = field(default_factory=dict)

    @classmethod
    def of(cls, night: Instance, n: int | None = None) -> Machine:
        """Read the machine of an instance; of several nights, what all have, or that of one."""
        pools = {name: Steps.of(steps) for name, steps in night.pools.items()}
        if not pools:
            pools = {"": Steps.of(night.changes, night.processors)}
        away: dict[str, list[tuple[int, float, float]]] = defaultdict(list)
        single: dict[int, list[Span]] = defaultdict(list)
        for down in night.down:
            if down.night in (None, n) or night.nights == 1:
                away[down.pool or ""].append((down.processors, down.start, down.end))
                for number in down.numbers:
                    span = Span(as_written(down.start), as_written(down.end), ONE)
                    single[number].append(span)
        pools = {name: there.less(away[name]) for name, there in pools.items()}
        resources = {name: Steps.of(steps) for name, steps in night.resources.items()}
        return cls(
            {name: there.up_to(night.end) for name, there in pools.items()},
            {name: there.up_to(night.end) for name, there in resources.items()},
            single,
        )

    @cached_property
    def numbers(self) -> dict[str, range]:
        """The numbers of each pool's processors."""
        ends = accumulate((int(there.most) for there in self.by_number.values()), initial=0)
        return dict(zip(self.by_number, starmap(range, pairwise(ends)), strict=True))

    @cached_property
    def pools(self) -> dict[str, Steps]:
        """How many processors of each pool are there."""
        if not self.away:
            return self.by_number
        changes = {name: list[tuple[Fraction, Fraction]]() for name in self.by_number}
        for layer in self.layers:
            changes[layer.pool] += layer.there.changes()
        return {name: Steps.summed(own or [(NONE, NONE)]) for name, own in changes.items()}

    @cached_property
    def total(self) -> Steps:
        """All processors together."""
        return self.together(self.pools)

    def together(self, names: Iterable[str]) -> Steps:
        """Return the processors of some pools together."""
        return self._usable(tuple(names), None, None)

    def usable(
        self, names: Iterable[str], *, most: int | None = None, need: int | None = None
    ) -> Steps:
        """Return the processors of some pools: all, at most so many, or 1 while a need is met."""
        return self._usable(tuple(names), most, need)

    @cached_property
    def _usable(self) -> Callable[[tuple[str, ...], int | None, int | None], Steps]:
        """Remember the processors of pools: all, no more than some, or whether a need is met."""

        def usable(names: tuple[str, ...], most: int | None, need: int | None) -> Steps:
            if most is None and need is None:
                parts = [self.pools[name] for name in names]
                changes = chain(*(part.changes() for part in parts))
                return parts[0] if len(parts) == 1 else Steps.summed(changes)
            there = self.together(names)
            if need is not None:
                return there.map_amounts(lambda amount: Fraction(amount >= need))
            return there.map_amounts(lambda amount: min(amount, Fraction(most or 0)))

        return cache(usable)

    @cached_property
    def layers(self) -> list[Layer]:
        """The processors in layers that leave together."""
        layers: list[Layer] = []
        for pool, there in self.by_number.items():
            numbers, away = self.numbers[pool], set[int]()
            falls = [i for i, (a, b) in enumerate(pairwise(there.amounts), 1) if b < a]
            cuts = {0, int(there.most), *(int(there.amounts[i]) for i in falls)}
            if self.away:
                away = {number - numbers.start for number in self.away if number in numbers}
                # Those that come back after a fall come in the order of their numbers.
                cuts |= {int(amount) for i in falls[:1] for amount in there.amounts[i:]}
            for low, high in pairwise(sorted(cuts)):
                own = [k for k in away if low <= k < high]
                alone = [k for k in own if any(span.start for span in self.away[numbers[k]])]
                layers.append(self._layer(pool, low, high, {*own} - {*alone}, {*alone}))
                layers += [self._layer(pool, k, k + 1, {k}, set()) for k in alone]
        return [layer for layer in layers if layer.numbers]

    def _layer(self, pool: str, low: int, high: int, late: set[int], without: set[int]) -> Layer:
        """Return the processors of a pool from a number on, some of them late, and without some."""
        there, numbers = self.by_number[pool], self.numbers[pool]
        least, most = Fraction(low), Fraction(high)
        band = Steps(there.times, tuple(min(max(a, least), most) - least for a in there.amounts))
        if not late and not without:
            return Layer(pool, numbers[low:high], band)
        changes, order = [*band.changes()], list[tuple[bool, Fraction, int]]()
        for k in range(low, high):
            present = Steps(there.times, tuple(Fraction(amount > k) for amount in there.amounts))
            own = present if k not in late | without else self._alone(present, numbers[k])
            if k in without:
                changes += [(time, -change) for time, change in present.changes()]
            else:
                comes = next((span.start for span in own.spans() if span.amount), None)
                order.append((comes is None, comes or NONE, k))
            if k in late:
                changes += [(time, -change) for time, change in present.changes()]
                changes += own.changes()
        return Layer(pool, [numbers[k] for _, _, k in sorted(order)], Steps.summed(changes))

    def _alone(self, present: Steps, number: int) -> Steps:
        """Return when a processor is there: 1, else 0; ``present`` is so where it is not away."""
        spans = [((span.start, ONE), (span.end or NONE, -ONE)) for span in self.away[number]]
        gone = Steps.summed([(NONE, NONE), *chain(*spans)])
        times = sorted({*present.times, *gone.times})
        there = (present.at(time) if not gone.at(time) else NONE for time in times)
        return Steps(tuple(times), tuple(there))

    def pool_of(self, processor: int) -> str:
        """Return the pool of a processor, given by its number; empty if there is none."""
        return next((name for name, own in self.numbers.items() if processor in own), "")

    def of_job(self, job: Job) -> Sequence[str]:
        """Return the pools that a job's tasks may run on, in the file's order."""
        return [name for name in self.pools if job.pools is None or name in job.pools]

    def starts(self, job: Job, at: Fraction, length: Fraction) -> Fraction | None:
        """Return the earliest start of a job's task if alone; None if never."""
        starts = [self._starts(self.pools[name], job, at, length) for name in self.of_job(job)]
        return min((time for time in starts if time is not None), default=None)

    def _starts(self, pool: Steps, job: Job, at: Fraction, length: Fraction) -> Fraction | None:
        asks = [(pool, Fraction(job.processors))]
        asks += [(self.resources[name], as_written(a)) for name, a in job.holds.items()]
        while True:
            begin = at
            for steps, need in asks:
                if (earliest := steps.fits(begin, length, need)) is None:
                    return None
                begin = earliest
            if begin == at:
                return at
            at = begin

    def completes(
        self, job: Job, at: Fraction, demand: Fraction, longer: Fraction = ONE
    ) -> Fraction | None:
        """Return a job's earliest completion from a time on if alone; None if never.

        Run times are so many times as long as planned. Its demand finds processors, no more of them
        at a time than it may have, and its longest tasks run one after the other; a predicted
        critical path asks for time in which a task runs.
        """
        pools = tuple(self.of_job(job))
        most = None if job.max_processors is None else job.widest
        worked = self.usable(pools, most=most).time_reached(at, longer * demand)
        end: Fraction | None = at
        if job.critical_path is not None:
            running = self.usable(pools, need=job.processors)
            end = running.time_reached(at, longer * as_written(job.critical_path))
        for stage in () if job.critical_path is not None else job.stages or ():
            length = longer * as_written(max(stage))
            if end is not None and length:
                begin = self.starts(job, end, length)
                end = None if begin is None else begin + length
        return None if worked is None or end is None else max(worked, end)


def in_order(jobs: Sequence[Job], index: dict[str, int]) -> tuple[list[int], list[int]]:
    """Return jobs in topological order, then those of a cycle, if any, each after the next."""
    after = {j: [index[name] for name in job.after] for j, job in enumerate(jobs)}
    try:
        return [*TopologicalSorter(after).static_order()], []
    except CycleError as error:
        return [], error.args[1][::-1]
