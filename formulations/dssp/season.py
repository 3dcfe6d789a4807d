"""Season: which jobs to run on which of several nights, all known from the start."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.dssp.base import SelectionBase
from schedopt.formulations.dssp.rows import Row, selectable, window_rows
from schedopt.formulations.protocol import Value
from schedopt.instances.decimals import split
from schedopt.instances.dssp import Instance, SelectedNights, selected_nights
from schedopt.instances.errors import InputError

if TYPE_CHECKING:
    import pyomo.environ as pyo


class Season(SelectionBase):
    """Choose jobs, and a night for each, with the largest total reward.

    All nights are one program: the clairvoyant optimum, which knows later jobs from the start.

    Parameters
    ----------
    instance : Instance
        Jobs, and ``nights`` nights with all processors until the deadline each; its side
        constraints are part of the model.
    fill : float
        The part r of each night's P·D to fill.

    Attributes
    ----------
    model : pyomo.environ.ConcreteModel
        The Pyomo model, see Notes; ``x[job name, n]`` is 1 if the job runs on night n.
    columns : JobColumns
        The jobs and nights of the columns.
    side_rows : list of (str, Row)
        The rows of the side constraints, under their names.
    open : ndarray of bool, shape (columns,)
        The columns that can be 1.

    Raises
    ------
    InputError
        If ``fill`` is wrong, or a side constraint does not apply to seasons.

    Notes
    -----
    With x_jn = 1 if job j runs on night n, one of its nights::

        maximize    sum_jn R_j x_jn
        subject to  sum_j T_1(j) x_jn <= r P D                    each night n, as in `Selection`
                    sum_n x_jn <= 1                               each job j
                    side constraints

    Source: Anderson et al., SPAA 2005, section 3.1, for each night. Requirements, exclusions and
    counts apply to all nights together, resources and seats to each night, and fair shares as their
    fields define it.
    """

    name: ClassVar[str] = "season"

    def __init__(self, instance: Instance, *, fill: float | Literal["guaranteed"] = 1.0) -> None:
        if place := instance.features.get("after"):
            raise InputError("none: season does not support it", found="`after`", place=place)
        super().__init__(instance, fill=fill)

    def _build(self) -> pyo.ConcreteModel:
        """Return the Pyomo model: variables, objective, capacity, one night, side constraints."""
        import pyomo.environ as pyo

        from schedopt.formulations.dssp.native import add_side_rows, bounded, weighted_sum

        model, season, jobs = pyo.ConcreteModel(), self.instance, self.columns.jobs
        model.jobs = pyo.Set(initialize=self.columns.names, dimen=2)
        model.x = pyo.Var(model.jobs, domain=pyo.Binary)
        x = list(model.x.values())
        for i in np.flatnonzero(~self.open).tolist():  # the job does not fit by itself
            x[i].setub(0)

        total_reward = weighted_sum(season.rewards[jobs].tolist(), x)
        model.reward = pyo.Objective(expr=total_reward, sense=pyo.maximize)  # equation 1

        model.capacity = pyo.Constraint([row.what for row in self.capacity])  # equation 2
        for row in self.capacity:
            model.capacity[row.what] = bounded(row, x)

        model.once = pyo.Constraint([row.what for row in self.once])
        for row in self.once:
            model.once[row.what] = bounded(row, x)

        model.side = pyo.Constraint(pyo.Any)  # by side constraint and row
        model.lifted = pyo.Var(pyo.Any, domain=pyo.Binary, dense=False)  # waived rows
        add_side_rows(model, x, self.side_rows)
        return model

    @cached_property
    def capacity(self) -> list[Row]:
        """Equation 2 on each night, also between releases and deadlines of jobs."""
        night, nights = self.instance, range(1, self.instance.nights + 1)
        rows = window_rows(night, selectable(night, self.fill), self.fill)
        return [self.columns.on_night(row, n) for n in nights for row in rows]

    @cached_property
    def once(self) -> list[Row]:
        """Each job runs on one night at most."""
        rows: list[Row] = []
        for j, job in enumerate(self.instance.jobs):
            columns = self.columns.of_job(j)
            if len(columns) > 1 and self.open[columns].any():
                ones = [1.0] * len(columns)
                rows.append(Row(f"once: {job.name}", columns, ones, upper=1.0))
        return rows

    @property
    def own_rows(self) -> list[Row]:
        """The rows of the formulation itself, the capacity first."""
        return [*self.capacity, *self.once]

    def decode(self, value: Value) -> SelectedNights:
        """Turn values of the variables into a selection for each night."""
        return self.selected(self._ones(value))

    def selected(
        self, chosen: Sequence[int] | NDArray[np.intp] | NDArray[np.bool_]
    ) -> SelectedNights:
        """Return the solution record in which some columns are 1, given by position or mask."""
        at = np.asarray(chosen)
        at = np.flatnonzero(at) if at.dtype == np.bool_ else at.astype(np.intp)
        jobs, nights = self.columns.jobs[at], self.columns.nights[at]
        tonight = [jobs[here] for here in split(nights - 1, self.instance.nights)]
        return selected_nights(self.instance, tonight, self.fill)
