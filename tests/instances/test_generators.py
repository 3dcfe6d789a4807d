"""Generators: seeds and options of all; the facts of render nights; the families' definitions."""

from importlib import import_module
from typing import Any

import numpy as np
import pytest
from builders.effort import ALL
from builders.refusals import refusal

import schedopt
from schedopt.instances import files
from schedopt.instances.dssp import Instance
from schedopt.instances.dssp.generators import GENERATORS, TEAMS, render_season
from schedopt.instances.recipes import Recipe

FAMILIES = ("uncorrelated", "weakly-correlated", "strongly-correlated", "subset-sum")
HOUR = 3600.0
RECIPES: dict[str, dict[str, Recipe]] = {
    problem: import_module(f"schedopt.instances.{problem}.generators").GENERATORS
    for problem in files.PROBLEMS
}
every = pytest.mark.parametrize(
    ("problem", "name"), [(problem, name) for problem in RECIPES for name in RECIPES[problem]]
)


@every
def test_a_seed_fixes_the_instance_which_can_be_read_back(problem: str, name: str) -> None:
    made, again, other = (schedopt.generate(problem, name, seed=seed) for seed in (7, 7, 8))
    assert made == again
    assert files.encode(made) == files.encode(again) != files.encode(other)
    assert files.parse(files.encode(made)) == made


@pytest.mark.parametrize(
    ("recipe", "options", "place", "words"),
    [
        ("dssp/render-night", {"night": 2}, "option", "an option of render-night"),
        ("dssp/render-night", {"nights": 0}, "option nights", "from 1 to 1000"),
        ("dssp/render-night", {"reward": "cubic"}, "option reward", "one of linear, size, banded"),
        ("dssp/render-night", {"deadline": 10**400}, "option deadline", "seconds above 0"),
        ("dssp/uncorrelated", {"fraction": 1.5}, "option fraction", "at most 1"),
        ("dssp/subset-sum", {"groups": -1}, "option groups", "0 for none"),
        ("epoch/planted", {"nodes": 8, "most": 9}, "option most", "to `nodes`, 8"),
        ("epoch/planted", {"nodes": 7, "inequity": 0, "most": 6}, "option inequity", "divisor"),
        ("msfq/one-or-all", {"k": 1}, "option k", "from 2 to 10^6"),
        ("msfq/multi-class", {"k": 7, "classes": 4}, "option classes", "divisors"),
        ("msfq/lublin-feitelson", {"jobs": 0}, "option jobs", "from 1 to 10^7"),
    ],
)
def test_wrong_options(recipe: str, options: dict[str, Any], place: str, words: str) -> None:
    problem, name = recipe.split("/")
    error = refusal(RECIPES[problem][name], 1, **options)
    assert error.place == place
    assert words in error.expected


def test_a_season_is_the_instance_of_56_nights_cut_up() -> None:
    whole = GENERATORS["render-night"](11, nights=56)
    assert whole.processors == 56_000
    assert [job for night in render_season(11) for job in night.jobs] == list(whole.jobs)


@pytest.fixture(scope="module")
def seasons() -> list[list[Instance]]:
    return [render_season(seed) for seed in range(8 if ALL else 4)]


def test_the_season_fits_the_stated_facts(seasons: list[list[Instance]]) -> None:
    """The paper's section 5 beside averages over seeds; the margins are about what seeds vary."""
    tasks = [
        sum(len(stage) for night in season for job in night.jobs for stage in job.stages or ())
        for season in seasons
    ]
    assert np.mean(tasks) == pytest.approx(280_011, rel=0.03)
    paths = [np.concatenate([n.critical_paths for n in season]) / HOUR for season in seasons]
    assert np.mean([np.median(path) for path in paths]) == pytest.approx(3.4, abs=0.2)
    late = [np.mean([not night.in_time.all() for night in season]) for season in seasons]
    assert np.mean(late) == pytest.approx(0.75, abs=0.07)
    hours = np.array([[night.demands.sum() / HOUR for night in season] for season in seasons])
    assert (hours > 14_300).sum(axis=1).mean() == pytest.approx(18, abs=3)
    # The trace has 32: its nights lie closer together just above the capacity than ours do.
    assert 20 <= (hours > 13_000).sum(axis=1).mean() <= 32


def test_priorities_and_teams(seasons: list[list[Instance]]) -> None:
    jobs = [job for season in seasons for night in season for job in night.jobs]
    priorities = np.array([job.priority for job in jobs])
    assert priorities.min() == 0
    assert priorities.max() == 499
    assert (priorities == np.floor(priorities)).all()
    assert priorities.mean() == pytest.approx(249.5, abs=5)
    teams = [job.groups["team"] for job in jobs]
    by_rank = [teams.count(team) for team in TEAMS]
    assert sum(by_rank) == len(jobs)
    assert by_rank == sorted(by_rank, reverse=True)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_knapsack_is_a_night_of_one_processor(name: str) -> None:
    instance = GENERATORS[name](6, jobs=400, range=100, fraction=0.3)
    weights = instance.demands
    assert instance.processors == 1
    assert instance.deadline == np.floor(0.3 * weights.sum())
    assert (weights == instance.critical_paths).all()
    assert (weights == np.floor(weights)).all()
    assert (weights.min(), weights.max()) == (1, 100)
    assert instance.groups == {}
    grouped = GENERATORS[name](6, jobs=400, groups=5)
    assert sorted(grouped.groups["team"]) == [f"team-{k:02d}" for k in range(1, 6)]


def test_the_families_differ_as_pisinger_defines_them() -> None:
    made = {name: GENERATORS[name](6, jobs=3000, range=1000) for name in FAMILIES}
    gap = {name: made[name].rewards - made[name].demands for name in FAMILIES}
    assert (gap["subset-sum"] == 0).all()
    assert (gap["strongly-correlated"] == 100).all()
    weak = gap["weakly-correlated"]
    assert np.abs(weak).max() == 100
    assert (made["weakly-correlated"].rewards >= 1).all()
    free = made["uncorrelated"]
    assert abs(np.corrcoef(free.rewards, free.demands)[0, 1]) < 0.06
    assert 1 <= free.rewards.min() < 10
    assert 990 < free.rewards.max() <= 1000
