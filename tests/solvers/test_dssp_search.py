"""The search for schedules: repeated, ruled, ended in time; machines that change."""

import numpy as np
import pytest
from builders.effort import examples
from judge.nights import FEATURES, drawn
from msgspec import structs

from schedopt import generate, solve
from schedopt.formulations.dssp import Schedule
from schedopt.instances import files
from schedopt.instances.constraints import Require
from schedopt.instances.dssp import Instance, Job
from schedopt.solvers.dssp.schedule.dispatch_orders import DispatchOrders
from schedopt.solvers.dssp.schedule.dispatch_search import DispatchSearch
from schedopt.validation.dssp.schedule import check
from schedopt.validation.report import Report


def season() -> Instance:
    options = {"processors": 30, "reward": "size"}
    found = generate("dssp", options=options, seed=5)
    assert isinstance(found, Instance)
    return found


def everyone(night: Instance) -> np.ndarray:
    return np.ones(len(night.jobs), dtype=np.bool_)


def test_schedule_search_is_reproducible() -> None:
    night = season()

    def after(moves: int, seed: int) -> tuple[float, list[float]]:
        found = DispatchSearch(DispatchOrders(night), lambda jobs: True, seed, [everyone(night)])
        for _ in range(moves):
            found.move()
        return found.best.worth, np.nan_to_num(found.best.simulated.starts).tolist()

    assert after(60, 1) == after(60, 1)
    assert after(60, 1)[0] > after(20, 1)[0] > after(1, 1)[0] == 0, (
        "nothing of the start is in time"
    )


def test_schedule_is_solved_on_a_machine_that_is_one_named_pool() -> None:
    stages = ((0.2, 0.0, 4.7), (2.4, 0.1, 0.0))
    job = Job(name="a", reward=0.0, stages=stages, pools=("x",))
    night = Instance(
        name="pool", deadline=12.0, jobs=(job,), constraints=(Require(jobs=("a",)),), pools={"x": 1}
    )
    result = solve(Schedule(night), threads=1)
    assert result.solution_status == "optimal"
    assert result.solution.selected == ("a",)


def test_schedule_packing_is_a_valid_schedule() -> None:
    rng = np.random.default_rng(11)
    packed = 0
    for seed in range(examples(60)):
        night = files.parse(drawn(seed, {*FEATURES} - {"deadline"}, most=40))
        free = night.jobs
        trials = DispatchOrders(night)
        assert trials.count > 2
        for order in range(2, trials.count):
            stages = len(night.tasks.longest)
            shift = rng.normal(0.0, 0.2, stages) * night.deadline
            some = trials.able & (rng.random(len(free)) < 0.8)
            earned, _, played = trials.run(some, order, shift if order % 2 else None)
            jobs = np.flatnonzero(earned)
            solution = played.schedule(night, jobs.tolist())
            worth = night.objective_of(solution)
            assert worth == pytest.approx(earned.sum(), rel=1e-12)
            claim = solve(Schedule(night), threads=1, time_limit=0).document()
            report = Report()
            check(night, solution, structs.replace(claim, objective=worth), (), report)
            assert not report.violations
            packed += len(jobs)
    assert packed > examples(100)


def test_packing_fills_the_end_of_a_night() -> None:
    night = files.load("archive:dssp-schedule-open/dssp-schedule-open-05")
    model = Schedule(night)
    result = solve(model, threads=1, time_limit=60)
    assert result.proven
    assert not model._model  # the first schedules meet the bound, which no dispatcher's does


# --- what is said -----------------------------------------------------------------------------
