"""Policies of a user's own on every problem, registered by one import."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

import schedopt
from schedopt.policies import registry

FILE = """
import numpy as np
import schedopt


@schedopt.dssp.selector("none-at-all", source="a test", summary="no job")
def none_at_all(items):
    return np.zeros(items.weights.size, dtype=np.bool_)


@schedopt.dssp.dispatcher("last", source="a test", summary="the last job in the file")
def last(night):
    return -np.arange(len(night.jobs), dtype=float)


@schedopt.hesrpt.share_policy("evenly", source="a test", summary="the same for each")
def evenly(instance, jobs, left):
    return np.full(left.size, 1 / left.size)


@schedopt.epoch.packing("one-by-one", source="a test", summary="every job in an epoch of its own")
def one_by_one(instance):
    return [[job] for job in range(len(instance.jobs))]


@schedopt.msfq.admission_rule("whatever", source="a test", summary="whatever fits")
def whatever(state):
    return next((job for job in state.jobs if job.need <= state.free), None)
"""


@pytest.fixture(scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    before = registry.everything()
    file = tmp_path_factory.mktemp("policies") / "mine.py"
    file.write_text(FILE)
    yield file
    for policy in registry.everything():
        if policy not in before and policy.source == "a test":
            registry.forget(policy)


@pytest.mark.parametrize(
    ("example", "policy", "objective"),
    [
        ("night", "none-at-all+last", 0.0),
        ("twins", "evenly", 0.894427191),
        ("fig7", "one-by-one", 1400.0),
    ],
)
def test_a_policy_of_any_problem_is_registered_by_one_import(
    mine: Path, example: str, policy: str, objective: float
) -> None:
    result = schedopt.evaluate(schedopt.example(example), policy, policy_files=[mine])
    assert result.checked
    assert result.objective == pytest.approx(objective)


def test_a_dispatcher_goes_by_its_key(mine: Path) -> None:
    night = schedopt.example("night")
    backwards = msgspec.structs.replace(night, jobs=night.jobs[::-1])
    last = schedopt.evaluate(night, "last", policy_files=[mine])
    assert last.objective == schedopt.evaluate(backwards, "first").objective


def test_a_group_that_the_archive_lacks_is_named_once() -> None:
    with pytest.raises(schedopt.InputError, match=r"^found 'hesrpt-unequal'; expected a group"):
        schedopt.bench("archive:hesrpt-unequal", policies=["equi"])
