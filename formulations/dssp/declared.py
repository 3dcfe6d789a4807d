"""What selections and seasons share: columns, side constraints as rows, and the native model.

A column is a job, or a job on a night. Rows are kept as they are declared. A native model is
written when it is first asked for, and from then on gets each row as well.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.dssp.nights import Calendar, nights_of
from schedopt.formulations.dssp.rows import Choice, Name, Row
from schedopt.formulations.dssp.sample import Sample
from schedopt.formulations.program import IntegerProgram, ProgramWriter
from schedopt.formulations.protocol import Hints, Settings, Side, Value
from schedopt.instances.constraints import Constraint, check_added, label
from schedopt.instances.decimals import Whole
from schedopt.instances.dssp import FILL, Instance, Selected, SelectedNights, refuse_nights
from schedopt.instances.errors import InputError
from schedopt.instances.options import Option, check_options

if TYPE_CHECKING:
    import pyomo.environ as pyo

    from schedopt.formulations.dssp.native import Native


PART = 0.01
"""How far a choice may be from 0 or 1: far beyond what tolerances of solvers leave."""


def integer_program(choice: Choice) -> IntegerProgram:
    """Return the integer program of a choice: its columns, then those that relax rows."""
    names, rewards, capacity, open_, stated = choice
    called = [n if isinstance(n, str) else f"{n[0]}, night {n[1]}" for n in names]
    writer = ProgramWriter(called, np.asarray(open_, dtype=np.bool_))
    for row in capacity:
        writer.add((row.what, ""), row.jobs, row.coefficients, (row.lower, row.upper))
    for name, row in stated:
        names, bounds = (f"{name}: {row.what}", name), (row.lower, row.upper)
        writer.add(names, row.jobs, row.coefficients, bounds, row.lifting)
    return writer.program(Whole.of(np.asarray(rewards, dtype=np.float64)))


class Declared:
    """A choice of jobs with side constraints, declared as rows and as a Pyomo model.

    Attributes
    ----------
    instance : Instance
    calendar : Calendar or None
        The columns of several nights; None where column j is job j.
    open : ndarray of bool, shape (columns,)
        The columns that can be 1 at all.
    added : sequence of Constraint
        The side constraints beyond the instance's.
    stated : list of (str, Row)
        The rows of all side constraints, under their names.
    seconds : float
        How long building took.
    """

    problem: ClassVar[str] = "dssp"
    name: ClassVar[str]
    engine: ClassVar[str] = "pyomo"
    sense: ClassVar[Literal["maximize", "minimize"]] = "maximize"
    known_options: ClassVar[Mapping[str, Option]] = {"fill": FILL}

    calendar: Calendar | None = None
    sample: Sample | None = None
    open: NDArray[np.bool_]

    def __init__(self, instance: Instance, *, fill: float | Literal["guaranteed"] = 1.0) -> None:
        check_options({"fill": fill}, self.known_options, self.name)
        began = time.perf_counter()
        if self.name == "selection":
            refuse_nights(instance, self.name)
        self.instance = instance
        self.guaranteed = fill == "guaranteed"
        self.fill = instance.fill(fill)
        self.options: Settings = {"fill": self.fill}
        self.added: Sequence[Constraint] = ()
        self.stated: list[tuple[str, Row]] = []
        self._native: Native | None = None
        self._set_columns()
        for position, constraint in enumerate(instance.constraints):
            self._state(constraint, label(constraint, position))
        self.seconds = time.perf_counter() - began

    def __repr__(self) -> str:
        jobs, rules = len(self.instance.jobs), len(self.added)
        return f"<{self.name} of {self.instance.name!r}: {jobs} jobs, {rules} rules added>"

    def _set_columns(self) -> None:
        """Set the columns, and which of them can be 1."""
        raise NotImplementedError

    @cached_property
    def capacity(self) -> list[Row]:
        """Equation 2 first, then the formulation's other rows."""
        raise NotImplementedError

    def _rows(self, constraint: Constraint) -> Iterable[Row]:
        raise NotImplementedError

    @property
    def width(self) -> int:
        """How many columns there are."""
        return len(self.open)

    def columns_of(self, j: int) -> Mapping[int, int]:
        """Return the column of a job on each of its nights."""
        return {1: j} if self.calendar is None else self.calendar.of_job[j]

    def columns(self, solution: Selected | SelectedNights) -> Iterable[int]:
        """Yield the columns that are 1 in a solution."""
        index = self.instance.index
        for n, night in enumerate(nights_of(solution), start=1):
            for name in night.selected:
                yield self.columns_of(index[name])[n]

    @property
    def model(self) -> pyo.ConcreteModel:
        """The Pyomo model, with ``x[job name]`` or ``x[job name, night]``; add to it as you like.

        It is built when it is first asked for.
        """
        return self._native_model().model

    def _native_model(self) -> Native:
        """Build the native model when it is first asked for."""
        if self._native is None:
            from schedopt.formulations.dssp.native import Native

            self._native = Native(self._choice_of_columns(), self.sample)
        return self._native

    def _chosen_columns(self, value: Value) -> list[int]:
        """Return the columns that are chosen; refuse parts of them, as a relaxed model has."""
        values = [value(x) for x in self._native_model().x]
        if any(abs(part - round(part)) > PART for part in values):
            raise InputError(
                "0 or 1 for each job: parts of jobs are no selection",
                found="a model that was relaxed",
                place="model",
            )
        return [i for i, part in enumerate(values) if part > 1 / 2]

    def _choice_of_columns(self) -> Choice:
        """Return the choice as declared: columns, rewards and rows."""
        jobs, rewards = self.instance.jobs, self.instance.rewards.tolist()
        names: Sequence[Name] = list(self.instance.index)
        if self.calendar is not None:
            columns = self.calendar.columns
            names, rewards = (
                [(jobs[j].name, n) for j, n in columns],
                [rewards[j] for j, _ in columns],
            )
        return Choice(names, rewards, self.capacity, self.open.tolist(), self.stated)

    def integer_program(self) -> IntegerProgram:
        """Return the declared model, without native changes, as an integer program."""
        return integer_program(self._choice_of_columns())

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
        for row in self._rows(constraint):
            self.stated.append((name, row))
            if self._native is not None:
                self._native.state(name, row)

    @property
    def changed(self) -> bool:
        """Whether the user has changed the native model, which then alone defines the problem."""
        return self._native is not None and self._native.changed()

    @property
    def goal_changed(self) -> bool:
        """Whether the user has changed the native objective."""
        return self._native is not None and self._native.goal_changed()

    @property
    def ordered(self) -> bool:
        """Whether there are objectives after the reward."""
        return len(self.instance.objectives) > 1

    def side_constraints(self) -> Side:
        """Return the rows behind each side constraint, by name.

        They are Pyomo's, with those that the user added, once there is a native model.
        """
        if self._native is not None:
            return self._native.side_constraints()
        sides: Side = {}
        for name, row in self.stated:
            sides.setdefault(name, []).append(row)
        return sides

    def hint(self, solution: Selected | SelectedNights) -> Hints:
        """Yield each native variable with 1 where its column is in a solution, else 0."""
        chosen = set(self.columns(solution))
        for i, x in enumerate(self._native_model().x):
            yield x, float(i in chosen)
