"""Selections that are best for several objectives in order: engine, declared model, brute force."""

from itertools import product

import msgspec
import numpy as np
import pytest
from builders.effort import examples
from builders.refusals import refusal

import schedopt
from schedopt.instances.errors import InputError
from schedopt.solvers.few_row_ip import dominance, lexicographic
from schedopt.solvers.few_row_ip.lexicographic import best_in_order

Instance, Job = schedopt.dssp.Instance, schedopt.dssp.Job


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
        assert result.proved_by == (solver or "columns")


def test_a_forged_total_and_a_missing_one_are_found() -> None:
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
def test_objectives_that_say_nothing_are_refused(objectives: tuple[str, ...], words: str) -> None:
    with pytest.raises(InputError, match=words):
        msgspec.structs.replace(random_night(1), objectives=objectives)


def test_what_takes_the_reward_alone_says_so() -> None:
    night = random_night(1)
    with pytest.raises(InputError, match="formulation selection takes several"):
        schedopt.solve(night, formulation="schedule")
    assert "columns" in str(refusal(schedopt.solve, night, solver="highs"))


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
def test_it_is_the_best_in_both_orders(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if seed % 2:  # what is done with many columns is done with few
        monkeypatch.setattr(lexicographic, "NEAR", 0)
        monkeypatch.setattr(dominance, "FEW", int(1 + seed % 3))
    for part in range(50):
        objectives, uses, room, counts = random_problem(50 * seed + part)
        for order in (objectives, objectives[::-1]):
            found = best_in_order(order, uses, room, counts)
            assert found.values == enumerated(order, uses, room, counts)
            assert found.proven
            assert (uses @ found.x <= room).all()
            assert (found.x >= 0).all() and (found.x <= counts).all()
            assert (order @ found.x).tolist() == found.values


def test_time_that_is_over_leaves_the_bound_of_the_relaxation() -> None:
    options = {"bounds": "profits", "family": "weakly-correlated", "jobs": 4_000, "groups": 7}
    night = schedopt.generate("dssp", "group-fair", seed=0, options=options)
    result = schedopt.solve(night, solver="columns", time_limit=1.0)
    assert result.gap < 2e-3 and not result.violations
