"""Plans: which jobs run, when and why not, as a table that dispatchers and spreadsheets read."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest
from builders.cli import invoked, refused, run
from builders.effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from schedopt.instances.constraints import FairShare, Seats
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.dssp.jobtable import convert
from schedopt.instances.errors import InputError
from schedopt.problems import problem_of
from schedopt.verbs.evaluate import evaluate
from schedopt.verbs.plan import carried_out, plan, read, write
from schedopt.verbs.plot import plot
from schedopt.verbs.solve import solve

FARM = Path(__file__).parents[2] / "instances" / "dssp" / "farm.csv"
COLUMNS = ["job", "run", "reason", "reward", "team", "processors", "start", "end", "late"]


@pytest.fixture
def farm() -> Instance:
    options: dict[str, Any] = {"seats:houdini": 3}
    return convert(FARM, processors=6, start="20:00", deadline="06:00", **options)


def test_the_plan_of_a_farm(farm: Instance) -> None:
    cap = FairShare(name="fx cap", by="team", at_most={"fx": 0.4})
    result = solve(farm, constraints=[cap])
    table = plan(farm, result)
    assert table.columns == COLUMNS
    assert table["job"].to_list() == [job.name for job in farm.jobs]
    by = {row["job"]: row for row in table.to_dicts()}
    assert {name for name, row in by.items() if row["run"]} == set(result.solution.selected)
    assert by["director's cut"]["reason"] == "never"
    assert {row["reason"] for row in by.values()} == {"", "never", "rule:fx cap"}
    for name, row in by.items():
        job = farm.jobs[farm.index[name]]
        if not row["run"]:
            assert [row[key] for key in ("processors", "start", "end", "late")] == [None] * 4
            continue
        assert job.release <= row["start"] < row["end"]
        assert row["late"] == max(0.0, row["end"] - (job.deadline or farm.deadline))
        assert 1 <= row["processors"] <= farm.processors


def test_a_selection_is_run_by_a_dispatcher_that_earns_the_most(farm: Instance) -> None:
    result = solve(farm)
    run = carried_out(farm, result)
    assert run is not None and not run.violations
    assert run.checked
    names = [p.name for p in problem_of(farm).policies().values() if p.phase == "dispatch"]
    for name in names:
        other = evaluate(farm, f"selection+{name}")
        assert other.objective <= run.objective


def test_seats_beside_the_instance_are_kept_when_it_is_run() -> None:
    jobs = tuple(Job(name=name, reward=1, stages=((5.0,),)) for name in "ab")
    night = Instance(name="seats", processors=2, deadline=10, jobs=jobs)
    seats = Seats(name="houdini", capacity=1, use={"a": 1, "b": 1})
    table = plan(night, solve(night, constraints=[seats]))
    assert sorted(table["start"].to_list()) == [0.0, 5.0]
    assert plan(night, solve(night))["start"].to_list() == [0.0, 0.0]


def test_what_is_late_is_said_and_by_how_much() -> None:
    jobs = tuple(Job(name=f"j{i}", reward=1, stages=((6.0,),)) for i in range(3))
    night = Instance(name="whole", processors=2, deadline=9, jobs=jobs)  # tasks do not split
    table = plan(night, solve(night))
    assert table["late"].to_list() == [0.0, 0.0, 3.0]
    assert table["end"].to_list() == [6.0, 6.0, 12.0]


def test_jobs_without_tasks_have_no_times() -> None:
    jobs = (Job(name="a", reward=1, demand=3, critical_path=3),)
    night = Instance(name="predicted", processors=1, deadline=9, jobs=jobs)
    table = plan(night, solve(night))
    assert table.columns == [*COLUMNS[:4], *COLUMNS[5:]]
    assert table.row(0) == ("a", True, "", 1.0, None, None, None, None)


EVIL = ("=1+1", "@x", "+y", "-z", "'q", 'a"b,c', "<b>&", "job", "start", "\u202ex")


def test_no_cell_is_a_formula(tmp_path: Path) -> None:
    jobs = tuple(
        Job(name=name, reward=1, stages=((1.0,),), groups=dict.fromkeys(EVIL, name))
        for name in EVIL
    )
    cap = FairShare(name="=cap", by="@x", at_most={"=1+1": 0.0})
    night = Instance(name="evil", processors=1, deadline=5, jobs=jobs, constraints=(cap,))
    table = plan(night, solve(night))
    write(table, tmp_path / "plan.csv")
    with (tmp_path / "plan.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert len(rows) == len(jobs) + 1
    assert not any(cell.startswith(("=", "+", "-", "@")) for row in rows for cell in row)
    assert rows[0][4:-4] == [
        "'=1+1", "'@x", "'+y", "'-z", "''q", 'a"b,c', "<b>&", "grouping job", "grouping start",
        "\u202ex",
    ]  # fmt: skip
    write(table, tmp_path / "plan.parquet")
    assert pl.read_parquet(tmp_path / "plan.parquet").equals(table)
    with pytest.raises(InputError, match=r"ending in .csv, .parquet"):
        write(table, tmp_path / "plan.xlsx")


@settings(max_examples=examples(40), deadline=None)
@given(st.data())
def test_times_are_those_of_the_tasks(data: st.DataObject) -> None:
    stage = st.lists(st.integers(0, 5).map(float), min_size=1, max_size=4).map(tuple)
    jobs = data.draw(st.lists(st.lists(stage, min_size=1, max_size=3).map(tuple), max_size=5))
    night = Instance(
        name="small",
        processors=data.draw(st.integers(1, 4)),
        deadline=12,
        jobs=tuple(Job(name=f"j{i}", reward=i, stages=s) for i, s in enumerate(jobs)),
    )
    result = solve(night)
    run = carried_out(night, result)
    assert run is not None and not run.violations
    table = plan(night, result, run)
    for row in table.filter(pl.col("run")).to_dicts():
        tasks = [task for task in run.solution.tasks if task.job == row["job"]]
        assert row["start"] == min(task.start for task in tasks)
        assert row["end"] == max(task.end for task in tasks)
        moments = {task.start for task in tasks}
        most = max(sum(task.start <= at < task.end for task in tasks) for at in moments)
        assert row["processors"] == max(1, most)


def test_from_the_command_line(tmp_path: Path) -> None:
    night = tmp_path / "night.json"
    given = ("processors=6", "start=20:00", "deadline=06:00", "seats:houdini=3")
    options = [word for option in given for word in ("--option", option)]
    run("convert", FARM, *options, "-o", night)
    done = run("solve", night, "-o", tmp_path / "plan.csv", "--json")
    assert msgspec.json.decode(done.stdout)["objective"] == 285.0
    assert "dispatched by" in done.stderr
    invoked("solve", night, "-o", tmp_path / "plan.parquet")
    read = pl.read_csv(tmp_path / "plan.csv")
    assert read.columns == COLUMNS
    assert read.drop("reason").equals(pl.read_parquet(tmp_path / "plan.parquet").drop("reason"))
    shown = invoked("evaluate", night, "--policy", "greedy+lcpf", "-o", tmp_path / "greedy.csv")
    assert "left out: " in shown
    two = refused("evaluate", night, "--policy", "greedy,core", "-o", tmp_path / "x.csv")
    assert "a plan is of one" in two
    other = refused("solve", "example:twins", "-o", tmp_path / "x.csv")
    assert "(hesrpt) has no plan of jobs" in other
    assert not (tmp_path / "x.csv").exists()


def test_a_plan_is_read_back_and_drawn(farm: Instance, tmp_path: Path) -> None:
    result = solve(farm)
    table = plan(farm, result)
    for ending in (".csv", ".parquet"):
        path = tmp_path / f"plan{ending}"
        write(table, path)
        back = read(path)
        assert back is not None
        assert back.with_columns(pl.col("reason").fill_null("")).equals(table)
        (axes,) = plot(path).axes
        assert [label.get_text() for label in axes.get_yticklabels()] == [
            *table.filter("run").sort("start", "end", "job")["job"],
            "director's cut", "pyro test", "turntable",
        ]  # fmt: skip
        assert axes.get_title() == "5 jobs run, 0 late; 3 left out"
    predicted = Job(name="a", reward=1, demand=3, critical_path=3)
    night = Instance(name="predicted", processors=1, deadline=9, jobs=(predicted,))
    write(plan(night, solve(night)), tmp_path / "untimed.csv")
    with pytest.raises(InputError, match="a plan in which a job runs"):
        plot(tmp_path / "untimed.csv")
    (tmp_path / "other.csv").write_text("job,run\na,true\n")
    assert read(tmp_path / "other.csv") is None
    (tmp_path / "broken.csv").write_text(f"{','.join(COLUMNS)}\na,perhaps,,1,fx,,,,\n")
    with pytest.raises(InputError, match="a plan"):
        plot(tmp_path / "broken.csv")
