"""Integer programs beside the rows that were declared, in rationals."""

from fractions import Fraction
from itertools import product
from math import inf
from random import Random

import numpy as np
import pytest

from schedopt.formulations.program import IntegerProgram, ProgramWriter, exact, finite
from schedopt.instances.decimals import Whole

NUMBERS = (0.1, 0.25, 1.0, 3.0, -2.5, 1e-13, 1e22, 7.1, 0.0)


def written(*rows: tuple[list[int], list[float], tuple[float, float]]) -> IntegerProgram:
    """Write rows over four columns."""
    writer = ProgramWriter(list("abcd"), np.ones(4, dtype=np.bool_))
    for i, (places, coefficients, bounds) in enumerate(rows):
        writer.add((f"row {i}", "rule"), places, coefficients, bounds)
    return writer.program(Whole.of(np.array([1.5, 2.0, 3.0, 0.5])))


@pytest.mark.parametrize("seed", range(60))
def test_points_satisfy_the_program_if_they_satisfy_the_rows_in_rationals(seed: int) -> None:
    rng = Random(seed)  # noqa: S311
    rows = []
    for _ in range(rng.randint(0, 4)):
        places = [rng.randrange(4) for _ in range(rng.randint(0, 5))]
        coefficients = [rng.choice(NUMBERS) for _ in places]
        some = sum(c for c in coefficients if rng.random() < 0.5)
        below = some if rng.random() < 0.4 else -inf
        rows.append((places, coefficients, (below, some if rng.random() < 0.7 else inf)))
    program = written(*rows)
    for point in product((0, 1), repeat=4):
        sums = [
            sum((exact(c) * point[j] for j, c in zip(at, own, strict=True)), Fraction(0))
            for at, own, _ in rows
        ]
        bounds = [[exact(b) if finite(b) else b for b in bounds] for *_, bounds in rows]
        holds = all(low <= s <= top for s, (low, top) in zip(sums, bounds, strict=True))
        assert program.satisfied_by(np.array(point)) == holds
        assert (len(program.violated_rows(np.array(point))) == 0) == holds


@pytest.mark.parametrize("seed", range(20))
def test_the_row_count_excludes_no_solution_and_is_tight(seed: int) -> None:
    rng = Random(seed)  # noqa: S311
    sizes = [float(rng.randint(1, 9)) for _ in range(4)]
    room = float(rng.randint(1, int(sum(sizes)) - 1))
    program = written(([0, 1, 2, 3], sizes, (-inf, room)))
    counted = program.with_count()
    points = [np.array(point) for point in product((0, 1), repeat=4)]
    assert all(counted.satisfied_by(x) == program.satisfied_by(x) for x in points)
    most = max(int(x.sum()) for x in points if program.satisfied_by(x))
    assert (counted.labels[-1], int(counted.upper[-1])) == ("count", most)
    assert not counted.has_lower[-1]


def test_next_reward_is_the_least_multiple_of_the_common_divisor_above_a_bound() -> None:
    program = written()  # rewards 3, 4, 6 and 1 in halves
    assert program.next_reward(Fraction(2)) == 5
    even = program.with_bounds(program.low, np.array([0, 1, 1, 0]))
    assert even.next_reward(Fraction(2)) == 6
