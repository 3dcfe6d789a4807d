"""The schemas that are kept are those that the types give, and accept what loading accepts."""

import copy
import gzip
import json
import random
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import jsonschema
import pytest
from builders import effort
from hypothesis import strategies as st

from schedopt.instances import files, schema
from schedopt.instances.errors import FormatError, InputError
from schedopt.instances.examples import examples
from schedopt.instances.files import PROBLEMS


@pytest.mark.parametrize("problem", PROBLEMS)
def test_schema_file_equals_the_types(problem: str) -> None:
    kept = schema.path(problem).read_bytes()
    assert kept == schema.schema_text(problem), "run `python -m schedopt.instances.schema`"


# --- agreement with loading ---------------------------------------------------------------------

POOL: list[Any] = [
    *(None, True, 0, 1, -1, 2, 0.5, 1.0, 2.0, 1.5, 1e-300, 1e300, -0.0, 10**30, "", "x", "fx"),
    *("team", [], ["a"], [[1]], [[0, 1]], [1, 2], {}, {"fx": 0.5}, {"fx": 2}, {"": 1}, "power"),
    *("capacity", "selected", "each", "jobs.parquet", "a/b.csv", {"kind": "power", "p": 1}),
]


@cache
def keys() -> list[str]:
    """Return what is a key anywhere, and one that is none."""
    records = [record for name in PROBLEMS for record in schema.schema(name)["$defs"].values()]
    return sorted({key for record in records for key in record.get("properties", {})} | {"other"})


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


def places(value: Any, place: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if place:
        yield place
    inside: Iterable[tuple[str | int, Any]] = ()
    if isinstance(value, dict | list):
        inside = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in inside:
        yield from places(item, (*place, key))


def mutated(seed: int) -> tuple[str, Any]:
    draw = random.Random(seed)  # noqa: S311
    problem, document = copy.deepcopy(draw.choice(sources()))
    for _ in range(draw.choice([1, 1, 2])):
        *way, last = draw.choice(list(places(document)))
        holder = document
        for key in way:
            holder = holder[key]
        kind = draw.random()
        if kind < 0.6:
            holder[last] = copy.deepcopy(draw.choice(POOL))
        elif kind < 0.75:
            del holder[last]
        elif isinstance(holder[last], dict):
            holder[last][draw.choice(keys())] = copy.deepcopy(draw.choice(POOL))
        elif isinstance(holder[last], list):
            holder[last].append(copy.deepcopy(draw.choice(POOL)))
    return problem, document


@pytest.mark.parametrize(("problem", "document"), sources())
def test_schema_agrees_with_the_loader_on_bundled_instances(problem: str, document: Any) -> None:
    assert agrees(problem, document)


@effort.tried(1500, seed=st.integers(0, 2**31))
def test_schema_agrees_with_the_loader_on_mutated_instances(seed: int) -> None:
    agrees(*mutated(seed))
