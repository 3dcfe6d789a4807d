"""What a side constraint on selected jobs is written with (`Row`) and judged on (`Choice`).

A kind of side constraint has two methods that share no code: ``rows(columns)`` states it for models
as linear rows over 0-1 columns, and ``violations(choice)`` judges a solution. Both serve one night
and several nights. The layers above implement the two protocols of this module.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import inf
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Number = float | Fraction
"""A coefficient or a bound; a float stands for the decimal that is written."""


class Row(NamedTuple):
    """lower <= sum of coefficient·x_column <= upper.

    Attributes
    ----------
    what : str
        Which part of its side constraint the row is.
    columns : sequence of int
        The columns of the row; on one night, column j is job j.
    coefficients : sequence of float or Fraction
        One for each of these columns.
    lower, upper : float or Fraction
        The bounds, infinite where there is none.
    unless : sequence of sequences of int
        Sets of columns. The row is waived if one column of each set is 1; it always holds for no
        sets.
    """

    what: str
    columns: Sequence[int]
    coefficients: Sequence[Number]
    lower: Number = -inf
    upper: Number = inf
    unless: Sequence[Sequence[int]] = ()


class Columns(Protocol):
    """The 0-1 columns of a model: column i is 1 if a job is selected, or runs on a night.

    A selection has one column for each job, a season one for each job and night of the job.
    """

    @property
    def instance(self) -> Any:
        """The jobs, an `instances.dssp.Instance`."""

    @property
    def several(self) -> bool:
        """Whether columns belong to nights: the model is a season."""

    @property
    def jobs(self) -> NDArray[np.intp]:
        """The job of each column, by position, shape (columns,)."""

    @property
    def nights(self) -> NDArray[np.intp]:
        """The night of each column, from 1, shape (columns,)."""

    @property
    def can_run(self) -> NDArray[np.bool_]:
        """The columns whose job could complete in time alone, or is paid when late."""

    @property
    def may_be_asked(self) -> NDArray[np.bool_]:
        """The columns that a minimum share can ask for: the job could complete in time alone."""

    def of_job(self, position: int) -> range:
        """Return the columns of a job, given by position."""

    def of_jobs(self, positions: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the columns of several jobs, job by job."""

    def capacity(self, night: int) -> Fraction:
        """Return r·P·D of a night, exactly."""

    def row(
        self,
        what: str,
        coefficients: Mapping[str, Number],
        lower: Number = -inf,
        upper: Number = inf,
    ) -> Row:
        """Return a row over whether jobs are selected, by name, whatever their night."""

    def each_night(
        self,
        what: str,
        coefficients: Mapping[str, Number],
        lower: Number = -inf,
        upper: Number = inf,
    ) -> Iterator[Row]:
        """Yield a row for each night, over whether jobs run on that night."""

    def held(self, use: Mapping[str, int], capacity: int) -> Iterator[Row]:
        """Yield rows that bound what running tasks hold, between each release and deadline.

        ``use`` is what each running task of a job holds. The rows are necessary, not sufficient:
        amounts times run times fit into the capacity times the length of the window.
        """


class Choice(Protocol):
    """Selected jobs that are to be judged, with facts recomputed from the instance."""

    @property
    def instance(self) -> Any:
        """The jobs, an `instances.dssp.Instance`."""

    @property
    def selected(self) -> Collection[str]:
        """The names of the jobs that are selected, on whichever night."""

    @property
    def nights(self) -> Sequence[Collection[str]]:
        """The names of the jobs that run on each night; one collection for a selection."""

    @property
    def several(self) -> bool:
        """Whether the solution is one of several nights."""

    def by_night(self) -> Iterator[tuple[str, Collection[str]]]:
        """Yield a prefix for messages, such as ``night 2: ``, and the jobs of each night."""

    def members(self, by: str | None, group: str | None) -> Collection[str]:
        """Return the names of the jobs of a group."""

    def demand(self, night: int, by: str | None = None, group: str | None = None) -> Fraction:
        """Return the demand that is selected on a night, of all jobs or of a group's."""

    def capacity(self, night: int) -> Fraction:
        """Return r·P·D of a night, exactly."""

    def left_out(self, names: Iterable[str], nights: Collection[int]) -> bool:
        """Return True if a job with demand is selected on no night but could run on one of these.

        ``nights`` are counted from 1.
        """
