"""The engine for shares of disjoint groups, beside HiGHS and every selection there is."""

from __future__ import annotations

from itertools import chain, combinations

import msgspec
import numpy as np
import pytest

from schedopt.formulations.dssp import Selection
from schedopt.instances.constraints import (
    AtMost,
    Constraint,
    FairShare,
    Forbid,
    Require,
    Resource,
    label,
)
from schedopt.instances.dssp import Instance, Job, Selected
from schedopt.instances.errors import InputError
from schedopt.solvers import door
from schedopt.solvers.dssp import selection
from schedopt.solvers.dssp.selection.shares import search as searching
from schedopt.solvers.dssp.selection.shares.groups import Groups
from schedopt.solvers.dssp.selection.shares.reading import shape_of
from schedopt.solvers.dssp.selection.shares.search import SharesSearch
from schedopt.solvers.result import Limits
from schedopt.validation.dssp.constraints import broken
from schedopt.validation.dssp.facts import Facts
from schedopt.verbs.solve import solve

TEAMS = ("a", "b", "c", "d")


def drawn(seed: int, jobs: int = 7) -> tuple[Instance, list[Constraint]]:
    """Draw a few jobs of up to four teams, and shares that may be tight, tied or impossible.

    Demands may be decimals, equal, zero or too large, critical paths too long, rewards zero.
    """
    draw = np.random.default_rng(seed)
    unit = float(draw.choice([1.0, 0.1, 0.01]))
    most = int(draw.choice([2, 6, 100]))
    teams = TEAMS[: draw.integers(1, 5)]
    made = [
        Job(
            name=f"j{i}",
            reward=round(float(draw.integers(0, draw.choice([2, 10, 500])) * unit), 2),
            demand=round(float(draw.integers(0, most)) * unit, 2),
            critical_path=2.0 if draw.random() < 0.1 else 0.5,
            groups={"team": str(draw.choice(teams))} if draw.random() < 0.9 else {},
        )
        for i in range(jobs)
    ]
    groups = {"team": teams[0]}
    made.append(Job(name="last", reward=0.0, demand=0.0, critical_path=0.0, groups=groups))
    part = float(draw.uniform(0.1, 1.1))
    deadline = max(0.01, round(part * sum(job.demand or 0.0 for job in made), 2))
    timed = tuple(
        msgspec.structs.replace(job, critical_path=(job.critical_path or 0.0) * deadline)
        for job in made
    )
    night = Instance(name=f"drawn-{seed}", processors=1, deadline=deadline, jobs=timed)
    rules: list[Constraint] = []
    known = sorted(night.groups["team"])
    caps = {g: round(float(draw.uniform(0, 1)), 2) for g in known if draw.random() < 0.7}
    floors = {
        g: round(float(draw.uniform(0, caps.get(g, 1.0))), 2) for g in known if draw.random() < 0.3
    }
    if caps:
        rules.append(FairShare(by="team", at_most=caps))
    if floors:
        rules.append(FairShare(by="team", at_least=floors, name="floors"))
    if draw.random() < 0.2:
        rules.append(Require(jobs=("j0",)))
    if draw.random() < 0.2:
        rules.append(Forbid(jobs=("j1",)))
    if draw.random() < 0.1:
        rules.append(Resource(name="licences", capacity=2, use={"j2": 1, "j3": 2, "j4": 1}))
    return night, rules


def ruled(seed: int) -> tuple[Instance, list[Constraint]]:
    """Draw a few jobs again, under every kind of share and with rules inside a group.

    One team may be empty: no job of it can ever be selected. Shares have caps and floors, by group
    or for each, of the capacity or of what is selected.
    """
    night, _ = drawn(seed, jobs=6)
    draw = np.random.default_rng([seed, 1])
    jobs, known = list(night.jobs), sorted(night.groups["team"])
    if draw.random() < 0.3:
        late = 2.0 * night.deadline
        jobs.append(
            Job(name="never", reward=9, demand=1, critical_path=late, groups={"team": "gone"})
        )
        known.append("gone")
    night = msgspec.structs.replace(night, jobs=tuple(jobs))
    rules: list[Constraint] = []
    for _ in range(draw.integers(1, 3)):
        caps = {g: round(float(draw.uniform(0, 1)), 2) for g in known if draw.random() < 0.5}
        floors = {
            g: round(float(draw.uniform(0, caps.get(g, 1.0))), 2)
            for g in known
            if draw.random() < 0.3
        }
        each: dict[str, float] = {}
        if draw.random() < 0.4 or not (caps or floors):
            side = str(draw.choice(["at_most", "at_least"]))
            each[side] = round(float(draw.uniform(0, 0.5)), 2)
            (floors if side == "at_most" else caps).clear()
        of = "selected" if draw.random() < 0.3 else "capacity"
        share = FairShare(by="team", of=of, at_most=caps, at_least=floors, each=each or None)
        rules.append(share)
    if draw.random() < 0.3:
        inside = tuple(night.jobs[j].name for j in night.groups["team"][known[0]][:2])
        rules.append((Require if draw.random() < 0.5 else Forbid)(jobs=inside))
    if draw.random() < 0.3:
        group = str(draw.choice(known))
        rules.append(AtMost(by="team", group=group, count=int(draw.integers(0, 3))))
    return night, rules


def best_of_all(night: Instance, rules: list[Constraint]) -> float | None:
    """Return the most that a selection is worth; None where none keeps the rules."""
    facts = Facts(night, 1.0)
    names = [j.name for j in night.jobs if facts.critical_path[j.name] <= facts.deadline]
    best = None
    for chosen in chain.from_iterable(combinations(names, k) for k in range(len(names) + 1)):
        if facts.total(chosen) > facts.capacity:
            continue
        if not any(broken(rule, facts, frozenset(chosen)) for rule in rules):
            worth = round(sum(night.jobs[night.index[name]].reward for name in chosen), 6)
            best = worth if best is None else max(best, worth)
    return best


def agree(night: Instance, rules: list[Constraint]) -> str:
    """Solve an instance in three ways; return the engine that decided by itself."""
    best = best_of_all(night, rules)
    result = solve(night, constraints=rules)
    again = solve(night, constraints=rules, solver="highs")
    for each in (result, again):
        assert each.checked
        assert not each.violations
        if best is None:
            assert each.termination == "infeasible"
            names = [label(rule, i) for i, rule in enumerate(rules)]
            held = [rules[names.index(name)] for name in each.conflict]
            assert best_of_all(night, held) is None
            for fewer in combinations(rules, len(held) - 1):
                assert best_of_all(night, list(fewer)) is not None
        else:
            assert each.proven
            assert each.objective == pytest.approx(best, abs=1e-9)
    return str(result.solver)


@pytest.fixture
def no_job_is_too_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "FEW", 0)
    monkeypatch.setattr(selection, "MANY", 0)


@pytest.mark.usefixtures("no_job_is_too_few")
def test_it_agrees_with_highs_and_with_every_selection_there_is() -> None:
    engines = [agree(*drawn(seed)) for seed in range(30)]
    engines += [agree(*ruled(seed)) for seed in range(30)]
    assert engines.count("shares") > 10


@pytest.mark.slow
@pytest.mark.usefixtures("no_job_is_too_few")
@pytest.mark.parametrize("part", range(10))
def test_two_thousand_random_fair_shares(part: int) -> None:
    """Floors, ties, zero demands, empty groups and impossible shares: all agree, conflicts too."""
    seeds = range(1_000 + 100 * part, 1_100 + 100 * part)
    engines = [agree(*draw(seed)) for draw in (drawn, ruled) for seed in seeds]
    assert engines.count("shares") > 30


@pytest.mark.parametrize("rounds", [((1, 1), (2, 2)), ((1, 100),), ((3, 4), (4, 1000))])
def test_lists_that_are_too_short_make_no_false_proof(
    rounds: tuple[tuple[int, int], ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "ROUNDS", rounds)
    open_ones = 0
    for seed in range(200):
        night, rules = drawn(seed, jobs=6)
        shape = shape_of(Selection(night).add(*rules))
        if shape is None:
            continue
        search = SharesSearch(shape.groups)
        search.advance(10.0)
        best = best_of_all(night, [rule for rule in rules if not isinstance(rule, Resource)])
        if best is None:
            assert search.value is None
            continue
        if search.bound is not None:
            assert float(shape.reward(search.bound)) >= best - 1e-9
        if search.value is not None:
            assert float(shape.reward(search.value)) <= best + 1e-9
        open_ones += not search.proven
    assert open_ones


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
    search = SharesSearch(groups)
    search.advance(60.0)
    assert search.proven
    chosen = np.isin(groups.positions, search.chosen())
    used = np.bincount(groups.owner, groups.weights * chosen)
    assert (used >= groups.low).all()
    assert (used <= groups.high).all()
    assert used.sum() <= groups.room
    assert search.value == (groups.rewards * chosen).sum()


def test_it_is_the_same_as_highs_on_a_season_with_other_rules() -> None:
    draw = np.random.default_rng(3)
    jobs = tuple(
        Job(
            name=f"j{i}",
            reward=float(draw.integers(1, 500)),
            demand=float(draw.integers(1, 10_000)) / 10,
            critical_path=1.0,
            groups={"team": f"t{i % 6}"},
        )
        for i in range(600)
    )
    night = Instance(name="season", processors=10, deadline=12_000, jobs=jobs)
    rules = [
        FairShare(by="team", at_most={"t0": 0.05, "t1": 0.3}, at_least={"t2": 0.3}),
        Resource(name="licences", capacity=40, use={f"j{i}": 1 for i in range(0, 600, 3)}),
    ]
    result = solve(night, constraints=rules)
    other = solve(night, constraints=rules, solver="highs")
    assert result.proven
    assert other.proven
    assert result.objective == other.objective
    assert solve(night, constraints=rules[:1]).solver == "shares"


def test_a_gap_a_time_limit_and_ctrl_c_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    night, _ = drawn(1, jobs=40)
    rule = FairShare(by="team", at_most=dict.fromkeys(night.groups["team"], 0.3))
    model = Selection(night).add(rule)
    late = door.solve(model, Limits(time_limit=0.0), solver="shares")
    assert late.termination in ("time-limit", "optimal")
    near = door.solve(model, Limits(gap=0.5), solver="shares")
    assert near.termination == "optimal"
    assert (near.gap or 0.0) <= 0.5
    steps = iter(range(100))

    def interrupted(self: SharesSearch, seconds: float) -> bool:
        next(self._steps, None)
        if next(steps) == 3:
            raise KeyboardInterrupt
        return False

    monkeypatch.setattr(SharesSearch, "advance", interrupted)
    monkeypatch.setattr(SharesSearch, "proven", False)
    monkeypatch.setattr("schedopt.solvers.dssp.selection.shares.engine.compiled", lambda: None)
    stopped = door.solve(model, solver="shares")
    assert stopped.termination == "interrupted"
    assert stopped.solution_status == "feasible"


def test_by_name_it_takes_nothing_else() -> None:
    night, _ = drawn(1)
    rules = [Resource(name="licences", capacity=2, use={"j2": 1, "j3": 2})]
    with pytest.raises(InputError, match="of one grouping"):
        solve(night, constraints=rules, solver="shares")
    share = FairShare(by="team", at_most={"a": 0.5})
    found = solve(night, constraints=[share], solver="shares")
    assert found.solver == "shares"
    assert isinstance(found.solution, Selected)
    confirmed = solve(night, constraints=[share], solver="shares", confirm=True)
    assert "confirmed by highs" in str(confirmed.message)
