"""Logs through the verbs: converted, evaluated, checked, swept, also where only their text goes."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders.cli import refused, run
from builders.msfq_logs import queue_of, random_jobs

from schedopt import bench
from schedopt.instances.files import dump, load
from schedopt.problems.msfq import log_drawing
from schedopt.sweep.sources import FileSource

SUBMITS = "".join(
    f"{i + 1} {4 * i} -1 {7 + 5 * (i % 4)} {1 + i % 3} -1 -1 -1 {9 + 9 * (i % 4)} -1 1 {i % 2} "
    "1 -1 1 -1 -1 -1\n"
    for i in range(60)
)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    (tmp_path / "toy.swf").write_text("; MaxProcs: 4\n" + SUBMITS)
    words = ("--option", "problem=msfq", "--option", "as=jobs", "-o", tmp_path / "toy.json")
    done = run("convert", tmp_path / "toy.swf", *words)
    assert "60 of 60 jobs of toy" in done.stderr
    return tmp_path / "toy.json"


def test_from_a_log_to_starts_that_are_checked(log: Path, tmp_path: Path) -> None:
    starts = tmp_path / "starts.csv"
    words = ("--policy=easy", "--option", f"starts={starts}", "--json", "-o", tmp_path / "r.json")
    document = json.loads(run("evaluate", log, *words).stdout)
    assert document["solution"]["estimates"] == "given"
    assert {
        "mean_response_time",
        "mean_wait",
        "mean_bounded_slowdown",
        "utilization",
        "jobs",
        "by",
    } <= document["solution"].keys()
    assert document["checked"]
    assert len(starts.read_text().splitlines()) == 61
    assert "holds" in run("check", log, tmp_path / "r.json").stdout
    document["solution"]["mean_wait"] += 1
    (tmp_path / "r.json").write_text(json.dumps(document))
    assert "mean_wait" in run("check", log, tmp_path / "r.json", status=1).stdout


def test_a_log_needs_a_folder_to_stand_in(log: Path, tmp_path: Path) -> None:
    said = refused("convert", tmp_path / "toy.swf", "--option=problem=msfq", "--option=as=jobs")
    assert "--output FILE: beside it goes toy.parquet" in said


def test_a_table_or_a_dump_is_a_log_where_that_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "jobs.csv").write_text("when,cpus,run\n0,1,5\n2,2,5\n")
    words = ("--option", "problem=msfq", "--option", "as=jobs", "--option", "processors=4")
    more = ("--option", "submit=when", "--option", "need=cpus", "-o", tmp_path / "j.json")
    assert "2 of 2 jobs" in run("convert", tmp_path / "jobs.csv", *words, *more).stderr
    (tmp_path / "dump.txt").write_text("JobID|Submit|Elapsed|NCPUS\n1|100|00:05|2\n")
    assert (
        "1 of 1 jobs"
        in run("convert", tmp_path / "dump.txt", *words, "-o", tmp_path / "d.json").stderr
    )


def test_several_policies_in_a_sweep(log: Path, tmp_path: Path) -> None:
    names = ["fcfs", "first-fit", "msf", "adaptive-quickswap", "easy", "conservative", "nmsr"]
    rows = bench([log], policies=names)
    ended = {row.policy: row.termination for row in rows}
    assert ended.pop("nmsr") == "not-applicable"
    assert set(ended.values()) == {"completed"}
    assert all(not row.violations for row in rows)


def test_a_log_goes_along_where_its_instance_does(tmp_path: Path) -> None:
    dump(queue_of(*random_jobs(7)), tmp_path / "a.json")
    source = FileSource(tmp_path / "a.json")
    packed, digest = source.packed(), source.digest()
    assert packed.digest() == digest
    original: Any = source.load()
    (tmp_path / "log.parquet").rename(tmp_path / "gone.parquet")
    moved: Any = packed.load()
    assert moved.jobs.submit.tolist() == original.jobs.submit.tolist()
    dump(queue_of(*random_jobs(8, servers=original.servers)), tmp_path / "b.json")
    assert source.digest() != digest, "another log is another instance"


def test_a_log_is_bounded_and_its_windows_are_solved(log: Path, tmp_path: Path) -> None:
    words = ("--certificate", "-o", tmp_path / "b.json")
    shown = run("solve", log, *words).stdout
    assert "best policy" in shown
    assert "schedules that preempt nobody" in shown
    document = json.loads((tmp_path / "b.json").read_text())
    assert document["formulation"] == "bound"
    assert document["objective"] == min(document["solution"]["policies"].values())
    assert document["bound"] == max(document["solution"]["bounds"].values())
    assert document["bound_checked"]
    assert "re-proved" in run("check", log, tmp_path / "b.json").stdout
    words = ("--formulation", "window", "--option", "first=3", "--option", "count=5", "--json")
    document = json.loads(run("solve", log, *words, "-o", tmp_path / "w.json").stdout)
    assert document["solution_status"] == "optimal"
    assert [one["job"] for one in document["solution"]["starts"]] == [3, 4, 5, 6, 7]
    run("check", log, tmp_path / "w.json")
    run("plot", tmp_path / "w.json", "-o", tmp_path / "w.png")
    for name in ("threshold", "optimal-policy"):
        assert "formulations bound and window" in refused("solve", log, "--formulation", name)


def test_a_window_of_a_log_and_an_empty_one(tmp_path: Path) -> None:
    text = "; MaxProcs: 4\n; UnixStartTime: 1027839845\n" + SUBMITS
    (tmp_path / "toy.swf").write_text(text)
    words = ["convert", tmp_path / "toy.swf", "--option", "as=jobs", "-o", tmp_path / "w.json"]
    assert "11 of 11 jobs" in run(*words, "--option", "from=100", "--option", "to=144").stderr
    date = "from=2002-07-28T07:05:45"  # a hundred seconds on
    assert "35 of 35 jobs" in run(*words, "--option", date).stderr

    empty = refused(*words, "--option=from=2031-01-01", "--option=to=2032-01-01")
    assert "0 (2002-07-28T07:04:05) to 236 (2002-07-28T07:08:01)" in empty
    assert "end or to" in refused(*words, "--option=to=2", "--option=end=3")
    assert "date" in refused(*words, "--option=from=soon")
    (tmp_path / "jobs.csv").write_text("submit,need,run\n0,1,5\n2,2,5\n")
    plain = [
        "convert",
        tmp_path / "jobs.csv",
        "--option",
        "as=jobs",
        "--option",
        "processors=4",
        "-o",
        tmp_path / "p.json",
    ]
    assert "no dates" in refused(*plain, "--option=from=2024-01-01")
    assert "from 0 to 2" in refused(*plain, "--option=from=3")


def test_a_log_and_what_is_found_for_it_are_drawn(log: Path, tmp_path: Path) -> None:
    queue: Any = load(log)
    figure = log_drawing.log(queue)
    assert "60 jobs on 4 servers, submitted from 0 to 236" in figure.get_suptitle()
    starts = np.array([0.0, 1.0, 5.0])
    held = log_drawing._held(starts, starts + 2, np.array([1, 2, 4]), np.array([0.0, 1, 2, 6]))
    assert held.tolist() == [1.0, 3.0, (2 + 4) / 4]
    run("evaluate", log, "--policy", "fcfs,easy", "-o", tmp_path / "r.json")
    run("plot", tmp_path / "r.json", "--instance", log, "-o", tmp_path / "r.png")
    words = ("--formulation", "window", "--option", "count=5", "-o", tmp_path / "w.json")
    run("solve", log, *words)
    run("plot", tmp_path / "w.json", "--instance", log, "-o", tmp_path / "w.svg")
    run("plot", log, "-o", tmp_path / "log.png")
    assert all((tmp_path / name).stat().st_size > 5000 for name in ("r.png", "w.svg", "log.png"))
