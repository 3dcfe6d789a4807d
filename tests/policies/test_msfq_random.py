"""Random numbers of the simulators, against the library's logarithm."""

from math import log

import numpy as np

from schedopt.policies.msfq.random_kernels import exponential, exponentials, more, stream


def test_exponential_numbers_are_logarithms_to_an_ulp() -> None:
    drawn, from_these, one_by_one = stream(3, 1), stream(3, 1), stream(3, 1)
    uniform, found = np.empty(20_000), np.empty(20_000)
    more(drawn, uniform, uniform.size)
    exponentials(from_these, found)
    expected = np.array([-log(u) for u in uniform])
    assert (np.abs(found - expected) <= np.spacing(expected)).all()
    assert found.tolist() == [exponential(one_by_one) for _ in found]
    assert drawn.tolist() == from_these.tolist() == one_by_one.tolist()


def test_the_least_and_the_largest_number_have_logarithms() -> None:
    from schedopt.policies.msfq.random_kernels import _natural_log

    for u in (0.5 / 2**53, 1.0 - 0.5 / 2**53, 0.5, 0.25, 2**-0.5, np.nextafter(2**-0.5, 0)):
        assert abs(_natural_log(u) - log(u)) <= np.spacing(abs(log(u)))


def test_numbers_that_are_left_come_first() -> None:
    whole, parts = np.empty(96), np.empty(64)
    more(stream(5, 2), whole, whole.size)
    draw = stream(5, 2)
    more(draw, parts, parts.size)
    assert more(draw, parts, 32) == 0
    assert parts.tolist() == whole[32:].tolist()
