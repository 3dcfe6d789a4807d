"""Ready jobs: chooses which of them start now."""

from collections.abc import Iterable, Mapping
from math import inf
from typing import Any

import numpy as np
from msgspec.structs import replace

from schedopt.instances import ready as reading
from schedopt.instances.declarations import Record
from schedopt.instances.errors import InputError, expect, quote
from schedopt.solvers.clock import now
from schedopt.solvers.priced_core.in_order import best_in_order

LARGEST = 2.0**60  # upper limit of the sum of a column, in units of its last digit


class Starts(Record, kw_only=True):
    """The jobs that start now.

    Attributes
    ----------
    start : tuple of str
        The names of the jobs, in the order of the table.
    objectives : tuple of float
        The value of each objective.
    bounds : tuple of float
        The bound of each objective, given the values of the objectives before it.
    proven : bool
        Whether all bounds are met, in integer arithmetic.
    seconds : float
        The time to read and to solve.
    """

    start: tuple[str, ...]
    objectives: tuple[float, ...]
    bounds: tuple[float, ...]
    proven: bool
    seconds: float


def ready(
    frame: Any,
    capacity: Mapping[str, float],
    order: Iterable[str],
    *,
    time_limit: float | None = None,
) -> Starts:
    """Choose which ready jobs start now: the best by several objectives, one after another.

    Parameters
    ----------
    frame : path, frame of polars or pandas, mapping of columns, iterable of rows, or bytes
        A row for each job: ``name``, a column for each objective and for each resource. A path
        is a CSV or JSON lines; an empty cell is 0.
    capacity : mapping of str to float
        The free amount of each resource.
    order : iterable of str
        The columns whose sums are maximized, in lexicographic order.
    time_limit : float, optional
        Seconds after which the incumbent is returned.

    Returns
    -------
    Starts

    Raises
    ------
    InputError
        If a column is missing, or a cell is not valid.

    Notes
    -----
    Source: equation 1 of Anderson et al., SPAA 2005, with several resources. The lexicographic
    objectives are those of Snakemake's scheduler.
    """
    began = now()
    queue = Ready(capacity, order)
    queue.add(frame)
    chosen = queue.select(time_limit=time_limit)
    return replace(chosen, seconds=round(now() - began, 6))


def _check_sum(column: str, numbers: reading.Integers) -> None:
    """Raise `InputError` if the sum of a column may exceed 64 bits."""
    most = float(np.abs(numbers).astype(float).sum())
    if most >= LARGEST:
        found = f"a sum of {most:.3g} units of the last digit"
        raise InputError(f"a sum of less than {LARGEST:.3g}", found=found, place=column)


def _end(began: float, time_limit: float | None) -> float:
    """Return the time, as `now` counts, at which the search must end."""
    if time_limit is None:
        return inf
    expect(0 <= time_limit < inf, "seconds >= 0", time_limit, parameter="time_limit")
    return began + time_limit


class Ready:
    """A queue of ready jobs that is kept between choices; only changes are read.

    Parameters
    ----------
    capacity : mapping of str to float
        The amount of each resource.
    order : iterable of str
        The columns whose sums are maximized, in lexicographic order; see `ready`.

    Examples
    --------
    >>> queue = Ready({"cores": 4}, ["priority", "cores"])
    >>> queue.add([{"name": "a", "priority": 2, "cores": 3}, {"name": "b", "cores": 1}])
    >>> queue.select().start
    ('a', 'b')
    >>> queue.remove(["a"])
    >>> len(queue)
    1
    """

    def __init__(self, capacity: Mapping[str, float], order: Iterable[str]) -> None:
        self.capacity, self.order = reading.capacity_of(capacity), reading.order_of(order)
        self._columns = list(dict.fromkeys([*self.order, *self.capacity]))
        self._scales = dict.fromkeys(self._columns, 1)
        self._numbers = np.zeros((len(self._columns), 0), dtype=np.int64)
        self._names: dict[str, None] = {}

    def __len__(self) -> int:
        return len(self._names)

    def add(self, frame: Any) -> None:
        """Add the jobs of a table; see `ready`. `InputError` if a name exists already."""
        jobs = reading.read_jobs(frame, self._columns, list(self.capacity))
        for name in jobs.names:
            if name in self._names:
                expected = "a name that is not in the queue yet"
                raise InputError(expected, found=quote(name), place="column 'name'")
        added = np.empty((len(self._columns), len(jobs.names)), dtype=np.int64)
        for i, column in enumerate(self._columns):
            numbers, scale = reading.whole(jobs.numbers[i], column)
            common = max(scale, self._scales[column])  # powers of ten
            self._numbers[i] *= common // self._scales[column]
            self._scales[column] = common
            added[i] = numbers * (common // scale)
        self._numbers = np.hstack([self._numbers, added])
        self._names |= dict.fromkeys(jobs.names)

    def remove(self, names: Iterable[str]) -> None:
        """Remove jobs that have started or were cancelled."""
        gone = dict.fromkeys(names)
        if unknown := [name for name in gone if name not in self._names]:
            expected = "the name of a job in the queue"
            raise InputError(expected, found=quote(unknown[0]), parameter="names")
        kept = np.fromiter((name not in gone for name in self._names), bool, len(self._names))
        self._numbers = self._numbers[:, kept]
        for name in gone:
            del self._names[name]

    def select(
        self, capacity: Mapping[str, float] | None = None, *, time_limit: float | None = None
    ) -> Starts:
        """Choose which jobs start now; they stay in the queue until they are removed.

        Parameters
        ----------
        capacity : mapping of str to float, optional
            The free amounts of resources; by default all of the capacity is free.
        time_limit : float, optional
            Seconds after which the incumbent is returned.
        """
        began = now()
        free = reading.capacity_of(self.capacity | dict(capacity or {}))
        if unknown := [name for name in free if name not in self.capacity]:
            expected = "a resource of the capacity"
            raise InputError(expected, found=quote(unknown[0]), parameter="capacity")
        numbers = dict(zip(self._columns, self._numbers, strict=True))
        for column, values in numbers.items():
            _check_sum(column, values)
        rooms = [reading.room_of(amount, self._scales[name]) for name, amount in free.items()]
        choice = best_in_order(
            np.array([numbers[goal] for goal in self.order]),
            np.array([numbers[name] for name in free]),
            np.array(rooms),
            np.ones(len(self), dtype=np.int64),
            until=_end(began, time_limit),
        )
        names, scales = list(self._names), [self._scales[goal] for goal in self.order]
        sums, bounds = (
            tuple(total / scale for total, scale in zip(totals, scales, strict=True))
            for totals in (choice.values, choice.bounds)
        )
        return Starts(
            start=tuple(names[j] for j in np.flatnonzero(choice.x).tolist()),
            objectives=sums,
            bounds=bounds,
            proven=choice.proven,
            seconds=round(now() - began, 6),
        )


def amounts(text: str) -> dict[str, float]:
    """Return the amounts in a text such as ``cores=500,mem_gb=2000``."""
    parsed: dict[str, float] = {}
    for part in filter(None, text.split(",")):
        name, _, amount = (piece.strip() for piece in part.partition("="))
        try:
            number = float(amount)
        except ValueError:
            number = None
        if not name or name in parsed or number is None:
            expected = "NAME=AMOUNT,..., each name once"
            raise InputError(expected, found=quote(part), parameter="capacity")
        parsed[name] = number
    return parsed
