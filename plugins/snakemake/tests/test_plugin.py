"""Random calls of the interface beside Snakemake's own MILP, and a real workflow."""

from __future__ import annotations

import logging
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("snakemake")
from snakemake.scheduling import greedy, milp
from snakemake_scheduler_plugin_schedopt import Scheduler, SchedulerSettings
from snakemake_scheduler_plugin_schedopt.choosing import Call

CALLS = int(os.environ.get("SCHEDOPT_CALLS", "1000"))


class File(str):
    """An input file, temporary or not."""

    temp = True

    def is_flagged(self, flag: str) -> bool:
        return flag == "temp" and self.temp


class Job:
    """A job with the attributes of Snakemake's interface."""

    def __init__(self, name: str, resources: dict, priority: int = 0, inputs: tuple = ()) -> None:
        self.name, self.scheduler_resources = name, resources
        self.priority, self.input = priority, list(inputs)

    def __repr__(self) -> str:
        return self.name


class Dag:
    """A graph in which no job needs another."""

    def job_dependencies(self, job: Job) -> list:
        return []


def ours() -> Scheduler:
    return Scheduler(Dag(), SchedulerSettings(), logging.getLogger("plugin"))


def random_call(seed: int) -> tuple[list, list, dict, dict]:
    pick = random.Random(seed)
    sizes: dict = {}
    files = []
    for i in range(pick.choice([0, 0, 3, 8])):
        files.append(File(f"f{i}"))
        sizes[files[-1]] = pick.choice([0, 10**6, 10**9, 30 * 10**9])
    jobs = []
    for i in range(pick.randint(1, 14)):
        resources = {"_cores": pick.randint(0, 6), "_nodes": 1, "mem_mb": pick.randint(0, 9) * 500}
        if pick.random() < 0.3:
            resources["gpu"] = pick.randint(0, 2)
        inputs = pick.sample(files, min(len(files), pick.randint(0, 3)))
        priority = pick.choice([0, 0, 1, 5]) if seed % 3 else 0
        jobs.append(Job(f"j{i}", resources, priority, inputs))
    later = [Job(f"l{i}", {}, 0, pick.sample(files, 1)) for i in range(pick.randint(0, 2)) if files]
    free = {"_cores": pick.randint(0, 16), "_nodes": 10**9, "mem_mb": pick.randint(0, 16) * 500}
    if pick.random() < 0.5:
        free["gpu"] = pick.randint(0, 3)
    return jobs, jobs + later, free, sizes


@pytest.mark.parametrize("part", range(10))
def test_no_call_is_worth_less_or_more_than_the_milp_s(part: int) -> None:
    solver = milp.Scheduler(Dag(), milp.SchedulerSettings(), logging.getLogger("milp"))
    second = greedy.Scheduler(Dag(), greedy.SchedulerSettings(), logging.getLogger("greedy"))
    for seed in range(part * CALLS // 10, (part + 1) * CALLS // 10):
        jobs, remaining, free, sizes = random_call(seed)
        mine = ours().select_jobs(jobs, remaining, free, sizes)
        assert mine is not None
        for name, amount in free.items():
            assert sum(job.scheduler_resources.get(name, 0) for job in mine) <= amount
        theirs = solver.select_jobs(jobs, remaining, free, sizes)
        call = Call.of(jobs, remaining, free, sizes, pytest.fail)
        worth = call.worth([jobs.index(job) for job in mine])
        if theirs is None:  # which is what an empty choice of the MILP becomes
            assert len(mine) == bool(second.select_jobs(jobs, remaining, free, sizes))
        else:
            other = call.worth([jobs.index(job) for job in theirs])
            assert worth == pytest.approx(other, rel=1e-9), (seed, mine, theirs)


def test_a_wrong_amount_is_said_once_and_the_workflow_goes_on(caplog) -> None:
    jobs, scheduler = [Job("a", {"_cores": 1, "mem_mb": -5}), Job("b", {"_cores": 1})], ours()
    for _ in range(2):
        free = {"_cores": 2, "mem_mb": 1, "site": "x"}
        assert scheduler.select_jobs(jobs, jobs, free, {}) == jobs
    (said,) = [record.message for record in caplog.records]
    assert said.startswith("schedopt: job a: found mem_mb -5; expected a number >= 0")


def test_something_starts_wherever_something_fits() -> None:
    jobs = [
        Job("low", {"_cores": 1}, -5),
        Job("lower", {"_cores": 1}, -9),
        Job("wide", {"_cores": 9}),
    ]
    assert ours().select_jobs(jobs[:2], jobs, {"_cores": 1}, {}) == jobs[:1]
    assert ours().select_jobs(jobs[2:], jobs, {"_cores": 1}, {}) == []
    assert ours().select_jobs([], [], {"_cores": 1}, {}) == []


def test_what_fails_is_logged_and_left_to_the_greedy_scheduler(caplog) -> None:
    job = Job("a", {"_cores": 1}, 0, [File("f")])
    assert ours().select_jobs([job], [job], {"_cores": 1}, {}) is None  # no size of f
    assert "greedy scheduler takes over" in caplog.text


SNAKEFILE = """
SAMPLES = range(50)

rule all:
    input: "total.txt"

rule make:
    output: temp("made/{i}.txt")
    resources: mem_mb=lambda w: 50 + 10 * (int(w.i) % 5)
    priority: 1
    shell: "echo {wildcards.i} > {output}"

rule left:
    input: "made/{i}.txt"
    output: temp("left/{i}.txt")
    group: "pair"
    resources: mem_mb=100
    shell: "cp {input} {output}"

rule right:
    input: "made/{i}.txt", "left/{i}.txt"
    output: "right/{i}.txt"
    group: "pair"
    resources: mem_mb=60
    priority: 5
    shell: "cat {input} > {output}"

rule check:
    input: "right/{i}.txt"
    output: "check/{i}.txt"
    resources: mem_mb=40
    shell: "cp {input} {output}"

rule total:
    input: expand("check/{i}.txt", i=SAMPLES)
    output: "total.txt"
    shell: "cat {input} > {output}"
"""


def test_a_workflow_of_two_hundred_jobs_from_start_to_end(tmp_path: Path) -> None:
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    flags = [
        "-m",
        "snakemake",
        "--cores",
        "4",
        "--resources",
        "mem_mb=300",
        "--scheduler",
        "schedopt",
    ]
    done = subprocess.run(
        [sys.executable, *flags], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "greedy scheduler takes over" not in done.stderr
    assert "202 of 202 steps (100%) done" in done.stderr
    assert len((tmp_path / "total.txt").read_text().splitlines()) == 100
    assert not list((tmp_path / "made").glob("*")), "temporary files are gone"
