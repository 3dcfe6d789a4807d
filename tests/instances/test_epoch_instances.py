"""epoch instances: what is refused and where, what fits, generators, bundled files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from builders.epoch import packing, shares
from hypothesis import given
from hypothesis import strategies as st

from schedopt.instances import files
from schedopt.instances.epoch import Epoch, Instance, Job, Partitioned, allotted, fits, partitioned
from schedopt.instances.epoch.generators import GENERATORS
from schedopt.instances.errors import InputError

FOLDER = Path(files.__file__).parent / "epoch"
GOOD = {
    "problem": "epoch",
    "name": "n",
    "nodes": 8,
    "inequity": 1,
    "jobs": [{"name": "a", "minimum": 3}, {"name": "b", "minimum": 2}],
}
BAD: dict[str, tuple[dict[str, Any], str, str]] = {
    "no nodes": ({"nodes": 0}, "nodes", ">= 1"),
    "half a node": ({"nodes": 2.5}, "nodes", "2.5"),
    "negative inequity": ({"inequity": -1}, "inequity", ">= 0"),
    "no jobs": ({"jobs": []}, "jobs", ">= 1"),
    "zero": ({"jobs": [{"name": "a", "minimum": 0}]}, "jobs[0].minimum", ">= 1"),
    "fraction": ({"jobs": [{"name": "a", "minimum": 1.5}]}, "jobs[0].minimum", "1.5"),
    "too large": ({"jobs": [{"name": "a", "minimum": 9}]}, "jobs[0].minimum", "at most 8"),
    "twice": ({"jobs": [{"name": "a", "minimum": 1}] * 2}, "jobs[1].name", "jobs[0] has it"),
    "misspelt": ({"jobs": [{"name": "a", "minimun": 1}]}, "jobs[0]", "did you mean 'minimum'?"),
    "a kind": ({"constraints": [{"kind": "require", "jobs": ["a"]}]}, "constraints[0]", "together"),
    "no such job": (
        {"constraints": [{"kind": "apart", "jobs": ["a", "c"]}]},
        "constraints[0].jobs[1]",
        "'c'",
    ),
}


@pytest.mark.parametrize(("change", "place", "words"), BAD.values(), ids=BAD)
def test_bad_input_is_refused_with_its_place(
    change: dict[str, Any], place: str, words: str
) -> None:
    with pytest.raises(InputError) as caught:
        files.parse(json.dumps(GOOD | change).encode())
    assert str(caught.value).startswith(place)
    assert words in str(caught.value)


@pytest.mark.parametrize("key", ["nodes", "inequity", "jobs"])
def test_every_key_is_needed(key: str) -> None:
    document = {k: v for k, v in GOOD.items() if k != key}
    with pytest.raises(InputError, match=key):
        files.parse(json.dumps(document).encode())


def test_instances_made_in_python_are_checked_too() -> None:
    with pytest.raises(InputError, match="minimum"):
        Job(name="a", minimum=0)
    with pytest.raises(InputError, match="jobs"):
        Instance(name="n", nodes=4, inequity=0, jobs=())
    with pytest.raises(InputError, match="inequity"):
        packing([1], 4, -1)


def test_a_round_trip() -> None:
    instance = files.parse(json.dumps(GOOD).encode())
    assert files.parse(files.encode(instance)) == instance
    assert instance.minima.tolist() == [3, 2]
    assert (instance.descending, instance.ascending) == ([0, 1], [1, 0])


@given(st.integers(1, 14), st.lists(st.integers(1, 14), min_size=1, max_size=5), st.integers(0, 6))
def test_what_fits_is_what_can_be_shared(nodes: int, minima: list[int], inequity: int) -> None:
    able = next(shares(minima, nodes, inequity), None) is not None
    assert fits(minima, nodes, inequity) is able
    if not able:
        with pytest.raises(ValueError, match="do not fit"):
            allotted(minima, nodes, inequity)
        return
    given_ = allotted(minima, nodes, inequity)
    assert sum(given_) == nodes
    assert max(given_) - min(given_) <= inequity
    assert all(a >= m for a, m in zip(given_, minima, strict=True))
    assert not fits([], nodes, inequity)


def test_the_objective_counts_reallocations() -> None:
    instance = packing([3, 2, 8], 8, 1)
    solution = partitioned(instance, [[2], [0, 1]])
    assert solution == Partitioned(
        epochs=(
            Epoch(duration=1 / 3, nodes={"j3": 8}),
            Epoch(duration=2 / 3, nodes={"j1": 4, "j2": 4}),
        )
    )
    assert instance.objective_of(solution) == 16.0


@pytest.mark.parametrize("name", GENERATORS)
def test_a_seed_makes_one_instance(name: str) -> None:
    make = GENERATORS[name]
    assert files.encode(make(3)) == files.encode(make(3)) != files.encode(make(4))
    assert files.parse(files.encode(make(3))) == make(3)


@pytest.mark.parametrize("name", ["uniform", "binomial"])
def test_minima_have_the_mean_of_the_load(name: str) -> None:
    for jobs, load in ((8, 1.0), (15, 2.0), (100, 1.0)):
        minima = [
            GENERATORS[name](seed, jobs=jobs, load=load).minima for seed in range(4000 // jobs)
        ]
        mean = sum(m.sum() for m in minima) / sum(map(len, minima))
        assert mean == pytest.approx(128 * load / jobs, rel=0.05)
        assert max(m.max() for m in minima) <= max(1, 2 * 128 * load / jobs)


@pytest.mark.parametrize("inequity", range(7))
def test_planted_jobs_fill_their_epochs(inequity: int) -> None:
    instance = GENERATORS["planted"](5, nodes=24, epochs=6, inequity=inequity, most=8)
    assert instance.minima.sum() == 24 * 6
    assert str(24 * 6) in (instance.description or "")


def test_options_of_generators_are_checked() -> None:
    for options in ({"nodes": 0}, {"jobs": 0}, {"load": 0}, {"inequity": -1}, {"inequity": True}):
        with pytest.raises(InputError, match="option"):
            GENERATORS["uniform"](1, **options)
    with pytest.raises(InputError, match="most"):
        GENERATORS["planted"](1, nodes=8, most=9)
    with pytest.raises(InputError, match="divisor"):
        GENERATORS["planted"](1, nodes=7, inequity=0, most=6)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_bundled_files_load_and_say_what_they_show(path: Path) -> None:
    if path.name == "schema.json":
        return
    instance = files.load(path)
    assert instance.name == path.stem
    assert len(instance.description) > 40
