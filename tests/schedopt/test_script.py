"""Plans as scripts, in which every value is one word of the shell; models as LP and MPS files."""

import os
import subprocess
from datetime import UTC
from pathlib import Path

import highspy
import polars as pl
import pytest
from builders.cli import refused, run
from builders.effort import tried
from hypothesis import strategies as st

import schedopt
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.errors import InputError
from schedopt.instances.times import moment_of
from schedopt.verbs.model_files import write
from schedopt.verbs.script import script, templates

HOSTILE = ["; rm -rf here", "two\nlines\n", "$(touch here)", "`touch here`", "it's", '"', "\\", "#"]
STUB = '#!/bin/sh\nfor word; do printf "%s\\0" "$word" >> "$TOLD"; done\nprintf "\\0" >> "$TOLD"\n'
COMMANDS = {"slurm": "sbatch", "opencue": "cueadmin", "deadline": "deadlinecommand"}


def farm(names: list[str], start: str | None = "2026-10-24T20:00[Europe/Berlin]") -> pl.DataFrame:
    jobs = tuple(Job(name=name, reward=2, stages=((2.0,),)) for name in names)
    night = Instance(name="farm", processors=1, deadline=99, unit="h", jobs=jobs, start=start)
    return schedopt.plan_table(night, schedopt.solve(night))


def told_by(text: str, folder: Path, command: str = "run") -> list[list[str]]:
    """Run a script with a command in place that writes down its arguments."""
    stub = folder / command
    stub.write_text(STUB)
    stub.chmod(0o755)
    told = folder / "told"
    told.unlink(missing_ok=True)
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "TOLD": str(told)}
    shell = "bash" if text.startswith("#!/bin/bash") else "sh"
    subprocess.run([shell, "-c", text], check=True, cwd=folder, env=environment)
    assert sorted(entry.name for entry in folder.iterdir()) == sorted([command, "told"])
    calls = told.read_bytes().decode().split("\0\0")[:-1]
    return [call.split("\0") for call in calls]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_bundled_template_hands_each_name_on_as_one_word(name: str, tmp_path: Path) -> None:
    table = farm(HOSTILE)
    calls = told_by(script(table, name), tmp_path, COMMANDS[name])
    ranked = table.sort("rank")["job"].to_list()
    words = {"slurm": 5, "opencue": 1, "deadline": 6}[name]
    per_job = 2 if name == "opencue" else 1
    found = [call[words].removeprefix("--job-name=") for call in calls[::per_job]]
    assert found == ranked


def test_slurm_begins_by_the_clock_and_in_order(tmp_path: Path) -> None:
    there = "TZ=Europe/Berlin; export TZ\n"
    calls = told_by(there + script(farm(["a", "b", "c"]), "slurm"), tmp_path, "sbatch")
    begin = [word for call in calls for word in call if word.startswith("--begin")]
    # clocks are put back at three in the night
    hours = ["2026-10-24T20:00:00", "2026-10-24T22:00:00", "2026-10-25T00:00:00"]
    assert begin == [f"--begin={hour}" for hour in hours]
    assert [call[-3] for call in calls] == ["--nice=1", "--nice=2", "--nice=3"]


def _may_be_a_word(text: str) -> bool:
    return "\0" not in text and text.isprintable() and not text.startswith("-")


@tried(60, name=st.text(min_size=1).filter(_may_be_a_word))
def test_any_name_is_one_word(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    table = pl.DataFrame({"job": [name], "run": [True], "reason": [""], "rank": [1]})
    path = tmp_path_factory.mktemp("own") / "own.sh"
    path.write_text("#: each job\nrun x={{job}} {{ job }}{{rank}} $(echo {{rank}})\n#: end\n")
    (call,) = told_by(script(table, path), tmp_path_factory.mktemp("run"))
    assert call == [f"x={name}", f"{name}1", "1"]


def test_what_is_not_known_is_left_out_of_a_command_or_refused() -> None:
    table = farm(["a"], start=None)
    assert "--begin" not in script(table, "slurm")
    assert "--nice=1" in script(table, "slurm")
    assert "ScheduledType" not in script(table, "deadline")
    assert "start_time" not in script(table)


@pytest.mark.parametrize(
    ("text", "says", "place"),
    [
        ("#: each job\nrun {{jbo}}\n#: end\n", "a field of the plan", "line 2"),
        ("#: each job\nrun {{job\n#: end\n", "on the same line", "line 2"),
        ("#: each job\nrun {{start_time}}\n#: end\n", "a plan that says `start_time`", "line 2"),
        ("#: end\n#: each job\n", "one line", ""),
        ("run {{job}}\n#: each job\n#: end\n", "in the block alone", "line 1"),
        ("#!/usr/bin/env python3\n#: each job\n#: end\n", "a script for a shell", ""),
    ],
)
def test_what_is_no_template_is_refused(text: str, says: str, place: str, tmp_path: Path) -> None:
    path = tmp_path / "own.sh"
    path.write_text(text)
    with pytest.raises(InputError, match=says) as caught:
        script(farm(["a"]).with_columns(pl.lit(None).alias("start_time")), path)
    assert (caught.value.file, caught.value.place) == (str(path), place)


READ_AGAIN = (
    'run "{{job}}"',
    "run \\{{job}}",
    "run ${{job}}",
    "run `echo {{job}}`",
    "cat << END\nx {{job}}\nEND",
    "run $'a' {{job}}",
    'run \\" " \nx {{job}} "',
    "echo $((1 + $(echo 2) + {{job}}))",
    "((x = {{job}}))",
    "echo $[1+{{job}}] ${x:{{job}}}",
    "x[{{job}}]=1",
    "[[ -v {{job}} ]]",
    "{{job}} now",
    ". {{job}}",
    "if true; then X=1 exec {{job}}; fi",
    "f() { {{job}}; }",
    "echo a | env -i {{job}}",
    "echo $({{job}})",
    "declare {{job}}",
    "test -v {{job}} || true",
    "eval run {{job}}",
    "bash -c 'run $1' x {{job}}",
    "echo {{job}} | sh -s",
    "echo {{job}} | xargs -I x sh -c x",
    "again {{job}}",
    "sbatch --wrap={{job}}",
    "true > {{job}}",
    "trap {{job}} EXIT",
    "read -r {{job}}",
)


@pytest.mark.parametrize("block", READ_AGAIN)
def test_what_may_read_a_value_once_more_gets_inert_ones_alone(block: str, tmp_path: Path) -> None:
    path = tmp_path / "own.sh"
    again = 'again() { eval "$1"; }\n' * ("again" in block)
    path.write_text(f"#!/bin/bash\n{again}#: each job\n{block}\n#: end\n")
    for name in [*HOSTILE, "a[$(touch here)]", "../here", "-rf"]:
        with pytest.raises(InputError, match=r"alone|begin with -"):
            script(farm([name]), path)
    assert block.replace("{{job}}", "shot_1.b-c") in script(farm(["shot_1.b-c"]), path)


@pytest.mark.parametrize(
    "block",
    [
        "run {{job}}",
        "run $X --name={{job}} $(echo {{rank}}) x{{job}} 'it is' \"$PATH\" {{job}}",
        "run \\\n  --name \\\n  {{job}}",
        "# it's\ntrue; run a | cat\n./run {{job}}",
    ],
)
def test_what_is_not_refused_runs_nothing_that_a_name_says(block: str, tmp_path: Path) -> None:
    path = tmp_path / "own.sh"
    path.write_text(f"#!/bin/bash\nX=1\n#: each job\n{block}\n#: end\n")
    text = script(farm([*HOSTILE, "a[$(touch here)]"]), path).replace("./run", "run")
    (tmp_path / "run").mkdir()
    calls = told_by(text, tmp_path / "run")
    assert {call[-1] for call in calls} >= {*HOSTILE, "a[$(touch here)]"}


def test_a_name_that_begins_with_a_dash_is_no_option(tmp_path: Path) -> None:
    path = tmp_path / "own.sh"
    for block, fine in (("run {{job}}", 0), ("run -- {{job}}", 1), ("run --name={{job}}", 1)):
        path.write_text(f"#: each job\n{block}\n#: end\n")
        if fine:
            assert "-rf" in script(farm(["-rf"]), path)
        else:
            with pytest.raises(InputError, match="does not begin with -") as caught:
                script(farm(["a", "-rf"]), path)
            assert caught.value.place == "line 2"


def test_from_the_command_line(tmp_path: Path) -> None:
    output = tmp_path / "night.sh"
    run("solve", "example:evening", "--output", str(output), "--template", "opencue")
    assert output.read_text().count("cueadmin -unpause") > 1
    run("solve", "example:evening", "--output", str(output))
    assert "echo 1 " in output.read_text()
    refused("solve", "example:evening", "--output", "night.csv", "--template", "slurm")
    refused("solve", "example:evening", "--output", str(output), "--template", "slrm")
    assert {"plain", "slurm", "opencue", "deadline"} == {*templates()}


@pytest.mark.parametrize(
    ("start", "says"),
    [
        ("2026-10-24T20:00[Europe/Berlin]", "2026-10-25T03:00:00+01:00"),
        ("2026-10-24T20:00+02:00", "2026-10-25T04:00:00+02:00"),
        ("2026-03-28T20:00+01:00[Europe/Berlin]", "2026-03-29T05:00:00+02:00"),
    ],
)
def test_a_zone_knows_when_clocks_are_put_back_and_forward(start: str, says: str) -> None:
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
def test_a_start_without_a_zone_or_with_two_is_refused(start: str) -> None:
    with pytest.raises(InputError) as caught:
        Instance(name="n", processors=1, deadline=9, jobs=(), start=start)
    assert caught.value.place == "start"


@pytest.mark.parametrize(
    ("start", "deadline"),
    [
        ("2026-01-01T00:00Z", 1e9),
        ("9999-12-31T23:00Z", 9),
        ("9999-12-31T23:30-02:00", 9),
        ("0001-01-01T00:00+02:00", 9),
        ("0001-01-01T00:00[Europe/Berlin]", 9),
    ],
)
def test_times_that_no_calendar_holds_are_refused(start: str, deadline: float) -> None:
    job = Job(name="a", reward=1, stages=((1.0,),))
    with pytest.raises(InputError, match="from the year 1 to the year 9999") as caught:
        Instance(name="n", processors=1, deadline=deadline, unit="h", jobs=(job,), start=start)
    assert caught.value.place == "deadline"


def test_a_plan_that_ends_after_the_last_year_is_refused() -> None:
    jobs = (Job(name="a", reward=1, stages=((30.0,),)),)
    night: dict = {"name": "n", "processors": 1, "unit": "h", "jobs": jobs}
    late = Instance(**night, deadline=20, late=((0.0, 1.0), (99.0, 0.5)), start="9999-12-31T00:00Z")
    with pytest.raises(InputError, match="from the year 1 to the year 9999"):
        schedopt.plan_table(late, schedopt.solve(late, formulation="schedule"))
    for seconds in (-1e17, 1e17):
        with pytest.raises(InputError, match="from the year 1 to the year 9999"):
            moment_of(seconds, UTC)


def read(path: Path) -> highspy.Highs:
    engine = highspy.Highs()
    engine.silent()
    assert engine.readModel(str(path)) == highspy.HighsStatus.kOk
    return engine


@pytest.mark.parametrize("ending", [".lp", ".mps"])
def test_highs_alone_finds_the_same_optimum(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"model{ending}"
    rule = schedopt.FairShare(by="team", at_most={"fx": 0.2})
    write(schedopt.example("night"), path, constraints=[rule])
    engine = read(path)
    engine.run()
    expected = schedopt.solve(schedopt.example("night"), constraints=[rule]).objective
    assert engine.getInfo().objective_function_value == pytest.approx(expected, rel=1e-9)
    assert "x(job_01)" in engine.getLp().col_names_


def test_hostile_names_stay_apart(tmp_path: Path) -> None:
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
        write(night, tmp_path / f"m{ending}")
        engine = read(tmp_path / f"m{ending}")
        engine.run()
        assert len(set(engine.getLp().col_names_)) >= len(names)
        optima.append(engine.getInfo().objective_function_value)
    assert optima == pytest.approx([schedopt.solve(night).objective] * 2)


@pytest.mark.parametrize(
    ("what", "name", "said"),
    [
        ("example:night", "model.txt", "a name ending in .lp, .mps"),
        ("example:fig3", "model.lp", "a linear formulation"),
        ("example:night", "no/model.lp", "a folder that exists"),
    ],
)
def test_what_cannot_be_written_is_refused(tmp_path: Path, what: str, name: str, said: str) -> None:
    done = run("solve", what, "--write", tmp_path / name, status=2)
    assert said in done.stderr
    assert list(tmp_path.iterdir()) == []
