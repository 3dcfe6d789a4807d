"""Season: which jobs to run on which of several nights, knowing all of them from the start."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from formulations.dssp.nights import Calendar, season_rows
from formulations.dssp.rows import Row
from formulations.dssp.whole import selection_program
from formulations.dssp.windows import able, window_rows
from formulations.program import Program
from formulations.protocol import Hints, Settings, Side, Value
from instances.constraints import Constraint, check_names, check_references, label
from instances.dssp import FILL, Instance, SelectedNights, selected_nights
from instances.options import Option, checked

if TYPE_CHECKING:
    import pyomo.environ as pyo

    from formulations.dssp.native import Native


class Season:
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
        self.added: Sequence[Constraint] = ()
        self.stated: list[tuple[str, Row]] = []
        self.calendar = Calendar.of(season, season.exact_capacity(self.fill))
        self._able: NDArray[np.bool_] = able(season, self.fill)
        jobs = np.array([j for j, _ in self.calendar.columns], dtype=np.intp)
        self.open: NDArray[np.bool_] = self._able[jobs]
        self._native: Native | None = None
        for position, constraint in enumerate(season.constraints):
            self._state(constraint, label(constraint, position))
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

    @property
    def model(self) -> pyo.ConcreteModel:
        """The Pyomo model, with variables ``x[job name, night]``; add native constraints to it.

        It is built when it is first asked for.
        """
        return self._written().model

    def _written(self) -> Native:
        if self._native is None:
            from formulations.dssp.native import Native

            jobs, columns = self.instance.jobs, self.calendar.columns
            names = [(jobs[j].name, n) for j, n in columns]
            rewards = [jobs[j].reward for j, _ in columns]
            self._native = Native(names, rewards, self.capacity, self.open, self.stated)
        return self._native

    def add(self, *constraints: Constraint) -> Self:
        """Add side constraints to those of the instance.

        Raises
        ------
        InputError
            If one names a job or group that does not exist, has a name that is taken, or is of a
            kind that a season cannot take.
        """
        began = time.perf_counter()
        together = [*self.instance.constraints, *self.added, *constraints]
        check_names(together)
        check_references(together, self.instance.index, self.instance.groups)
        for constraint in constraints:
            position = len(self.instance.constraints) + len(self.added)
            self._state(constraint, label(constraint, position))
            self.added = (*self.added, constraint)
        self.seconds += time.perf_counter() - began
        return self

    def _state(self, constraint: Constraint, name: str) -> None:
        """State a side constraint as rows, under its name."""
        for row in season_rows(constraint, self.calendar):
            self.stated.append((name, row))
            if self._native is not None:
                self._native.state(name, row)

    @property
    def changed(self) -> bool:
        """Whether the user has changed the native model: then it alone says what is meant."""
        return self._native is not None and self._native.changed()

    def side(self) -> Side:
        """Return the rows behind each side constraint, by name.

        They are Pyomo's, with those that the user added, once there is a native model.
        """
        if self._native is not None:
            return self._native.side()
        found: Side = {}
        for name, row in self.stated:
            found.setdefault(name, []).append(row)
        return found

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
