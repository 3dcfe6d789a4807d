"""Season: which jobs to run on which of several nights, knowing all of them from the start."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.dssp.declared import Declared
from schedopt.formulations.dssp.nights import Calendar, season_rows
from schedopt.formulations.dssp.rows import Row
from schedopt.formulations.dssp.whole import selection_program
from schedopt.formulations.dssp.windows import able, window_rows
from schedopt.formulations.program import Program
from schedopt.formulations.protocol import Hints, Settings, Value
from schedopt.instances.constraints import Constraint
from schedopt.instances.dssp import FILL, Instance, SelectedNights, selected_nights
from schedopt.instances.options import Option, checked

if TYPE_CHECKING:
    from schedopt.formulations.dssp.native import Native


class Season(Declared):
    """Choose jobs, and a night for each, with the largest total reward; one program for all nights.

    It is the clairvoyant optimum: what could be had by whoever knows tomorrow's jobs tonight.

    Parameters
    ----------
    season : Instance
        Jobs, and ``nights`` nights with all processors until the deadline each; its side
        constraints are taken over.
    fill : float
        How much of a night's P·D to fill.

    Attributes
    ----------
    calendar : Calendar
        The columns x_{j,n}: job j is run on night n.
    stated : list of (str, Row)
        The rows of the side constraints over these, under their names.
    open : ndarray of bool, shape (columns,)
        The columns of jobs that can be selected at all.

    Raises
    ------
    InputError
        If ``fill`` is not right, or a side constraint is of a kind that says nothing of seasons.

    Notes
    -----
    Each night is a `Selection` (Anderson et al., SPAA 2005, section 3.1); a job is run on at most
    one of its nights. Requirements, exclusions and counts speak of all nights together, a resource
    and seats of each, a fair share of what it says itself.
    """

    problem: ClassVar[str] = "dssp"
    name: ClassVar[str] = "season"
    engine: ClassVar[str] = "pyomo"
    sense: ClassVar[Literal["maximize", "minimize"]] = "maximize"
    known_options: ClassVar[Mapping[str, Option]] = {"fill": FILL}

    def __init__(self, season: Instance, *, fill: float | Literal["guaranteed"] = 1.0) -> None:
        checked({"fill": fill}, self.known_options, "season")
        began = time.perf_counter()
        self.instance = season
        self.fill = season.fill(fill)
        self.options: Settings = {"fill": self.fill}
        self.calendar = Calendar.of(season, season.exact_capacity(self.fill))
        self._able: NDArray[np.bool_] = able(season, self.fill)
        jobs = np.array([j for j, _ in self.calendar.columns], dtype=np.intp)
        self.open: NDArray[np.bool_] = self._able[jobs]
        self._declare()
        self.seconds = time.perf_counter() - began

    @property
    def width(self) -> int:
        """How many columns there are."""
        return len(self.calendar.columns)

    @cached_property
    def capacity(self) -> list[Row]:
        """Equation 2 on each night, and that each job is run once at most."""
        found = [
            self.calendar.on_night(row, n)
            for n in range(1, self.instance.nights + 1)
            for row in window_rows(self.instance, self._able, self.fill)
        ]
        for j, nights in enumerate(self.calendar.of_job):
            if self._able[j] and len(nights) > 1:
                columns = list(nights.values())
                what = f"once: {self.instance.jobs[j].name}"
                found.append(Row(what, columns, [1.0] * len(columns), upper=1.0))
        return found

    def _write(self) -> Native:
        from schedopt.formulations.dssp.native import Native

        jobs, columns = self.instance.jobs, self.calendar.columns
        names = [(jobs[j].name, n) for j, n in columns]
        rewards = [jobs[j].reward for j, _ in columns]
        return Native(names, rewards, self.capacity, self.open, self.stated)

    def _rows(self, constraint: Constraint) -> Iterable[Row]:
        return season_rows(constraint, self.calendar)

    def program(self) -> Program:
        """Return what is declared, without native changes, as a program in whole numbers."""
        jobs, columns = self.instance.jobs, self.calendar.columns
        return selection_program(
            [f"{jobs[j].name}, night {n}" for j, n in columns],
            [jobs[j].reward for j, _ in columns],
            self.capacity,
            self.open.tolist(),
            self.stated,
        )

    def columns(self, solution: SelectedNights) -> Iterable[int]:
        """Yield the columns that are 1 in a solution."""
        index = self.instance.index
        for n, night in enumerate(solution.nights, start=1):
            for name in night.selected:
                yield self.calendar.of_job[index[name]][n]

    def hint(self, solution: SelectedNights) -> Hints:
        """Yield each x_{j,n} with 1 where the job is run on that night, else 0."""
        chosen = set(self.columns(solution))
        for i, x in enumerate(self._written().x):
            yield x, float(i in chosen)

    def decode(self, value: Value) -> SelectedNights:
        """Turn values of the variables into a selection for each night."""
        return self.selected([i for i, x in enumerate(self._written().x) if value(x) > 0.5])

    def selected(self, positions: Sequence[int] | NDArray[np.intp]) -> SelectedNights:
        """Return the solution record in which these columns are 1."""
        nights: list[list[int]] = [[] for _ in range(self.instance.nights)]
        for i in positions:
            j, n = self.calendar.columns[int(i)]
            nights[n - 1].append(j)
        return selected_nights(self.instance, nights, self.fill)
