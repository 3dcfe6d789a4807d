"""What selections and seasons share: side constraints as rows, and the native model of them.

Rows are kept as they are declared. A native model is written when it is first asked for, and from
then on gets each row as well.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Self

from schedopt.formulations.dssp.rows import Row
from schedopt.formulations.protocol import Side
from schedopt.instances.constraints import Constraint, check_added, label
from schedopt.instances.dssp import Instance

if TYPE_CHECKING:
    import pyomo.environ as pyo

    from schedopt.formulations.dssp.native import Native


class Declared:
    """A choice of jobs with side constraints, declared as rows and as a Pyomo model.

    Attributes
    ----------
    instance : Instance
    added : sequence of Constraint
        The side constraints beyond the instance's.
    stated : list of (str, Row)
        The rows of all side constraints, under their names.
    seconds : float
        How long building took.
    """

    instance: Instance
    seconds: float

    def _declare(self) -> None:
        """State the instance's side constraints."""
        self.added: Sequence[Constraint] = ()
        self.stated: list[tuple[str, Row]] = []
        self._native: Native | None = None
        for position, constraint in enumerate(self.instance.constraints):
            self._state(constraint, label(constraint, position))

    def _rows(self, constraint: Constraint) -> Iterable[Row]:
        """Return a side constraint as rows."""
        raise NotImplementedError

    def _write(self) -> Native:
        """Write the native model of what is stated so far."""
        raise NotImplementedError

    @property
    def model(self) -> pyo.ConcreteModel:
        """The Pyomo model, with ``x[job name]`` or ``x[job name, night]``; add to it as you like.

        It is built when it is first asked for.
        """
        return self._written().model

    def _written(self) -> Native:
        if self._native is None:
            self._native = self._write()
        return self._native

    def add(self, *constraints: Constraint) -> Self:
        """Add side constraints to those of the instance.

        Raises
        ------
        InputError
            If one names a job or group that does not exist, has a name that is taken, or is of a
            kind that cannot be taken here.
        """
        began = time.perf_counter()
        check_added(self.instance, [*self.added, *constraints])
        for constraint in constraints:
            position = len(self.instance.constraints) + len(self.added)
            self._state(constraint, label(constraint, position))
            self.added = (*self.added, constraint)
        self.seconds += time.perf_counter() - began
        return self

    def _state(self, constraint: Constraint, name: str) -> None:
        """State a side constraint as rows, under its name."""
        for row in self._rows(constraint):
            self.stated.append((name, row))
            if self._native is not None:
                self._native.state(name, row)

    @property
    def changed(self) -> bool:
        """Whether the user has changed the native model: then it alone says what is meant."""
        return self._native is not None and self._native.changed()

    @property
    def goal_changed(self) -> bool:
        """Whether the user has changed the native objective."""
        return self._native is not None and self._native.goal_changed()

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
