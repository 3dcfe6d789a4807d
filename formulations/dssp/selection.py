"""Selection: which jobs to run by the deadline, as a 0-1 knapsack with side constraints."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.dssp.declared import Declared
from schedopt.formulations.dssp.rows import Row, rows
from schedopt.formulations.dssp.whole import selection_program
from schedopt.formulations.dssp.windows import able, window_rows
from schedopt.formulations.program import Program
from schedopt.formulations.protocol import Hints, Knapsack, Settings, Value
from schedopt.instances.constraints import Constraint, Seats
from schedopt.instances.dssp import FILL, Instance, Selected, refuse_nights, selected
from schedopt.instances.errors import InputError
from schedopt.instances.options import Option, checked

if TYPE_CHECKING:
    from schedopt.formulations.dssp.native import Native


class Selection(Declared):
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
        self.open: NDArray[np.bool_] = able(night, self.fill)
        self._declare()
        self.seconds = time.perf_counter() - began

    @cached_property
    def capacity(self) -> list[Row]:
        """Equation 2, and the same for each release and deadline of jobs' own."""
        return window_rows(self.instance, self.open, self.fill)

    def _write(self) -> Native:
        from schedopt.formulations.dssp.native import Native

        night = self.instance
        names, rewards = list(night.index), night.rewards.tolist()
        return Native(names, rewards, self.capacity, self.open, self.stated)

    def _rows(self, constraint: Constraint) -> Iterable[Row]:
        if self.guaranteed and isinstance(constraint, Seats):
            raise InputError(
                "side constraints under which Theorem 4 holds", found="seats", place="option fill"
            )
        return rows(constraint, self.instance, self.instance.exact_capacity(self.fill))

    @property
    def width(self) -> int:
        """How many columns there are: one for each job."""
        return len(self.instance.jobs)

    def columns(self, solution: Selected) -> Iterable[int]:
        """Yield the columns that are 1 in a solution."""
        return (self.instance.index[name] for name in solution.selected)

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
