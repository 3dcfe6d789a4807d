"""Engines for shares of disjoint groups and for rules that cross, beside HiGHS and all subsets."""

from functools import cache

import msgspec
import numpy as np
import pytest
from builders.dssp import best as best_subset
from builders.effort import ALL
from builders.refusals import refusal

from schedopt.formulations.dssp import Selection
from schedopt.instances.constraints import FairShare, Resource
from schedopt.instances.dssp import Instance, Job, Selected
from schedopt.instances.dssp.families import BOUNDED
from schedopt.instances.extras import installed
from schedopt.solvers.dssp.selection.branch_and_bound import lagrangian
from schedopt.solvers.dssp.selection.branch_and_bound.program_arrays import FREE
from schedopt.solvers.dssp.selection.group_caps import search as searching
from schedopt.solvers.dssp.selection.group_caps.reading import Groups, group_caps
from schedopt.solvers.dssp.selection.group_caps.search import GroupCapsSearch
from schedopt.solvers.engine import EngineTask, Partial
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


@pytest.mark.parametrize("rounds", [((1, 1), (2, 2)), ((1, 100),), ((1, 2),)])
def test_lists_that_are_too_short_make_no_false_proof(
    rounds: tuple[tuple[int, int], ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "ROUNDS", rounds)
    open_ones = 0
    for seed in range(200):
        model = drawn(seed)
        groups = group_caps(model)
        if groups is None:
            continue
        search = GroupCapsSearch(groups)
        search.advance(10.0)
        best = _best(seed)
        if best is None:
            assert search.value is None
            continue
        if search.bound is not None:
            assert search.bound >= best - 1e-9
        if search.value is not None:
            assert search.value <= best + 1e-9
        open_ones += not search.proven
    assert open_ones


@cache
def _best(seed: int) -> float | None:
    """Return the optimum of a drawn selection by trying all subsets."""
    model = drawn(seed)
    return best_subset(model.instance, model.added)


def large(teams: int, jobs: int, seed: int = 1) -> Groups:
    """Draw jobs with whole rewards to 1,000, caps that bind or not, and a few floors."""
    draw = np.random.default_rng(seed)
    weights, rewards = draw.integers(1, 10**6, jobs), draw.integers(1, 1000, jobs)
    owner = draw.integers(0, teams, jobs)
    demand = np.bincount(owner, weights, minlength=teams)
    high = (demand * draw.uniform(0.3, 1.2, teams)).astype(np.int64)
    low = (np.minimum(demand, high) * draw.uniform(0, 0.5, teams)).astype(np.int64)
    return Groups.of(weights, rewards, owner, (low, high), int(weights.sum()) // 2)


def test_what_it_proves_on_many_jobs_keeps_every_bound() -> None:
    groups = large(teams=200, jobs=20_000)
    search = GroupCapsSearch(groups)
    search.advance(60.0)
    assert search.proven
    chosen = np.isin(groups.positions, search.chosen())
    used = np.bincount(groups.owner, groups.weights * chosen)
    assert (used >= groups.low).all()
    assert (used <= groups.high).all()
    assert used.sum() <= groups.room
    assert search.value == (groups.rewards * chosen).sum()


def test_a_floor_that_asks_for_all_of_a_group_leaves_a_search_by_groups() -> None:
    night = generate("dssp", seed=1, options={"nights": 8, "stages": False, "teams": 5})
    free = solve(night).solution.shares["team"]
    teams = sorted(free, key=free.__getitem__)
    floor = FairShare(
        by="team", at_least={teams[0]: 1.0}, at_most={teams[-1]: 0.8 * free[teams[-1]]}
    )
    (row,) = (row for _, row in Selection(night).add(floor).stated if row.lower == len(row.jobs))
    assert len(row.jobs) > 1
    assert solve(night, constraints=[floor]).proved_by == "shares"


def test_by_name_it_takes_nothing_else() -> None:
    night = generate("dssp", "uncorrelated", seed=1, options={"jobs": 8, "groups": 3})
    use = dict.fromkeys([job.name for job in night.jobs[:2]], 1)
    rules = [Resource(name="licences", capacity=1, use=use)]
    assert "of one grouping" in str(refusal(solve, night, constraints=rules, solver="shares"))
    share = FairShare(by="team", at_most={"team-01": 0.2})
    found = solve(night, constraints=[share], solver="shares")
    assert found.solver == "shares"
    assert isinstance(found.solution, Selected)
    confirmed = solve(night, constraints=[share], solver="shares", confirm=True)
    assert "confirmed by highs" in str(confirmed.message)


@pytest.mark.parametrize("rules", ["shares", "all"])
@pytest.mark.parametrize("seed", [1, 2, 3] if ALL else [1, 3])
def test_a_core_near_the_prices_beside_the_optimum(rules: str, seed: int) -> None:
    options = {"jobs": 100, "teams": 4, "shows": 3, "rules": rules}
    night = generate("dssp", generator="crossing", seed=seed, options=options)
    best = solve(night, solver="highs", threads=1)
    assert best.proven
    model = Selection(night)
    priced = lagrangian.solve(model, EngineTask(Limits(threads=1), name="crossing"))
    assert isinstance(priced, Partial)
    assert priced.bound is not None and priced.result.objective is not None
    assert 0.98 * best.objective <= priced.result.objective <= best.objective <= priced.bound
    assert (priced.hints.start != FREE).any()  # what no better selection has
    ours = solve(night, threads=1, certificate=seed == 1)
    assert ours.proven
    assert ours.objective == best.objective
    assert ours.proved_by in ("scip" if installed("pyscipopt") else "highs", "tree")


@pytest.mark.parametrize("bounds", BOUNDED)
def test_group_fairness_is_kept_at_the_optimum(bounds: str) -> None:
    bound_by = 0
    for seed in range(12):
        options = {"jobs": 9, "groups": 3, "range": 20, "bounds": bounds}
        night = generate("dssp", "group-fair", seed=seed, options=options)
        free = solve(msgspec.structs.replace(night, constraints=()))
        result = solve(night)
        assert result.proven and not result.violations
        assert result.objective == best_subset(night)
        bound_by += result.objective < free.objective
    assert bound_by  # not all of the bounds are idle
