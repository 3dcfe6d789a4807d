"""Damaged, extreme and mutated files: answers stay right, or one line refuses them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from builders.effort import tried
from builders.mutated_files import STATUSES, attempt
from hypothesis import example
from hypothesis import strategies as st

from schedopt import evaluate, solve
from schedopt.instances.errors import InputError
from schedopt.instances.files import parse

SHOTS = Path(__file__).parent.parent.parent / "instances" / "dssp" / "two-shots.json"


# --- what is beyond all measure ---------------------------------------------------------------


BUNDLED = ("two-shots", "constraints", "conflict", "greedy-trap", "predictions")
EXTREMES = (0, -0.0, 5e-324, 1e-308, 1e-12, 1e-7, 0.5, 3, 1e7, 2**33, 2**53, 1e15, 2**63, 1e308)
SELECTORS = ("greedy", "greedy-half", "greedy-three-quarters", "dp-profits", "fptas", "core")


def numbers(node: Any) -> Iterator[tuple[Any, Any]]:
    """Yield where each number stands, as (container, key)."""
    items = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in items:
        if isinstance(value, dict | list):
            yield from numbers(value)
        elif not isinstance(value, str):
            yield node, key


@example(name="greedy-trap", places=[5, 1, 1, 1], values=[5e-324, 0, 0, 3])
@example(name="greedy-trap", places=[5, 0, 2, 0], values=[5e-324, 0, 1e308, 3])
@example(name="constraints", places=[4], values=[5e-324, 0, 0, 0])
@example(name="constraints", places=[2], values=[5e-324, 0, 0, 0])
@tried(
    150,
    name=st.sampled_from(BUNDLED),
    places=st.lists(st.integers(0, 200), min_size=1, max_size=4),
    values=st.lists(st.sampled_from(EXTREMES), min_size=4, max_size=4),
)
def test_solvers_agree_on_extreme_numbers(
    name: str, places: list[int], values: list[float]
) -> None:
    document = msgspec.json.decode(Path(f"instances/dssp/{name}.json").read_bytes())
    found = list(numbers(document))
    for place, value in zip(places, values, strict=False):
        container, key = found[place % len(found)]
        container[key] = value
    try:
        night = parse(msgspec.json.encode(document))
    except InputError:
        return
    default, highs = solve(night), solve(night, solver="highs")
    for result in (default, highs):
        assert result.termination in ("optimal", "infeasible"), result
        assert result.violations == ()
        if result.bound is None and result.solution:  # rewards that differ by 1e15 and more
            assert "did not hold" in str(result.message)
        else:
            assert result.solution_status == ("optimal" if result.solution else "none")
    if default.objective is None or highs.objective is None:
        assert default.objective is highs.objective
    elif default.proven and highs.proven:
        assert default.objective == pytest.approx(highs.objective, rel=1e-9)
    for result in evaluate(night, SELECTORS):
        assert not any(
            v.startswith(("capacity", "deadline", "objective")) for v in result.violations
        )
        if not night.constraints and result.objective is not None:
            assert result.objective <= default.bound * (1 + 1e-9)


@pytest.mark.parametrize("kind", ["instance", "result"])
@tried(100, seed=st.integers(0, 2**31))
def test_mutated_files_end_as_the_contract_says(kind: str, seed: int) -> None:
    verb, ended, text = attempt(kind, seed)
    assert ended in STATUSES[verb], text
