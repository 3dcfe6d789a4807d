"""Plans of nights and seasons: which jobs run, when and why not, as tables that others read."""

import csv
import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from builders.cli import invoked
from msgspec.structs import replace

from schedopt.instances import files
from schedopt.instances.constraints import FairShare, Seats
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.dssp.jobtable import convert
from schedopt.planning.reasons import reasons
from schedopt.validation.dssp.facts import Facts
from schedopt.verbs.plan_table import plan_of, plan_table, write
from schedopt.verbs.solve import solve

FARM = Path(__file__).parents[2] / "instances" / "dssp" / "farm.csv"
COLUMNS = ["job", "run", "reason", "reward", "team", "processors", "start", "end", "late", "rank"]


@pytest.fixture
def farm() -> Instance:
    options: dict[str, Any] = {"seats:houdini": 3}
    return convert(FARM, processors=6, start="20:00", deadline="06:00", **options)


def test_plan_table_of_a_farm(farm: Instance) -> None:
    cap = FairShare(name="fx cap", by="team", at_most={"fx": 0.4})
    result = solve(farm, constraints=[cap])
    table = plan_table(farm, result)
    assert table.columns == COLUMNS
    assert table["job"].to_list() == [job.name for job in farm.jobs]
    by = {row["job"]: row for row in table.to_dicts()}
    late = {name for name, row in by.items() if row["late"]}  # by whoever dispatches them
    assert late == {name for name, row in by.items() if row["reason"] == "late"} == {"turntable"}
    running = {name for name, row in by.items() if row["run"]}
    assert running | late == set(result.solution.selected)
    assert by["director's cut"]["reason"] == "never"
    assert {row["reason"] for row in by.values()} == {"", "late", "never", "rule:fx cap"}
    for name, row in by.items():
        job = farm.jobs[farm.index[name]]
        if not row["run"] and name not in late:
            assert [row[key] for key in ("processors", "start", "end", "late")] == [None] * 4
            continue
        assert job.release <= row["start"] < row["end"]
        assert row["late"] == max(0.0, row["end"] - (job.deadline or farm.deadline))
        assert 1 <= row["processors"] <= farm.processors


EVIL = ("=1+1", "@x", "+y", "-z", "'q", 'a"b,c', "<b>&", "job", "start", "\u202ex")


def test_plan_csv_has_no_cell_that_is_a_formula(tmp_path: Path) -> None:
    jobs = tuple(
        Job(name=name, reward=1, stages=((1.0,),), groups=dict.fromkeys(EVIL, name))
        for name in EVIL
    )
    cap = FairShare(name="=cap", by="@x", at_most={"=1+1": 0.0})
    night = Instance(name="evil", processors=1, deadline=5, jobs=jobs, constraints=(cap,))
    plan = plan_of(night, solve(night))
    write(plan, tmp_path / "plan.csv")
    with (tmp_path / "plan.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert len(rows) == len(jobs) + 1
    assert not any(cell.startswith(("=", "+", "-", "@")) for row in rows for cell in row)
    assert rows[0][4:-5] == [
        "'=1+1",
        "'@x",
        "'+y",
        "'-z",
        "''q",
        'a"b,c',
        "<b>&",
        "grouping job",
        "grouping start",
        r"\u202ex",
    ]
    write(plan, tmp_path / "plan.parquet")
    assert pl.read_parquet(tmp_path / "plan.parquet").equals(plan.frame())


def season(seed: int) -> Instance:
    """Draw three nights with a cap over two nights, and seats."""
    draw = random.Random(seed)  # noqa: S311
    teams = {"fx": 0.3}
    jobs = tuple(
        Job(
            name=f"j{j}",
            reward=draw.randint(1, 20),
            stages=tuple(
                tuple(draw.randint(1, 4) for _ in range(draw.randint(1, 3))) for _ in range(2)
            ),
            groups={"team": draw.choice(("fx", "light")), "night": "grouping"},
            deadline=draw.choice((6, 8, 10)),
            first_night=draw.randint(1, 3),
        )
        for j in range(14)
    )
    cap = FairShare(name="cap", by="team", at_most=teams, window=2)
    pool = Seats(name="pool", capacity=2, use={"j0": 1, "j1": 2, "j2": 2})
    rules = (cap, pool)
    return Instance(name="s", processors=3, deadline=10, nights=3, jobs=jobs, constraints=rules)


@pytest.mark.parametrize("seed", range(3))
def test_reasons_of_jobs_left_out_of_a_season_hold(seed: int) -> None:
    instance = season(seed)
    result = solve(instance)
    found = reasons(instance, result)
    run = set(result.solution.selected)
    assert list(found) == [job.name for job in instance.jobs if job.name not in run]
    jobs = tuple(replace(job, first_night=1, last_night=None) for job in instance.jobs)
    one = replace(instance, nights=1, jobs=jobs, constraints=())
    facts = Facts(one, 1.0)
    for name, reason in found.items():
        job = instance.jobs[instance.index[name]]
        assert (reason.kind == "never") == (not facts.fits(name))
        assert reason.kind != "rule" or reason.rule in ("cap", "pool")
        if "there is room for it" in reason.words:
            n = int(reason.words.split(":")[0].removeprefix("night "))
            nights = [list(night.selected) for night in result.solution.nights]
            nights[n - 1].append(name)
            assert job.first_night <= n <= (job.last_night or 3)
            total = facts.total(frozenset(nights[n - 1]))
            assert total <= facts.capacity


def test_plan_of_a_season_has_the_night_of_each_job(tmp_path: Path) -> None:
    path, page = tmp_path / "season.json", tmp_path / "season.html"
    instance = season(2)
    files.dump(instance, path)
    invoked("solve", path, "--report", page, "--explain")
    result = solve(instance)
    table = plan_table(instance, result)
    titles = ["job", "run", "reason", "reward", "team", "grouping night", "night"]
    assert table.columns == [*titles, "processors", "start", "end", "late", "rank"]
    nights = result.solution.nights
    selected = {name: n for n, night in enumerate(nights, 1) for name in night.selected}
    assert dict(table.filter("run").select("job", "night").iter_rows()) == selected
    assert "<h2>Why jobs are left out, and what rules cost</h2>" in page.read_text()
