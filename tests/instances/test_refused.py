"""What instances may not say: from files, and from Python in the same words.

What a single field may hold is in the schemas, which are held against the types and the loader:
here stands one refusal of each sort, and what only several fields together make wrong.
"""

import gzip
import json
import random
from contextlib import suppress
from functools import cache
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

from schedopt.instances import files, schema
from schedopt.instances.constraints import FairShare
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.encoding import convert
from schedopt.instances.errors import FormatError, InputError
from schedopt.instances.examples import examples
from schedopt.instances.files import PROBLEMS

NIGHT = json.dumps(GOOD["dssp"])
DEEP = "[" * 100_000
FLIPPED = bytearray(gzip.compress(NIGHT.encode()))
FLIPPED[-6] ^= 255  # in the check sum

TEXTS: list[tuple[str | bytes, str]] = [
    (b"", "the file is empty; expected JSON"),
    (NIGHT + " x", f"line 1, column {len(NIGHT) + 3}: JSON is malformed"),
    ('{\n"problem": dssp}', "line 2, column 12: JSON is malformed"),
    (b'{"problem":"d\xffssp"}', "line 1, column 14: found bytes that are not; expected text in"),
    (f'{{"extra":{DEEP}{"]" * 100_000},{NIGHT[1:]}', "JSON is nested too deeply"),
    (NIGHT.replace("[[1]]", "[[1e999]]"), "jobs[0].stages[0][0]: Number out of range"),
    ('{"problem":"dsp"}', "problem: found 'dsp'; expected a problem (did you mean 'dssp'?"),
    (NIGHT.replace('"reward"', '"rewrad"', 1), "jobs[0]: Object contains unknown field `rewrad`"),
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


OTHER = {"name": "a", "reward": 1, "stages": [[1]]}
DOWN = {"start": 0, "end": 1, "processors": 1}
WAITING: dict[str, Any] = {
    "jobs": [OTHER | {"after": ["b"]}, OTHER | {"name": "b", "after": ["a"]}]
}

# key, value, what is said: @ stands for the place of the key
BAD: dict[str, list[tuple[str, Any, str]]] = {
    "dssp": [
        ("pools", {"cpu": 2}, "processors: found 2; expected `pools` or `processors`, not both"),
        ("jobs.0.after", ["c"], "@[0]: found 'c'; expected a job (one of 'a', 'b')"),
        ("", WAITING, "jobs[0].after: found a after b after a"),
        ("down", [DOWN | {"end": 99, "processors": 5}], "expected at least one processor before"),
        ("deadline", 1e308, "@: found an overflow; expected a finite P·D"),
        ("jobs.0.stages", GONE, "jobs[0]: expected `stages`, or both `demand` and `critical_path`"),
        ("jobs.1", OTHER, "@.name: found 'a'; expected a name of its own: jobs[0] has it already"),
        ("constraints", [jobs("apart", "a", "c")], "@[0].jobs[1]: found 'c'; expected the name of"),
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
    ],
    "msfq": [
        ("classes.1.need", 5, "@: found 5; expected at most 4, all servers"),
        ("classes.1.need", 1, "@: found 1; expected a need of its own: classes[0] has it already"),
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
    (Instance, {"name": "n", "processors": 2, "deadline": 10, "jobs": [{**JOB, "reward": -1}]}),
    (Job, {**JOB, "reward": "1"}),
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


def test_records_take_numpy_numbers_and_lists() -> None:
    job = Job(name="a", reward=np.int64(3), stages=[[np.float64(1.5)], np.array([2.0, 1.0])])  # type: ignore[arg-type]
    assert (type(job.reward), job.reward) == (float, 3.0)  # as a file gives it
    assert job.stages == ((1.5,), (2.0, 1.0))
    night = Instance(name="n", processors=np.int64(2), deadline=10, jobs=[job])  # type: ignore[arg-type]
    assert night.jobs[0] is job


@mark.parametrize(
    ("problem", "key"),
    [
        ("dssp", "processors"),
        ("hesrpt", "servers"),
        ("epoch", "jobs.0.minimum"),
        ("msfq", "classes.0.need"),
    ],
)
def test_parse_reads_a_whole_number_however_it_is_written(problem: str, key: str) -> None:
    def written(number: str) -> bytes:
        return changed(problem, key, "@").replace(b'"@"', number.encode())

    assert files.parse(written("30e-1")) == files.parse(written("3"))
    for wrong in ("2.5", "true"):
        assert refusal(files.parse, written(wrong)).place == place_of(key)


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
    texts = [
        (e.problem, e.path.read_bytes()) for e in examples().values() if e.path.suffix != ".gz"
    ]
    return [(problem, json.loads(text)) for problem, text in texts if len(text) < 6000]


@pytest.mark.parametrize(("problem", "document"), sources())
def test_schema_agrees_with_the_loader_on_bundled_instances(problem: str, document: Any) -> None:
    assert agrees(problem, document)


@effort.tried(600, seed=st.integers(0, 2**31))
def test_schema_agrees_with_the_loader_on_mutated_instances(seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311
    problem, document = draw.choice(sources())
    text = mutated(json.dumps(document).encode(), draw)
    with suppress(ValueError):
        changed = json.loads(text)
        if b"NaN" not in text and b"0" * 310 not in text:  # which are no JSON, and no doubles
            agrees(problem, changed)
