"""Policies for logs: compiled replays against plain definitions, and what each policy promises."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders import log_oracle
from builders.effort import tried
from builders.msfq import queue_of, random_jobs, random_parts, with_releases
from hypothesis import strategies as st
from msgspec.structs import replace as replace_record

from schedopt.instances.errors import InputError
from schedopt.instances.files import load
from schedopt.instances.msfq.logs import Jobs
from schedopt.policies.msfq.logs import registration
from schedopt.policies.registry import NotApplicableError, registered

SEEDS = st.integers(0, 2**32 - 1)
POLICIES = registered("msfq")
PRIORITIES = (
    """{"weights": {"age": 3, "size": 1, "fair_share": 4, "qos": 2},
    "max_age": 9, "half_life": 7, "shares": {"1": 3, "2": 0.5}, "qos_by": "user",
    "qos": {"3": 1.5}, "backfill": "easy"}""",
    """{"weights": {"age": 1, "size": -2, "fair_share": 3}, "max_age": 20, "half_life": 9,
    "backfill": "stop"}""",
)
VARIANTS: list[tuple[str, dict[str, Any]]] = [
    *[(name, {}) for name in registration.LOG_POLICIES],
    *[(name, {"fill": fill}) for name in ("sjf", "wfp3") for fill in ("skip", "easy")],
    ("saf", {"fill": "easy"}),
    *[("weighted", {"priority": priority}) for priority in PRIORITIES],
]


@pytest.mark.parametrize(("name", "options"), VARIANTS, ids=str)
@tried(80, seed=SEEDS, estimates=st.sampled_from(["given", "exact"]), several=st.booleans())
def test_log_policy_starts_equal_their_definition(
    name: str, options: dict[str, Any], seed: int, estimates: str, several: bool
) -> None:
    queue = random_parts(seed, 25) if several else queue_of(*random_jobs(seed, 25))
    starts = registration.replay_log(queue, name, estimates, **options)
    for _, rows, one in queue.parts():
        plain = log_oracle.played(one, name, estimates, options)
        assert starts[rows].tolist() == plain.starts


SMALL = Jobs.of(
    [0, 0, 1, 2, 2],
    [2, 3, 1, 4, 1],
    [10, 4, 8, 3, 20],
    [10, 4, 10, 3, 20],
    user=["a", "b", "a", None, "b"],
)


def test_log_policy_uses_the_estimates_asked_for(tmp_path: Path) -> None:
    bare = queue_of(Jobs.of([0, 0], [1, 1], [2, 3]), 1)
    run = POLICIES["easy"].run
    found = run(bare)
    assert (found.estimates, found.note) == (
        "exact",
        "the log has no estimates: run times are known exactly",
    )
    with pytest.raises(NotApplicableError, match="this log has no estimates"):
        run(bare, estimates="given")
    some = queue_of(Jobs.of([0, 0, 0], [1, 1, 1], [2, 3, 4], [9, np.nan, 1]), 1)
    found = run(some, starts=str(tmp_path / "starts.csv"))
    assert found.estimates == "given"
    assert found.note == (
        "1 jobs without an estimate are planned with their run times; "
        "so are 1 jobs that ran longer than their estimates"
    )
    assert (tmp_path / "starts.csv").read_text() == "job,start\n0,0\n1,2\n2,5\n"
    assert run(some, estimates="exact").estimates == "exact"
    with pytest.raises(InputError, match="a file other than the log"):
        registration.write_starts(np.zeros(3), str(tmp_path / "log.parquet"), some)


def test_log_policy_gives_the_reason_if_it_does_not_apply() -> None:
    tiny = load("example:one-or-all")
    with pytest.raises(NotApplicableError, match="replays logs"):
        POLICIES["easy"].run(tiny)
    nobody = queue_of(Jobs.of([0], [1], [1]), 1)
    with pytest.raises(NotApplicableError, match="fair_share requires the column user"):
        POLICIES["weighted"].run(nobody, priority='{"weights": {"fair_share": 1}}')
    with pytest.raises(NotApplicableError, match="random clock"):
        POLICIES["nmsr"].run(queue_of(SMALL, 4))
    with pytest.raises(NotApplicableError, match="needs classes of 1 and of 4"):
        POLICIES["msfq"].run(queue_of(SMALL, 4))


@tried(40, seed=SEEDS, several=st.booleans(), releases=st.booleans())
def test_recorded_starts_of_easy_measure_as_easy(seed: int, several: bool, releases: bool) -> None:
    queue = random_parts(seed, 25) if several else queue_of(*random_jobs(seed, 25))
    queue = with_releases(queue, seed) if releases else queue
    easy = POLICIES["easy"].run(queue)
    jobs = replace(queue.jobs, start=easy.starts)
    found = POLICIES["recorded"].run(queue.with_jobs(jobs))
    assert replace_record(found, estimates=easy.estimates, note=easy.note) == easy


def test_recorded_gives_the_reason_if_it_does_not_apply() -> None:
    run = POLICIES["recorded"].run
    with pytest.raises(NotApplicableError, match="classes of jobs"):
        run(load("example:one-or-all"))
    with pytest.raises(NotApplicableError, match="no start times"):
        run(queue_of(SMALL, 4))
    with pytest.raises(NotApplicableError, match="1 jobs have no start in the log, the first is 1"):
        run(queue_of(Jobs.of([0, 0], [1, 1], [2, 3], start=[0, np.nan]), 2))
    found = run(queue_of(Jobs.of([0, 0, 3], [1, 1, 1], [2, 3, 1], start=[0, 1, 4]), 1))
    assert found.note == "up to 2 of 1 servers are in use at the same time"
    assert (found.mean_response_time, found.mean_wait) == (8 / 3, 2 / 3)
    with pytest.raises(InputError, match="row 1, column 'start'"):
        Jobs.of([0, 5], [1, 1], [2, 3], start=[0, 4])
