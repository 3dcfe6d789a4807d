"""What instances may not say: from files, and from Python in the same words."""

import copy
import json
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from builders.epoch import packing
from builders.refusals import refusal
from pytest import mark, raises

from schedopt.formulations.constraints import Constraint
from schedopt.instances import epoch, files, msfq
from schedopt.instances.constraints import AtMost, FairShare, Forbid, Seats
from schedopt.instances.decoding import convert
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.epoch import Job as Minimum
from schedopt.instances.errors import InputError
from schedopt.instances.hesrpt import Job as Sized
from schedopt.instances.msfq import JobClass

GOOD: dict[str, dict[str, Any]] = {
    "epoch": {
        "problem": "epoch",
        "name": "n",
        "nodes": 8,
        "inequity": 1,
        "jobs": [{"name": "a", "minimum": 3}, {"name": "b", "minimum": 2}],
    },
    "hesrpt": {
        "problem": "hesrpt",
        "name": "n",
        "servers": 10,
        "speedup": {"kind": "power", "p": 0.5},
        "jobs": [{"name": "a", "size": 1}, {"name": "b", "size": 2, "groups": {"team": "fx"}}],
    },
    "msfq": {
        "problem": "msfq",
        "name": "q",
        "servers": 4,
        "classes": [
            {"need": 1, "arrival_rate": 1.0, "service_rate": 1.0},
            {"need": 4, "arrival_rate": 0.25, "service_rate": 1.0},
        ],
    },
}
SHARE = {"kind": "share", "jobs": ["a"]}
FAIR = {"kind": "fair-share", "by": "team", "at_most": {"fx": 1}}
TIME = {"kind": "response-time", "need": 4, "at_most": 1}
REQUIRE = {"kind": "require", "jobs": ["a"]}
GONE = object()


def changed(problem: str, key: str, value: Any) -> bytes:
    """Return a good document with another value under a key such as ``jobs.0.size``."""
    document = copy.deepcopy(GOOD[problem])
    *way, last = [int(part) if part.isdigit() else part for part in key.split(".")]
    inner: Any = document
    for part in way:
        inner = inner[part]
    if value is GONE:
        del inner[last]
    else:
        inner[last] = value
    return json.dumps(document).encode()


def table(*points: Any) -> dict[str, Any]:
    return {"kind": "table", "points": points}


# problem, key, value, place, words of the message
BAD: list[tuple[str, str, Any, str, str]] = [
    ("epoch", "nodes", 0, "nodes", ">= 1"),
    ("epoch", "nodes", 2.5, "nodes", "2.5"),
    ("epoch", "nodes", GONE, "", "'nodes'"),
    ("epoch", "inequity", -1, "inequity", ">= 0"),
    ("epoch", "inequity", GONE, "", "'inequity'"),
    ("epoch", "jobs", [], "jobs", ">= 1"),
    ("epoch", "jobs", GONE, "", "'jobs'"),
    ("epoch", "jobs.0.minimum", 0, "jobs[0].minimum", ">= 1"),
    ("epoch", "jobs.0.minimum", 1.5, "jobs[0].minimum", "1.5"),
    ("epoch", "jobs.0.minimum", 9, "jobs[0].minimum", "at most 8"),
    ("epoch", "jobs.1.name", "a", "jobs[1].name", "jobs[0] has it"),
    ("epoch", "jobs.0", {"name": "a", "minimun": 1}, "jobs[0]", "did you mean 'minimum'?"),
    ("epoch", "constraints", [REQUIRE], "constraints[0].kind", "together"),
    (
        "epoch",
        "constraints",
        [REQUIRE | {"kind": "apart", "jobs": ["a", "c"]}],
        "constraints[0].jobs[1]",
        "'c'",
    ),
    ("hesrpt", "servers", 0, "servers", "found 0"),
    ("hesrpt", "servers", 2.5, "servers", "2.5"),
    ("hesrpt", "jobs", [], "jobs", ">= 1"),
    ("hesrpt", "jobs.0.size", 0, "jobs[0].size", "> 0"),
    ("hesrpt", "jobs.0.size", -1, "jobs[0].size", "> 0"),
    ("hesrpt", "jobs.0.size", 1e200, "jobs[0].size", "1e+200"),
    ("hesrpt", "jobs.0.size", nan, "line 1, column 122", "NaN"),
    ("hesrpt", "jobs.0.weight", 0, "jobs[0].weight", "> 0"),
    ("hesrpt", "jobs.0.arrival", -1, "jobs[0].arrival", ">= 0"),
    ("hesrpt", "jobs.1.name", "a", "jobs[1].name", "jobs[0] has it"),
    ("hesrpt", "jobs.0", {"name": "a", "sice": 1}, "jobs[0]", "sice"),
    ("hesrpt", "speedup.p", 0, "speedup.p", "> 0"),
    ("hesrpt", "speedup.p", 1.5, "speedup.p", "<= 1"),
    ("hesrpt", "speedup.p", nan, "line 1, column 85", "NaN"),
    ("hesrpt", "speedup", {"kind": "amdahl", "parallel": 0}, "speedup.parallel", "> 0"),
    ("hesrpt", "speedup", {"kind": "amdahl", "parallel": 1.1}, "speedup.parallel", "<= 1"),
    ("hesrpt", "speedup", {"kind": "linear"}, "speedup.kind", "linear"),
    ("hesrpt", "speedup", None, "jobs[0]", "`speedup`"),
    ("hesrpt", "speedup", table([1, 1], [2, 3]), "speedup.points[1][1]", "concave"),
    ("hesrpt", "speedup", table([1, 1], [1, 2]), "speedup.points[1][0]", "over 1"),
    ("hesrpt", "speedup", table([1, 1], [2, 0.5]), "speedup.points[1][1]", "no less than 1"),
    ("hesrpt", "speedup", table([0, 1], [2, 3]), "speedup.points[0][1]", "0, with no server"),
    ("hesrpt", "speedup", table([0, 0]), "speedup.points", "a point with servers"),
    ("hesrpt", "speedup", table(), "speedup.points", ">= 1"),
    ("hesrpt", "objective", "mean", "objective", "'mean'"),
    (
        "hesrpt",
        "constraints",
        [SHARE | {"jobs": ["c"], "at_most": 1}],
        "constraints[0].jobs[0]",
        "'c'",
    ),
    ("hesrpt", "constraints", [SHARE], "constraints[0]", "at_most"),
    (
        "hesrpt",
        "constraints",
        [SHARE | {"at_least": 0.5, "at_most": 0.2}],
        "constraints[0].at_least",
        "at most 0.2",
    ),
    ("hesrpt", "constraints", [FAIR | {"at_most": {"f": 1}}], "constraints[0].at_most.f", "'fx'"),
    ("hesrpt", "constraints", [FAIR | {"of": "selected"}], "constraints[0].of", "no `of`"),
    ("hesrpt", "constraints", [FAIR | {"window": 2}], "constraints[0].window", "at every moment"),
    ("hesrpt", "constraints", [REQUIRE], "constraints[0].kind", "require"),
    ("msfq", "classes.0.arrival_rate", 0, "classes[0].arrival_rate", "> 0"),
    ("msfq", "classes.1.arrival_rate", -1, "classes[1].arrival_rate", "> 0"),
    ("msfq", "classes.0.arrival_rate", nan, "line 1, column 88", "NaN"),
    ("msfq", "classes.0.service_rate", 0, "classes[0].service_rate", "> 0"),
    ("msfq", "classes.1.need", 5, "classes[1].need", "at most 4"),
    ("msfq", "classes.1.need", 1, "classes[1].need", "classes[0] has it"),
    ("msfq", "classes.0.need", 1.5, "classes[0].need", "a whole number"),
    ("msfq", "classes.0.need", 0, "classes[0].need", ">= 1"),
    ("msfq", "servers", 0, "servers", ">= 1"),
    ("msfq", "classes", [], "classes", ">= 1"),
    ("msfq", "classes.0.sizes", {"kind": "lognormal", "scv": 0}, "classes[0].sizes.scv", "> 0"),
    ("msfq", "classes.0.sizes", {"kind": "pareto"}, "classes[0].sizes.kind", "bounded-pareto"),
    (
        "msfq",
        "classes.0.sizes",
        {"kind": "empirical", "values": [1, 0]},
        "classes[0].sizes.values[1]",
        "> 0",
    ),
    ("msfq", "classes.0.rate", 1, "classes[0]", "'rate'"),
    ("msfq", "objective", "median", "objective", "'median'"),
    ("msfq", "constraints", [TIME | {"need": 3}], "constraints[0].need", "'3'"),
    ("msfq", "constraints", [TIME | {"at_most": 0}], "constraints[0].at_most", "> 0"),
]


@pytest.mark.parametrize(("problem", "key", "value", "place", "words"), BAD)
def test_bad_input_is_refused_with_its_place(
    problem: str, key: str, value: Any, place: str, words: str
) -> None:
    error = refusal(files.parse, changed(problem, key, value), file="i.json")
    assert (error.file, error.place) == ("i.json", place)
    assert words in str(error)


@pytest.mark.parametrize("problem", GOOD)
def test_a_round_trip(problem: str) -> None:
    instance = files.parse(json.dumps(GOOD[problem]).encode())
    assert files.parse(files.encode(instance)) == instance


def test_records_made_in_python_are_checked_too() -> None:
    assert refusal(epoch.Job, name="a", minimum=0).place == "minimum"
    assert refusal(epoch.Instance, name="n", nodes=4, inequity=0, jobs=()).place == "jobs"
    assert refusal(packing, [1], 4, -1).place == "inequity"
    for rate in (0.0, -1.0, nan, inf):
        for rates in ((rate, 1.0), (1.0, rate)):
            error = refusal(msfq.JobClass, need=1, arrival_rate=rates[0], service_rate=rates[1])
            assert error.expected in ("a number > 0", "a finite number", "a finite number > 0")


JOB = {"name": "a", "demand": 1, "critical_path": 1}
WRONG: list[tuple[type, dict[str, Any]]] = [
    (FairShare, {"by": "team", "at_most": {"fx": 40}}),
    (FairShare, {"by": "team", "each": {"at_most": 3}}),
    (Seats, {"name": "houdini", "capacity": -3, "use": {}}),
    (AtMost, {"count": 2.7, "jobs": ["a"]}),
    (Instance, {"name": "n", "processors": 2.5, "deadline": 10, "jobs": []}),
    (Instance, {"name": "n", "processors": 2, "deadline": 10, "jobs": [{**JOB, "reward": -1}]}),
    (Job, {**JOB, "reward": "1"}),
    (Job, {**JOB, "reward": 1, "groups": {"team": 3}}),
    (Minimum, {"name": "a", "minimum": True}),
    (Sized, {"name": "a", "size": None}),
    (JobClass, {"need": 1, "arrival_rate": "1", "service_rate": 1}),
]


@mark.parametrize(
    ("kind", "given"), WRONG, ids=[f"{k.__name__}-{i}" for i, (k, _) in enumerate(WRONG)]
)
def test_wrong_fields_are_told_as_of_a_file(kind: Any, given: dict[str, Any]) -> None:
    with raises(InputError) as of_file:
        convert(given, kind, "")
    with raises(InputError) as made:
        kind(**given)
    assert str(made.value) == str(of_file.value)
    assert made.value.found


def test_numbers_of_numpy_and_lists_are_taken_as_python_has_them() -> None:
    job = Job(name="a", reward=np.int64(3), stages=[[np.float64(1.5)], np.array([2.0, 1.0])])  # type: ignore[arg-type]
    assert (type(job.reward), job.reward) == (int, 3)
    assert job.stages == ((1.5,), (2.0, 1.0))
    night = Instance(name="n", processors=np.int64(2), deadline=10, jobs=[job])  # type: ignore[arg-type]
    assert night.jobs[0] is job


def test_records_within_may_be_written_as_json_has_them() -> None:
    rules: Any = [{"kind": "forbid", "jobs": ["a"]}]
    jobs: Any = [{**JOB, "reward": 2}]
    night = Instance(name="n", processors=2, deadline=10, jobs=jobs, constraints=rules)
    assert night.constraints == (Forbid(jobs=("a",)),)
    assert night.jobs == (Job(**JOB, reward=2),)


def test_a_kind_of_ones_own_is_taken_and_checked() -> None:
    class Budget(Constraint, frozen=True, kw_only=True, tag="budget of mine"):
        money: float

    rule = Budget(money=3)
    jobs = (Job(**JOB, reward=2),)
    night = Instance(name="n", processors=2, deadline=10, jobs=jobs, constraints=(rule,))
    assert night.constraints[0] is rule
    with raises(InputError, match="money: found '3'; expected a number"):
        Budget(money="3")


def test_what_no_file_can_hold_is_refused() -> None:
    with raises(InputError, match="expected values that a file can hold"):
        Job(**JOB, reward=object())  # type: ignore[arg-type]
    with raises(TypeError, match="rewar"):
        Job(**JOB, rewar=1)  # type: ignore[call-arg]
