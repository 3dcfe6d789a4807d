"""The 0-1 columns of selections and seasons, and the rows of side constraints over them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from math import inf
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.dssp.rows import selectable, window_demand
from schedopt.instances import dssp
from schedopt.instances.constraints import Constraint
from schedopt.instances.decimals import Whole, split
from schedopt.instances.dssp.machine import Steps
from schedopt.instances.errors import InputError, listing
from schedopt.instances.rows import Number, Row

Mask = NDArray[np.bool_]
Positions = NDArray[np.intp]


class JobColumns:
    """The columns of a selection, one for each job, or of a season, one for each job and night.

    It implements the protocol `instances.rows.Columns`.

    Parameters
    ----------
    instance : Instance
        The jobs, in order; a job's columns are consecutive, in the order of its nights.
    fill : float
        The selection parameter r.
    several : bool
        Whether columns belong to nights.

    Attributes
    ----------
    jobs, nights : ndarray of int, shape (columns,)
        The job of each column, by position, and its night from 1.
    """

    def __init__(self, instance: dssp.Instance, fill: float = 1.0, *, several: bool = False):
        self.instance, self.fill, self.several = instance, fill, several
        begin = end = np.ones(len(instance.jobs), dtype=np.intp)
        if several:
            begin = np.array([job.first_night for job in instance.jobs], dtype=np.intp)
            end = np.array([job.last_night or instance.nights for job in instance.jobs], np.intp)
        self._first = np.concatenate(([0], np.cumsum(np.maximum(end - begin + 1, 0))))
        self.jobs = np.repeat(np.arange(begin.size), np.diff(self._first))
        self.nights = np.arange(self.jobs.size) + (begin - self._first[:-1])[self.jobs]
        self._capacity = instance.exact_capacity(fill)

    def __len__(self) -> int:
        return self.jobs.size

    @property
    def names(self) -> list[str] | list[tuple[str, int]]:
        """The name of each column: of its job, in a season with its night."""
        jobs = self.instance.jobs
        if not self.several:
            return [job.name for job in jobs]
        pairs = zip(self.jobs.tolist(), self.nights.tolist(), strict=True)
        return [(jobs[j].name, n) for j, n in pairs]

    def of_job(self, position: int) -> range:
        """Return the columns of a job, given by position."""
        return range(int(self._first[position]), int(self._first[position + 1]))

    def of_jobs(self, positions: Positions) -> Positions:
        """Return the columns of several jobs, job by job."""
        if not self.several:
            return positions
        return np.array([i for j in positions.tolist() for i in self.of_job(j)], dtype=np.intp)

    def column(self, position: int, night: int) -> int:
        """Return the column of a job on one of its nights."""
        columns = self.of_job(position)
        return columns[night - int(self.nights[columns[0]])]

    def capacity(self, night: int) -> Fraction:
        """Return r·P·D of a night, exactly."""
        return self._capacity

    @cached_property
    def open(self) -> Mask:
        """The columns that can be 1: the job fits between its release and its deadline."""
        return selectable(self.instance, self.fill)[self.jobs]

    @cached_property
    def can_run(self) -> Mask:
        """The columns whose job could complete in time alone, or is paid when it is late."""
        return (self.instance.in_time | bool(self.instance.late))[self.jobs]

    @cached_property
    def may_be_asked(self) -> Mask:
        """The columns that a minimum share can ask for, with r·P processors if r > 1."""
        night, most = self.instance, max(1.0, self.fill)
        return (night.in_time if night.features else selectable(night, most))[self.jobs]

    def row(
        self,
        what: str,
        coefficients: Mapping[str, Number],
        lower: Number = -inf,
        upper: Number = inf,
    ) -> Row:
        """Return a row over whether jobs are selected, by name, whatever their night."""
        columns, values = list[int](), list[Number]()
        for name, coefficient in coefficients.items():
            own = self.of_job(self.instance.index[name])
            columns += own
            values += [coefficient] * len(own)
        return Row(what, columns, values, lower, upper)

    def each_night(
        self,
        what: str,
        coefficients: Mapping[str, Number],
        lower: Number = -inf,
        upper: Number = inf,
    ) -> Iterator[Row]:
        """Yield a row for each night, over whether jobs run on that night."""
        jobs = [self.instance.index[name] for name in coefficients]
        return self.spread(Row(what, jobs, list(coefficients.values()), lower, upper))

    def held(self, use: Mapping[str, int], capacity: int) -> Iterator[Row]:
        """Yield rows that bound what running tasks hold, between each release and deadline."""
        night, amounts = self.instance, np.zeros(len(self.instance.jobs), dtype=np.int64)
        for name, amount in use.items():
            amounts[night.index[name]] = amount
        available = Steps.of(capacity).up_to(night.end)
        fits = night.in_time & (amounts <= capacity)
        for _, row in window_demand(night, fits, "energy", available, per_task=amounts.tolist()):
            yield from self.spread(row)

    def spread(self, row: Row) -> Iterator[Row]:
        """Yield a row over jobs as one over the columns of each night."""
        nights = range(1, self.instance.nights + 1)
        yield from (self.on_night(row, n) for n in nights) if self.several else (row,)

    def on_night(self, row: Row, night: int) -> Row:
        """Return a row over jobs as one over the columns of a night."""
        at = np.full(len(self.instance.jobs), -1)
        at[np.asarray(row.columns, dtype=np.intp)] = np.arange(len(row.columns))
        columns = self._of_night[night - 1]
        columns = columns[at[self.jobs[columns]] >= 0]
        places = at[self.jobs[columns]]
        values: Sequence[Number]
        if isinstance(row.coefficients, Whole):
            values = row.coefficients.take(places)
        else:
            values = [row.coefficients[i] for i in places.tolist()]
        return Row(f"{row.what}, night {night}", columns.tolist(), values, row.lower, row.upper)

    @cached_property
    def _of_night(self) -> list[Positions]:
        """The columns of each night."""
        every = split(self.nights - 1, self.instance.nights)
        return [np.array(columns, dtype=np.intp) for columns in every]


def rows_of(constraint: Constraint, columns: JobColumns) -> list[Row]:
    """Return the rows of a side constraint over the columns of a selection or a season.

    A kind whose ``rows`` takes an instance and a capacity is of the form of earlier versions, which
    knows one night.

    Raises
    ------
    InputError
        If the kind does not apply to selected jobs.
    """
    try:
        if len(inspect.signature(constraint.rows).parameters) == 1:
            return list(constraint.rows(columns))
        if not columns.several:
            old: Callable[..., Iterable[Row]] = constraint.rows
            return list(old(columns.instance, float(columns.capacity(1))))
    except NotImplementedError:
        pass
    what = "season" if columns.several else "selection"
    supported = sorted(kind.kind() for kind in get_args(dssp.SideConstraint))
    expected = f"a kind that a {what} can take{listing(supported)}"
    raise InputError(expected, found=repr(constraint.kind()))
