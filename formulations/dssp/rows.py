"""The rows of a selection's capacity: equation 2, also between releases and deadlines of jobs."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.decimals import as_written
from schedopt.instances.dssp import Instance, Window, windows
from schedopt.instances.dssp.machine import Steps
from schedopt.instances.rows import Number, Row

__all__ = ["Row", "selectable", "window_demand", "window_rows"]


def selectable(night: Instance, fill: float) -> NDArray[np.bool_]:
    """Return which jobs can be selected at all, shape (jobs,).

    T_∞(j) fits between release and deadline, and T_1(j) into the job's pools, filled to r.
    """
    demands, machine, part = night.planned.demands, night.machine, as_written(fill)
    if not night.windowed and not night.features:
        fits = (demands.numbers <= demands.down(night.room(fill))).astype(np.bool_)
        return night.in_time & fits

    @cache
    def room(pools: tuple[str, ...], start: float, end: float) -> Fraction:
        available = machine.together(pools)
        return available.until(as_written(end)) - available.until(as_written(start))

    fits = night.in_time.copy()
    for j in np.flatnonzero(fits):
        own = tuple(machine.of_job(night.jobs[j])), night.releases[j], night.deadlines[j]
        fits[j] = demands.fractions[j] <= part * room(*own)
    return fits


def window_rows(
    night: Instance, open_: NDArray[np.bool_], fill: float, longest: float = 1.0
) -> list[Row]:
    """Return the rows of the capacity: equation 2, then those between releases and deadlines.

    For each release a and deadline b the jobs between them fit into r·P·(b - a). Only rows that a
    selection can violate are returned, of jobs up to ``longest`` times as long as planned.

    Parameters
    ----------
    night : Instance
        One night.
    open_ : ndarray of bool, shape (jobs,)
        The jobs that can be selected.
    fill : float
        The selection parameter r.
    longest : float
        The largest factor of run times.

    Notes
    -----
    Equation 2 is over the jobs that are due by the file's deadline. Source: Anderson et al., SPAA
    2005, section 3.1.
    """
    due, part = np.flatnonzero(night.due), as_written(fill)
    demands = night.planned.demands.take(due)
    rows = [Row("capacity", due.tolist(), demands, upper=night.exact_capacity(fill))]
    if night.windowed:
        available = night.machine.total.map_amounts(lambda amount: part * amount)
        whole = (0.0, night.deadline)
        own = window_demand(night, open_, "capacity", available, longest=longest)
        rows += [row for window, row in own if (window.release, window.deadline) != whole]
    return rows + (_pool_and_resource_rows(night, open_, part, longest) if night.features else [])


def window_demand(
    night: Instance,
    among: NDArray[np.bool_],
    what: str,
    available: Steps,
    *,
    per_task: Sequence[float] | None = None,
    longest: float = 1.0,
) -> Iterator[tuple[Window, Row]]:
    """Yield the rows of jobs between each release and each deadline, with their window.

    Parameters
    ----------
    night : Instance
        One night.
    among : ndarray of bool, shape (jobs,)
        The jobs that count.
    what : str
        What the rows bound, for their names.
    available : Steps
        The amount over time.
    per_task : sequence of float, optional
        What each running task of a job holds; by default a job uses its processors.
    longest : float
        The largest factor of run times.
    """
    demands, work = night.planned.demands.fractions, night.planned.demands.floats
    if per_task is not None:
        held = zip(per_task, night.jobs, demands, strict=True)
        demands = [as_written(amount) / job.processors * d for amount, job, d in held]
        work = np.array([float(part) for part in demands])
    for window in windows(night, among, longest * work, available):
        key = f"{what} from {window.release:.15g} to {window.deadline:.15g}"
        jobs = window.jobs.tolist()
        parts: list[Number] = [demands[j] for j in jobs]
        yield window, Row(key, jobs, parts, upper=window.room(available))


def _pool_and_resource_rows(
    night: Instance, open_: NDArray[np.bool_], fill: Fraction, longest: float
) -> list[Row]:
    """Return the rows of pools and resources.

    Sets of pools count if they are unions of the pools that single jobs may run on.
    """
    machine, rows = night.machine, list[Row]()
    allowed = [frozenset(machine.of_job(job)) for job in night.jobs]
    for pools in _closed_under_union(set(allowed)) - {frozenset(machine.pools)}:
        names = [name for name in machine.pools if name in pools]
        available = machine.together(names).map_amounts(lambda amount: fill * amount)
        inside = open_ & np.array([own <= pools for own in allowed])
        what = f"pools {', '.join(names)}"
        rows += [row for _, row in window_demand(night, inside, what, available, longest=longest)]
    for name, available in machine.resources.items():
        held = [job.holds.get(name, 0.0) for job in night.jobs]
        what = f"resource {name}"
        own = window_demand(night, open_, what, available, per_task=held, longest=longest)
        rows += [row for _, row in own]
    return rows


def _closed_under_union(sets: set[frozenset[str]]) -> set[frozenset[str]]:
    unions: set[frozenset[str]] = set()
    for one in sets:
        unions |= {one} | {one | other for other in unions}
    return unions
