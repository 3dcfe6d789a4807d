"""Selection: which jobs to run by the deadline, as a 0-1 knapsack with side constraints."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from math import fsum, isfinite
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pyomo.environ as pyo
from pyomo.common.gc_manager import PauseGC
from pyomo.core.expr import LinearExpression

from formulations.dssp.rows import Row, rows
from formulations.protocol import Knapsack
from instances.constraints import Constraint, check_names, check_references, label
from instances.dssp import FILL, Instance, Selected
from instances.options import Option, checked


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
    model : pyomo.environ.ConcreteModel
        With variables ``x[job name]``; add native constraints to it as you like.

    Raises
    ------
    InputError
        If ``fill`` is not right.

    Notes
    -----
    Source: Anderson et al., SPAA 2005, section 3.1, equations 1 and 2.
    """

    problem: ClassVar[str] = "dssp"
    name: ClassVar[str] = "selection"
    engine: ClassVar[str] = "pyomo"
    sense: ClassVar[Literal["maximize", "minimize"]] = "maximize"
    known_options: ClassVar[dict[str, Option]] = {"fill": FILL}

    def __init__(self, night: Instance, *, fill: float | Literal["guaranteed"] = 1.0) -> None:
        checked({"fill": fill}, self.known_options, "selection")
        began = time.perf_counter()
        self.instance = night
        self.fill = night.fill(fill)
        self.options: dict[str, Any] = {"fill": self.fill}
        self.added: list[Constraint] = []
        with PauseGC():  # nothing of a model is garbage while it grows
            self.model = self._build()
            for position, constraint in enumerate(night.constraints):
                self._state(constraint, label(constraint, position))
        self.seconds = time.perf_counter() - began

    def _build(self) -> Any:
        night, model = self.instance, pyo.ConcreteModel()
        model.jobs = pyo.Set(initialize=list(night.index), dimen=1)
        model.x = pyo.Var(model.jobs, domain=pyo.Binary)
        self._x = list(model.x.values())
        in_vain = ~night.in_time | (night.demands > night.room(self.fill))
        for j in np.flatnonzero(in_vain):  # T_∞(j) > D earns nothing; T_1(j) > r·P·D cannot fit
            self._x[j].setub(0)
        model.reward = pyo.Objective(  # equation 1
            expr=_dot(night.rewards.tolist(), self._x), sense=pyo.maximize
        )
        model.capacity = pyo.Constraint(  # equation 2; room is r·P·D, its rounding forgiven
            expr=(None, _dot(night.demands.tolist(), self._x), night.room(self.fill))
        )
        self._reward = model.reward.expr
        model.side = pyo.Constraint(pyo.Any)
        model.lifted = pyo.Var(pyo.Any, domain=pyo.Binary, dense=False)
        return model

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
            self.added.append(constraint)
        self.seconds += time.perf_counter() - began
        return self

    def _state(self, constraint: Constraint, name: str) -> None:
        """State a side constraint as rows of the model, under its name."""
        model = self.model
        for row in rows(constraint, self.instance, self.instance.capacity(self.fill)):
            body = _dot(row.coefficients, [self._x[j] for j in row.jobs])
            if row.unless_all:
                lifted = model.lifted[name, row.what]
                for j in row.unless_all:
                    model.side[name, row.what, j] = (None, lifted - self._x[j], 0.0)
                body += _most_negative(row) * -lifted
            model.side[name, row.what] = (_bound(row.lower), body, _bound(row.upper))

    def side(self) -> dict[str, list[Any]]:
        """Return the Pyomo constraints behind each side constraint, native ones too, by name."""
        found: dict[str, list[Any]] = {}
        for index, row in self.model.side.items():
            found.setdefault(index[0], []).append(row)
        for component in self.model.component_objects(pyo.Constraint, active=True):
            if component.name not in ("capacity", "side"):
                found.setdefault(component.name, []).extend(component.values())
        return found

    def plain(self) -> Knapsack | None:
        """Return the knapsack that this is while nothing but equations 1 and 2 is in it."""
        model = self.model
        untouched = (
            sum(1 for _ in model.component_data_objects(pyo.Constraint, active=True)) == 1
            and model.capacity.active
            and model.reward.expr is self._reward
            and len(list(model.component_objects(pyo.Var))) == 2
            and not any(x.fixed or x.lb != 0 for x in self._x)
        )
        if not untouched:
            return None
        night = self.instance
        open_ = np.array([x.ub == 1 for x in self._x], dtype=bool)
        positions = np.flatnonzero(open_)
        room = night.room(self.fill)
        return Knapsack(night.rewards[positions], night.demands[positions], room, positions)

    def hint(self, solution: Selected) -> Iterable[tuple[Any, float]]:
        """Yield each x_j with 1 where the job is selected, else 0."""
        chosen = set(solution.selected)
        for job, x in self.model.x.items():
            yield x, float(job in chosen)

    def decode(self, value: Callable[[Any], float]) -> Selected:
        """Turn values of the variables into a selection."""
        chosen = [j for j, x in enumerate(self._x) if value(x) > 0.5]
        return self.selected(chosen)

    def selected(self, positions: Sequence[int]) -> Selected:
        """Return the solution record of the jobs at these positions."""
        return Selected.of(self.instance, np.asarray(positions, dtype=np.int64), self.fill)


def _dot(coefficients: Sequence[float], variables: Sequence[Any]) -> Any:
    """Return the sum of coefficient·variable; built whole, since term by term is slow."""
    return LinearExpression(
        constant=0.0, linear_coefs=list(coefficients), linear_vars=list(variables)
    )


def _bound(value: float) -> float | None:
    return float(value) if isfinite(value) else None


def _most_negative(row: Row) -> float:
    """Return how far below its lower bound the row can fall: what lifting it must make up for."""
    return min(0.0, fsum(c for c in row.coefficients if c < 0) - row.lower)
