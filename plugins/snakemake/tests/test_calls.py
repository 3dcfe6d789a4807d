"""Random calls of the interface, held against Snakemake's own MILP; bad amounts; rules."""

from __future__ import annotations

import json
import logging
import os
import random

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
    """What the interface shows of a job."""

    def __init__(self, name: str, resources: dict, priority: int = 0, inputs: tuple = ()) -> None:
        self.name, self.scheduler_resources = name, resources
        self.priority, self.input = priority, list(inputs)

    def __repr__(self) -> str:
        return self.name


class Dag:
    """A graph of which some jobs have ended."""

    ended: frozenset = frozenset()

    def __init__(self, needs: dict | None = None) -> None:
        self.needs = needs or {}

    def job_dependencies(self, job: Job) -> list:
        return self.needs.get(job, [])

    def finished(self, job: Job) -> bool:
        return job in self.ended


def ours(dag: Dag | None = None, **settings: object) -> Scheduler:
    return Scheduler(dag or Dag(), SchedulerSettings(**settings), logging.getLogger("plugin"))


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


SAID = [
    ({"mem_mb": -5}, "job a: found mem_mb -5; expected a number >= 0"),
    ({"mem_mb": "much"}, "job a: found mem_mb 'much'; expected a number >= 0"),
]


@pytest.mark.parametrize(("asked", "words"), SAID)
def test_what_cannot_be_right_is_said_once_and_the_workflow_goes_on(asked, words, caplog) -> None:
    jobs, scheduler = [Job("a", {"_cores": 1, **asked}), Job("b", {"_cores": 1})], ours()
    with caplog.at_level(logging.INFO):
        for _ in range(2):
            free = {"_cores": 2, "mem_mb": 1, "site": "x"}
            assert scheduler.select_jobs(jobs, jobs, free, {}) == jobs
    (said,) = [record.message for record in caplog.records]
    assert said.startswith(f"schedopt: {words}")


def test_something_starts_wherever_something_fits() -> None:
    jobs = [
        Job("low", {"_cores": 1}, -5),
        Job("lower", {"_cores": 1}, -9),
        Job("wide", {"_cores": 9}),
    ]
    assert ours().select_jobs(jobs[:2], jobs, {"_cores": 1}, {}) == jobs[:1]
    assert ours().select_jobs(jobs[2:], jobs, {"_cores": 1}, {}) == []
    assert ours().select_jobs([], [], {"_cores": 1}, {}) == []


def test_rules_cap_a_group_and_running_jobs_count(tmp_path, caplog) -> None:
    rules = tmp_path / "rules.json"
    rules.write_text(
        json.dumps(
            [
                {"name": "half", "by": "rule", "at_most": {"a": 0.5}},
                {"name": "ghost", "by": "rule", "at_most": {"nobody": 0.5}},
            ]
        )
    )
    jobs = [Job("a", {"_cores": 1}, 9) for _ in range(6)] + [
        Job("b", {"_cores": 1}) for _ in range(6)
    ]
    with caplog.at_level(logging.WARNING):
        scheduler = ours(rules=rules)
        first = scheduler.select_jobs(jobs, jobs, {"_cores": 6}, {})
        assert [job.name for job in first] == list("aaabbb")
        left = [job for job in jobs if job not in first]
        scheduler.dag.ended = frozenset(first[1:])  # one of rule a is running still
        second = scheduler.select_jobs(left, left, {"_cores": 5}, {})
        assert [job.name for job in second].count("a") == 2
    said = "\n".join(record.message for record in caplog.records)
    assert said.count("no job of rule 'nobody'") == 1
    for text, words in (
        ('[{"by": "colour", "at_most": {"a": 1}}]', "[0].by: found 'colour'"),
        ('[{"by": "rule", "at_most": {"a": 2}}]', "[0].at_most.a: found 2"),
        ("{", "expected JSON"),
    ):
        rules.write_text(text)
        assert ours(rules=rules).select_jobs(jobs, jobs, {"_cores": 6}, {}) == jobs[:6]
        assert words in caplog.text


@pytest.mark.parametrize("group", [False, True])
@pytest.mark.parametrize("of", ["_cores", "mem_mb"])
def test_where_nothing_runs_rules_give_way_for_one_job(
    of: str, *, group: bool, tmp_path, caplog
) -> None:
    rules = tmp_path / "rules.json"
    rules.write_text(json.dumps([{"name": "cap", "by": "rule", "at_most": {"a": 0.5}, "of": of}]))
    jobs = [Job("a", {"_cores": 3, "_nodes": 1, "mem_mb": 30}, priority) for priority in (1, 5, 2)]
    if group:
        for job in jobs:
            job.name, job.jobs = "group", [Job("a", {})]
    free = {"_cores": 4, "_nodes": 2**63 - 1, "mem_mb": 40, "_job_count": 9}
    scheduler = ours(rules=rules)
    assert scheduler.select_jobs(jobs, jobs, free, {}) == [jobs[1]]
    assert "rule cap: nothing runs, and rules hold every job back" in caplog.text
    left = [jobs[0], jobs[2]]
    busy = {"_cores": 4, "_nodes": 2**63 - 2, "mem_mb": 40, "_job_count": 8}  # it takes no core
    assert scheduler.select_jobs(left, left, busy, {}) == []
    # The job has failed: Snakemake says of it neither that it runs nor that it has ended.
    free["_job_count"] = 3
    other = Job("b", {"_cores": 1, "_nodes": 1})
    assert scheduler.select_jobs([*left, other], left, free, {}) == [other]
    assert scheduler.select_jobs(left, left, free, {}) == [jobs[2]]
    assert caplog.text.count("give way") == 1


def test_what_fails_is_logged_and_left_to_the_greedy_scheduler(caplog) -> None:
    job = Job("a", {"_cores": 1}, 0, [File("f")])
    assert ours().select_jobs([job], [job], {"_cores": 1}, {}) is None  # no size of f
    assert "greedy scheduler takes over" in caplog.text
