"""Parts of Pyomo models: expressions, rows, scenarios, and the detection of changes by users."""

from collections.abc import Iterable, Iterator, Sequence
from math import fsum, isfinite
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.core.expr import LinearExpression

from schedopt.formulations.dssp.scenarios import Scenarios, ServiceRow
from schedopt.instances.rows import Number, Row


def weighted_sum(coefficients: Sequence[Number], variables: Sequence[Any]) -> LinearExpression:
    """Return the sum of coefficient·variable; it is built at once, which is fast."""
    return LinearExpression(
        constant=0.0, linear_coefs=list(map(float, coefficients)), linear_vars=list(variables)
    )


def bounded(row: Row, x: Sequence[Any], relaxed: Any = 0.0) -> tuple[float | None, Any, Any]:
    """Return a row over variables as Pyomo takes it: lower bound, body, upper bound."""
    body = weighted_sum(row.coefficients, [x[i] for i in row.columns])
    lower, upper = (float(b) if isfinite(b) else None for b in (row.lower, row.upper))
    return lower, body + relaxed if row.unless else body, upper


def add_side_rows(
    model: pyo.ConcreteModel, x: Sequence[Any], rows: Iterable[tuple[str, Row]]
) -> None:
    """Add rows of side constraints, each under the name of its side constraint.

    A binary variable waives a row that can be waived; it is at most the sum of each set of columns
    of which one must be 1.
    """
    for name, row in rows:
        waived: Any = 0.0
        if row.unless:
            lifted = model.lifted[name, row.what]
            for columns in row.unless:
                run = weighted_sum([1.0] * len(columns), [x[i] for i in columns])
                model.side[name, row.what, columns[0]] = (None, lifted - run, 0.0)
            least = fsum(float(c) for c in row.coefficients if c < 0)
            waived = min(0.0, least - float(row.lower)) * -lifted  # the most that is missing
        model.side[name, row.what] = bounded(row, x, waived)


class Watch:
    """Detects changes of a Pyomo model by comparing its parts with the declared ones.

    Expressions of Pyomo are immutable, so that they are compared by identity.
    """

    def __init__(self, model: pyo.ConcreteModel) -> None:
        self.model = model
        self.accept()

    def accept(self) -> None:
        """Treat the present state of the model as the declared one."""
        self._rows, self._goal = list(self._row_parts()), list(self._goal_parts())

    def changed(self) -> bool:
        """Return True if anything differs from what was declared."""
        return self.goal_changed() or not _same(self._rows, self._row_parts())

    def goal_changed(self) -> bool:
        """Return True if the objective differs."""
        return not _same(self._goal, self._goal_parts())

    def _row_parts(self) -> Iterator[object]:
        """Yield every component, row, bound and domain."""
        for part in self.model.component_objects():
            if part.ctype is not pyo.Objective:
                yield from (part, part.active)
        for row in self.model.component_data_objects(pyo.Constraint, active=True):
            yield from (row, row.expr)
        for x in self.model.component_data_objects(pyo.Var):
            yield from (x, x.domain, x.lb, x.ub, x.value if x.fixed else None)

    def _goal_parts(self) -> Iterator[object]:
        """Yield the active objectives."""
        for goal in self.model.component_data_objects(pyo.Objective, active=True):
            yield from (goal, goal.expr, goal.sense)


def _same(known: Sequence[object], parts: Iterator[object]) -> bool:
    """Return True if parts are the known ones: the same objects, or equal numbers."""
    for before in known:
        part = next(parts, _END)
        if part is not before and not (isinstance(part, int | float) and part == before):
            return False
    return next(parts, _END) is _END


_END = object()


Term = tuple[float, Any]


def add_scenarios(sample: Scenarios, model: pyo.ConcreteModel, x: Sequence[Any]) -> None:
    """Add the block ``sample`` to the model of a selection: the reward over scenarios.

    In scenario s, ``in_time[s, j]`` is 1 if job j is selected and completes in time, and
    ``used[r, s, j]`` is the part of the capacity of row r that the selected jobs up to j use.
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
    sample: Scenarios, block: Any, x: Sequence[Any], at: tuple[int, int], row: ServiceRow
) -> None:
    """Sum the selected demand in a scenario, in order, and mark late jobs."""
    before, most, unit = list[Term](), 0, max(1, row.room)
    for j, work in zip(row.jobs.tolist(), row.work.tolist(), strict=True):
        if not sample.open[j]:
            continue
        asked = int(sample.run_time_factors[at[1], j]) * work
        most += asked
        used = block.used[(*at, j)]
        block.serves[(*at, j)] = (0.0, _state_sum((-1.0, used), *before, (asked / unit, x[j])), 0.0)
        if most > row.room:
            lifted = (most - row.room) / unit, block.in_time[at[1], j]
            block.room[(*at, j)] = (None, _state_sum((1.0, used), lifted), most / unit)
        before = [(1.0, used)]


def _state_risk_measure(
    sample: Scenarios, model: Any, x: Sequence[Any], jobs: Sequence[int]
) -> None:
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
    return weighted_sum([c for c, _ in terms], [variable for _, variable in terms])
