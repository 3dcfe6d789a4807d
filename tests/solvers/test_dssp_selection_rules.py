"""Selections under shares of groups and rules that cross, beside HiGHS and all subsets."""

import numpy as np
import pytest
from builders.dssp import best as best_subset
from builders.effort import ALL

from schedopt.formulations.dssp import Selection
from schedopt.instances.constraints import FairShare
from schedopt.instances.dssp import Instance, Job
from schedopt.solvers.dssp.selection import priced_core
from schedopt.solvers.engine import EngineTask
from schedopt.solvers.result import Limits
from schedopt.verbs.generate import generate
from schedopt.verbs.solve import solve


def drawn(seed: int) -> Selection:
    """Draw six jobs of up to four teams, and shares that may be tight, tied or impossible."""
    draw = np.random.default_rng(seed)
    teams, most, dearest = draw.integers(1, 5), draw.choice([2, 6, 100]), draw.choice([2, 10, 500])
    jobs = tuple(
        Job(
            name=f"j{i}",
            reward=draw.integers(0, dearest) / 100,
            demand=draw.integers(0, most) / 10,
            critical_path=0.0,
            groups={"team": f"t{draw.integers(0, teams)}"} if draw.random() < 0.9 else {},
        )
        for i in range(6)
    )
    part, total = draw.uniform(0.1, 1.1), sum(job.demand or 0.0 for job in jobs)
    deadline = max(0.1, round(part * total, 2))
    night = Instance(name="drawn", processors=1, deadline=deadline, jobs=jobs)
    caps = {g: round(draw.random(), 2) for g in night.groups.get("team", ()) if draw.random() < 0.7}
    floors = {g: round(cap * draw.random(), 2) for g, cap in caps.items() if draw.random() < 0.4}
    rules = [FairShare(by="team", at_most=caps)] if caps else []
    rules += [FairShare(name="floors", by="team", at_least=floors)] if floors else []
    return Selection(night).add(*rules)


@pytest.mark.parametrize("seed", range(30))
def test_caps_and_floors_of_teams_match_all_subsets(seed: int) -> None:
    model = drawn(seed)
    best = best_subset(model.instance, model.added)
    result = priced_core.solve(model, EngineTask(Limits(), name="priced-core"))
    if best is None:
        assert result.termination == "infeasible"
    else:
        assert (result.solution_status, result.objective) == ("optimal", pytest.approx(best))


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
