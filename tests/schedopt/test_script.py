"""Plans as scripts, whose values are words of the shell; models as LP and MPS files."""

import os
import subprocess
from pathlib import Path

import highspy
import pytest
from builders.cli import refused, run
from builders.effort import tried
from hypothesis import strategies as st

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


def test_slurm_template_writes_arrays_dependencies_and_licences(tmp_path: Path) -> None:
    job = {"reward": 1, "groups": {"account": "film"}}
    jobs = (
        Job(name="a", stages=((1.0,) * 6, (2.0,)), **job),
        Job(name="b", stages=((1.0, 1.0),), processors=2, after=("a",), **job),
    )
    night = Instance(
        name="n",
        processors=4,
        deadline=9,
        unit="h",
        jobs=jobs,
        start="2026-10-24T20:00Z",
        constraints=(Seats(name="nuke", capacity=4, use={"a": 1}),),
    )
    plan = plan_of(night, schedopt.solve(night, formulation="schedule"))
    text = "TZ=UTC; export TZ\n" + script(plan, "slurm")
    stub = 'sbatch() { command sbatch "$@"; echo 7; }\n'
    calls = told_by(stub + text, tmp_path, "sbatch")
    first, second, third = map(set, calls)
    assert {"--array=1-6%4", "--licenses=nuke:1", "--account=film"} <= first
    assert "--time=75" in first  # a quarter more than planned
    assert {"--dependency=afterok:7", "--array=1", "a", "2"} <= second
    assert {"--cpus-per-task=2", "--array=1-2", "--job-name=b:1"} <= third
    assert not any(word.startswith("--licenses") for word in third)


def test_slurm_queued_template_holds_jobs_by_their_id(tmp_path: Path) -> None:
    titles = ["job", "run", "rank", "JobID", "start_time"]
    cells = [("a", True, 1, "77", "2020-01-01"), ("b", False, None, "78", None)]
    plan = Plan(titles, [dict(zip(titles, row, strict=True)) for row in cells])
    calls = told_by(script(plan, "slurm-queued"), tmp_path, "scontrol")
    assert calls[0] == ["hold", "78"]
    assert [call[:2] for call in calls[1:]] == [["update", "JobId=77"], ["release", "77"]]


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


@pytest.mark.parametrize(
    ("text", "says", "place"),
    [
        ("#: each job\nrun {{jbo}}\n#: end\n", "a field of the plan", "line 2"),
        ("#: each job\nrun {{start_time}}\n#: end\n", "a plan with `start_time`", "line 2"),
        ("#: each job\n", "a line such as", "line 1"),
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


def read(path: Path) -> highspy.Highs:
    engine = highspy.Highs()
    engine.silent()
    assert engine.readModel(str(path)) == highspy.HighsStatus.kOk
    return engine


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
