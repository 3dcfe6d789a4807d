"""The schemas that are kept are those that the types give, and accept what loading accepts."""

import gzip
import json
import random
from contextlib import suppress
from functools import cache
from typing import Any

import jsonschema
import pytest
from builders import effort
from builders.mutated_files import mutated
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
