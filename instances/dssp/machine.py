"""Machines that change over time: processors in pools, and resources.

Processor k of a pool is present at a time if the pool has more than k processors then. So the
processors that arrive last leave first, and a task keeps its processors until it ends.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from itertools import accumulate, chain, groupby, pairwise, starmap
from math import inf
from operator import attrgetter, itemgetter, mul, sub
from typing import Annotated, Any, NamedTuple

import msgspec

from schedopt.instances.decimals import as_written
from schedopt.instances.declarations import CheckedRecord, Count, Name, NonNegative
from schedopt.instances.dssp.clock import dates_of
from schedopt.instances.dssp.jobs import Job
from schedopt.instances.errors import InputError, at_place, check_unique, expect, pick_name, quote
from schedopt.instances.times import SPELLED

NONE, ONE = Fraction(0), Fraction(1)
Instance = Any  # `records.Instance`, which is made of what stands here
Profile = Annotated[tuple[tuple[NonNegative, NonNegative], ...], msgspec.Meta(min_length=1)]
"""Times, ascending, from which on there is so much; nothing before the first."""
Counts = Annotated[tuple[tuple[NonNegative, Count], ...], msgspec.Meta(min_length=1)]
"""Times, ascending from 0, with the number of processors from each on."""


class Down(CheckedRecord, kw_only=True, omit_defaults=True):
    """Processors that are reserved or down for some time.

    Attributes
    ----------
    start, end : float
        When they are away.
    processors : int
        How many are away, at most all that are present.
    numbers : tuple of int
        Which ones are away, in place of ``processors`` and ``pool``.
    pool : str, optional
        The pool, if the instance has `pools`.
    """

    start: NonNegative
    end: NonNegative
    processors: Annotated[int, msgspec.Meta(ge=0, le=10**9, extra_json_schema={"minimum": 1})] = 0
    numbers: tuple[Count, ...] = ()
    pool: Name | None = None


class Span(NamedTuple):
    """A constant amount from a start to an end; an end of None means forever."""

    start: Fraction
    end: Fraction | None
    amount: Fraction


@dataclass(frozen=True)
class Steps:
    """An exact amount that is piecewise constant over time, from time 0 on."""

    times: tuple[Fraction, ...]
    amounts: tuple[Fraction, ...]

    @classmethod
    def of(cls, given: float | Iterable[tuple[float, float]], before: float = 0) -> Steps:
        """Return the amount that is given as a number, or as pairs (time, amount).

        ``before`` is the amount before the first of these times.
        """
        points = {NONE: as_written(before if isinstance(given, Iterable) else given)}
        changes = given if isinstance(given, Iterable) else ()
        points |= {as_written(time): as_written(amount) for time, amount in changes}
        return cls(tuple(points), tuple(points.values()))

    @classmethod
    def summed(cls, changes: Iterable[tuple[Fraction, Fraction]]) -> Steps:
        """Return the sum of changes, which are pairs (time, increase)."""
        at: dict[Fraction, Fraction] = defaultdict(Fraction)
        for time, change in changes:
            at[time] += change
        times = sorted(at, key=float)  # all of them are written for doubles, in the same order
        return cls(tuple(times), tuple(accumulate(at[time] for time in times)))

    def changes(self) -> Iterator[tuple[Fraction, Fraction]]:
        """Yield each time of change and the increase; the first one is the amount at time 0."""
        return zip(self.times, map(sub, self.amounts, (NONE, *self.amounts)), strict=False)

    def less(self, away: Sequence[tuple[float, float, float]]) -> Steps:
        """Return the amount reduced by reservations (amount, start, end), but not below 0."""
        if not away:
            return self
        gone = [(as_written(start), -as_written(count)) for count, start, _ in away]
        back = [(as_written(end), as_written(count)) for count, _, end in away]
        remaining = Steps.summed(chain(self.changes(), gone, back))
        return remaining.map_amounts(lambda amount: max(NONE, amount))

    def up_to(self, end: float | None) -> Steps:
        """Return the amount, with 0 from a time on."""
        if end is None:
            return self
        last = as_written(end)
        count = bisect_left(self.times, last)
        return Steps((*self.times[:count], last), (*self.amounts[:count], NONE))

    def spans(self, start: Fraction = NONE) -> Iterator[Span]:
        """Yield the intervals of constant amount from a time on."""
        last = len(self.times) - 1
        for i in range(max(0, bisect_right(self.times, start) - 1), last):
            yield Span(self.times[i], self.times[i + 1], self.amounts[i])
        yield Span(self.times[last], None, self.amounts[last])

    def map_amounts(self, amount: Callable[[Fraction], Fraction]) -> Steps:
        """Return the amount with a function applied to each of its values."""
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
        """Return the integral of the amount from 0 to a time."""
        last = max(0, bisect_right(self.times, time) - 1)
        return self._sums[last] + self.amounts[last] * (time - self.times[last])

    @cached_property
    def _sums(self) -> list[Fraction]:
        lengths = (after - before for before, after in pairwise(self.times))
        return [*accumulate(map(mul, self.amounts, lengths), initial=NONE)]

    def time_reached(self, start: Fraction, work: Fraction) -> Fraction | None:
        """Return when the integral of the amount from ``start`` on reaches ``work``, or None."""
        if work <= 0:
            return start
        whole = self.until(start) + work
        i = bisect_left(self._sums, whole) - 1
        remaining = whole - self._sums[i]
        return self.times[i] + remaining / self.amounts[i] if self.amounts[i] else None

    def fits(self, start: Fraction, length: Fraction, need: Fraction) -> Fraction | None:
        """Return the earliest time from which the amount is at least ``need`` for ``length``.

        None if there is no such time.
        """
        for span in self.spans(start):
            if span.amount < need:
                if span.end is None:
                    return None
                start = span.end
            elif span.end is None or start + length <= span.end:
                return start
        return None


class Layer(NamedTuple):
    """Processors of a pool that leave at the same times, though they may arrive at different times.

    A task that starts on some of them can keep these until the whole layer leaves.
    """

    pool: str
    numbers: Sequence[int]  # among the processors of all pools, those that come first first
    there: Steps  # how many of them are there


@dataclass(frozen=True, eq=False)
class Machine:
    """The machine, and the processors and resources that each job may use.

    Attributes
    ----------
    by_number : dict of str to Steps
        The number of processors P(t) of each pool. Its processor k is present if P(t) > k, unless
        it is away. An instance without pools has one pool with an empty name.
    resources : dict of str to Steps
        The amount of each resource that running tasks hold beside processors.
    away : dict of int to list of Span
        When single processors are away, by their numbers.
    """

    by_number: dict[str, Steps]
    resources: dict[str, Steps]
    away: dict[int, list[Span]] = field(default_factory=dict)

    @classmethod
    def of(cls, night: Instance) -> Machine:
        """Return the machine of an instance."""
        pools = {name: Steps.of(steps) for name, steps in night.pools.items()}
        if not pools:
            pools = {"": Steps.of(night.changes, night.processors)}
        away: dict[str, list[tuple[int, float, float]]] = defaultdict(list)
        single: dict[int, list[Span]] = defaultdict(list)
        for down in night.down:
            away[down.pool or ""].append((down.processors, down.start, down.end))
            for number in down.numbers:
                single[number].append(Span(as_written(down.start), as_written(down.end), ONE))
        pools = {name: there.less(away[name]) for name, there in pools.items()}
        resources = {name: Steps.of(steps) for name, steps in night.resources.items()}
        return cls(
            {name: there.up_to(night.end) for name, there in pools.items()},
            {name: there.up_to(night.end) for name, there in resources.items()},
            single,
        )

    @cached_property
    def numbers(self) -> dict[str, range]:
        """The processor numbers of each pool."""
        ends = accumulate((int(there.most) for there in self.by_number.values()), initial=0)
        return dict(zip(self.by_number, starmap(range, pairwise(ends)), strict=True))

    @cached_property
    def pools(self) -> dict[str, Steps]:
        """The number of present processors of each pool."""
        if not self.away:
            return self.by_number
        changes = {name: list[tuple[Fraction, Fraction]]() for name in self.by_number}
        for layer in self.layers:
            changes[layer.pool] += layer.there.changes()
        return {name: Steps.summed(own or [(NONE, NONE)]) for name, own in changes.items()}

    @cached_property
    def total(self) -> Steps:
        """The number of present processors of all pools."""
        return self.together(self.pools)

    def together(self, names: Iterable[str]) -> Steps:
        """Return the number of present processors in some pools."""
        parts = [self.pools[name] for name in names]
        changes = chain(*(part.changes() for part in parts))
        return parts[0] if len(parts) == 1 else Steps.summed(changes)

    def usable(
        self, names: Iterable[str], *, most: int | None = None, need: int | None = None
    ) -> Steps:
        """Return how many processors of some pools a job can use over time, at most ``most``.

        With ``need``, the result is 1 while at least so many processors are present, else 0.
        """
        there = self.together(names)
        if need is not None:
            return there.map_amounts(lambda amount: Fraction(amount >= need))
        return there if most is None else there.map_amounts(lambda a: min(a, Fraction(most)))

    @cached_property
    def layers(self) -> list[Layer]:
        """The processors, partitioned into layers that leave at the same times."""
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
        """Return a layer of a pool with processors from ``low`` to ``high``.

        ``late`` are those that arrive later, ``without`` those that are not in the layer.
        """
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
        """Return 1 while a processor is present, else 0.

        ``present`` is the same amount if the processor were never away.
        """
        spans = [((span.start, ONE), (span.end or NONE, -ONE)) for span in self.away[number]]
        gone = Steps.summed([(NONE, NONE), *chain(*spans)])
        times = sorted({*present.times, *gone.times})
        there = (present.at(time) if not gone.at(time) else NONE for time in times)
        return Steps(tuple(times), tuple(there))

    def pool_of(self, processor: int) -> str:
        """Return the pool of a processor by its number; empty if there is none."""
        return next((name for name, own in self.numbers.items() if processor in own), "")

    def of_job(self, job: Job) -> Sequence[str]:
        """Return the pools that a job's tasks may run on, in the file's order."""
        return [name for name in self.pools if job.pools is None or name in job.pools]

    def starts(self, job: Job, at: Fraction, length: Fraction) -> Fraction | None:
        """Return the earliest start, from ``at`` on, of a task that runs alone; None if never."""
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
        """Return a lower bound on a job's completion if it runs alone from ``at`` on.

        The demand is processed by all processors that the job may use, and its critical path takes
        time in which at least one task can run. ``longer`` multiplies all run times. None means
        never.
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
    """Return the jobs in topological order, and the jobs of a cycle in order, if there is one."""
    after = {j: [index[name] for name in job.after] for j, job in enumerate(jobs)}
    try:
        return [*TopologicalSorter(after).static_order()], []
    except CycleError as error:
        return [], error.args[1][::-1]


# --- what is valid ----------------------------------------------------------------------------


def features_of(night: Instance) -> dict[str, str]:
    """Return an instance's features beyond jobs on a constant machine, with their places."""
    features = {"capacity": "capacity"} if night.changes else {}
    features |= {k: k for k in ("down", "resources", "pools", "end") if getattr(night, k)}
    for key, usual in (("after", ()), ("max_processors", None), ("holds", {}), ("processors", 1)):
        values = map(attrgetter(key), night.jobs)
        j = next((j for j, value in enumerate(values) if value != usual), None)
        if j is not None:
            features[key] = f"jobs[{j}].{key}"
    return features


def check_machine(night: Instance) -> None:
    """Raise `InputError` if the machine is inconsistent, or a job needs more than it has."""
    processors, pools = night.processors, night.pools
    if pools:
        what = "`pools` or `processors`, not both"
        expect(not processors, what, processors, "processors")
        expect(not night.changes, "`pools` or `capacity`, not both", night.changes, "capacity")
    else:
        expect(processors >= 1, "a number >= 1, or `pools`", processors, "processors")
    _check_times(night)
    if not night.features and not any(map(attrgetter("pools"), night.jobs)):
        return
    one = night.nights <= 1 or "after" not in night.features
    expect(one, "1 if jobs have predecessors (`after`)", night.nights, "nights")
    work = night.machine.total.until(as_written(night.deadline))
    found, place = (night.down, "down") if night.down else (night.changes, "capacity")
    expect(work > 0, "at least one processor before the deadline", quote(found), place)
    for j, job in enumerate(night.jobs):
        try:
            _check_needs(night, job)
        except InputError as error:
            raise error.within(f"jobs[{j}]") from None
    cycle = in_order(night.jobs, night.index)[1]
    if cycle:
        names = " after ".join(night.jobs[j].name for j in cycle)
        raise InputError("no cycle", found=names, place=f"jobs[{cycle[0]}].after")


def _check_times(night: Instance) -> None:
    profiles = {
        "capacity": night.changes,
        **{f"pools.{name}": size for name, size in night.pools.items()},
        **{f"resources.{name}": amount for name, amount in night.resources.items()},
    }
    for place, points in profiles.items():
        if isinstance(points, tuple):
            _ascending(points, place)
    for i, down in enumerate(night.down):
        with at_place(f"down[{i}]"):
            words = f"a time after {down.start:g}, the start"
            expect(down.start < down.end, words, down.end, "end")
            one = bool(down.numbers) != bool(down.processors)
            expect(one, "`processors` or `numbers`", [down.processors, down.numbers], "processors")
            if down.numbers:
                _check_numbers(night, down)
            elif down.pool is not None or night.pools:
                with at_place("pool"):
                    pick_name(down.pool or "", night.pools, "one of the file's `pools`")
    with at_place("unit"):
        pick_name(night.unit, SPELLED, "a unit of time")
    if night.start is not None:
        with at_place("start"):
            dates = dates_of(night.start, night.unit)
        with at_place("deadline"):
            for end in (0.0, night.deadline, *(job.deadline or 0.0 for job in night.jobs)):
                dates.at(end)


def _check_numbers(night: Instance, down: Down) -> None:
    words = "no pool, since processors are numbered through all pools"
    expect(down.pool is None, words, down.pool, "pool")
    pools = night.pools.values() if night.pools else [night.changes]
    count = sum(int(Steps.of(size, night.processors).most) for size in pools)
    for i, number in enumerate(down.numbers):
        expect(number < count, f"a processor from 0 to {count - 1}", number, f"numbers[{i}]")


def _ascending(points: Sequence[tuple[float, float]], place: str) -> None:
    before = -1.0
    for i, (time, amount) in enumerate(points):
        expected = f"a time after {before:g}" if i else "a finite time >= 0"
        expect(before < time < inf, expected, time, f"{place}[{i}][0]")
        expect(amount < inf, "a finite amount >= 0", amount, f"{place}[{i}][1]")
        before = time


def _check_needs(night: Instance, job: Job) -> None:
    for key, declared, what in (
        ("after", night.index, "a job"),
        ("pools", night.pools, "one of the file's `pools`"),
    ):
        names = getattr(job, key) or ()
        for i, name in enumerate(names):
            with at_place(f"{key}[{i}]"):
                pick_name(name, declared, what)
        check_unique(names, key, "a name")
    for name in job.holds:
        with at_place(f"holds.{name}"):
            pick_name(name, night.resources, "one of the file's `resources`")
    if job.max_processors is not None:
        expected = f"at least {job.processors}, what each task takes"
        enough = job.max_processors >= job.processors
        expect(enough, expected, job.max_processors, "max_processors")
