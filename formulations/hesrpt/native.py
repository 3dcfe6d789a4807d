"""The CVXPY program of an allocation, which users can change."""

from collections.abc import Iterable, Mapping, Sequence
from operator import is_

import cvxpy as cp


class ConvexProgram(cp.Problem):  # type: ignore[misc]  # CVXPY's stubs are skipped
    """A CVXPY problem whose objective and constraints can be changed in place.

    CVXPY's own class returns copies of its constraints, so that an appended constraint would be
    lost.
    """

    @property
    def constraints(self) -> list[cp.Constraint]:
        """The constraints themselves, not a copy."""
        rows: list[cp.Constraint] = self._constraints
        return rows

    @property
    def objective(self) -> cp.Minimize | cp.Maximize:
        """The objective, which may be set."""
        return self._objective

    @objective.setter
    def objective(self, goal: cp.Minimize | cp.Maximize) -> None:
        self._objective = goal


class Native:
    """The CVXPY program of an allocation, and the objects that were declared.

    Expressions of CVXPY are immutable, so that a change is another object in their place.
    """

    def __init__(self, goal: cp.Minimize, rows: Sequence[cp.Constraint]) -> None:
        self.program, self._goal, self._rows = ConvexProgram(goal, rows), goal, list(rows)

    @property
    def changed(self) -> bool:
        """Whether the user has changed anything."""
        rows = self.program.constraints
        same = len(rows) == len(self._rows) and all(map(is_, rows, self._rows))
        return self.goal_changed or not same

    @property
    def goal_changed(self) -> bool:
        """Whether the user has changed the objective."""
        return self.program.objective is not self._goal

    @property
    def added(self) -> list[cp.Constraint]:
        """The rows that the user added."""
        declared = set(map(id, self._rows))
        return [row for row in self.program.constraints if id(row) not in declared]

    def state(self, rows: Sequence[cp.Constraint]) -> None:
        """Add declared rows."""
        changed = self.changed
        self.program.constraints.extend(rows)
        if not changed:
            self._rows = list(self.program.constraints)

    def replace(self, program: cp.Problem) -> None:
        """Replace the program."""
        self.program = ConvexProgram(program.objective, program.constraints)

    def whole(self, side: Mapping[str, Sequence[cp.Constraint]]) -> set[str]:
        """Return the names of the side constraints whose rows are all present."""
        here = {id(row) for row in self.program.constraints}
        return {name for name, rows in side.items() if here.issuperset(map(id, rows))}

    def without(self, rows: Iterable[cp.Constraint], scale: float) -> cp.Problem:
        """Return a new program without some of the rows; its objective is divided by a scale."""
        gone = {id(row) for row in rows}
        kept = [row for row in self.program.constraints if id(row) not in gone]
        goal = self.program.objective
        return cp.Problem(type(goal)(goal.args[0] / scale), kept)
