"""Plans and pages of seasons: on which night each job runs, when, and why the others do not."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest
from builders.cli import invoked, refused

from schedopt.instances import files
from schedopt.instances.dssp import Instance, ScheduledNights, one_night
from schedopt.problems.dssp.reasons import reasons
from schedopt.validation.documents import check
from schedopt.validation.dssp.facts import Facts
from schedopt.verbs.plan import carried_out, plan, read, write
from schedopt.verbs.plot import plot
from schedopt.verbs.solve import solve
from schedopt.verbs.whatif import whatif


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
                "name": f"j{j}", "reward": draw.randint(1, 20), "stages": stages,
                "groups": {"team": draw.choice(("fx", "light")), "night": "grouping"},
                "release": release, "deadline": draw.choice((6, 8, 10)),
                "first_night": first, "last_night": draw.randint(first, nights),
            }
        )  # fmt: skip
    rules = [
        {"kind": "fair-share", "name": "cap", "by": "team", "at_most": {"fx": 0.3}, "window": 2},
        {"kind": "seats", "name": "pool", "capacity": 2, "use": {"j0": 1, "j1": 2, "j2": 2}},
    ]
    document = {
        "problem": "dssp", "name": f"s{seed}", "processors": 3, "deadline": 10, "nights": nights,
    }  # fmt: skip
    return files.parse(files.encode({**document, "jobs": jobs, "constraints": rules}))


@pytest.mark.parametrize("seed", range(8))
def test_a_plan_says_what_its_checked_schedules_say(seed: int) -> None:
    instance = season(seed)
    result = solve(instance)
    run = carried_out(instance, result)
    assert run is not None and run.checked and not run.violations
    assert isinstance(run.solution, ScheduledNights)
    table = plan(instance, result, run)
    titles = ["job", "run", "reason", "reward", "team", "grouping night", "night"]
    assert table.columns == [*titles, "processors", "start", "end", "late"]
    earned = 0.0
    for row in table.to_dicts():
        job = instance.jobs[instance.index[row["job"]]]
        tasks = [
            (n, task)
            for n, schedule in enumerate(run.solution.schedules, start=1)
            for task in schedule.tasks
            if task.job == job.name
        ]
        assert row["run"] == bool(tasks) == (row["reason"] == "")
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
def test_every_job_left_out_has_a_reason_that_holds(seed: int) -> None:
    instance = season(seed)
    result = solve(instance)
    found = reasons(instance, result)
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


def spoiled(document: dict[str, Any], how: str) -> None:
    schedules = document["solution"]["schedules"]
    n = next(n for n, one in enumerate(schedules) if one["tasks"])
    task = schedules[n]["tasks"][0]
    if how == "late":
        document["objective"] += 1
    elif how == "moved":
        task["start"] += 0.5
    elif how == "missing":
        schedules[n]["tasks"].pop()
    elif how == "another night":
        schedules.append(schedules.pop(0))
    elif how == "fewer":
        schedules.pop()
    else:
        task["processor"] = 7


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("late", "objective"),
        ("moved", "tasks of another length"),
        ("missing", "tasks that are missing"),
        ("another night", "other jobs than are selected"),
        ("fewer", "schedules: 2 of 3 nights"),
        ("processor", "processors that are not among 3"),
    ],
)
def test_the_checker_finds_what_is_wrong_with_its_schedules(how: str, says: str) -> None:
    instance = season(1)
    run = carried_out(instance, solve(instance))
    assert run is not None
    document = msgspec.json.decode(msgspec.json.encode(run.document()))
    spoiled(document, how)
    claim = msgspec.convert(document, type(run.document()))
    assert any(says in what for what in check(instance, claim).violations)


def test_from_the_command_line_to_plan_picture_and_page(tmp_path: Path) -> None:
    path, page = tmp_path / "season.json", tmp_path / "season.html"
    files.dump(season(2), path)
    varied = ("--vary", "rules.cap.at_most.fx=0.2,0.6", "--explain")
    invoked("solve", path, "-o", tmp_path / "plan.csv", "--report", page, *varied)
    invoked("solve", path, "-o", tmp_path / "plan.parquet")
    table = read(tmp_path / "plan.csv")
    assert table is not None
    whole = read(tmp_path / "plan.parquet")
    assert whole is not None and table["night"].cast(pl.Int64).equals(whole["night"])
    (axes,) = plot(tmp_path / "plan.csv").axes
    assert axes.get_yticklabels()[0].get_text().startswith("night 1: ")
    text = page.read_text()
    for section in (
        "When it runs", "Who gets what", "What is left out, and why", "All jobs",
        "Why, and at what price", "What if",
    ):  # fmt: skip
        assert f"<h2>{section}</h2>" in text
    said = refused("solve", path, "--vary", "processors=3,4")
    assert "--report FILE.html beside it" in said
    said = refused("solve", path, "--vary", "procesors=3", "--report", tmp_path / "x.html")
    assert "procesors" in said and not (tmp_path / "x.html").exists()


def test_a_season_without_tasks_has_no_times() -> None:
    jobs = tuple(
        msgspec.structs.replace(job, stages=None, demand=4.0, critical_path=2.0)
        for job in season(3).jobs
    )
    instance = msgspec.structs.replace(season(3), jobs=jobs)
    result = solve(instance)
    assert carried_out(instance, result) is None
    table = plan(instance, result)
    assert table["night"].drop_nulls().len() == len(result.solution.selected)
    assert table["start"].null_count() == len(jobs)


def test_what_if_rows_of_a_season_have_shares_of_all_nights(tmp_path: Path) -> None:
    instance = season(4)
    (row,) = whatif(instance, ["rules.cap.at_most.fx=0.25"])
    changed = msgspec.structs.replace(
        instance,
        constraints=(
            msgspec.structs.replace(instance.constraints[0], at_most={"fx": 0.25}),
            *instance.constraints[1:],
        ),
    )
    nights = solve(changed).solution.nights
    mean = sum(night.shares["team"]["fx"] for night in nights) / len(nights)
    assert row.shares["team"]["fx"] == pytest.approx(mean)
    write(plan(changed, solve(changed)), tmp_path / "plan.csv")
