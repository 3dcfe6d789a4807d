"""Fitting a speedup to measured points, as Figure 2 of the heSRPT paper does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec
import numpy as np

from schedopt.instances.errors import InputError, expect, shown
from schedopt.instances.hesrpt.speedups import Amdahl, Power


class Fit(msgspec.Struct, frozen=True, kw_only=True):
    """A fitted speedup, and how far it is from the points.

    Attributes
    ----------
    speedup : Power or Amdahl
    error : float
        The root of the mean squared difference of speedups, in the unit of the speedup.
    """

    speedup: Power | Amdahl
    error: float


def fit(points: Sequence[tuple[float, float]], kind: Literal["power", "amdahl"] = "power") -> Fit:
    """Return the speedup that is closest to measured points in least squares.

    Parameters
    ----------
    points : sequence of (float, float)
        (servers, speedup) pairs, two or more with different servers over 1.
    kind : {"power", "amdahl"}
        What to fit: p of k^p, or f of k/((1 - f)·k + f).

    Raises
    ------
    InputError
        If there are no points to tell speedups apart, or one is not positive.
    """
    from scipy.optimize import minimize_scalar  # not needed to read a file

    expect(kind in ("power", "amdahl"), "power or amdahl", kind, "kind")
    measured = np.array(points, dtype=np.float64).reshape(-1, 2)
    for i, (k, s) in enumerate(measured.tolist()):
        expected = "servers and speedup, finite and > 0"
        expect(0 < k < np.inf and 0 < s < np.inf, expected, (k, s), f"points[{i}]")
    servers, speedups = measured[:, 0], measured[:, 1]
    if not (servers != 1).any():
        raise InputError("a point with other than one server", found=shown(len(measured)))

    def made(parameter: float) -> Power | Amdahl:
        return Power(p=parameter) if kind == "power" else Amdahl(parallel=parameter)

    def squares(parameter: float) -> float:
        return float(((made(parameter).at(servers) - speedups) ** 2).mean())

    # The best cell of a grid first: the sum of squares need not be convex in the parameter.
    grid = np.linspace(0, 1, 201)[1:]
    least = int(np.argmin([squares(p) for p in grid]))
    low, high = max(grid[least] - 0.005, 1e-9), min(grid[least] + 0.005, 1.0)
    found = minimize_scalar(squares, bounds=(low, high), options={"xatol": 1e-12})
    best = min((float(found.x), 1.0, float(grid[least])), key=squares)
    return Fit(speedup=made(best), error=float(np.sqrt(squares(best))))
