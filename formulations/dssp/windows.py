"""Rows of a selection for what fits between a release and a deadline."""

from collections.abc import Iterator
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.dssp.rows import Row
from schedopt.instances.decimals import as_written
from schedopt.instances.dssp import Instance, Window, windows
from schedopt.instances.dssp.machine import Steps


def able(night: Instance, fill: float) -> NDArray[np.bool_]:
    """Tell which jobs can be selected at all, shape (J,).

    From its release to its deadline T_∞(j) fits, and T_1(j) into r·P times that.
    """
    demands = night.planned.demands
    fits = (demands.numbers <= demands.down(night.room(fill))).astype(np.bool_)
    if night.beyond:
        return _able(night, as_written(fill))
    if not night.windowed:
        return night.in_time & fits
    rate = as_written(fill) * night.processors
    for j in np.flatnonzero((night.releases > 0) | (night.deadlines != night.deadline)):
        length = as_written(night.deadlines[j]) - as_written(night.releases[j])
        fits[j] = Fraction(int(demands.numbers[j]), demands.scale) <= rate * length
    return night.in_time & fits


def window_rows(
    night: Instance, open_: NDArray[np.bool_], fill: float, longest: float = 1.0
) -> list[Row]:
    """Return a row for each release a and deadline b: the jobs between fit into r·P·(b - a).

    The first is equation 2, over the jobs that are due by the file's deadline; of the others only
    those that could be broken are there, with jobs up to ``longest`` times as long.
    """
    due, part = np.flatnonzero(night.due), as_written(fill)
    rows = [_row(night, "capacity", due, night.exact_capacity(fill))]
    if night.windowed:
        there = night.machine.total.mapped(lambda amount: part * amount)
        whole = (0.0, night.deadline)
        own = _between(night, open_, "capacity", there, longest=longest)
        rows += [row for window, row in own if (window.release, window.deadline) != whole]
    return rows + (_beyond_rows(night, open_, part, longest) if night.beyond else [])


def waiting_rows(night: Instance) -> list[Row]:
    """Return precedence rows: a selected job requires its predecessors."""
    return [
        Row(f"after: {job.name}, {name}", [j, night.index[name]], [1, -1], upper=0)
        for j, job in enumerate(night.jobs)
        for name in job.after
    ]


def _between(
    night: Instance,
    among: NDArray[np.bool_],
    what: str,
    there: Steps,
    *,
    hold: str = "",
    longest: float = 1.0,
) -> Iterator[tuple[Window, Row]]:
    """Yield the demand, or the resources held, between each release and each deadline."""
    asked, work = night.planned.demands.fractions, night.planned.demands.floats
    if hold:
        pairs = zip(night.jobs, asked, strict=True)
        asked = [as_written(job.holds.get(hold, 0.0)) / job.processors * d for job, d in pairs]
        work = np.array([float(part) for part in asked])
    for window in windows(night, among, longest * work, there):
        key = f"{what} from {window.release:.15g} to {window.deadline:.15g}"
        jobs = window.jobs.tolist()
        yield window, Row(key, jobs, [asked[j] for j in jobs], upper=window.room(there))


def _beyond_rows(
    night: Instance, open_: NDArray[np.bool_], fill: Fraction, longest: float
) -> list[Row]:
    """Return the rows of pools and resources.

    Of pools those together count that are all that some jobs may run on.
    """
    machine, rows = night.machine, list[Row]()
    allowed = [frozenset(machine.of_job(job)) for job in night.jobs]
    for pools in _unions(set(allowed)) - {frozenset(machine.pools)}:
        names = [name for name in machine.pools if name in pools]
        there = machine.together(names).mapped(lambda amount: fill * amount)
        inside = open_ & np.array([own <= pools for own in allowed])
        what = f"pools {', '.join(names)}"
        rows += [row for _, row in _between(night, inside, what, there, longest=longest)]
    for name, there in machine.resources.items():
        own = _between(night, open_, f"resource {name}", there, hold=name, longest=longest)
        rows += [row for _, row in own]
    return rows


def _unions(sets: set[frozenset[str]]) -> set[frozenset[str]]:
    found: set[frozenset[str]] = set()
    for one in sets:
        found |= {one} | {one | other for other in found}
    return found


def _able(night: Instance, fill: Fraction) -> NDArray[np.bool_]:
    """Tell which jobs, alone, fit their own pools filled to r."""
    fits, machine = night.in_time.copy(), night.machine
    demands = night.planned.demands.fractions

    @cache
    def room(pools: tuple[str, ...], start: float, end: float) -> Fraction:
        there = machine.together(pools)
        return there.until(as_written(end)) - there.until(as_written(start))

    for j in np.flatnonzero(fits):
        own = tuple(machine.of_job(night.jobs[j])), night.releases[j], night.deadlines[j]
        fits[j] = demands[j] <= fill * room(*own)
    return fits


def _row(night: Instance, what: str, jobs: NDArray[np.intp], room: Fraction) -> Row:
    return Row(what, jobs.tolist(), night.planned.demands.take(jobs), upper=room)
