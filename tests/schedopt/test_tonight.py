"""The verb plan: tables of jobs, farms, rules, files; what it says, and what it refuses."""

import re
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest
from builders.cli import refused, run
from builders.jobtable import FARM, csv

import schedopt

WORDS = ["--reward", "priority:urgent=8,high=4,normal=2,low=1"]
HOURS = ["--processors", 30, "--from", "20:00", "--until", "06:00", "--seats", "houdini=8"]
RULES = ["--cap", "team:fx=0.4", "--floor", "show:orca=0.2"]
CHANGES = ["--capacity", "02:00=20", "--capacity", "03:00=30"]
EVENING: dict[str, Any] = {"processors": 3, "from_": "2026-11-22T20:00", "until": "10h"}


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("night") / "jobs.csv"
    path.write_text(csv(jobs=14))
    return path


def test_plan_of_a_table_has_no_late_job(jobs: Path, tmp_path: Path) -> None:
    """The second night takes from the farm's file what the first was told."""
    outputs = [tmp_path / f"plan.{end}" for end in ("csv", "json", "sh", "png", "parquet")]
    words = [word for path in outputs for word in ("-o", path)]
    page, farm = tmp_path / "night.html", tmp_path / "farm.json"
    words += ["--report", page, "--save-farm", farm, "--template", "slurm", "--json"]
    done = run("plan", jobs, *HOURS, *WORDS, *RULES, *CHANGES, *words)
    document = msgspec.json.decode(done.stdout)
    assert document["checked"]
    assert not document["violations"]
    rows = {row["job"]: row for row in document.pop("plan")}
    assert all(row["late"] == 0 for row in rows.values() if row["run"])
    due = {row["name"]: row["deadline"] for row in pl.read_csv(jobs).to_dicts()}
    for name, row in rows.items():
        if row["run"] and row["end_time"][11:16] < "12:00":  # in the morning
            assert row["end_time"][11:16] <= (due[name] or "06:00")
    assert {row["job"] for row in rows.values() if row["run"]} == {
        *document["solution"]["selected"]
    }
    shares = document["solution"]["shares"]
    assert shares["team"]["fx"] <= 0.4
    assert outputs[0].read_text().splitlines()[0].split(",") == [*next(iter(rows.values()))]
    for path in outputs[4:]:
        assert path.stat().st_size > 0
    submitted = set(re.findall(r"--job-name=(.*):1 ", outputs[2].read_text()))
    assert submitted == {*document["solution"]["selected"]}
    assert outputs[3].read_bytes().startswith(b"\x89PNG")
    assert "Each task on its processors" in page.read_text()
    assert msgspec.json.decode(outputs[1].read_bytes())["objective"] == document["objective"]
    again = run("plan", jobs, "--farm", farm, "--json", "--time-limit", "none")
    assert msgspec.json.decode(again.stdout)["solution"]["shares"] == shares
    said = run("plan", jobs, "--farm", farm, "--cap", "team:fx=0.01").stdout
    assert re.match(r"\d+ of 14 jobs, reward \d+; no plan earns more", said)


def test_plan_takes_a_frame() -> None:
    frame = pl.read_csv(FARM.encode())
    made = schedopt.plan(frame, **EVENING, seats={"houdini": 2}, time_limit=None)
    assert made.line == "3 of 3 jobs, reward 12; no plan earns more"
    assert made.result.proven
    assert made.frame().to_dicts() == made.rows
    assert "echo 1" in made.script()
    assert made.line in repr(made)


def test_plan_without_a_date_is_of_today(tmp_path: Path) -> None:
    """Without a date the night is today's, where the machine is, and so are stamps without one."""
    tomorrow = date.today() + timedelta(days=1)
    path = tmp_path / "dated.csv"
    path.write_text(f"name,reward,tasks,deadline\na,2,1x1h,{tomorrow}T05:00\nb,1,1x1h,\n")
    made = schedopt.plan(path, processors=1, from_="20:00", until="06:00")
    assert made.instance.jobs[0].deadline == 9 * 3600
    assert made.rows[0]["start_time"].startswith(f"{date.today()}T20:00")
    made = schedopt.plan(path.with_name("dated.csv"), processors=1, from_="20:00", until="22:00")
    assert made.line == "2 of 2 jobs, reward 3; no plan earns more"
    assert max(row["end"] for row in made.rows) <= 7200  # nothing runs after it


def test_plan_of_a_night_where_nothing_fits(tmp_path: Path) -> None:
    (tmp_path / "jobs.csv").write_text("name,reward,tasks\na,3,1x9h\n")
    words = ["--processors", 2, "--until", "4h", "-o", tmp_path / "no.png", "-o"]
    done = run("plan", tmp_path / "jobs.csv", *words, tmp_path / "plan.csv")
    assert done.stdout.startswith("0 of 1 job, reward 0; no plan earns more\n")
    assert "no.png is not written" in done.stderr
    assert "a,false,never" in (tmp_path / "plan.csv").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--seats", "mari=2"], "a column seats:mari"),
        (["--cap", "team:fx=0"], "--cap team:fx: found 0; expected a share above 0 and up to 1"),
        (["--cap", "team:lightning=0.2"], "(did you mean 'lighting'?)"),
        (["--reward", "priority:urgent=1"], "column 'priority': found"),
        (["-o", "plan.xlsx"], "a name ending in .json, .json.gz, .csv, .parquet, .sh, .png"),
    ],
    ids=lambda words: "" if isinstance(words, str) else " ".join(words),
)
def test_plan_refuses_wrong_flags_before_solving(words: list[str], said: str, jobs: Path) -> None:
    given = [*HOURS, *WORDS]
    for flag in words[::2]:
        if flag in given:
            del given[given.index(flag) : given.index(flag) + 2]
    assert said in refused("plan", jobs, *given, *words)


# --- exports of farm managers -------------------------------------------------------------------
