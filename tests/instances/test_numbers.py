"""Numbers: the decimals that they stand for, and whole numbers of a common unit."""

from fractions import Fraction
from random import Random

import numpy as np
from builders.effort import tried
from contract.dssp import UNSURE
from hypothesis import given
from hypothesis import strategies as st
from judge.nights import drawn as drawn_night

from schedopt.instances import files
from schedopt.instances.decimals import as_written
from schedopt.instances.dssp import Instance
from schedopt.instances.dssp.machine import in_order
from schedopt.instances.dssp.scenarios import MILLION, on_time_alone

NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**18), 10**18)


@given(st.integers(-(10**13), 10**13), st.integers(-290, 290))
def test_as_written_returns_the_decimal_of_up_to_13_digits(digits: int, exponent: int) -> None:
    assert as_written(float(f"{digits}e{exponent}")) == Fraction(f"{digits}e{exponent}")


@given(NUMBERS)
def test_as_written_returns_a_fraction_that_rounds_to_the_number(number: float) -> None:
    assert float(as_written(number)) == float(number)


@given(st.integers(0, 5 * 10**6), st.sampled_from([3, 6, 7, 9, 3600, 86_400, 25_200]))
def test_as_written_returns_the_fraction_whose_double_is_given(
    parts: int, denominator: int
) -> None:
    assert as_written(parts / denominator) == Fraction(parts, denominator)
    thousandths = Fraction(parts, 1000 * min(denominator, 3600))
    assert as_written(float(thousandths)) == thousandths


# --- completion times ---------------------------------------------------------------------------


def ends_in_time(night: Instance, factors: list[int]) -> list[bool]:
    """Compute each completion in fractions, one after another."""
    ends: dict[str, Fraction | None] = {}
    for j in in_order(night.jobs, night.index)[0]:
        job, before = night.jobs[j], [ends[name] for name in night.jobs[j].after]
        known = [end for end in before if end is not None]
        ends[job.name] = None
        if len(known) == len(before):
            start, longer = max([as_written(job.release), *known]), Fraction(factors[j], MILLION)
            demand = night.planned.demands.fractions[j]
            ends[job.name] = night.machine.completes(job, start, demand, longer)
    dues = [as_written(float(due)) for due in night.deadlines]
    return [
        (end := ends[job.name]) is not None and end <= due
        for job, due in zip(night.jobs, dues, strict=True)
    ]


@tried(200, seed=st.integers(0, 2**31))
def test_on_time_alone_equals_single_scenarios_in_fractions(seed: int) -> None:
    """Factors are simple, so that completions and deadlines often coincide."""
    draw = Random(seed)  # noqa: S311
    night = files.parse(drawn_night(draw.randrange(10**9), UNSURE))
    simple = [MILLION // 2, MILLION, 3 * MILLION // 2, 2 * MILLION, 1, MILLION // 3]
    drawn = [[draw.choice(simple) for _ in night.jobs] for _ in range(8)]
    drawn += [[draw.randint(1, 3 * MILLION) for _ in night.jobs] for _ in range(4)]
    feasible = on_time_alone(night, np.array(drawn, dtype=np.int64).reshape(12, -1))
    assert feasible.tolist() == [ends_in_time(night, factors) for factors in drawn]
