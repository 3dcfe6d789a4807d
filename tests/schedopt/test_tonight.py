"""The verb plan: tables of jobs, farms, rules, files; what it says, and what it refuses."""

import re
from datetime import date, timedelta
from inspect import signature
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest
from builders.cli import refused, run
from builders.jobtable import FARM, csv
from typer.main import get_command

import schedopt
from schedopt.cli import app
from schedopt.instances.dssp import jobtable
from schedopt.planning.farm import FLAGS, KEYWORDS

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


def test_plan_has_a_flag_and_a_keyword_for_each_table_option() -> None:
    command: Any = get_command(app)
    flags = {flag for one in command.commands["plan"].params for flag in one.opts}
    keywords = signature(schedopt.plan).parameters
    assert {f"{KEYWORDS.place(key)}" for key in jobtable.OPTIONS} - {"name"} <= {*keywords}
    for key in (*jobtable.OPTIONS, *jobtable.PREFIXES):
        assert key == "name" or FLAGS.place(key) in flags


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--seats", "mari=2"], "a column seats:mari"),
        (["--cap", "team:fx=0"], "--cap team:fx: found 0; expected a share above 0 and up to 1"),
        (["--cap", "team:lightning=0.2"], "(did you mean 'lighting'?)"),
        (["--capacity", "02:00"], "--capacity: found '02:00'; expected TIME=N"),
        (["--from", "2026-11-22T20:00", "--until", "2026-11-22T19:00"], "a time after the start"),
        (["--reward", "priority:urgent=1"], "column 'priority': found"),
        (["-o", "gone/plan.csv"], "expected a folder that exists"),
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

EXPORT = Path(__file__).parents[2] / "instances" / "dssp" / "export-deadline.csv"
NIGHT = ["--processors", 60, "--from", "2026-11-28T20:00[Europe/Berlin]", "--until", "06:00"]
WISHES = [
    *("--where", "status=queued,rendering", "--duplicates", "number", "--keep", "Submit Date"),
    *("--seats", "houdini=12", "--must", "Tide_sq340_sh0170_lighting_v010", "--groups", "Pool"),
    *("--cap", "Pool:*=0.4", "--missing", "frame_time=15m", "--capacity", "02:00=40"),
]


def test_plan_of_an_export_and_again_from_its_farm_file(tmp_path: Path) -> None:
    """A cap for each show, a licence, a capacity that drops at two, a job that must run."""
    words = [*NIGHT, *WISHES]
    farm, plan, table = tmp_path / "farm.json", tmp_path / "plan.csv", EXPORT
    kept = str(words[words.index("--keep") + 1])
    mine, script = tmp_path / "mine.sh", tmp_path / "night.sh"
    mine.write_text(f"#!/bin/sh\n#: each job\nrender {{{{job}}}} {{{{{kept}}}}}\n#: end\n")
    outputs = ["-o", plan, "-o", script, "--template", mine, "--save-farm", farm]
    done = run("plan", table, *words, *outputs, "--time-limit", 60, "--json")
    document = msgspec.json.decode(done.stdout)
    assert document["checked"]
    assert not document["violations"]
    assert max(next(iter(document["solution"]["shares"].values())).values()) <= 0.4
    rows = {row["job"]: row for row in document["plan"]}
    assert rows[str(words[words.index("--must") + 1])]["run"]
    assert all(row[kept] for row in rows.values())
    assert kept in plan.read_text().splitlines()[0].split(",")
    assert all(str(row[kept]) in script.read_text() for row in rows.values() if row["run"])
    assert "columns not used: " in done.stderr
    again = run("plan", table, "--farm", farm, "--json", "--time-limit", 60)
    assert msgspec.json.decode(again.stdout)["objective"] == document["objective"]
