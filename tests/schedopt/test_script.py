"""Plans as scripts, whose values are words of the shell; models as LP and MPS files."""

import os
import subprocess
from pathlib import Path
from typing import Any

import highspy
import pytest
from builders.cli import refused, run
from builders.effort import tried
from hypothesis import strategies as st
from msgspec.structs import replace

import schedopt
from schedopt.instances.constraints import Seats
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.errors import InputError
from schedopt.problems.summary import Plan
from schedopt.verbs.plan_table import plan_of
from schedopt.verbs.script import script, templates
from schedopt.verbs.solve import write_model

STUB = '#!/bin/sh\nfor word; do printf "%s\\0" "$word" >> "$TOLD"; done\nprintf "\\0" >> "$TOLD"\n'
NAMES = ["storm at sea", "naïve 7", "日本語", "हिन्दी", "a=b", "x/y:z", "me@here", "+1,5", "_"]


def farm(names: list[str], start: str | None = "2026-10-24T20:00[Europe/Berlin]") -> Plan:
    jobs = tuple(Job(name=name, reward=2, stages=((2.0,),)) for name in names)
    night = Instance(name="farm", processors=1, deadline=99, unit="h", jobs=jobs, start=start)
    return plan_of(night, schedopt.solve(night))


def told_by(text: str, folder: Path, *commands: str) -> list[list[str]]:
    """Run a script with commands in place that write down their arguments."""
    told = folder / "told"
    told.touch()
    for command in commands:
        (folder / command).write_text(STUB)
        (folder / command).chmod(0o755)
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "TOLD": str(told)}
    subprocess.run(["sh", "-c", text], check=True, cwd=folder, env=environment)
    assert sorted(entry.name for entry in folder.iterdir()) == sorted([*commands, "told"])
    calls = told.read_bytes().decode().split("\0\0")[:-1]
    return [call.split("\0") for call in calls]


@pytest.mark.parametrize(
    ("name", "commands", "first"),
    [
        ("slurm", ["sbatch"], "--job-name=storm at sea:1"),
        ("slurm-queued", ["scontrol"], "JobId=storm at sea"),
        ("opencue", ["cueadmin"], "storm at sea"),
        ("deadline", ["deadlinecommand"], "storm at sea"),
    ],
)
def test_bundled_template_hands_each_name_on_as_one_word(
    name: str, commands: list[str], first: str, tmp_path: Path
) -> None:
    calls = told_by(script(farm(NAMES, "2020-10-24T20:00Z"), name), tmp_path, *commands)
    words = {word for call in calls for word in call}
    assert {first.replace(NAMES[0], job) for job in NAMES} <= words


def test_slurm_template_starts_jobs_in_order_at_local_times(tmp_path: Path) -> None:
    there = "TZ=Europe/Berlin; export TZ\n"
    calls = told_by(there + script(farm(["a", "b", "c"]), "slurm"), tmp_path, "sbatch")
    begin = [word for call in calls for word in call if word.startswith("--begin")]
    # clocks are put back at three in the night
    hours = ["2026-10-24T20:00:00", "2026-10-24T22:00:00", "2026-10-25T00:00:00"]
    assert begin == [f"--begin={hour}" for hour in hours]
    assert [call[-4] for call in calls] == ["--nice=1", "--nice=2", "--nice=3"]
    assert {tuple(call[-3:-1]) for call in calls} == {("./render.sh", job) for job in "abc"}
    assert {word for call in calls for word in call if "--time" in word} == {"--time=150"}


def test_slurm_template_writes_arrays_dependencies_licences_and_drops(tmp_path: Path) -> None:
    job = {"reward": 1, "groups": {"account": "film"}}
    jobs = (
        Job(name="a", stages=((1.0,) * 6, (2.0,)), **job),
        Job(name="b", stages=((1.0, 1.0),), processors=2, after=("a",), **job),
    )
    night = Instance(
        name="n",
        processors=4,
        changes=((2, 2), (7, 4)),
        deadline=9,
        unit="h",
        jobs=jobs,
        start="2026-10-24T20:00Z",
        constraints=(Seats(name="nuke", capacity=4, use={"a": 1}),),
    )
    plan = plan_of(night, schedopt.solve(night, formulation="schedule"))
    text = "TZ=UTC; export TZ\n" + script(plan, "slurm")
    stub = 'sbatch() { command sbatch "$@"; echo 7; }\n'
    calls = told_by(stub + text, tmp_path, "sbatch", "scontrol")
    drop, first, second, third = map(set, calls)
    assert {"CoreCnt=2", "StartTime=2026-10-24T22:00:00"} <= drop
    assert {"--array=1-6%4", "--licenses=nuke:1", "--account=film"} <= first
    assert "--time=60" in first  # no margin where it would reach into the drop
    assert {"--dependency=afterok:7", "--array=1", "a", "2"} <= second
    assert {"--cpus-per-task=2", "--array=1-2%1", "--job-name=b:1"} <= third
    assert not any(word.startswith("--licenses") for word in third)


def test_reservation_that_might_delay_a_planned_task_is_left_out() -> None:
    """The second job may get the processor that stays, which the third one needs."""
    jobs = (
        Job(name="first", reward=1, stages=((4.0,),)),
        Job(name="second", reward=1, stages=((8.0,),), release=1),
        Job(name="third", reward=1, stages=((10.0,),), release=5),
    )
    night: dict[str, Any] = {"name": "n", "processors": 2, "deadline": 15, "unit": "h"}
    loses = Instance(**night, changes=((10, 1),), jobs=jobs, start="2026-10-24T20:00Z")
    plan = plan_of(loses, schedopt.solve(loses, formulation="schedule"))
    assert sum(row["run"] for row in plan.rows) == 3
    assert "create reservation" not in script(plan, "slurm")
    without = replace(loses, jobs=jobs[::2])
    plan = plan_of(without, schedopt.solve(without, formulation="schedule"))
    assert "create reservation" in script(plan, "slurm")


def test_slurm_queued_template_holds_jobs_by_their_id(tmp_path: Path) -> None:
    rows = [
        {
            "job": "a",
            "run": True,
            "reason": "",
            "rank": 1,
            "JobID": "77",
            "start_time": "2020-01-01",
        },
        {"job": "b", "run": False, "reason": "room", "rank": None, "JobID": "78"},
    ]
    plan = Plan(["job", "run", "rank", "JobID", "start_time"], rows)
    calls = told_by(script(plan, "slurm-queued"), tmp_path, "scontrol")
    assert calls[0] == ["hold", "78"]
    assert [call[:2] for call in calls[1:]] == [["update", "JobId=77"], ["release", "77"]]


def test_opencue_template_waits_for_each_start(tmp_path: Path) -> None:
    text = script(farm(["a", "b"], "2020-10-24T20:00Z"), "opencue")
    lines = [line for line in text.splitlines() if "2020-" in line or "-unpause" in line]
    assert [line.split()[0][:8] for line in lines] == ["2020-10-", "cueadmin"] * 2
    calls = told_by(text, tmp_path, "cueadmin")
    assert [call[1] for call in calls] == ["-pause", "-priority"] * 2 + ["-unpause"] * 2


@tried(60, name=st.text(min_size=1))
def test_script_quotes_a_name_as_one_word_or_refuses_it(
    name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    plan = Plan(["job", "run", "rank"], [{"job": name, "run": True, "reason": "", "rank": 1}])
    path = tmp_path_factory.mktemp("own") / "own.sh"
    path.write_text("#: each job\nrun x={{job}} {{ job }}{{rank}} $(echo {{rank}})\n#: end\n")
    try:
        text = script(plan, path)
    except InputError:
        return
    (call,) = told_by(text, tmp_path_factory.mktemp("run"), "run")
    assert call == [f"x={name}", f"{name}1", "1"]


def test_slurm_template_leaves_out_unknown_times() -> None:
    plan = farm(["a"], start=None)
    assert "--begin" not in script(plan, "slurm")
    assert "--nice=1" in script(plan, "slurm")
    assert "start_time" not in script(plan)


@pytest.mark.parametrize(
    ("text", "says", "place"),
    [
        ("#: each job\nrun {{jbo}}\n#: end\n", "a field of the plan", "line 2"),
        ("#: each job\nrun {{job\n#: end\n", "on the same line", "line 2"),
        ("#: each job\nrun {{start_time}}\n#: end\n", "a plan with `start_time`", "line 2"),
        ("#: end\n#: each job\n", "`#: each job`", "line 1"),
        ("#: each job\n#: each job\n", "`#: end` before it", "line 2"),
        ("#: each job\n", "a line such as", "line 1"),
        ("run\n", "a line such as", ""),
        ("#: each night\n#: end\n", "`#: each release`", "line 1"),
        ("run {{job}}\n#: each job\n#: end\n", "fields in blocks only", "line 1"),
    ],
)
def test_script_refuses_a_malformed_template(
    text: str, says: str, place: str, tmp_path: Path
) -> None:
    path = tmp_path / "own.sh"
    path.write_text(text)
    with pytest.raises(InputError, match=says) as caught:
        script(farm(["a"], start=None), path)
    assert (caught.value.file, caught.value.place) == (str(path), place)


def test_solve_writes_a_script_on_the_command_line(tmp_path: Path) -> None:
    output = tmp_path / "night.sh"
    run("plan", "example:evening", "--output", str(output), "--template", "opencue")
    assert output.read_text().count("-unpause") > 1
    run("plan", "example:evening", "--output", str(output))
    assert "echo 1 " in output.read_text()
    refused("plan", "example:evening", "--output", "night.csv", "--template", "slurm")
    refused("plan", "example:evening", "--output", str(output), "--template", "slrm")
    assert {"plain", "slurm", "slurm-queued", "opencue", "deadline"} == {*templates()}


@pytest.mark.parametrize(
    ("start", "says"),
    [
        ("2026-10-24T20:00[Europe/Berlin]", "2026-10-25T03:00:00+01:00"),
        ("2026-10-24T20:00+02:00", "2026-10-25T04:00:00+02:00"),
        ("2026-03-28T20:00+01:00[Europe/Berlin]", "2026-03-29T05:00:00+02:00"),
    ],
)
def test_plan_table_follows_clock_changes_of_its_zone(start: str, says: str) -> None:
    jobs = (Job(name="a", reward=1, stages=((8.0,),)),)
    night = Instance(name="n", processors=1, deadline=9, unit="h", jobs=jobs, start=start)
    assert schedopt.plan_table(night, schedopt.solve(night))["end_time"].to_list() == [says]


@pytest.mark.parametrize(
    "start",
    [
        "2026-10-24T20:00",
        "20:00",
        "2026-10-24T20:00[Europe/Nowhere]",
        "2026-10-24T20:00+05:00[Europe/Berlin]",
    ],
)
def test_instance_start_without_one_zone_is_refused(start: str) -> None:
    with pytest.raises(InputError) as caught:
        Instance(name="n", processors=1, deadline=9, jobs=(), start=start)
    assert caught.value.place == "start"


def read(path: Path) -> highspy.Highs:
    engine = highspy.Highs()
    engine.silent()
    assert engine.readModel(str(path)) == highspy.HighsStatus.kOk
    return engine


@pytest.mark.parametrize("ending", [".lp", ".mps"])
def test_model_file_has_the_same_optimum_in_highs(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"model{ending}"
    rule = schedopt.FairShare(by="team", at_most={"fx": 0.2})
    write_model(schedopt.example("night"), path, constraints=[rule])
    engine = read(path)
    engine.run()
    expected = schedopt.solve(schedopt.example("night"), constraints=[rule]).objective
    assert engine.getInfo().objective_function_value == pytest.approx(expected, rel=1e-9)
    assert "x(job_01)" in engine.getLp().col_names_


def test_model_file_keeps_hostile_names_apart(tmp_path: Path) -> None:
    names = ["a b", "a_b", "é", "=x", "e5", "st", "a" * 300, "x(1)", "x[1]", "-", "3", "A B"]
    night = schedopt.dssp.Instance(
        name="names",
        processors=1,
        deadline=10,
        jobs=tuple(
            schedopt.dssp.Job(name=name, reward=i + 1.5, demand=i + 1.25, critical_path=1)
            for i, name in enumerate(names)
        ),
    )
    optima = []
    for ending in (".lp", ".mps"):
        write_model(night, tmp_path / f"m{ending}")
        engine = read(tmp_path / f"m{ending}")
        engine.run()
        assert len(set(engine.getLp().col_names_)) >= len(names)
        optima.append(engine.getInfo().objective_function_value)
    assert optima == pytest.approx([schedopt.solve(night).objective] * 2)
