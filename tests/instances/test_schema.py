"""The schemas that are kept are those that the types give, and accept what loading accepts.

Rules that span several objects are beyond them.
"""

import copy
import gzip
import itertools
import json
import math
import random
import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, get_args

import jsonschema
import pytest
from builders import effort

from schedopt.instances import decoding, files, schema
from schedopt.instances.errors import InputError
from schedopt.instances.examples import examples
from schedopt.instances.files import PROBLEMS


@pytest.mark.parametrize("problem", PROBLEMS)
def test_the_kept_file_is_what_the_types_give(problem: str) -> None:
    kept = schema.path(problem).read_bytes()
    assert kept == schema.encoded(problem), "run `python -m schedopt.instances.schema`"


def objects(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
        node = list(node.values())
    if isinstance(node, list):
        for item in node:
            yield from objects(item)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_every_record_is_described_and_refuses_other_keys(problem: str) -> None:
    document = schema.schema(problem)
    for name, definition in document["$defs"].items():
        assert definition["additionalProperties"] is False, name
        assert definition["description"].endswith("."), name
        assert "----" not in definition["description"], name
        assert "  " not in definition["description"], name


@pytest.mark.parametrize("problem", PROBLEMS)
def test_the_only_address_is_the_dialect(problem: str) -> None:
    document = schema.schema(problem)
    assert document["$schema"] == schema.DIALECT
    assert "$id" not in document
    assert json.dumps(document).count("://") == 1
    for found in objects(document):
        if "$ref" in found:
            assert found["$ref"].removeprefix("#/$defs/") in document["$defs"]


def test_a_job_has_stages_or_both_predictions() -> None:
    job = schema.schema("dssp")["$defs"]["Job"]
    ways = [way["required"] for way in job["anyOf"]]
    assert ways == [["stages"], ["demand", "critical_path"]]
    assert job["required"] == ["name", "reward"]
    assert job["properties"]["reward"]["description"].startswith("R_j")


def test_writing_them(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "path", lambda problem: tmp_path / f"{problem}.json")
    schema.main()
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(f"{p}.json" for p in PROBLEMS)


# --- agreement with loading ---------------------------------------------------------------------

ACROSS = re.compile(
    r"the name of a job|a name of its own|a grouping that|a group of|a need of its own"
    r"|at most \d+, (the nodes there are|all servers)|finite sums|a finite"
    r"|at most [\d.e+-]+, the (group|job)'?s'? own `at_most`|a concave table|\d, with no server"
    r"|a point with servers|0, the deadline itself|a delay over|a fraction from"
)
"""What only loading can refuse: references, names, sums, one number beside another."""

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
        assert not valid or ACROSS.match(error.expected), (str(error), document)
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


def test_they_agree_on_mutated_instances() -> None:
    assert all(agrees(problem, document) for problem, document in sources())
    many = effort.examples(1500)
    taken = sum(agrees(*mutated(seed)) for seed in range(many))
    assert 0.1 * many < taken < 0.9 * many, "of both kinds enough"


VALUES: dict[str, list[Any]] = {
    "by": ["team", None],
    "group": ["fx", None],
    "jobs": [["a"], [], None],
    "count": [1, 1.0, 1.5, -1],
    "at_most": [{"fx": 0.5}, {}, {"fx": 2}, 0.5, None],
    "at_least": [{"fx": 0.2}, {}, 0.2, None],
    "of": ["capacity", "selected", "all"],
    "if": ["a"],
    "then": ["a", 1],
    "capacity": [1, -1],
    "use": [{"a": 1}, {"a": -1}, {}],
    "need": [1, 1.0, 0],
    "name": ["n", "", None],
    "each": [{"at_most": 0.5}, {"at_least": 0.2, "at_most": None}, {"at_least": None}, {}, None],
    "past": [{"fx": 3}, {"fx": -1}, {}],
    "past_total": [5, -1, None],
    "window": [2, 0, 1.5, None],
    "half_life": [1, 0.5, 0, None],
}
ABSENT = object()
MOST = effort.examples(3000) if effort.ALL else 400


def combinations(choices: list[list[Any]]) -> Iterable[tuple[Any, ...]]:
    """Return all combinations of values; of very many, some."""
    if math.prod(map(len, choices)) <= MOST:
        return itertools.product(*choices)
    draw = random.Random(1)  # noqa: S311
    return [
        tuple(ABSENT if draw.random() < 0.6 else draw.choice(values) for values in choices)
        for _ in range(MOST)
    ]


@pytest.mark.parametrize("problem", files.PROBLEMS)
def test_they_agree_on_every_side_constraint_of_few_values(problem: str) -> None:
    definitions = schema.schema(problem)["$defs"]
    record = files.instance_type(problem)
    module = __import__(f"schedopt.instances.{problem}", fromlist=["SideConstraint"])
    for kind in get_args(module.SideConstraint) or (module.SideConstraint,):
        definition = definitions[kind.__name__] | {"$defs": definitions}
        checker = jsonschema.Draft202012Validator(definition)
        keys = [key for key in definition["properties"] if key not in ("kind", "name")]
        choices = [[ABSENT, *VALUES[key]] for key in keys]
        for values in combinations(choices):
            given = dict(zip(keys, values, strict=True))
            document = {"kind": kind.kind()} | {k: v for k, v in given.items() if v is not ABSENT}
            try:
                rule = decoding.decode(json.dumps(document).encode(), module.SideConstraint)
                if hasattr(module, "check_meaning"):
                    module.check_meaning(rule, "")
                taken = True
            except InputError as error:
                taken = bool(ACROSS.match(error.expected))
            assert taken == checker.is_valid(document), (record, document)
