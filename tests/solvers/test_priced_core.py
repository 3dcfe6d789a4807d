"""The priced core beside brute force on random integer programs."""

from itertools import product

import numpy as np
import pytest

from schedopt.formulations.program import IntegerProgram
from schedopt.solvers.priced_core.search import (
    PricedCoreParams,
    PricedCoreSearch,
)

NUMBERS = ("plain", "near ties", "thirteen orders", "huge")
EVERY_STEP = PricedCoreParams(
    branching_columns=0,
    cp_sat_columns=0,
    cores=(2, 4),
)
"""Parameters under which small programs pass through all steps."""


def draw_numbers(rng: np.random.Generator, kind: str, count: int) -> list[int]:
    """Draw integers that are hard to tell apart, or of very different sizes."""
    if kind == "plain":
        return rng.integers(0, 30, count).tolist()
    if kind == "near ties":
        return [10**9 * k + d for k, d in rng.integers(1, 4, (count, 2)).tolist()]
    most = 13 if kind == "thirteen orders" else 25
    return [int(d) * 10 ** int(e) for d, e in rng.integers(1, most + 1, (count, 2)).tolist()]


def draw_program(seed: int, kind: str, *, high: int = 1) -> IntegerProgram:
    """Draw a program of up to nine columns and five rows; every third has floors."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 10)) if high == 1 else 5, int(rng.integers(0, 6))
    dense = np.zeros((m, n), dtype=object)
    lower, upper = np.zeros(m, dtype=object), np.zeros(m, dtype=object)
    for i in range(m):
        row = np.array(draw_numbers(rng, kind, n), dtype=object) * rng.integers(0, 2, n)
        if rng.random() < 0.3:
            row *= rng.choice((-1, 1), n)
        some = int((row * rng.integers(0, high + 1, n)).sum())
        reach = int(np.abs(row).sum()) * high + 1
        dense[i], upper[i] = row, some + int(rng.integers(0, 2))
        lower[i] = some - abs(some) // 9 if rng.random() < 0.3 else -reach
    rewards = np.array(draw_numbers(rng, kind, n), dtype=object)
    if rng.random() < 0.1:
        rewards *= 0
    places = [np.flatnonzero(row) for row in dense]
    values = [row[at] for row, at in zip(dense, places, strict=True)]
    is_huge = kind == "huge"
    dtype = object if is_huge else np.int64
    return IntegerProgram(
        rewards.astype(dtype),
        np.zeros(n, np.int64),
        np.full(n, high, np.int64),
        np.cumsum([0, *map(len, places)]),
        np.concatenate([*places, np.zeros(0, np.int64)]).astype(np.int64),
        np.concatenate([*values, np.zeros(0, object)]).astype(dtype),
        lower.astype(dtype),
        upper.astype(dtype),
    )


def brute_force(program: IntegerProgram) -> int | None:
    """Return the largest reward of all points that satisfy the rows; None without one."""
    rows: list[dict[int, int]] = [{} for _ in range(program.n_rows)]
    entries = zip(program.row.tolist(), program.column.tolist(), program.coefficient, strict=True)
    for i, j, value in entries:
        rows[i][j] = int(value)
    bounds = list(zip(program.lower.tolist(), program.upper.tolist(), strict=True))
    best = None
    for x in product(*(range(high + 1) for high in program.high.tolist())):
        sums = (sum(value * x[j] for j, value in row.items()) for row in rows)
        if all(low <= total <= top for total, (low, top) in zip(sums, bounds, strict=True)):
            value = sum(int(r) * k for r, k in zip(program.rewards, x, strict=True))
            best = value if best is None else max(best, value)
    return best


def assert_optimal(search: PricedCoreSearch, program: IntegerProgram) -> None:
    """Compare a finished search with brute force."""
    best = brute_force(program)
    assert search.proven
    if best is None:
        assert search.x is None
    else:
        assert search.x is not None
        assert (search.value, search.bound) == (best, best)
        assert program.satisfied_by(search.x)
        assert program.reward_of(search.x) == best


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("seed", range(40))
def test_search_is_optimal(kind: str, seed: int) -> None:
    program = draw_program(seed, kind)
    assert_optimal(PricedCoreSearch(program).run(), program)


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("seed", range(25))
def test_search_is_optimal_when_small_programs_pass_all_steps(kind: str, seed: int) -> None:
    program = draw_program(1_000 + seed, kind)
    assert_optimal(PricedCoreSearch(program, params=EVERY_STEP).run(), program)


@pytest.mark.parametrize("kind", ["plain", "near ties"])
@pytest.mark.parametrize("seed", range(15))
def test_search_is_optimal_with_columns_beyond_1(kind: str, seed: int) -> None:
    program = draw_program(3_000 + seed, kind, high=3)
    for params in (PricedCoreParams(), EVERY_STEP):
        assert_optimal(PricedCoreSearch(program, params=params).run(), program)
