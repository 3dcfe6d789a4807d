"""Plans of nights and seasons: which jobs run, when and why not, as tables that others read."""

import csv
import random
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest
from builders.cli import invoked
from builders.refusals import refusal

from schedopt.instances import files
from schedopt.instances.constraints import FairShare, Seats
from schedopt.instances.dssp import Instance, Job, ScheduledNights, one_night
from schedopt.instances.dssp.jobtable import convert
from schedopt.planning.reasons import reasons
from schedopt.validation.documents import check
from schedopt.validation.dssp.facts import Facts
from schedopt.verbs.plan_table import carried_out, plan_table, write
from schedopt.verbs.plot import plot
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


def test_plan_table_keeps_added_seats() -> None:
    jobs = tuple(Job(name=name, reward=1, stages=((5.0,),)) for name in "ab")
    night = Instance(name="seats", processors=2, deadline=10, jobs=jobs)
    seats = Seats(name="houdini", capacity=1, use={"a": 1, "b": 1})
    table = plan_table(night, solve(night, constraints=[seats]))
    assert sorted(table["start"].to_list()) == [0.0, 5.0]
    assert plan_table(night, solve(night))["start"].to_list() == [0.0, 0.0]


EVIL = ("=1+1", "@x", "+y", "-z", "'q", 'a"b,c', "<b>&", "job", "start", "\u202ex")


def test_plan_csv_has_no_cell_that_is_a_formula(tmp_path: Path) -> None:
    jobs = tuple(
        Job(name=name, reward=1, stages=((1.0,),), groups=dict.fromkeys(EVIL, name))
        for name in EVIL
    )
    cap = FairShare(name="=cap", by="@x", at_most={"=1+1": 0.0})
    night = Instance(name="evil", processors=1, deadline=5, jobs=jobs, constraints=(cap,))
    table = plan_table(night, solve(night))
    write(table, tmp_path / "plan.csv")
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
    write(table, tmp_path / "plan.parquet")
    assert pl.read_parquet(tmp_path / "plan.parquet").equals(table)
    assert "ending in .csv, .parquet" in str(refusal(write, table, tmp_path / "plan.xls"))


def test_plan_table_is_plotted(farm: Instance) -> None:
    table = plan_table(farm, solve(farm))
    (axes,) = plot(table, instance=farm).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        *table.filter("run").sort("start", "end", "job")["job"],
        "director's cut",
        "pyro test",
        "turntable",
    ]
    assert axes.get_title() == "5 jobs run, 0 late; 3 left out"
    assert axes.get_xlim()[1] * 3600 > farm.deadline
    assert "deadline" in axes.get_legend_handles_labels()[1]
    predicted = Job(name="a", reward=1, demand=3, critical_path=3)
    night = Instance(name="predicted", processors=1, deadline=9, jobs=(predicted,))
    assert "a plan in which a job runs" in str(refusal(plot, plan_table(night, solve(night))))


def season(seed: int, nights: int = 3) -> Instance:
    draw = random.Random(seed)  # noqa: S311
    jobs: list[dict[str, Any]] = []
    for j in range(14):
        first = draw.randint(1, nights)
        release = draw.choice((0, 0, 2))
        stages = [
            [draw.randint(1, 4) for _ in range(draw.randint(1, 3))]
            for _ in range(draw.randint(1, 2))
        ]
        jobs.append(
            {
                "name": f"j{j}",
                "reward": draw.randint(1, 20),
                "stages": stages,
                "groups": {"team": draw.choice(("fx", "light")), "night": "grouping"},
                "release": release,
                "deadline": draw.choice((6, 8, 10)),
                "first_night": first,
                "last_night": draw.randint(first, nights),
            }
        )
    rules = [
        {"kind": "fair-share", "name": "cap", "by": "team", "at_most": {"fx": 0.3}, "window": 2},
        {"kind": "seats", "name": "pool", "capacity": 2, "use": {"j0": 1, "j1": 2, "j2": 2}},
    ]
    document = {
        "problem": "dssp",
        "name": f"s{seed}",
        "processors": 3,
        "deadline": 10,
        "nights": nights,
    }
    return files.parse(files.encode({**document, "jobs": jobs, "constraints": rules}))


@pytest.mark.parametrize("seed", range(8))
def test_plan_table_of_a_season_equals_its_schedules(seed: int) -> None:
    instance = season(seed)
    result = solve(instance)
    run = carried_out(instance, result)
    assert run is not None and run.checked and not run.violations
    assert isinstance(run.solution, ScheduledNights)
    table = plan_table(instance, result, run)
    titles = ["job", "run", "reason", "reward", "team", "grouping night", "night"]
    assert table.columns == [*titles, "processors", "start", "end", "late", "rank"]
    earned = 0.0
    for row in table.to_dicts():
        job = instance.jobs[instance.index[row["job"]]]
        tasks = [
            (n, task)
            for n, schedule in enumerate(run.solution.schedules, start=1)
            for task in schedule.tasks
            if task.job == job.name
        ]
        assert row["run"] == (row["reason"] == "")
        assert bool(tasks) == (row["reason"] in ("", "late"))
        if not tasks:
            assert [row[key] for key in ("night", "processors", "start", "end", "late")] == [
                None
            ] * 5
            continue
        assert {n for n, _ in tasks} == {row["night"]}
        assert job.first_night <= row["night"] <= (job.last_night or 3)
        assert row["job"] in result.solution.nights[row["night"] - 1].selected
        assert row["start"] == min(task.start for _, task in tasks) >= job.release
        assert row["end"] == max(task.end for _, task in tasks)
        assert row["late"] == max(0.0, row["end"] - (job.deadline or 10))
        earned += job.reward * (row["late"] == 0)
    assert run.objective == pytest.approx(earned)
    assert run.objective <= result.objective + 1e-9


@pytest.mark.parametrize("seed", range(8))
def test_reasons_of_jobs_left_out_of_a_season_hold(seed: int) -> None:
    instance = season(seed)
    result = solve(instance)
    found = reasons(instance, result)
    few = reasons(instance, result, 3)
    assert all(found[name] == reason for name, reason in few.items())
    rewards = {name: instance.jobs[instance.index[name]].reward for name in found}
    assert sorted(map(rewards.get, few)) == sorted(rewards.values())[-len(few) :]
    run = set(result.solution.selected)
    assert list(found) == [job.name for job in instance.jobs if job.name not in run]
    one = one_night(instance, instance.index, ())
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


def _first_tasks(schedules: list[Any]) -> list[Any]:
    return next(one["tasks"] for one in schedules if one["tasks"])


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda made: made["schedules"].append(made["schedules"].pop(0)), "other jobs than"),
        (lambda made: made["schedules"].pop(), "schedules: 2 of 3 nights"),
        (lambda made: _first_tasks(made["schedules"]).pop(), "tasks that are missing"),
        (lambda made: _first_tasks(made["schedules"])[0].update(start=9.5), "of another length"),
        (lambda made: _first_tasks(made["schedules"])[0].update(processor=7), "not among 3"),
    ],
)
def test_check_finds_faults_in_schedules_of_a_season(spoil: Any, says: str) -> None:
    instance = season(1)
    run = carried_out(instance, solve(instance))
    document = msgspec.to_builtins(run.document())
    dearer = msgspec.structs.replace(run.document(), objective=run.objective + 1)
    assert any("objective" in what for what in check(instance, dearer).violations)
    document["solution"]["schedules"] = [*document["solution"]["schedules"]]
    for schedule in document["solution"]["schedules"]:
        schedule["tasks"] = [*schedule["tasks"]]
    spoil(document["solution"])
    claim = msgspec.convert(document, type(run.document()))
    assert any(says in what for what in check(instance, claim).violations)


def test_solve_season_writes_a_page(tmp_path: Path) -> None:
    path, page = tmp_path / "season.json", tmp_path / "season.html"
    files.dump(season(2), path)
    invoked("solve", path, "--report", page, "--explain")
    (axes,) = plot(plan_table(season(2), solve(season(2)))).axes
    assert axes.get_yticklabels()[0].get_text().startswith("night 1: ")
    text = page.read_text()
    for section in (
        "When jobs run",
        "Who gets what",
        "Jobs that are left out, and why",
        "All jobs",
        "Why jobs are left out, and what rules cost",
    ):
        assert f"<h2>{section}</h2>" in text
