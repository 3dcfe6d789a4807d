"""Selection: which jobs to run by the deadline, as a 0-1 knapsack with side constraints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.dssp.base import SelectionBase
from schedopt.formulations.dssp.rows import Row, window_rows
from schedopt.formulations.dssp.scenarios import Scenarios
from schedopt.formulations.protocol import Value
from schedopt.instances.constraints import Constraint, Seats
from schedopt.instances.dssp import FILL, Instance, Selected, refuse_nights, selected
from schedopt.instances.dssp.scenarios import AT_RISK, at_risk
from schedopt.instances.errors import InputError
from schedopt.instances.options import Option

if TYPE_CHECKING:
    import pyomo.environ as pyo


class Selection(SelectionBase):
    """Choose the jobs with the largest total reward whose demand fits the machine.

    Parameters
    ----------
    instance : Instance
        Jobs, processors and deadline; its side constraints are part of the model.
    fill : float or "guaranteed"
        The selection parameter r: the part of P·D to fill. With ``guaranteed`` it is that of
        Theorem 4, with which every non-delay dispatcher completes all selected jobs.
    risk : str, optional
        The objective if run times are uncertain: ``mean`` (the expected reward), ``cvar:Q`` (the
        mean of the worst part 1 - Q) or ``chance:Q`` (the reward of the selected jobs, each of
        which completes in time with at least that probability). By default run times are as
        planned.
    scenarios, seed : int
        The number of scenarios of run times, and the seed from which they are drawn.

    Attributes
    ----------
    model : pyomo.environ.ConcreteModel
        The Pyomo model, see Notes; ``x[job name]`` is 1 if the job is selected.
    sample : Scenarios or None
        The scenarios, and the reward of a selection in them; None without ``risk``.
    side_rows : list of (str, Row)
        The rows of the side constraints, under their names.
    open : ndarray of bool, shape (jobs,)
        The jobs that can be selected at all: T_∞(j) and T_1(j) fit between release and deadline.

    Raises
    ------
    InputError
        If ``fill`` is wrong, or a side constraint does not apply to selections.

    Notes
    -----
    With x_j = 1 if job j is selected::

        maximize    sum_j R_j x_j                                                    (1)
        subject to  sum_j T_1(j) x_j <= r P D                                        (2)
                    sum_{j between a and b} T_1(j) x_j <= r P (b - a)    release a, deadline b
                    x_j <= x_i                                           job j after job i
                    side constraints

    Source: Anderson et al., SPAA 2005, section 3.1, equations 1 and 2; the third row is equation 2
    for the jobs with their own release or deadline. With ``risk`` these rows hold for planned run
    times, and `Scenarios` defines the objective.
    """

    name: ClassVar[str] = "selection"
    known_options: ClassVar[Mapping[str, Option]] = {
        "fill": FILL,
        **AT_RISK,
    }

    def __init__(
        self,
        instance: Instance,
        *,
        fill: float | Literal["guaranteed"] = 1.0,
        risk: str | None = None,
        scenarios: int | None = None,
        seed: int | None = None,
    ) -> None:
        asked = at_risk(self.name, risk=risk, scenarios=scenarios, seed=seed)
        refuse_nights(instance, self.name)
        super().__init__(instance, fill=fill)
        self.options |= asked
        self.sample = Scenarios.of(instance, self.open, self.fill, **asked) if asked else None

    def _build(self) -> pyo.ConcreteModel:
        """Return the Pyomo model: variables, objective, capacity, precedence, side constraints."""
        import pyomo.environ as pyo

        from schedopt.formulations.dssp.native import (
            add_scenarios,
            add_side_rows,
            bounded,
            weighted_sum,
        )

        model, night = pyo.ConcreteModel(), self.instance
        model.jobs = pyo.Set(initialize=list(night.index))
        model.x = pyo.Var(model.jobs, domain=pyo.Binary)
        x = list(model.x.values())
        for j in np.flatnonzero(~self.open).tolist():  # the job does not fit by itself
            x[j].setub(0)

        total_reward = weighted_sum(night.rewards.tolist(), x)
        model.reward = pyo.Objective(expr=total_reward, sense=pyo.maximize)  # equation 1

        capacity, *windows = self.capacity
        model.capacity = pyo.Constraint(expr=bounded(capacity, x))  # equation 2
        model.windows = pyo.Constraint([row.what for row in windows])
        for row in windows:
            model.windows[row.what] = bounded(row, x)

        model.precedence = pyo.Constraint([row.what for row in self.precedence])
        for row in self.precedence:
            model.precedence[row.what] = bounded(row, x)

        model.side = pyo.Constraint(pyo.Any)  # by side constraint and row
        model.lifted = pyo.Var(pyo.Any, domain=pyo.Binary, dense=False)  # waived rows
        add_side_rows(model, x, self.side_rows)

        if self.sample is not None:
            add_scenarios(self.sample, model, x)
        return model

    @cached_property
    def capacity(self) -> list[Row]:
        """The capacity rows: equation 2, and a row for each window of releases and deadlines."""
        return window_rows(self.instance, self.open, self.fill)

    @cached_property
    def precedence(self) -> list[Row]:
        """The precedence rows: a selected job requires its predecessors."""
        index = self.instance.index
        return [
            Row(f"after: {job.name}, {name}", [j, index[name]], [1, -1], upper=0)
            for j, job in enumerate(self.instance.jobs)
            for name in job.after
        ]

    @property
    def own_rows(self) -> list[Row]:
        """The rows of the formulation itself, capacity rows first."""
        return [*self.capacity, *self.precedence]

    def _state(self, constraint: Constraint, name: str) -> None:
        """State a side constraint; Theorem 4 does not hold under seats."""
        if self.guaranteed and isinstance(constraint, Seats):
            raise InputError(
                "side constraints under which Theorem 4 holds", found="seats", place="option fill"
            )
        super()._state(constraint, name)

    def estimate_risk(self, solution: Selected) -> dict[str, float] | None:
        """Return the value of a selection in and out of sample; None without ``risk``."""
        if self.sample is None:
            return None
        return self.sample.estimate_risk(self._mask(solution), self.instance, self.options["seed"])

    def _mask(self, solution: Selected) -> NDArray[np.bool_]:
        """Return which jobs are selected, shape (jobs,)."""
        chosen = np.zeros(self.width, dtype=np.bool_)
        chosen[self.instance.positions(solution)] = True
        return chosen

    def value_of(self, solution: Selected) -> float | None:
        """Return the value of a selection; None where it violates a row or a chance under risk."""
        if self.sample is None:
            return self.instance.objective_of(solution)
        if not self.changed:
            program = self.integer_program()
            if len(program.violated_rows(program.point(self.chosen_columns(solution)))):
                return None
        return self.sample.value(self._mask(solution))

    def decode(self, value: Value) -> Selected:
        """Turn values of the variables into a selection."""
        return self.selected(self._ones(value))

    def selected(self, chosen: Sequence[int] | NDArray[np.intp] | NDArray[np.bool_]) -> Selected:
        """Return the solution record of the jobs at some positions, or under a mask."""
        return selected(self.instance, chosen, self.fill)
