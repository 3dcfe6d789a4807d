"""The schemas that are kept are those that the types give, and say what they should."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from schedopt.instances import schema
from schedopt.instances.errors import InputError
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


def test_every_kind_of_constraint_is_in_it() -> None:
    kinds = schema.schema("dssp")["$defs"]["Instance"]["properties"]["constraints"]["items"]
    assert sorted(kinds["discriminator"]["mapping"]) == [
        "apart", "at-least", "at-most", "fair-share", "forbid", "imply", "require", "resource",
        "seats", "together",
    ]  # fmt: skip


def test_an_unknown_problem() -> None:
    with pytest.raises(InputError, match="a problem"):
        schema.schema("tsp")


def test_writing_them(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "path", lambda problem: tmp_path / f"{problem}.json")
    schema.main()
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(f"{p}.json" for p in PROBLEMS)
