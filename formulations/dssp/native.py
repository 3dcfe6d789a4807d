"""A selection as a Pyomo model, for users who add constraints of their own.

A sample average program is a block of it.
"""

from collections.abc import Sequence
from math import fsum, isfinite
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.core.expr import LinearExpression

from schedopt.formulations.dssp.rows import Choice, Number, Row
from schedopt.formulations.dssp.sample import Sample, ServiceRow
from schedopt.formulations.protocol import Side

Term = tuple[float, Any]


def declare(sample: Sample, model: pyo.ConcreteModel, x: Sequence[Any]) -> None:
    """Add the block ``sample`` to a model with a variable for each job, and its objective.

    In scenario s, ``in_time[s, j]`` says whether job j is selected and in time, and ``used[r, s,
    j]`` is which part of row r the selected jobs ask for up to j.
    """
    block = model.sample = pyo.Block()
    jobs, scenarios = np.flatnonzero(sample.open).tolist(), range(sample.count)
    block.in_time = pyo.Var(scenarios, jobs, domain=pyo.Binary)
    block.used = pyo.Var(pyo.Any, domain=pyo.NonNegativeReals, dense=False)
    block.selected, block.serves = pyo.Constraint(pyo.Any), pyo.Constraint(pyo.Any)
    block.room = pyo.Constraint(pyo.Any)
    for s in scenarios:
        for j in jobs:
            done = block.in_time[s, j]
            if not sample.fits[s, j]:
                done.fix(0)
            block.selected[s, j] = (None, _state_sum((1.0, done), (-1.0, x[j])), 0.0)
        for r, row in enumerate(sample.rows):
            _state_service(sample, block, x, (r, s), row)
    _state_risk_measure(sample, model, x, jobs)


def _state_service(
    sample: Sample, block: Any, x: Sequence[Any], at: tuple[int, int], row: ServiceRow
) -> None:
    """Sum the selected demand in a scenario, in order, and mark late jobs."""
    before, most, unit = list[Term](), 0, max(1, row.room)
    for j, work in zip(row.jobs.tolist(), row.work.tolist(), strict=True):
        if not sample.open[j]:
            continue
        asked = int(sample.drawn[at[1], j]) * work
        most += asked
        used = block.used[(*at, j)]
        block.serves[(*at, j)] = (0.0, _state_sum((-1.0, used), *before, (asked / unit, x[j])), 0.0)
        if most > row.room:
            lifted = (most - row.room) / unit, block.in_time[at[1], j]
            block.room[(*at, j)] = (None, _state_sum((1.0, used), lifted), most / unit)
        before = [(1.0, used)]


def _state_risk_measure(sample: Sample, model: Any, x: Sequence[Any], jobs: Sequence[int]) -> None:
    """State the risk measure: each job's chance, or another objective."""
    block, scenarios, kind = model.sample, range(sample.count), sample.measure.kind
    if kind == "chance":
        block.chance = pyo.Constraint(pyo.Any)
        for j in jobs:
            times = [(1.0, block.in_time[s, j]) for s in scenarios]
            block.chance[j] = (0.0, _state_sum(*times, (-float(sample.least), x[j])), None)
        return
    model.reward.deactivate()
    reward = sample.rewards.tolist()
    earned = [[(reward[j], block.in_time[s, j]) for j in jobs] for s in scenarios]
    if kind == "mean":
        goal = [(worth / sample.count, done) for terms in earned for worth, done in terms]
    else:
        block.level, block.below = pyo.Var(), pyo.Var(scenarios, domain=pyo.NonNegativeReals)
        block.short = pyo.Constraint(pyo.Any)
        for s, terms in enumerate(earned):
            short = (-1.0, block.level), (1.0, block.below[s])
            block.short[s] = (0.0, _state_sum(*terms, *short), None)
        tail = float((1 - sample.measure.level) * sample.count)
        goal = [(1.0, block.level), *((-1 / tail, below) for below in block.below.values())]
    block.goal = pyo.Objective(expr=_state_sum(*goal), sense=pyo.maximize)


def _state_sum(*terms: Term) -> LinearExpression:
    return _weighted_sum([c for c, _ in terms], [variable for _, variable in terms])


class Native:
    """The Pyomo model of a selection.

    Scenarios of run times are added as a block ``sample``, with their objective.

    Attributes
    ----------
    model : pyomo.environ.ConcreteModel
        With variables ``x[job name]`` or ``x[job name, night]``.
    x : list
        The variables, in the order of the names.
    """

    def __init__(self, choice: Choice, sample: Sample | None = None) -> None:
        names, rewards, rows, open_, stated = choice
        capacity = list(rows)
        self.model = model = pyo.ConcreteModel()
        dimension = len(names[0]) if names and isinstance(names[0], tuple) else 1
        model.jobs = pyo.Set(initialize=list(names), dimen=dimension)
        model.x = pyo.Var(model.jobs, domain=pyo.Binary)
        self.x: list[Any] = list(model.x.values())
        for j in np.flatnonzero(~np.asarray(open_, dtype=np.bool_)):
            self.x[j].setub(0)
        model.reward = pyo.Objective(  # equation 1
            expr=_weighted_sum(rewards, self.x), sense=pyo.maximize
        )
        model.capacity = pyo.Constraint(expr=self._capacity_bounds(capacity[0]))  # equation 2
        model.windows = pyo.Constraint(range(1, len(capacity)))
        for i, row in enumerate(capacity[1:], start=1):
            model.windows[i] = self._capacity_bounds(row)
        model.side = pyo.Constraint(pyo.Any)
        model.lifted = pyo.Var(pyo.Any, domain=pyo.Binary, dense=False)
        for name, row in stated:
            self._state(name, row)
        if sample is not None:
            declare(sample, model, self.x)
        self._known = self._rows_digest(), self._goal_digest()

    def _capacity_bounds(self, row: Row) -> tuple[None, Any, float | None]:
        """Return a row of the capacity as Pyomo takes it: lower bound, body, upper bound."""
        return (
            None,
            _weighted_sum(row.coefficients, [self.x[j] for j in row.jobs]),
            _bound(row.upper),
        )

    def state(self, name: str, row: Row) -> None:
        """State a row of a side constraint under its name."""
        changed = self.changed()
        self._state(name, row)
        if not changed:
            self._known = self._rows_digest(), self._known[1]

    def _state(self, name: str, row: Row) -> None:
        model = self.model
        body = _weighted_sum(row.coefficients, [self.x[j] for j in row.jobs])
        if row.lifting:
            lifted = model.lifted[name, row.what]
            for columns in row.lifting:
                run = _weighted_sum([1.0] * len(columns), [self.x[j] for j in columns])
                model.side[name, row.what, columns[0]] = (None, lifted - run, 0.0)
            least = fsum(float(c) for c in row.coefficients if c < 0)
            body += min(0.0, least - float(row.lower)) * -lifted  # how far the row can fall short
        model.side[name, row.what] = (_bound(row.lower), body, _bound(row.upper))

    def side_constraints(self) -> Side:
        """Return the Pyomo constraints behind each side constraint, the user's own too, by name."""
        rows: Side = {}
        for index, row in self.model.side.items():
            rows.setdefault(index[0], []).append(row)
        for component in self.model.component_objects(pyo.Constraint, active=True):
            own = component.name in ("capacity", "windows", "side")
            if not own and not component.name.startswith("sample."):
                rows.setdefault(component.name, []).extend(component.values())
        return rows

    def changed(self) -> bool:
        """Tell whether the user has changed anything in the model."""
        return (self._rows_digest(), self._goal_digest()) != self._known

    def goal_changed(self) -> bool:
        """Tell whether the user has changed the objective."""
        return self._goal_digest() != self._known[1]

    def _rows_digest(self) -> int:
        """Return a digest of every component, row, bound and domain."""
        model, value = self.model, pyo.value
        parts = [
            (id(part), part.ctype, part.active)
            for part in model.component_objects()
            if part.ctype is not pyo.Objective
        ]
        rows = [
            (id(row), _terms(row.body), value(row.lower), value(row.upper))
            for row in model.component_data_objects(pyo.Constraint, active=True)
        ]
        domains = [
            (id(x), id(x.domain), x.fixed, x.fixed and x.value, *x.bounds)
            for x in model.component_data_objects(pyo.Var)
        ]
        return hash((*parts, *rows, *domains))

    def _goal_digest(self) -> int:
        """Return a digest of the objective."""
        goals = self.model.component_data_objects(pyo.Objective, active=True)
        return hash(tuple((id(goal), _terms(goal.expr), goal.sense) for goal in goals))


def _weighted_sum(coefficients: Sequence[Number], variables: Sequence[Any]) -> Any:
    """Return the sum of coefficient·variable; built whole, since term by term is slow."""
    return LinearExpression(
        constant=0.0, linear_coefs=list(map(float, coefficients)), linear_vars=list(variables)
    )


def _terms(body: Any) -> tuple[object, ...]:
    """Return the content of an expression of ours; the identity of any other."""
    if isinstance(body, LinearExpression):
        return (id(body), body.constant, *body.linear_coefs, *map(id, body.linear_vars))
    return (id(body),)


def _bound(value: Number) -> float | None:
    return float(value) if isfinite(value) else None
