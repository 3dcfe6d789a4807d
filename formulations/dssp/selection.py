"""Selection: which jobs to run by the deadline, as a 0-1 knapsack with side constraints."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from formulations.dssp.rows import Row, rows
from formulations.dssp.whole import selection_program
from formulations.dssp.windows import able, window_rows
from formulations.program import Program
from formulations.protocol import Hints, Knapsack, Settings, Side, Value
from instances.constraints import Constraint, Seats, check_names, check_references, label
from instances.dssp import FILL, Instance, Selected, refuse_nights, selected
from instances.errors import InputError
from instances.options import Option, checked

if TYPE_CHECKING:
    import pyomo.environ as pyo

    from formulations.dssp.native import Native


class Selection:
    """Choose the jobs with the largest total reward whose demand fits the machine.

    Parameters
    ----------
    night : Instance
        Jobs, processors and deadline; its side constraints are taken over.
    fill : float or "guaranteed"
        The selection parameter r: how much of P·D to fill. ``guaranteed`` is Theorem 4's, with
        which every non-delay dispatcher completes all that is selected.

    Attributes
    ----------
    stated : list of (str, Row)
        The rows of the side constraints, under their names.
    open : ndarray of bool, shape (J,)
        The jobs that can be selected at all: of the others T_∞(j) or T_1(j) does not fit from
        release to deadline.

    Raises
    ------
    InputError
        If ``fill`` is not right.

    Notes
    -----
    Source: Anderson et al., SPAA 2005, section 3.1, equations 1 and 2. With releases and deadlines
    of jobs' own equation 2 stands for each release a and deadline b: the jobs that live between
    them fit into r·P·(b - a).
    """

    problem: ClassVar[str] = "dssp"
    name: ClassVar[str] = "selection"
    engine: ClassVar[str] = "pyomo"
    sense: ClassVar[Literal["maximize", "minimize"]] = "maximize"
    known_options: ClassVar[Mapping[str, Option]] = {"fill": FILL}

    def __init__(self, night: Instance, *, fill: float | Literal["guaranteed"] = 1.0) -> None:
        checked({"fill": fill}, self.known_options, "selection")
        began = time.perf_counter()
        refuse_nights(night, "selection")
        self.instance = night
        self.guaranteed = fill == "guaranteed"
        self.fill = night.fill(fill)
        self.options: Settings = {"fill": self.fill}
        self.added: Sequence[Constraint] = ()
        self.stated: list[tuple[str, Row]] = []
        self.open: NDArray[np.bool_] = able(night, self.fill)
        self._native: Native | None = None
        for position, constraint in enumerate(night.constraints):
            self._state(constraint, label(constraint, position))
        self.seconds = time.perf_counter() - began

    @cached_property
    def capacity(self) -> list[Row]:
        """Equation 2, and the same for each release and deadline of jobs' own."""
        return window_rows(self.instance, self.open, self.fill)

    @property
    def model(self) -> pyo.ConcreteModel:
        """The Pyomo model, with variables ``x[job name]``; add native constraints as you like.

        It is built when it is first asked for.
        """
        return self._written().model

    def _written(self) -> Native:
        if self._native is None:
            from formulations.dssp.native import Native

            night = self.instance
            names, rewards = list(night.index), night.rewards.tolist()
            self._native = Native(names, rewards, self.capacity, self.open, self.stated)
        return self._native

    def add(self, *constraints: Constraint) -> Self:
        """Add side constraints to those of the instance.

        Raises
        ------
        InputError
            If one names a job or group that does not exist, has a name that is taken, or is of a
            kind that a selection cannot take.
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
        if self.guaranteed and isinstance(constraint, Seats):
            raise InputError(
                "side constraints under which Theorem 4 holds", found="seats", place="option fill"
            )
        for row in rows(constraint, self.instance, self.instance.exact_capacity(self.fill)):
            self.stated.append((name, row))
            if self._native is not None:
                self._native.state(name, row)

    @property
    def width(self) -> int:
        """How many columns there are: one for each job."""
        return len(self.instance.jobs)

    def columns(self, solution: Selected) -> Iterable[int]:
        """Yield the columns that are 1 in a solution."""
        return (self.instance.index[name] for name in solution.selected)

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

    @property
    def single_capacity(self) -> bool:
        """Whether equation 2 is all that keeps jobs apart: no windows of their own do."""
        night = self.instance
        return not night.windowed or (len(self.capacity) == 1 and bool(night.due[self.open].all()))

    def plain(self) -> Knapsack | None:
        """Return the knapsack that this is while nothing but equations 1 and 2 is in it."""
        if self.stated or self.changed or not self.single_capacity:
            return None
        night, positions = self.instance, np.flatnonzero(self.open)
        demands = night.planned.demands
        room = demands.down(night.room(self.fill))
        return Knapsack(night.rewards[positions], demands.take(positions), room, positions)

    def program(self) -> Program:
        """Return what is declared, without native changes, as a program in whole numbers."""
        names, rewards = list(self.instance.index), self.instance.rewards.tolist()
        return selection_program(names, rewards, self.capacity, self.open.tolist(), self.stated)

    def hint(self, solution: Selected) -> Hints:
        """Yield each x_j with 1 where the job is selected, else 0."""
        chosen = set(solution.selected)
        for job, x in self.model.x.items():
            yield x, float(job in chosen)

    def decode(self, value: Value) -> Selected:
        """Turn values of the variables into a selection."""
        return self.selected([j for j, x in enumerate(self._written().x) if value(x) > 0.5])

    def selected(self, positions: Sequence[int] | NDArray[np.intp]) -> Selected:
        """Return the solution record of the jobs at these positions."""
        return selected(self.instance, np.asarray(positions, dtype=np.int64), self.fill)
