"""What became of a plan on Slurm: accounts, reports, pictures."""

import re
import time
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

import msgspec
import pytest
from builders.cli import refused, run
from builders.dssp import carry_out

import schedopt
from schedopt.instances.errors import InputError
from schedopt.planning.release import list_schedule, releases
from schedopt.planning.state import is_sacct
from schedopt.verbs.plan import NightPlan

HEAD = "JobID|JobName|State|Start|End"
ROW = "7_{task}|storm at sea:1|COMPLETED|{start}|{end}"


@pytest.fixture(scope="module")
def plan() -> NightPlan:
    hours = {"processors": 6, "from_": "2026-11-22T20:00+00:00", "until": "06:00"}
    seats = {"houdini": 3}
    return schedopt.plan("instances/dssp/farm.csv", **hours, seats=seats, overhead="1m")


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def clock(seconds: float) -> str:
    return (datetime(2026, 11, 22, 20) + timedelta(seconds=round(seconds))).isoformat()


def accounts(plan: NightPlan, delay: float = 0.0, seed: int = 1) -> list[str]:
    """Return what sacct prints of a night in which tasks are shorter than planned."""
    draw = Random(seed)  # noqa: S311
    given = releases(plan.instance, plan.run.solution.tasks, plan.result.constraints)
    lengths = {
        (one.job, one.stage, task): length * draw.uniform(0.6, 1.0)
        for one in given
        for task, length in zip(one.tasks, one.lengths, strict=True)
    }
    ran = carry_out(plan.instance, given, lengths, plan.result.constraints)
    order = {(one.job, one.stage, task): one.order for one in given for task in one.tasks}
    return [
        f"{order[key]}_{key[2] + 1}|{key[0]}:{key[1] + 1}|COMPLETED"
        f"|{clock(start + delay)}|{clock(end + delay)}"
        for key, (start, end) in ran.items()
    ]


def accounts_at(plan: NightPlan, now: float, failed: tuple[str, int, int] | None) -> list[str]:
    """Return what sacct prints in the night; a task may have failed a while before."""
    rows = []
    for one in releases(plan.instance, plan.run.solution.tasks, plan.result.constraints):
        for task, (start, end) in zip(
            one.tasks, list_schedule(one.begin, one.lengths, one.at_once), strict=True
        ):
            job = f"{one.order}_{task + 1}|{one.job}:{one.stage + 1}"
            if (one.job, one.stage, task) == failed:
                rows.append(f"{job}|FAILED|{clock(start)}|{clock(now - 60)}")
            elif end <= now:
                rows.append(f"{job}|COMPLETED|{clock(start)}|{clock(end)}")
            elif start < now:
                rows.append(f"{job}|RUNNING|{clock(start)}|Unknown")
            else:
                rows.append(f"{job}|PENDING|Unknown|Unknown")
    return rows


def written(folder: Path, *rows: str, head: str = HEAD) -> Path:
    path = folder / "sacct.txt"
    path.write_text("\n".join([head, *rows, ""]))
    return path


def test_report_counts_jobs_on_time_and_measures_start_overhead(
    plan: NightPlan, tmp_path: Path
) -> None:
    more = [
        "1|interactive|RUNNING|2026-11-22T21:00:00|Unknown",
        "2_1|storm at sea:1|COMPLETED|2026-11-21T21:00:00|2026-11-21T22:00:00",  # another night
    ]
    report = schedopt.report_night(plan, written(tmp_path, *more, *accounts(plan, delay=20)))
    assert (report.late, report.fallen_out, len(report.jobs)) == ([], [], 5)
    assert report.overhead[1] == pytest.approx(20, abs=1)
    assert all(one.end <= one.planned_end + 20 for one in report.jobs)
    assert "5 of 5 jobs done on time" in report.line()
    assert "(60 s planned)" in report.line()


def test_report_names_late_failed_and_missing_jobs(plan: NightPlan, tmp_path: Path) -> None:
    rows = accounts(plan, delay=3 * 3600)
    rows = [row.replace("COMPLETED", "FAILED") if "|closeup:" in row else row for row in rows]
    rows = [row for row in rows if "|final grade:" not in row]
    rows.append("99_[1-2]|final grade:1|PENDING|Unknown|Unknown")
    report = schedopt.report_night(plan, written(tmp_path, *rows))
    status = {one.job: one.status for one in report.jobs}
    assert status["closeup"] == "failed"
    assert status["final grade"] == "waiting"
    assert status["storm at sea"] == "late"
    assert {*report.fallen_out} == {"closeup", "final grade"}


@pytest.mark.parametrize(
    ("rows", "head", "says", "place"),
    [
        (["1|a:1|RUNNING|Unknown"], "JobID|JobName|State|Start", "column 'End'", "line 1"),
        (["1|a:1|RUNNING|Unknown|Unknown"], HEAD, "jobs of the plan", "column 'JobName'"),
        ([ROW.format(task=1, start="2026-11-21T21:00:00", end="2026-11-21T22:00:00")], HEAD,
         "rows of this night", "column 'Start'"),
        (["7_1|storm at sea:9|RUNNING|Unknown|Unknown"], HEAD, "from 1 to 2", "line 2"),
        (["7_1|storm at sea:1|GONE|Unknown|Unknown"], HEAD, "a state of Slurm", "line 2"),
    ],
)  # fmt: skip
def test_report_night_refuses_an_account_of_another_plan(
    rows: list[str], head: str, says: str, place: str, *, plan: NightPlan, tmp_path: Path
) -> None:
    path = written(tmp_path, *rows, head=head)
    with pytest.raises(InputError) as caught:
        schedopt.report_night(plan, path)
    assert says in str(caught.value)
    assert caught.value.place.startswith(place)
    assert caught.value.file == str(path)


def test_report_night_writes_files_and_exits_with_its_status(
    plan: NightPlan, tmp_path: Path
) -> None:
    path, sacct = tmp_path / "plan.json", written(tmp_path, *accounts(plan))
    plan.write(path)
    outputs = [tmp_path / name for name in ("night.csv", "night.json", "night.png")]
    words = [word for output in outputs for word in ("--output", output)]
    done = run("report-night", path, sacct, *words, "--json")
    document = msgspec.json.decode(done.stdout)
    assert document == msgspec.json.decode(outputs[1].read_bytes())
    assert [row["status"] for row in document["jobs"]] == ["done"] * 5
    assert outputs[0].read_text().count("\n") == 6
    assert outputs[2].stat().st_size > 10_000
    refused("report-night", path, written(tmp_path, head="x"))
    refused("report-night", sacct, sacct)
    assert is_sacct(written(tmp_path))
    assert not is_sacct(path)


NOW = 2.5 * 3600


def submitted(text: str) -> list[tuple[str, int]]:
    """Return the job and stage of each submission of a script, once for each task."""
    found = []
    for block in text.split("sbatch --parsable")[1:]:
        job, stage = re.search(r"--job-name='?(.*?)'?:(\d+) ", block).groups()
        numbers = re.search(r"--array=([\d,-]+)", block)[1].split(",")
        ends = [part.partition("-") for part in numbers]
        count = sum(int(last or first) - int(first) + 1 for first, _, last in ends)
        found += [(job, int(stage))] * count
    return found


def test_replan_from_sacct_changes_nothing_where_nothing_is_new(
    plan: NightPlan, tmp_path: Path
) -> None:
    sacct = written(tmp_path, *accounts_at(plan, NOW, None))
    again = schedopt.replan(plan, at=NOW, state=sacct)
    assert {change.change for change in again.changes} == {"kept"}
    text = again.script("slurm")
    assert "sbatch --parsable" not in text
    assert "scancel" not in text


def test_replan_script_submits_failed_tasks_again(plan: NightPlan, tmp_path: Path) -> None:
    given = releases(plan.instance, plan.run.solution.tasks, plan.result.constraints)
    runs = [
        (one.job, one.stage, task)
        for one in given
        for task, (start, end) in zip(
            one.tasks, list_schedule(one.begin, one.lengths, one.at_once), strict=True
        )
        if start < NOW - 60 < NOW < end
    ]
    sacct = written(tmp_path, *accounts_at(plan, NOW, runs[0]))
    path, script = tmp_path / "plan.json", tmp_path / "change.sh"
    plan.write(path)
    outputs = ["--output", script, "--output", tmp_path / "new.json", "--template", "slurm"]
    run("replan", path, "--at", NOW, "--state", sacct, *outputs)
    text = script.read_text()
    jobs = {job.name: job for job in plan.instance.jobs}
    new = schedopt.load(tmp_path / "new.json").solution
    begun = Counter((job, stage + 1) for job, stage, _ in runs[1:])
    for (job, stage), count in Counter(submitted(text)).items():
        assert job in new.completion
        assert count <= len(jobs[job].stages[stage - 1]) - begun[job, stage]
    rows = [row.split("|") for row in sacct.read_text().splitlines() if "|PENDING|" in row]
    cancelled = {name.replace("'", "") for name in re.findall(r"--jobname=(.*)", text)}
    changed = {job for job, _ in submitted(text)} | {*jobs} - {*new.completion}
    assert {row[1] for row in rows if row[1].rpartition(":")[0] in changed} <= cancelled
    assert {name.rpartition(":")[0] for name in cancelled} <= changed
    if runs[0][0] in new.completion:
        assert (runs[0][0], runs[0][1] + 1) in submitted(text)
    again = schedopt.replan(tmp_path / "new.json", at=NOW + 1)
    assert {change.change for change in again.changes} == {"kept"}
