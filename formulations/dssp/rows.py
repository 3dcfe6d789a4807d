"""Side constraints on a selection of jobs as linear rows over x_j.

A row is written once and serves every formulation whose variables say which jobs are selected.
A kind of your own carries a ``rows`` method like the functions below. What fits between a release
and a deadline follows as rows too.
"""

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cache, singledispatch
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.instances import constraints as kinds
from schedopt.instances.decimals import as_written
from schedopt.instances.dssp import Instance, Window, windows
from schedopt.instances.dssp.machine import Steps
from schedopt.instances.errors import InputError, listing
from schedopt.instances.fair_share import weight

Number = float | Fraction
"""A float stands for the decimal that is written."""


class Row(NamedTuple):
    """lower <= sum of coefficient·x_j <= upper, over the selection x."""

    what: str  # which part of its side constraint the row is
    jobs: Sequence[int]  # positions of jobs
    coefficients: Sequence[Number]  # one for each of them
    # lower, upper: the bounds; infinite where there is none.
    lower: Number = -inf
    upper: Number = inf
    # Jobs that lift the row when all of them are selected; none of them: it always holds.
    unless_all: Sequence[int] = ()
    # The same where one of each of several sets of columns is enough.
    unless_each: Sequence[Sequence[int]] = ()

    @property
    def lifting(self) -> list[Sequence[int]]:
        """Sets of columns; one from each together waive the row."""
        return [*((j,) for j in self.unless_all), *self.unless_each]


Name = str | tuple[str, int]
"""What a column is called: its job, or its job and its night."""


class Choice(NamedTuple):
    """A choice of columns under rows."""

    names: Sequence[Name]  # of each column
    rewards: Sequence[float]  # of each column
    capacity: Iterable[Row]  # equation 2 first, then what else the formulation asks for itself
    open: Sequence[bool]  # the columns that can be 1 at all
    stated: Iterable[tuple[str, Row]]  # the rows of the side constraints, under their names


@singledispatch
def rows(constraint: kinds.Constraint, night: Instance, capacity: Fraction) -> Iterator[Row]:
    """Yield the linear rows of a side constraint on a selection of jobs.

    Parameters
    ----------
    constraint : Constraint
        The declaration.
    night : Instance
        The jobs, with positions, groups and planned demands.
    capacity : Fraction
        r·P·D, of which shares are taken; a kind of one's own gets it as a float.

    Raises
    ------
    InputError
        If the kind says nothing about selections.
    """
    own = getattr(constraint, "rows", None)
    if own is None:
        supported = sorted(kind.kind() for kind in rows.registry if kind is not object)
        raise InputError(
            f"a kind that a selection can take{listing(supported)}", found=repr(constraint.kind())
        )
    yield from own(night, float(capacity))


@rows.register
def _(constraint: kinds.FairShare, night: Instance, capacity: Fraction) -> Iterator[Row]:
    groups = night.groups.get(constraint.by, {})
    open_ = night.in_time | bool(night.late)  # a cap binds what is run late too
    for group, share in constraint.caps(groups).items():
        yield _share(constraint, night, capacity, group, open_, most=as_written(share))
    floors = constraint.floors(groups)
    open_ = asked_by_floor(night, capacity) if floors else open_
    for group, share in floors.items():
        yield _share(constraint, night, capacity, group, open_, least=as_written(share))


def _share(
    constraint: kinds.FairShare,
    night: Instance,
    capacity: Fraction,
    group: str,
    open_: NDArray[np.bool_],
    *,
    least: Fraction = Fraction(0),
    most: Fraction | None = None,
) -> Row:
    """Write one cap or one floor of a fair share, over the jobs that are open to it.

    A floor asks for no more than the whole demand of the group's jobs that might be in time.
    """
    what = f"{constraint.by} {group} at {'least' if most is None else 'most'}"
    mine = np.array(night.groups.get(constraint.by, {}).get(group, ()), dtype=np.intp)
    demand = night.planned.demands
    places = mine[open_[mine] & (demand.numbers[mine] > 0)]
    possible = places.tolist()
    share = least if most is None else most
    before = Fraction(0)
    if constraint.window != 1:  # which has no past
        before = weight(1, constraint.half_life) * past_excess(constraint, group, share)
    if not possible and (most is None or not before):
        return Row(what, [], [], lower=0.0)
    if constraint.of == "selected":
        own = set(mine.tolist())
        part = [(1 - share) * d if j in own else -share * d for j, d in enumerate(demand)]
        if most is not None:
            return Row(what, range(len(demand)), part, upper=-before)
        return Row(what, range(len(demand)), part, lower=-before, unless_all=possible)
    wanted = demand.take(places)
    if most is not None:
        return Row(what, possible, wanted, upper=most * capacity - before)
    if Fraction(wanted.total, wanted.scale) <= least * capacity - before:
        return Row(what, possible, [1.0] * len(possible), lower=len(possible))
    return Row(what, possible, wanted, lower=least * capacity - before)


def past_excess(constraint: kinds.FairShare, group: str, share: Fraction) -> Fraction:
    """Return what a group used before the first night beyond a share of what there was."""
    used = {name: as_written(amount) for name, amount in constraint.past.items()}
    total = constraint.past_total
    everything = sum(used.values(), Fraction(0)) if total is None else as_written(total)
    return used.get(group, Fraction(0)) - share * everything


@rows.register
def _(constraint: kinds.Require, night: Instance, capacity: Fraction) -> Iterator[Row]:
    for job in constraint.jobs:
        yield Row(job, [night.index[job]], [1.0], lower=1.0)


@rows.register
def _(constraint: kinds.Forbid, night: Instance, capacity: Fraction) -> Iterator[Row]:
    for job in constraint.jobs:
        yield Row(job, [night.index[job]], [1.0], upper=0.0)


@rows.register
def _(constraint: kinds.Imply, night: Instance, capacity: Fraction) -> Iterator[Row]:
    first, second = night.index[constraint.if_], night.index[constraint.then]
    if first != second:
        yield Row("implied", [first, second], [1.0, -1.0], upper=0.0)


@rows.register
def _(constraint: kinds.Together, night: Instance, capacity: Fraction) -> Iterator[Row]:
    first, *others = dict.fromkeys(constraint.jobs)
    for job in others:
        yield Row(job, [night.index[first], night.index[job]], [1.0, -1.0], lower=0.0, upper=0.0)


@rows.register
def _(constraint: kinds.Apart, night: Instance, capacity: Fraction) -> Iterator[Row]:
    jobs = [night.index[job] for job in dict.fromkeys(constraint.jobs)]
    yield Row("at most one", jobs, [1.0] * len(jobs), upper=1.0)


@rows.register
def _(constraint: kinds.AtMost, night: Instance, capacity: Fraction) -> Iterator[Row]:
    jobs = _jobs_of(constraint, night)
    yield Row("count", jobs, [1.0] * len(jobs), upper=constraint.count)


@rows.register
def _(constraint: kinds.AtLeast, night: Instance, capacity: Fraction) -> Iterator[Row]:
    jobs = _jobs_of(constraint, night)
    yield Row("count", jobs, [1.0] * len(jobs), lower=constraint.count)


def _jobs_of(constraint: kinds.AtMost | kinds.AtLeast, night: Instance) -> list[int]:
    """Return the positions of the jobs that a constraint counts."""
    if constraint.jobs is not None:
        return [night.index[job] for job in dict.fromkeys(constraint.jobs)]
    return night.groups[constraint.by or ""][constraint.group or ""]


@rows.register
def _(constraint: kinds.Resource, night: Instance, capacity: Fraction) -> Iterator[Row]:
    # Amounts beyond the capacity all mean the same.
    room = as_written(constraint.capacity)
    too_much = 2 * room if room else Fraction(1)
    jobs = [night.index[job] for job in constraint.use]
    amounts = [min(as_written(amount), too_much) for amount in constraint.use.values()]
    yield Row("use", jobs, amounts, upper=room)


@rows.register
def _(constraint: kinds.Seats, night: Instance, capacity: Fraction) -> Iterator[Row]:
    # Necessary: what tasks hold, seats times time, fits between each release and deadline.
    demand = night.planned.demands.fractions
    held = np.zeros(len(night.jobs))
    for job, use in constraint.use.items():
        held[night.index[job]] = use
    for j in np.flatnonzero(held > constraint.capacity):
        yield Row(night.jobs[j].name, [int(j)], [1.0], upper=0.0)
    seated = night.in_time & (held <= constraint.capacity)
    held /= [job.processors for job in night.jobs]  # its demand is of them all
    there = Steps.of(constraint.capacity).up_to(night.end)
    for window in windows(night, seated, held * night.demands, there):
        a, b, jobs = window.release, window.deadline, window.jobs.tolist()
        named = [(night.jobs[j], demand[j]) for j in jobs]
        energy = [constraint.use[job.name] * work / job.processors for job, work in named]
        yield Row(f"energy from {a:.15g} to {b:.15g}", jobs, energy, upper=window.room(there))


def asked_by_floor(night: Instance, capacity: Fraction) -> NDArray[np.bool_]:
    """Tell which jobs a floor asks for: they might be in time, with r·P processors if r > 1."""
    if night.features:
        return night.in_time
    return selectable(night, max(1.0, float(capacity / night.exact_capacity())))


def selectable(night: Instance, fill: float) -> NDArray[np.bool_]:
    """Tell which jobs can be selected at all, shape (J,).

    From its release to its deadline T_∞(j) fits, and T_1(j) into its own pools filled to r.
    """
    demands, machine, part = night.planned.demands, night.machine, as_written(fill)
    if not night.windowed and not night.features:
        fits = (demands.numbers <= demands.down(night.room(fill))).astype(np.bool_)
        return night.in_time & fits

    @cache
    def room(pools: tuple[str, ...], start: float, end: float) -> Fraction:
        there = machine.together(pools)
        return there.until(as_written(end)) - there.until(as_written(start))

    fits = night.in_time.copy()
    for j in np.flatnonzero(fits):
        own = tuple(machine.of_job(night.jobs[j])), night.releases[j], night.deadlines[j]
        fits[j] = demands.fractions[j] <= part * room(*own)
    return fits


def window_rows(
    night: Instance, open_: NDArray[np.bool_], fill: float, longest: float = 1.0
) -> list[Row]:
    """Return a row for each release a and deadline b: the jobs between fit into r·P·(b - a).

    The first is equation 2, over the jobs that are due by the file's deadline; of the others only
    those that could be broken are there, with jobs up to ``longest`` times as long.
    """
    due, part = np.flatnonzero(night.due), as_written(fill)
    demands = night.planned.demands.take(due)
    rows = [Row("capacity", due.tolist(), demands, upper=night.exact_capacity(fill))]
    if night.windowed:
        there = night.machine.total.map_amounts(lambda amount: part * amount)
        whole = (0.0, night.deadline)
        own = _demand_by_window(night, open_, "capacity", there, longest=longest)
        rows += [row for window, row in own if (window.release, window.deadline) != whole]
    return rows + (_pool_and_resource_rows(night, open_, part, longest) if night.features else [])


def _demand_by_window(
    night: Instance,
    among: NDArray[np.bool_],
    what: str,
    there: Steps,
    *,
    hold: str = "",
    longest: float = 1.0,
) -> Iterator[tuple[Window, Row]]:
    """Yield the demand, or the resources held, between each release and each deadline."""
    demands, work = night.planned.demands.fractions, night.planned.demands.floats
    if hold:
        pairs = zip(night.jobs, demands, strict=True)
        demands = [as_written(job.holds.get(hold, 0.0)) / job.processors * d for job, d in pairs]
        work = np.array([float(part) for part in demands])
    for window in windows(night, among, longest * work, there):
        key = f"{what} from {window.release:.15g} to {window.deadline:.15g}"
        jobs = window.jobs.tolist()
        yield window, Row(key, jobs, [demands[j] for j in jobs], upper=window.room(there))


def _pool_and_resource_rows(
    night: Instance, open_: NDArray[np.bool_], fill: Fraction, longest: float
) -> list[Row]:
    """Return the rows of pools and resources.

    Of pools those together count that are all that some jobs may run on.
    """
    machine, rows = night.machine, list[Row]()
    allowed = [frozenset(machine.of_job(job)) for job in night.jobs]
    for pools in _closed_under_union(set(allowed)) - {frozenset(machine.pools)}:
        names = [name for name in machine.pools if name in pools]
        there = machine.together(names).map_amounts(lambda amount: fill * amount)
        inside = open_ & np.array([own <= pools for own in allowed])
        what = f"pools {', '.join(names)}"
        rows += [row for _, row in _demand_by_window(night, inside, what, there, longest=longest)]
    for name, there in machine.resources.items():
        own = _demand_by_window(night, open_, f"resource {name}", there, hold=name, longest=longest)
        rows += [row for _, row in own]
    return rows


def _closed_under_union(sets: set[frozenset[str]]) -> set[frozenset[str]]:
    """Return the sets and all unions of them."""
    unions: set[frozenset[str]] = set()
    for one in sets:
        unions |= {one} | {one | other for other in unions}
    return unions
