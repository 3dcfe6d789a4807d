"""hesrpt speedups: what each says, how they are turned round, and fits to measured points."""

from typing import Any

import numpy as np
import pytest
from builders.hesrpt import speedups, tables
from hypothesis import given
from hypothesis import strategies as st

from schedopt.instances.errors import InputError
from schedopt.instances.hesrpt import Amdahl, Power, Table, Whole, fit


@given(st.one_of(speedups, tables), st.floats(0.01, 40), st.floats(0.01, 40))
def test_speedups_rise_are_concave_and_can_be_turned_round(kind: Any, a: float, b: float) -> None:
    for speedup in (kind, Whole(kind)):
        low, high = speedup.at(min(a, b)), speedup.at(max(a, b))
        assert low <= high * (1 + 1e-12)
        assert speedup.at((a + b) / 2) >= (low + high) / 2 * (1 - 1e-12)
        needed = float(speedup.servers_for(low))
        assert needed <= min(a, b) * (1 + 1e-9)
        assert float(speedup.at(needed)) == pytest.approx(float(low), rel=1e-9)
    assert Whole(kind).at(3.0) == pytest.approx(float(kind.at(3.0)))
    assert float(kind.at(0.0)) == 0.0


@pytest.mark.parametrize("p", [0.89, 0.82, 0.69])
def test_fits_find_the_powers_of_figure_2(p: float) -> None:
    k = np.array([1, 2, 4, 8, 16, 32, 64])
    exact = fit(list(zip(k, k**p, strict=True)))
    assert isinstance(exact.speedup, Power) and exact.speedup.p == pytest.approx(p, abs=1e-9)
    assert exact.error < 1e-9
    law = fit([(float(n), n / (0.1 * n + 0.9)) for n in k], "amdahl")
    assert isinstance(law.speedup, Amdahl)
    assert law.speedup.parallel == pytest.approx(0.9, abs=1e-9)
    worse = fit([(float(n), n / (0.1 * n + 0.9)) for n in k], "power")
    assert worse.error > 0.1


def test_a_fit_is_no_worse_than_its_neighbours() -> None:
    points = [(2.0, 1.7), (4.0, 3.5), (8.0, 5.0), (16.0, 9.0)]
    best = fit(points)
    k, s = np.array(points).T
    for p in np.linspace(0.01, 1, 500):
        assert best.error <= np.sqrt(((k**p - s) ** 2).mean()) + 1e-12


@pytest.mark.parametrize("points", [[], [(1, 1)], [(2, -1)], [(0, 1)], [(2, float("nan"))]])
def test_points_that_say_nothing_are_refused(points: Any) -> None:
    with pytest.raises(InputError):
        fit(points)


def test_tables_begin_at_nothing_and_end_level() -> None:
    measured = Table(points=((2, 3), (5, 6)))
    np.testing.assert_allclose(measured.at([0, 1, 2, 5, 99]), [0, 1.5, 3, 6, 6])
    assert measured.servers_for(7) == np.inf
