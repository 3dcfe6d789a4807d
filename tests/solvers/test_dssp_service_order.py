"""Branches in the order of service find what trying every selection finds, and bound the rest."""

from random import Random

import pytest
from builders.dssp import best_at_risk
from builders.effort import tried
from contract.dssp import at_risk, some_night
from hypothesis import assume
from hypothesis import strategies as st

from schedopt.formulations.dssp import Selection
from schedopt.solvers.clock import now
from schedopt.solvers.dssp.selection.scenario_search import ScenarioSearch
from schedopt.solvers.dssp.selection.service_order_search import ServiceOrderSearch
from schedopt.solvers.result import Limits
from schedopt.verbs.generate import generate


@pytest.mark.parametrize("late", [False, True])
@tried(120, seed=st.integers(0, 2**31))
def test_branches_find_the_optimum_and_what_is_left_bounds_it(late: bool, seed: int) -> None:
    draw = Random(seed)  # noqa: S311
    night, asked = at_risk(draw, some_night(draw, staged=draw.random() < 0.3))
    model = Selection(night, fill=draw.choice((0.5, 1.0, 1.5)), **asked)
    assert model.sample is not None
    search = ScenarioSearch(model, model.sample, Limits(), now(), rounds=2)
    if draw.random() < 0.7:
        search.run()  # with prices; without them all are 0
        search.best, search.value = None, -float("inf")
    branches = ServiceOrderSearch(model.sample, search.relaxation, search.prices, search.weights)
    assume(branches.applicable)
    steps = iter(range(draw.randint(1, 9) if late else 10**9))
    bound = branches.run(
        lambda: search.value, search._update_incumbent, lambda: next(steps, None) is None, 1e-11
    )
    best = best_at_risk(model)
    assert best is not None
    assert bound >= best - 1e-9 * abs(best) - 1e-12
    if not late:
        assert search.value == pytest.approx(best, rel=1e-9, abs=1e-12)
        assert bound <= best * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("risk", ["mean", "cvar:0.9", "chance:0.8"])
def test_a_search_that_is_stopped_at_once_has_a_choice_and_a_bound(risk: str) -> None:
    drawn = Random(3)  # noqa: S311
    night, _ = at_risk(drawn, generate("dssp", "uncorrelated", seed=1, options={"jobs": 60}))
    model = Selection(night, risk=risk, scenarios=20, seed=1)
    assert model.sample is not None
    search = ScenarioSearch(model, model.sample, Limits(), now(), rounds=2)
    search.halt()
    search.run()
    assert search.best is not None
    assert search.value <= search.bound <= 1.4 * search.value
