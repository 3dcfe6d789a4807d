"""Objectives in order, and quick answers."""

import json
from importlib import import_module
from itertools import product
from random import Random

import numpy as np
import pytest
from builders.effort import examples, tried
from hypothesis import strategies as st
from judge.brute import Night
from judge.nights import drawn

import schedopt
from schedopt.formulations.dssp import Season, Selection
from schedopt.instances import files
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.errors import InputError
from schedopt.solvers.dssp.greedy import greedy_solution
from schedopt.solvers.priced_core.in_order import best_in_order
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


def random_problem(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return objectives, uses, room and counts: ties, zeros, twins and resources of nothing."""
    rng = np.random.default_rng(seed)
    rows, goals = int(rng.integers(0, 5)), int(rng.integers(1, 4))
    counts = rng.integers(0, 4, rng.integers(1, 7))
    n = len(counts)
    objectives = rng.integers(rng.choice([-3, 0]), rng.choice([2, 5, 10**6]), (goals, n))
    uses = rng.integers(0, rng.choice([2, 6, 10**9]), (rows, n))
    room = (uses * counts).sum(axis=1) * rng.choice([0, 0.2, 0.5, 0.8, 1.0], rows)
    if rng.random() < 0.3:
        objectives[0] = rng.choice([0, 1])
    if rng.random() < 0.3:
        objectives[-1] = uses[0] if rows else 1
    return objectives, uses, room.astype(np.int64), counts


def enumerated(objectives, uses, room, counts) -> list[int]:
    every = np.array(list(product(*(range(c + 1) for c in counts)))).reshape(-1, len(counts))
    every = every[(every @ uses.T <= room).all(axis=1)]
    return list(max(map(tuple, (every @ objectives.T).tolist())))


@pytest.mark.parametrize("seed", range(examples(2_000) // 50))
def test_best_in_order_equals_enumeration(seed: int) -> None:
    for part in range(50):
        objectives, uses, room, counts = random_problem(50 * seed + part)
        for order in (objectives, objectives[::-1]):
            found = best_in_order(order, uses, room, counts)
            assert found.values == enumerated(order, uses, room, counts)
            assert found.proven
            assert (uses @ found.x <= room).all()
            assert (found.x >= 0).all() and (found.x <= counts).all()
            assert (order @ found.x).tolist() == found.values


@pytest.mark.parametrize("risk", ["mean", "cvar:0.9", "chance:0.8"])
def test_selection_under_risk_without_time_has_a_bound(risk: str) -> None:
    night = generate("dssp", "uncorrelated", seed=1, options={"jobs": 60, "groups": 3})
    result = solve(night, risk=risk, time_limit=0.0, options={"scenarios": 20})
    assert result.violations == ()
    assert result.objective <= result.bound <= 1.4 * result.objective


DRAWN = import_module("contract.dssp").FORMULATIONS


@pytest.mark.parametrize("name", ["dssp/selection", "dssp/season"])
@tried(40, seed=st.integers(0, 2**31))
def test_greedy_solution_keeps_rules_and_its_bound_is_valid(name: str, seed: int) -> None:
    model = DRAWN[name](Random(seed))  # noqa: S311
    best = solve(DRAWN[name](Random(seed)), threads=1)  # noqa: S311
    solution, bound = greedy_solution(model)
    if best.proven:
        assert best.objective <= bound
    if solution is not None and "risk" not in model.options:  # which it need not keep
        assert best.termination != "infeasible"
        late = solve(model, time_limit=0.0, threads=1)
        assert late.violations == ()
        assert late.solution is not None
        assert model.instance.objective_of(solution) <= bound


@pytest.mark.parametrize("nights", [1, 3])
@tried(200, seed=st.integers(0, 2**31))
def test_greedy_selection_keeps_every_rule(nights: int, seed: int) -> None:
    draw = Random(seed)  # noqa: S311
    file = json.loads(drawn(seed, ("after",) if nights > 1 else (), nights, most=12))
    names = [job["name"] for job in file["jobs"]]
    for i, job in enumerate(file["jobs"]):
        if nights == 1 and i and "after" not in job and draw.random() < 0.4:
            other = draw.choice(file["jobs"][:i])
            job["after"] = [] if other.get("after") else [other["name"]]
    some = draw.sample(names, draw.randint(1, len(names)))
    floor = {"kind": "at-least", "jobs": some, "count": draw.randint(0, len(some))}
    imply = {"kind": "imply", "if": some[0], "then": some[-1]}
    file["constraints"] += [floor, imply]
    try:
        night = files.parse(json.dumps(file).encode())
    except InputError:
        return  # a job is after itself
    solution, _ = greedy_solution((Season if nights > 1 else Selection)(night))
    if solution is not None:
        run = [solution] if nights == 1 else solution.nights
        plan = dict.fromkeys(names, 0)
        plan |= {name: n for n, one in enumerate(run, 1) for name in one.selected}
        assert Night(json.dumps(file).encode()).allows(plan), plan
