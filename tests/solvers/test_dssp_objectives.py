"""Objectives in order, and quick answers."""

from itertools import product

import numpy as np
import pytest
from builders.effort import examples

import schedopt
from schedopt.instances.dssp import Instance, Job
from schedopt.verbs.generate import generate
from schedopt.verbs.solve import solve


def random_night(seed: int) -> Instance:
    rng = np.random.default_rng(seed)
    count = 7
    jobs = [
        Job(
            name=f"j{i}",
            reward=float(rng.integers(0, 3)),
            demand=float(rng.integers(0, 6)) / 2,
            critical_path=1,
            values={"cores": float(rng.integers(0, 4)), "io": float(rng.integers(0, 90)) / 10},
        )
        for i in range(count)
    ]
    use = {f"j{i}": float(rng.integers(0, 5)) for i in range(count)}
    rule = schedopt.Resource(name="memory", capacity=float(rng.integers(0, 12)), use=use)
    order = ("reward", "cores", "io") if seed % 2 else ("reward", "io", "demand")
    return Instance(
        name=f"night {seed}",
        processors=1,
        deadline=float(rng.integers(1, 9)),
        jobs=tuple(jobs),
        constraints=(rule,),
        objectives=order,
    )


def every_selection(night: Instance) -> tuple[np.ndarray, np.ndarray]:
    """Return all selections that keep the rules, and ten times what each objective comes to."""
    worths = [np.rint(10 * night.worths(name)).astype(int) for name in night.objectives]
    rule = night.constraints[0]
    asked = np.array([[rule.use[job.name], job.demand] for job in night.jobs])
    every = np.array(list(product((0, 1), repeat=len(night.jobs))))
    every = every[(every @ asked <= (rule.capacity, night.capacity())).all(axis=1)]
    return every, every @ np.array(worths).T


@pytest.mark.parametrize("seed", range(examples(30)))
def test_engine_and_declared_model_reach_the_best_in_order(seed: int) -> None:
    night = random_night(seed)
    best = [v / 10 for v in max(map(tuple, every_selection(night)[1].tolist()))]
    for solver in (None, "model") if seed < 10 else (None,):
        result = schedopt.solve(night, solver=solver)
        assert result.solution.objectives == pytest.approx(best, abs=1e-12)
        assert result.proven and result.checked and not result.violations
        assert result.proved_by == (solver or "priced-core")


@pytest.mark.parametrize("risk", ["mean", "cvar:0.9", "chance:0.8"])
def test_selection_under_risk_without_time_has_a_bound(risk: str) -> None:
    night = generate("dssp", "uncorrelated", seed=1, options={"jobs": 60, "groups": 3})
    result = solve(night, risk=risk, time_limit=0.0, options={"scenarios": 20})
    assert result.violations == ()
    assert result.objective <= result.bound <= 1.4 * result.objective
