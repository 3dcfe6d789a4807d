"""Selection: which jobs to run by the deadline, as a 0-1 knapsack with side constraints."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.dssp.declared import Declared
from schedopt.formulations.dssp.rows import Row, rows
from schedopt.formulations.dssp.windows import able, window_rows
from schedopt.formulations.protocol import Knapsack, Value
from schedopt.instances.constraints import Constraint, Seats
from schedopt.instances.dssp import Selected, SelectedNights, selected
from schedopt.instances.errors import InputError


class Selection(Declared):
    """Choose the jobs with the largest total reward whose demand fits the machine.

    Parameters
    ----------
    instance : Instance
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

    name: ClassVar[str] = "selection"

    def _open(self) -> None:
        self.open = able(self.instance, self.fill)

    @cached_property
    def capacity(self) -> list[Row]:
        """Equation 2, and the same for each release and deadline of jobs' own."""
        return window_rows(self.instance, self.open, self.fill)

    def _rows(self, constraint: Constraint) -> Iterable[Row]:
        if self.guaranteed and isinstance(constraint, Seats):
            raise InputError(
                "side constraints under which Theorem 4 holds", found="seats", place="option fill"
            )
        return rows(constraint, self.instance, self.instance.exact_capacity(self.fill))

    def columns(self, solution: Selected | SelectedNights) -> Iterable[int]:
        """Yield the columns that are 1 in a solution."""
        return (self.instance.index[name] for name in solution.selected)

    @property
    def single_capacity(self) -> bool:
        """Whether equation 2 is all that keeps jobs apart: no windows of their own do."""
        night = self.instance
        if night.beyond:
            return False
        return not night.windowed or (len(self.capacity) == 1 and bool(night.due[self.open].all()))

    def plain(self) -> Knapsack | None:
        """Return the knapsack that this is while nothing but equations 1 and 2 is in it."""
        if self.stated or self.changed or not self.single_capacity:
            return None
        night, positions = self.instance, np.flatnonzero(self.open)
        demands = night.planned.demands
        room = demands.down(night.room(self.fill))
        return Knapsack(night.rewards[positions], demands.take(positions), room, positions)

    def decode(self, value: Value) -> Selected:
        """Turn values of the variables into a selection."""
        return self.selected([j for j, x in enumerate(self._written().x) if value(x) > 0.5])

    def selected(self, positions: Sequence[int] | NDArray[np.intp]) -> Selected:
        """Return the solution record of the jobs at these positions."""
        return selected(self.instance, np.asarray(positions, dtype=np.int64), self.fill)
