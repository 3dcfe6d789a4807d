"""What instances may not say: from files, and from Python in the same words.

What a single field may hold is in the schemas, which are held against the types and the loader:
here stands one refusal of each sort, and what only several fields together make wrong.
"""

import gzip
import json
import random
from contextlib import suppress
from functools import cache
from math import inf, nan
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from builders import effort
from builders.mutated_files import mutated
from builders.refusals import GONE, GOOD, changed, place_of, refusal
from hypothesis import strategies as st
from pytest import mark, raises

from schedopt.formulations.constraints import Constraint
from schedopt.instances import files, schema
from schedopt.instances.constraints import AtMost, FairShare, Forbid, Seats
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.encoding import convert
from schedopt.instances.epoch import Job as Minimum
from schedopt.instances.errors import FormatError, InputError
from schedopt.instances.examples import examples
from schedopt.instances.files import PROBLEMS
from schedopt.instances.hesrpt import Job as Sized
from schedopt.instances.msfq import JobClass

NIGHT = json.dumps(GOOD["dssp"])
DEEP = "[" * 100_000
FLIPPED = bytearray(gzip.compress(NIGHT.encode()))
FLIPPED[-6] ^= 255  # in the check sum

TEXTS: list[tuple[str | bytes, str]] = [
    (b"", "the file is empty; expected JSON"),
    *[(NIGHT[:length], "truncated") for length in (1, 40, 180)],
    (NIGHT + " x", f"line 1, column {len(NIGHT) + 3}: JSON is malformed"),
    ('{\n"problem": dssp}', "line 2, column 12: JSON is malformed"),
    (b'{"problem":"d\xffssp"}', "line 1, column 14: found bytes that are not; expected text in"),
    (f'{{"extra":{DEEP}{"]" * 100_000},{NIGHT[1:]}', "JSON is nested too deeply"),
    (NIGHT.replace("[[1]]", "[[1e999]]"), "jobs[0].stages[0][0]: Number out of range"),
    ('{"name":"x"}', "missing required field `problem`"),
    ('{"problem":"dsp"}', "problem: found 'dsp'; expected a problem (did you mean 'dssp'?"),
    (NIGHT.replace('"reward"', '"rewrad"', 1), "jobs[0]: Object contains unknown field `rewrad`"),
    (NIGHT.replace('"reward": 1, ', "", 1), "jobs[0]: Object missing required field `reward`"),
    (NIGHT.replace('"reward": 1', '"reward": "1"', 1), "jobs[0].reward: Expected `float`"),
    (NIGHT.replace('"team"', '""'), "key in jobs[0].groups: Expected `str` of length >= 1"),
    (gzip.compress(NIGHT.encode())[:-12], "expected an intact gzip file"),
    (bytes(FLIPPED), "expected an intact gzip file"),
]


@mark.parametrize(("text", "says"), TEXTS, ids=range(len(TEXTS)))
def test_load_refuses_malformed_documents(text: str | bytes, says: str, tmp_path: Path) -> None:
    path = tmp_path / "night.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    said = str(refusal(files.load, path))
    assert said.startswith(f"{path}: ")
    assert says in said
    assert "\n" not in said
    assert len(said) < 400 + len(str(path))


def fair(**fields: Any) -> dict[str, Any]:
    return {"kind": "fair-share", "by": "team", "at_most": {"fx": 0.2}} | fields


def table(*points: Any) -> dict[str, Any]:
    return {"kind": "table", "points": points}


def jobs(kind: str, *names: str, **fields: Any) -> dict[str, Any]:
    return {"kind": kind, "jobs": names} | fields


DISK = {"kind": "resource", "name": "r", "capacity": 1}
COUNT = {"kind": "at-most", "count": 1}
OTHER = {"name": "a", "reward": 1, "stages": [[1]]}
POOLED: dict[str, Any] = {"processors": GONE, "pools": {"cpu": 1}}
DOWN = {"start": 0, "end": 1, "processors": 1}
NAMED = {"start": 0, "end": 1, "numbers": [0]}
WAITING: dict[str, Any] = {
    "jobs": [OTHER | {"after": ["b"]}, OTHER | {"name": "b", "after": ["a"]}]
}
ALIKE = {"tasks": 10_000_000, "time": 1}
HOLDING = {"jobs": [OTHER | {"holds": {"gpu": 2}}], "resources": {"gpu": [[0, 1]]}}

# key, value, what is said: @ stands for the place of the key
BAD: dict[str, list[tuple[str, Any, str]]] = {
    "dssp": [
        ("", {"capacity": [[4, 3], [4, 0]]}, "capacity[1][0]: found 4.0; expected a time after 4"),
        ("resources", {"gpu": [[3, 1], [1, 2]]}, "@.gpu[1][0]: found 1.0; expected a time after 3"),
        ("pools", {"cpu": 2}, "processors: found 2; expected `pools` or `processors`, not both"),
        ("processors", GONE, "@: found 0; expected a number >= 1, or `pools`"),
        ("jobs.0.after", ["c"], "@[0]: found 'c'; expected a job (one of 'a', 'b')"),
        ("", WAITING, "jobs[0].after: found a after b after a"),
        ("jobs.0.holds", {"gpu": 1}, "@.gpu: found 'gpu'; expected one of the file's `resources`"),
        ("", HOLDING, "jobs[0].holds.gpu: found 2.0; expected at most 1, all that there ever is"),
        ("jobs.0.processors", 3, "@: found 3; expected at most 2, all that there ever are"),
        ("jobs.0.", {"processors": 2, "max_processors": 1}, "@max_processors: found 1; expected"),
        ("start", "2026-11-22T20:00", "@: found '2026-11-22T20:00'; expected an ISO time with its"),
        ("unit", "hourz", "@: found 'hourz'; expected a unit of time"),
        ("", {"nights": 2, "jobs": [*WAITING["jobs"][:1], OTHER | {"name": "b"}]}, "nights:"),
        ("down", [DOWN | {"end": 0}], "@[0].end: found 0.0; expected a time after 0, the start"),
        ("down", [DOWN | {"end": 99, "processors": 5}], "expected at least one processor before"),
        ("down", [DOWN | {"pool": "gpu"}], "@[0].pool: found 'gpu'; expected one of the file's"),
        ("down", [DOWN | {"numbers": [0]}], "@[0].processors: found"),
        ("down", [NAMED | {"numbers": [0, 2]}], "@[0].numbers[1]: found 2; expected a processor"),
        ("deadline", 1e308, "@: found an overflow; expected a finite P·D"),
        ("jobs.0.stages", GONE, "jobs[0]: expected `stages`, or both `demand` and `critical_path`"),
        ("jobs.0.stages", [[1e308], [1e308]], "@: found an overflow; expected lengths whose sum"),
        ("jobs.0.stages", [ALIKE] * 2, "@[1].tasks: found more in all; expected at most 10,000"),
        ("jobs", [OTHER | {"reward": 1e308}] * 2, "@: found an overflow; expected finite"),
        ("jobs.1", OTHER, "@.name: found 'a'; expected a name of its own: jobs[0] has it already"),
        ("constraints", [jobs("apart", "a", "c")], "@[0].jobs[1]: found 'c'; expected the name of"),
        ("constraints", [fair(by="taem")], "@[0].by: found 'taem'; expected a grouping that some"),
        ("constraints", [fair(at_most={"gf": 1})], "@[0].at_most.gf: found 'gf'; expected a group"),
        ("constraints", [COUNT | {"by": "team", "group": "gf"}], "@[0].group: found 'gf';"),
        ("constraints", [fair(at_most={})], "@[0]: expected `at_most`"),
        ("constraints", [jobs("at-most", "a", count=1, by="team")], "@[0]: expected either `jobs`"),
        ("constraints", [jobs("forbid", "a", name="n")] * 2, "@[1].name: found 'n'; expected a"),
    ],
    "epoch": [
        ("jobs.0.minimum", 9, "@: found 9; expected at most 8, the nodes there are"),
        ("constraints", [jobs("apart", "a", "c")], "@[0].jobs[1]: found 'c'; expected the name"),
    ],
    "hesrpt": [
        ("jobs.0.size", 1e200, "@: Expected `float` <= 1e+100"),
        ("speedup", None, "jobs[0]: found none; expected a `speedup`, of the job or of the"),
        ("speedup", table([1, 1], [2, 3]), "@.points[1][1]: found 3.0; expected a concave table"),
        ("speedup", table([0, 1], [2, 3]), "@.points[0][1]: found 1.0; expected 0, with no"),
        ("constraints", [jobs("share", "c", at_most=1)], "@[0].jobs[0]: found 'c'; expected the"),
        ("constraints", [fair(at_most={"f": 1})], "@[0].at_most.f: found 'f'; expected a group"),
        ("constraints", [fair(of="selected")], "@[0].of: found 'selected'; expected no `of`"),
    ],
    "msfq": [
        ("classes.1.need", 5, "@: found 5; expected at most 4, all servers"),
        ("classes.1.need", 1, "@: found 1; expected a need of its own: classes[0] has it already"),
        ("constraints", [{"kind": "response-time", "need": 3, "at_most": 1}], "@[0].need: found"),
    ],
}


@mark.parametrize(
    ("problem", "key", "value", "says"), [(name, *row) for name in BAD for row in BAD[name]]
)
def test_parse_refuses_bad_fields_with_their_place(
    problem: str, key: str, value: Any, says: str
) -> None:
    error = refusal(files.parse, changed(problem, key, value), file="i.json")
    assert str(error).startswith("i.json: ")
    assert says.replace("@", place_of(key)) in str(error)


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
    *[(JobClass, {"need": 1, "arrival_rate": rate, "service_rate": 1}) for rate in ("1", 0, -1.0)],
]


@mark.parametrize(
    ("kind", "given"), WRONG, ids=[f"{k.__name__}-{i}" for i, (k, _) in enumerate(WRONG)]
)
def test_records_refuse_wrong_fields_like_files(kind: Any, given: dict[str, Any]) -> None:
    with raises(InputError) as of_file:
        convert(given, kind, "")
    with raises(InputError) as of_record:
        kind(**given)
    assert str(of_record.value) == str(of_file.value)


@mark.parametrize("rate", [inf, nan])
def test_records_refuse_infinite_numbers(rate: float) -> None:
    assert refusal(JobClass, need=1, arrival_rate=1.0, service_rate=rate).place == "service_rate"


def test_records_take_numpy_numbers_and_lists() -> None:
    job = Job(name="a", reward=np.int64(3), stages=[[np.float64(1.5)], np.array([2.0, 1.0])])  # type: ignore[arg-type]
    assert (type(job.reward), job.reward) == (float, 3.0)  # as a file gives it
    assert job.stages == ((1.5,), (2.0, 1.0))
    night = Instance(name="n", processors=np.int64(2), deadline=10, jobs=[job])  # type: ignore[arg-type]
    assert night.jobs[0] is job


def test_records_take_nested_dictionaries() -> None:
    rules: Any = [{"kind": "forbid", "jobs": ["a"]}]
    jobs: Any = [{**JOB, "reward": 2}]
    night = Instance(name="n", processors=2, deadline=10, jobs=jobs, constraints=rules)
    assert night.constraints == (Forbid(jobs=("a",)),)
    assert night.jobs == (Job(**JOB, reward=2),)


def test_constraint_kind_of_a_user_is_checked() -> None:
    class Budget(Constraint, frozen=True, kw_only=True, tag="budget of mine"):
        money: float

    rule = Budget(money=3)
    jobs = (Job(**JOB, reward=2),)
    night = Instance(name="n", processors=2, deadline=10, jobs=jobs, constraints=(rule,))
    assert night.constraints[0] is rule
    assert refusal(Budget, money="3").place == "money"


def test_records_refuse_objects() -> None:
    with raises(InputError, match="reward: Expected `float`, got `object`"):
        Job(**JOB, reward=object())  # type: ignore[arg-type]
    with raises(TypeError, match="rewar"):
        Job(**JOB, rewar=1)  # type: ignore[call-arg]


# --- schemas ------------------------------------------------------------------------------------


@pytest.mark.parametrize("problem", PROBLEMS)
def test_schema_file_equals_the_types(problem: str) -> None:
    kept = schema.path(problem).read_bytes()
    assert kept == schema.schema_text(problem), "run `python -m schedopt.instances.schema`"


# --- agreement with loading ---------------------------------------------------------------------


@cache
def judge(problem: str) -> Any:
    return jsonschema.Draft202012Validator(schema.schema(problem))


def agrees(problem: str, document: Any) -> bool:
    """Return whether a document is taken; schema and loading must say the same."""
    valid = bool(judge(problem).is_valid(document))
    try:
        files.parse(json.dumps(document).encode())
    except InputError as error:
        # Beyond the schema: references, names, sums, one number compared with another.
        assert not valid or not isinstance(error, FormatError), (str(error), document)
        return False
    assert valid, document
    return True


@cache
def sources() -> list[tuple[str, Any]]:
    found = []
    for example in examples().values():
        data = example.path.read_bytes()
        text = gzip.decompress(data) if example.path.suffix == ".gz" else data
        if len(text) < 6000:
            found.append((example.problem, json.loads(text)))
    return found


@pytest.mark.parametrize(("problem", "document"), sources())
def test_schema_agrees_with_the_loader_on_bundled_instances(problem: str, document: Any) -> None:
    assert agrees(problem, document)


@effort.tried(1500, seed=st.integers(0, 2**31))
def test_schema_agrees_with_the_loader_on_mutated_instances(seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311
    problem, document = draw.choice(sources())
    text = mutated(json.dumps(document).encode(), draw)
    with suppress(ValueError):
        changed = json.loads(text)
        if b"NaN" not in text and b"0" * 310 not in text:  # which are no JSON, and no doubles
            agrees(problem, changed)
