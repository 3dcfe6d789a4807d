"""Selections under shares of groups and rules that cross, beside HiGHS and all subsets."""

import pytest
from builders.effort import ALL

from schedopt.verbs.generate import generate
from schedopt.verbs.solve import solve


@pytest.mark.parametrize("rules", ["shares", "all"])
@pytest.mark.parametrize("seed", [1, 2, 3] if ALL else [1, 3])
def test_rules_that_cross_have_the_optimum_of_highs(rules: str, seed: int) -> None:
    options = {"jobs": 100, "teams": 4, "shows": 3, "rules": rules}
    night = generate("dssp", generator="crossing", seed=seed, options=options)
    best = solve(night, solver="highs", threads=1)
    ours = solve(night, threads=1, certificate=seed == 1)
    assert best.proven and ours.proven
    assert ours.objective == best.objective
    assert ours.proved_by == "priced-core"
