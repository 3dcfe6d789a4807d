"""What selections and seasons share: columns, side constraints as rows, and the Pyomo model.

The rows are the model. Engines read them as an `IntegerProgram`; the Pyomo model is built when it
is first asked for, and from then on gets each side constraint that is added.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.dssp.columns import JobColumns, rows_of
from schedopt.formulations.dssp.scenarios import Scenarios
from schedopt.formulations.program import IntegerProgram, ProgramWriter
from schedopt.formulations.protocol import Hints, Settings, Side, Value
from schedopt.instances.constraints import Constraint, check_rules, label
from schedopt.instances.decimals import Whole
from schedopt.instances.dssp import FILL, Instance, Selected, SelectedNights
from schedopt.instances.errors import InputError
from schedopt.instances.options import Option, check_options
from schedopt.instances.rows import Row

if TYPE_CHECKING:
    import pyomo.environ as pyo

    from schedopt.formulations.dssp.native import Watch


FRACTIONAL = 0.01
"""Distance from an integer beyond which a value is fractional, far above solvers' tolerances."""

OWN_COMPONENTS = ("capacity", "windows", "precedence", "once", "side")
"""The Pyomo constraints of the formulations; any other is a user's."""


def integer_program(
    columns: Sequence[str | tuple[str, int]],
    rewards: Sequence[float] | NDArray[np.float64],
    open_: NDArray[np.bool_],
    rows: Iterable[tuple[str, Row]],
) -> IntegerProgram:
    """Return the integer program with some columns and rows.

    Parameters
    ----------
    columns : sequence of str or (str, int)
        The job of each column, and its night.
    rewards : sequence of float
        The reward of each column.
    open_ : ndarray of bool, shape (columns,)
        The columns that can be 1.
    rows : iterable of (str, Row)
        The rows, each with the name of its side constraint; empty for a row of the formulation.
    """
    names = [n if isinstance(n, str) else f"{n[0]}, night {n[1]}" for n in columns]
    writer = ProgramWriter(names, open_)
    for owner, row in rows:
        key = f"{owner}: {row.what}" if owner else row.what
        bounds = row.lower, row.upper
        writer.add((key, owner), row.columns, row.coefficients, bounds, row.unless)
    return writer.program(Whole.of(np.asarray(rewards, dtype=np.float64)))


class SelectionBase:
    """A choice of 0-1 columns under rows, with side constraints.

    Attributes
    ----------
    instance : Instance
        The jobs and the machine.
    columns : JobColumns
        The 0-1 columns: jobs, or jobs on nights.
    open : ndarray of bool, shape (columns,)
        The columns that can be 1.
    added : sequence of Constraint
        The side constraints beyond the instance's.
    side_rows : list of (str, Row)
        The rows of all side constraints, under their names.
    seconds : float
        How long building took.
    """

    problem: ClassVar[str] = "dssp"
    name: ClassVar[str]
    engine: ClassVar[str] = "pyomo"
    sense: ClassVar[Literal["maximize", "minimize"]] = "maximize"
    known_options: ClassVar[Mapping[str, Option]] = {"fill": FILL}

    sample: Scenarios | None = None

    def __init__(self, instance: Instance, *, fill: float | Literal["guaranteed"] = 1.0) -> None:
        check_options({"fill": fill}, self.known_options, self.name)
        began = time.perf_counter()
        self.instance = instance
        self.guaranteed = fill == "guaranteed"
        self.fill = instance.fill(fill)
        self.options: Settings = {"fill": self.fill}
        self.added: Sequence[Constraint] = ()
        self.side_rows: list[tuple[str, Row]] = []
        self.columns = JobColumns(instance, self.fill, several=self.name == "season")
        self.open = self.columns.open
        self._model: pyo.ConcreteModel | None = None
        self._watch: Watch | None = None
        for position, constraint in enumerate(instance.constraints):
            self._state(constraint, label(constraint, position))
        self.seconds = time.perf_counter() - began

    def __repr__(self) -> str:
        jobs, rules = len(self.instance.jobs), len(self.added)
        return f"<{self.name} of {self.instance.name!r}: {jobs} jobs, {rules} rules added>"

    @property
    def own_rows(self) -> list[Row]:
        """The rows of the formulation itself, the capacity first."""
        raise NotImplementedError

    def _build(self) -> pyo.ConcreteModel:
        """Return the Pyomo model, with variables ``x`` in the order of the columns."""
        raise NotImplementedError

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.columns)

    def columns_of(self, j: int) -> Mapping[int, int]:
        """Return the column of a job on each of its nights."""
        own = self.columns.of_job(j)
        return dict(zip(self.columns.nights[own].tolist(), own, strict=True))

    def chosen_columns(self, solution: Selected | SelectedNights) -> Sequence[int]:
        """Return the columns that are 1 in a solution."""
        if isinstance(solution, Selected):
            columns: list[int] = self.instance.positions(solution).tolist()
            return columns
        index = self.instance.index
        return [
            self.columns.column(index[name], n)
            for n, night in enumerate(solution.nights, start=1)
            for name in night.selected
        ]

    @property
    def model(self) -> pyo.ConcreteModel:
        """The Pyomo model, with ``x[job name]`` or ``x[job name, night]``; users can change it.

        It is built when it is first asked for.
        """
        if self._model is None:
            from schedopt.formulations.dssp.native import Watch

            self._model = self._build()
            self._watch = Watch(self._model)
        return self._model

    @property
    def _x(self) -> list[Any]:
        """The variables of the Pyomo model, in the order of the columns."""
        return list(self.model.x.values())

    def _ones(self, value: Value) -> list[int]:
        """Return the columns that are 1; raise `InputError` for fractions, as of a relaxation."""
        values = [value(x) for x in self._x]
        if any(abs(part - round(part)) > FRACTIONAL for part in values):
            raise InputError(
                "binary variables, since a selection runs whole jobs",
                found="a relaxed model",
                place="model",
            )
        return [i for i, part in enumerate(values) if part > 1 / 2]

    def integer_program(self) -> IntegerProgram:
        """Return the declared model, without native changes, as an integer program."""
        rewards = self.instance.rewards[self.columns.jobs]
        own = [("", row) for row in self.own_rows]
        return integer_program(self.columns.names, rewards, self.open, [*own, *self.side_rows])

    def add(self, *constraints: Constraint) -> Self:
        """Add side constraints to those of the instance.

        Raises
        ------
        InputError
            If one names a job or group that does not exist, has a name that is taken, or is of a
            kind that does not apply here.
        """
        began = time.perf_counter()
        check_rules(self.instance, [*self.added, *constraints])
        for constraint in constraints:
            position = len(self.instance.constraints) + len(self.added)
            self._state(constraint, label(constraint, position))
            self.added = (*self.added, constraint)
        self.seconds += time.perf_counter() - began
        return self

    def _state(self, constraint: Constraint, name: str) -> None:
        """State a side constraint as rows, in the Pyomo model too if it is built."""
        rows = [(name, row) for row in rows_of(constraint, self.columns)]
        self.side_rows += rows
        if self._model is not None and self._watch is not None:
            from schedopt.formulations.dssp.native import add_side_rows

            changed = self._watch.changed()
            add_side_rows(self._model, self._x, rows)
            if not changed:
                self._watch.accept()

    @property
    def changed(self) -> bool:
        """Whether the user has changed the native model, which then alone defines the problem."""
        return self._watch is not None and self._watch.changed()

    @property
    def goal_changed(self) -> bool:
        """Whether the user has changed the native objective."""
        return self._watch is not None and self._watch.goal_changed()

    @property
    def ordered(self) -> bool:
        """Whether there are objectives after the reward."""
        return len(self.instance.objectives) > 1

    def side_constraints(self) -> Side:
        """Return the rows behind each side constraint, by name.

        Once there is a native model, they are the Pyomo constraints, with those of the user.
        """
        sides: Side = {}
        if self._model is None:
            for name, row in self.side_rows:
                sides.setdefault(name, []).append(row)
            return sides
        import pyomo.environ as pyo

        for index, row in self._model.side.items():
            sides.setdefault(index[0], []).append(row)
        for part in self._model.component_objects(pyo.Constraint, active=True):
            if part.name not in OWN_COMPONENTS and not part.name.startswith("sample."):
                sides.setdefault(part.name, []).extend(part.values())
        return sides

    def hint(self, solution: Selected | SelectedNights) -> Hints:
        """Yield each native variable with 1 if its column is in a solution, else 0."""
        chosen = set(self.chosen_columns(solution))
        for i, x in enumerate(self._x):
            yield x, float(i in chosen)
