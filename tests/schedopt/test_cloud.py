"""Nights with rented processors: which jobs go to the cloud, and what the bill is."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest
from builders.cli import run
from builders.effort import tried
from hypothesis import strategies as st

import schedopt
from schedopt.instances.constraints import Constraint, Forbid, Require
from schedopt.instances.dssp import Instance, Job
from schedopt.planning.cloud import Offer, bill_of, twins_of, with_cloud

PRICE = "1@0.5"


def night_of(jobs: list[tuple[int, int]], deadline: float = 8, **more: Any) -> Instance:
    """One processor; each job has one task: (reward, hours)."""
    return Instance(
        name="night",
        unit="h",
        processors=1,
        deadline=deadline,
        jobs=tuple(
            Job(
                name=f"j{i}", reward=reward, stages=((float(hours),),), groups={"team": "ab"[i % 2]}
            )
            for i, (reward, hours) in enumerate(jobs)
        ),
        **more,
    )


def best_by_hand(
    jobs: list[tuple[int, int]], deadline: float, budget: float | None, *, everything: bool
) -> tuple[int, float] | None:
    """Return the best reward and its least bill, by trying every choice of places."""
    best: tuple[int, float] | None = None
    for places in product(("out", "farm", "cloud"), repeat=len(jobs)):
        hours = {
            place: sum(job[1] for job, at in zip(jobs, places, strict=True) if at == place)
            for place in ("farm", "cloud")
        }
        bill = hours["cloud"] / 2
        if max(hours.values()) > deadline or (budget is not None and bill > budget):
            continue
        if everything and "out" in places:
            continue
        reward = sum(job[0] for job, at in zip(jobs, places, strict=True) if at != "out")
        if best is None or (reward, -bill) > (best[0], -best[1]):
            best = (reward, bill)
    return best


@tried(
    120,
    st.lists(st.tuples(st.integers(1, 9), st.integers(1, 6)), min_size=1, max_size=5),
    st.sampled_from([None, 0.0, 1.0, 1.5, 3.0]),
    st.booleans(),
)
def test_cloud_plan_has_best_reward_at_least_bill(
    jobs: list[tuple[int, int]], budget: float | None, everything: bool
) -> None:
    night = night_of(jobs)
    offer = Offer.of(PRICE, budget, everything=everything)
    whole, rules, notes = with_cloud(night, (), offer, list(night.index))
    assert not notes
    result = schedopt.solve(whole, formulation="schedule", constraints=rules)
    expected = best_by_hand(jobs, night.deadline, budget, everything=everything)
    if expected is None:
        assert result.termination == "infeasible"
        return
    assert result.proven
    assert not result.violations
    assert result.solution is not None
    assert (result.objective, bill_of(whole, result.solution.selected)) == expected


@pytest.mark.parametrize(
    "rule", [Require(name="must", jobs=("j0",)), Forbid(name="forbid", jobs=("j1",))]
)
def test_cloud_twins_count_as_their_jobs_in_rules(rule: Constraint) -> None:
    offer = Offer.of(PRICE, 0.0, everything=False)
    whole, rules, _ = with_cloud(night_of([(1, 8), (9, 8)]), [rule], offer, ["j0", "j1"])
    assert schedopt.solve(whole, formulation="schedule", constraints=rules).objective == 1


def test_cloud_keeps_jobs_with_precedence_on_the_farm() -> None:
    night = night_of([(1, 2), (1, 2)])
    later = schedopt.dssp.Job(name="later", reward=1, stages=((1.0,),), after=("j0",))
    night = Instance(name="n", processors=1, deadline=8, jobs=(*night.jobs, later))
    whole, _, notes = with_cloud(
        night, (), Offer.of(PRICE, None, everything=False), list(night.index)
    )
    assert set(twins_of(whole).values()) == {"j1"}
    assert len(notes) == 2


NIGHT = ["--processors", 3, "--from", "20:00", "--until", "06:00"]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--budget", 0.5], "3 of 4 jobs, reward 210; 1 job in the cloud for 0.5"),
        (["--all"], "4 of 4 jobs, reward 260; 2 jobs in the cloud for 1.25"),
    ],
)
def test_plan_with_cloud_prints_the_bill(words: list[object], line: str) -> None:
    shown = run("plan", "example:cloud.csv", *NIGHT, "--cloud", "20@0.05", *words).stdout
    assert line in shown
    assert "no plan earns more" in shown


@pytest.mark.parametrize(
    ("table", "words", "message"),
    [
        ("example:cloud.csv", ["--budget", 5], "--budget: expected --cloud 200@0.05 beside it"),
        ("example:cloud.csv", ["--cloud", "2@1", "--budget", "x"], "--budget: found 'x'"),
        (
            "example:farm.csv",
            ["--seats", "houdini=3", "--cloud", "20@1"],
            "--cloud: found none; expected a column 'cloud'",
        ),
    ],
)
def test_plan_refuses_wrong_cloud(table: str, words: list[object], message: str) -> None:
    assert message in run("plan", table, *NIGHT, *words, status=2).stderr


def test_plan_with_cloud_shows_each_job_once_and_whatif_varies_its_budget(tmp_path: Path) -> None:
    path, table = tmp_path / "plan.json", tmp_path / "plan.csv"
    words = [*NIGHT, "--cloud", "20@0.05", "--budget", 0.5, "-o", path, "-o", table]
    run("plan", "example:cloud.csv", *words)
    shown = [line.partition("@")[0].partition(",")[0] for line in table.read_text().splitlines()]
    assert sorted(shown[1:]) == ["credits", "opening", "titles", "trailer"]  # each job once
    rows = schedopt.whatif(path, ["budget=0,0.5,2"])
    assert [row.objective for row in rows] == [150, 210, 260]
