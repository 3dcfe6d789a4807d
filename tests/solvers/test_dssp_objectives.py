"""Objectives in order, and quick answers."""

import json
from importlib import import_module
from itertools import product
from random import Random

import msgspec
import numpy as np
import pytest
from builders.effort import examples, tried
from builders.refusals import refusal
from hypothesis import strategies as st
from judge.brute import Night
from judge.nights import drawn

import schedopt
from schedopt.formulations.dssp import Schedule, Season, Selection
from schedopt.instances import files
from schedopt.instances.constraints import Apart, AtLeast, FairShare, Require
from schedopt.instances.dssp import Down, Instance, Job
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


@pytest.mark.parametrize("seed", range(examples(60)))
def test_engine_and_declared_model_reach_the_best_in_order(seed: int) -> None:
    night = random_night(seed)
    best = [v / 10 for v in max(map(tuple, every_selection(night)[1].tolist()))]
    for solver in (None, "model") if seed < 10 else (None,):
        result = schedopt.solve(night, solver=solver)
        assert result.solution.objectives == pytest.approx(best, abs=1e-12)
        assert result.proven and result.checked and not result.violations
        assert result.proved_by == (solver or "priced-core")


@pytest.mark.parametrize("solver", [None, "model"])
@pytest.mark.parametrize("order", [("reward", "-cost"), ("reward", "-cost", "demand")])
@pytest.mark.parametrize("costs", [(2,), (2, 3), (0, 1)])
def test_minimized_objective_leaves_out_jobs_without_reward(
    costs: tuple[int, ...], order: tuple[str, ...], solver: str | None
) -> None:
    jobs = tuple(
        Job(name=f"j{i}", reward=0, demand=1, critical_path=1, values={"cost": cost})
        for i, cost in enumerate(costs)
    )
    night = Instance(name="night", processors=1, deadline=4, jobs=jobs, objectives=order)
    result = schedopt.solve(night, solver=solver)
    free = sum(cost == 0 for cost in costs) if "demand" in order else 0
    assert result.solution.objectives == (0, 0, free)[: len(order)]


def test_check_finds_forged_and_missing_objectives() -> None:
    night = random_night(1)
    claim = schedopt.solve(night).document()
    for objectives in ([3.0, 99.0, 1.0], [], msgspec.UNSET):
        solution = dict(claim.solution) | {"objectives": objectives}
        if objectives is msgspec.UNSET:
            del solution["objectives"]
        forged = msgspec.structs.replace(claim, solution=solution)
        report = schedopt.check(night, forged)
        assert any("objectives" in what for what in report.violations)


@pytest.mark.parametrize(
    ("objectives", "words"),
    [
        (("cores",), "'reward' first"),
        (("reward", "colour"), "a name of jobs' values"),
        (("reward", "io", "io"), "each objective once"),
    ],
)
def test_instance_refuses_invalid_objectives(objectives: tuple[str, ...], words: str) -> None:
    with pytest.raises(InputError, match=words):
        msgspec.structs.replace(random_night(1), objectives=objectives)


def test_engine_of_one_objective_refuses_several() -> None:
    night = random_night(1)
    assert "priced-core" in str(refusal(schedopt.solve, night, solver="highs"))
    staged = msgspec.structs.replace(
        night, jobs=tuple(msgspec.structs.replace(j, stages=((1.0,),)) for j in night.jobs)
    )
    said = str(refusal(schedopt.solve, staged, formulation="schedule", solver="cp-sat"))
    assert "several objectives; expected" in said
    assert "one objective" in str(refusal(lambda: Schedule(staged).model))
    late = msgspec.structs.replace(staged, late=((0.0, 1.0), (1.0, 0.5)))
    assert "late" in str(refusal(schedopt.solve, late, formulation="schedule"))


def test_objectives_of_jobs_that_cannot_be_on_time_have_no_weight() -> None:
    third, large = 0.333333, 2.0**20
    jobs = (
        Job(name="first", reward=0, stages=((third,), (third,)), deadline=0.5),
        Job(name="wide", reward=0, stages=((2 * third,) * 3,), values={"two": large}),
        Job(
            name="after",
            reward=0,
            stages=((2 * third,),),
            after=("first",),
            values={"one": large},
        ),
    )
    night = Instance(
        name="n",
        processors=2,
        deadline=1.5,
        jobs=jobs,
        down=(Down(start=0.5, end=1.0, processors=1),),
        constraints=(Apart(jobs=("after", "wide", "first")),),
        objectives=("reward", "one", "two"),
    )
    result = solve(night, formulation="schedule", threads=1)
    assert result.proven, result.message
    assert not any(result.solution.objectives)


def test_schedule_with_objectives_is_no_better_with_less_time() -> None:
    jobs = tuple(
        Job(name=f"j{i}", reward=float(i % 3), stages=((1.0 + i % 4,),) * 2, values={"n": 1.0})
        for i in range(30)
    )
    night = Instance(
        name="x", processors=3, deadline=20.0, jobs=jobs, objectives=("reward", "n", "demand")
    )
    quick, full = (schedopt.solve(night, formulation="schedule", time_limit=t) for t in (0, 20))
    assert full.objective <= full.bound
    assert not (quick.violations or full.violations)
    assert quick.solution.objectives <= full.solution.objectives


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
@tried(600, seed=st.integers(0, 2**31))
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


def test_greedy_meets_floors_and_requirements_first() -> None:
    night = generate("dssp", "uncorrelated", seed=3, options={"jobs": 3000, "groups": 6})
    poorest = min(night.jobs, key=lambda job: job.reward / max(job.demand or 0, 1))
    rules = [
        FairShare(by="team", at_most={"team-01": 0.1}, at_least={"team-02": 0.2}),
        Require(jobs=(poorest.name,)),
        AtLeast(by="team", group="team-03", count=40),
    ]
    result = solve(night, constraints=rules, time_limit=0.0)
    assert result.violations == ()
    assert poorest.name in result.solution.selected
    assert result.objective <= result.bound


def test_season_without_time_has_a_greedy_solution() -> None:
    season = generate("dssp", "season", seed=1, options={"nights": 20, "processors": 100})
    cap = FairShare(by="team", each={"at_most": 0.4}, window=3)
    season = msgspec.structs.replace(season, constraints=(cap,))
    result = solve(season, formulation="season", time_limit=0.0)
    assert result.violations == ()
    assert 0 < result.objective <= result.bound
    assert result.termination == "time-limit"
