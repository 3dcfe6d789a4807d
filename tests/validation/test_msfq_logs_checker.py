"""The checker of logs: what policies get passes, and whatever is wrong is named."""

from typing import Any

import msgspec
import numpy as np
from builders.effort import tried
from builders.msfq import queue_of, random_jobs, random_parts, with_releases
from hypothesis import strategies as st

from schedopt.instances.constraints import ResponseTime
from schedopt.instances.msfq import Instance, Partition, Replayed
from schedopt.instances.msfq.answers import pack_starts
from schedopt.instances.msfq.logs import Jobs
from schedopt.policies.msfq.logs.registration import LOG_POLICIES, replay_log
from schedopt.policies.msfq.summary import measure
from schedopt.solvers.question import as_document
from schedopt.solvers.result import Document
from schedopt.validation.documents import check
from schedopt.validation.report import Report

JOBS = Jobs.of([0, 0, 2], [2, 2, 3], [4, 6, 5], user=["a", "b", "a"])
QUEUE = queue_of(JOBS, 4)
STARTS = np.array([0.0, 0.0, 6.0])


def judged(queue: Instance, solution: Any, constraints: Any = (), **more: Any) -> Report:
    weighted = queue.objective == "weighted"
    value = solution.weighted_response_time if weighted else solution.mean_response_time
    policy = more.pop("policy", "x")
    document = Document(
        instance=queue.name,
        problem="msfq",
        policy=policy,
        termination="completed",
        solution_status="feasible",
        sense="minimize",
        objective=more.pop("objective", value),
        solution=as_document(solution),
        **more,
    )
    return check(queue, document, constraints)


@tried(
    60,
    seed=st.integers(0, 2**32 - 1),
    name=st.sampled_from(sorted(LOG_POLICIES)),
    objective=st.sampled_from(["mean", "weighted"]),
    several=st.booleans(),
    releases=st.booleans(),
)
def test_check_log_passes_every_policy(
    seed: int, name: str, objective: str, several: bool, releases: bool
) -> None:
    plain = queue_of(*random_jobs(seed), objective=objective)
    queue = random_parts(seed, objective=objective) if several else plain
    queue = with_releases(queue, seed) if releases else queue
    starts = replay_log(queue, name, "given")
    report = judged(queue, measure(queue, starts))
    assert report.violations == []
    assert report.unchecked == []


def moved(job: int, by: float) -> Replayed:
    starts = STARTS.copy()
    starts[job] += by
    return measure(QUEUE, starts)


def test_check_log_finds_a_start_before_the_release() -> None:
    jobs = Jobs.of([0, 0], [1, 1], [4, 4], release=[0, 3])
    queue = queue_of(jobs, 2)
    assert judged(queue, measure(queue, np.array([0.0, 3.0]))).ok
    found = judged(queue, measure(queue, np.array([0.0, 2.0]))).violations
    assert found == ["1 jobs start before their release (first: job 1, 2 before 3)"]


def test_check_log_judges_resources_of_partitions() -> None:
    jobs = Jobs.of(
        [0, 0, 0], [1, 1, 1], [4, 4, 4], partition=["a", "a", "b"], needs={"gpu": [2, 1, 0]}
    )
    parts = {"a": Partition(servers=2, resources={"gpu": 2}), "b": Partition(servers=1)}
    queue = queue_of(jobs, 3, partitions=parts)
    assert judged(queue, measure(queue, np.array([0.0, 4.0, 0.0]))).ok
    found = judged(queue, measure(queue, np.zeros(3))).violations
    assert found == ["capacity: 3 gpu busy of partition a at 0, of 2"]
    one = queue_of(jobs, 2, resources={"gpu": 9})
    found = judged(one, measure(one, np.zeros(3))).violations
    assert found == ["capacity: 3 servers busy at 0, of 2"]


def test_check_log_finds_impossible_starts() -> None:
    assert judged(QUEUE, moved(2, 0)).ok
    assert "jobs start before their submit (first: job 0, -1 before 0)" in str(
        judged(QUEUE, moved(0, -1)).violations
    )
    assert judged(QUEUE, moved(2, -1)).violations == ["capacity: 5 servers busy at 5, of 4"]
    never = msgspec.structs.replace(moved(2, 0), schedule=pack_starts(np.array([0.0, np.nan, 6.0])))
    assert "starts: not all are finite" in judged(QUEUE, never).violations


def test_check_log_judges_other_claims() -> None:
    right = measure(QUEUE, STARTS)

    def faults(**changes: Any) -> str:
        return "; ".join(judged(QUEUE, msgspec.structs.replace(right, **changes)).violations)

    assert "objective" in "; ".join(judged(QUEUE, right, objective=1.0).violations)
    assert "jobs: 4, where the log has 3" in faults(jobs=4)
    assert "the starts of 3 jobs, packed" in faults(schedule=pack_starts(STARTS[:2]))
    assert "by: ['user']" in faults(by={"user": right.by["user"]})
    user = right.by["user"]
    a = msgspec.structs.replace(user["a"], mean_wait=9.0)
    assert "by user a: mean_wait" in faults(by=right.by | {"user": user | {"a": a}})
    assert "other names" in faults(by=right.by | {"user": {"a": user["a"]}})
    assert "confidence" in faults(confidence=-1.0)
    assert "slowdown_bound: not" in faults(slowdown_bound=0.0)


def test_check_log_judges_side_constraints() -> None:
    right = measure(QUEUE, STARTS)
    assert judged(QUEUE, right, [ResponseTime(need=3, at_most=9)]).ok
    report = judged(QUEUE, right, [ResponseTime(need=3, at_most=8.9, name="wide")])
    assert report.violations == ["wide: need 3 waits 9.0, more than 8.9"]
