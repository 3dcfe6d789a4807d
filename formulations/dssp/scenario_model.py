"""The sample average program of a selection under risk, as a block of its Pyomo model."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.core.expr import LinearExpression

from schedopt.formulations.dssp.native import weighted_sum
from schedopt.formulations.dssp.scenarios import Scenarios, ServiceRow

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
