"""The CVXPY program of an allocation, which users may change; changes are detected."""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any

import cvxpy as cp
import numpy as np


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
    """The CVXPY program and a digest of its declared part."""

    def __init__(self, goal: cp.Minimize, rows: Sequence[cp.Constraint]) -> None:
        self.program = ConvexProgram(goal, rows)
        self._declare()

    def _declare(self) -> None:
        rows = self.program.constraints
        self._declared = {id(row) for row in rows}
        self._rows, self._goal = digest(*rows), digest(self.program.objective)

    @property
    def changed(self) -> bool:
        """Whether the user has changed anything."""
        return self.goal_changed or digest(*self.program.constraints) != self._rows

    @property
    def goal_changed(self) -> bool:
        """Whether the user has changed the objective."""
        return digest(self.program.objective) != self._goal

    @property
    def added(self) -> list[cp.Constraint]:
        """The rows that the user added."""
        return [row for row in self.program.constraints if id(row) not in self._declared]

    def state(self, rows: Sequence[cp.Constraint]) -> None:
        """Add declared rows."""
        changed = self.changed
        self.program.constraints.extend(rows)
        if not changed:
            self._declare()

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


def digest(*roots: Any) -> str:
    """Return a digest of constraints or of an objective."""
    sums = sha256()
    waiting = list(roots)
    while waiting:
        node = waiting.pop()
        sums.update(repr((type(node).__name__, getattr(node, "shape", None))).encode())
        if isinstance(node, cp.Constant):
            value = node.value
            dense = value.toarray() if hasattr(value, "toarray") else np.asarray(value)
            sums.update(dense.tobytes())
        elif isinstance(node, cp.Variable):
            sums.update(repr((node.id, sorted(node.attributes.items()))).encode())
        else:
            sums.update(repr(node.get_data()).encode())
        waiting += node.args
    return sums.hexdigest()
