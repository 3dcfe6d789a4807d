"""Relative values: the bound that they show, and that tampering with them shows less."""

import base64
import zlib
from functools import cache
from itertools import product
from typing import Any

import msgspec
import numpy as np
from builders.effort import examples
from builders.msfq import at_load, one_or_all
from hypothesis import given, settings
from hypothesis import strategies as st

from schedopt import solve
from schedopt.instances.msfq import Instance
from schedopt.solvers.result import Result
from schedopt.validation.msfq import bellman, bound


@cache
def solved(objective: str = "mean") -> tuple[Instance, Result]:
    queue = one_or_all(2, 1.2, 0.3, 2.0, 0.8, objective=objective)
    return queue, solve(queue, formulation="optimal-policy", gap=1e-5, certificate=True)


def _judged(queue: Instance, result: Result, **changes: Any) -> str | None:
    certificate = dict(result.certificate) | changes  # type: ignore[arg-type]
    claim = msgspec.convert(msgspec.to_builtins(result), type(result), strict=False)
    return bound.reprove(queue, (), certificate, claim)


def test_reprove_relative_values_refuses_tampering() -> None:
    queue, result = solved()
    given: Any = result.certificate
    assert _judged(queue, result) is None
    small, large = given["prices"]
    w, b, e = given["bends"]
    for changes in (
        {"prices": [small, large * 1.2]},
        {"prices": [small * 3.0, large]},
        {"bends": [w, b, e * 1.01]},
        {"bends": [w * 1.01, b, e]},
        {"bends": [w, b * 1.01, e]},
        {"small_most": given["small_most"] + 1},
        {"values": given["values"][:-80]},
        {"values": "%"},
        {"kind": "server-prices"},
    ):
        assert _judged(queue, result, **changes) is not None, changes
    for load in (0.5, 0.59):
        assert _judged(at_load(2, load), result) is not None, "another system's"
    higher = msgspec.structs.replace(result, bound=result.bound * (1 + 1e-6))
    assert _judged(queue, higher) is not None


def packed(values: Any) -> str:
    return base64.b64encode(zlib.compress(np.asarray(values, "<f8").tobytes())).decode()


MOST = 1.7e308


def test_reprove_relative_values_refuses_overflow() -> None:
    """What is infinite, or no number, is not above every bound."""
    queue, result = solved()
    nothing = {"small_most": 2, "large_most": 2, "bends": [0.0, 0.0, 0.0]}
    free = msgspec.structs.replace(result, bound=0.0)
    told = nothing | {"prices": [0.0, 0.0], "values": packed(np.zeros((3, 4, 3)))}
    assert _judged(queue, free, **told) is None  # that costs are no less than nothing, is shown
    flat, wild = np.zeros((3, 4, 3)), np.where(np.arange(36) % 2, MOST, -MOST)
    for prices, bends, values in product(
        ([0.0, 0.0], [MOST, 0.0], [0.0, MOST], [MOST, -MOST]),
        ([0.0, 0.0, 0.0], [MOST, 0.0, 0.0], [MOST, MOST, MOST]),
        (flat, flat + MOST, wild, flat + np.nan, flat + np.inf),
    ):
        forged = nothing | {"prices": prices, "bends": bends, "values": packed(values)}
        assert _judged(queue, result, **forged) is not None


RATES = st.floats(0.2, 3.0)


@given(
    k=st.integers(2, 3),
    rates=st.tuples(RATES, RATES, RATES, RATES),
    sides=st.tuples(st.integers(1, 4), st.integers(1, 3)),
    seed=st.integers(0, 2**31),
    objective=st.sampled_from(["mean", "weighted"]),
)
@settings(max_examples=examples(60), deadline=None)
def test_relative_values_bound_equals_the_least_over_states(
    k: int, rates: tuple[float, ...], sides: tuple[int, int], seed: int, objective: str
) -> None:
    queue = one_or_all(k, *rates, objective=objective)
    (l1, lk, m1, mk), (wide, deep) = rates, sides
    small, large = (
        w / job.arrival_rate for w, job in zip(queue.weights(), queue.classes, strict=True)
    )
    draw = np.random.default_rng(seed)
    values = draw.normal(0, 3, (deep + 1, k + 2, wide + 1))
    side, top = draw.normal(0, 3, 2).tolist()
    w, b, e = (draw.random(3) * min(small, large) / (3 * k * max(rates))).tolist()

    def at(c: int, i: int, j: int) -> float:
        n, m, alone = max(0, i - wide), max(0, j - deep), c == k + 1
        busy, i, j = 0 if alone else c, min(i, wide), min(j, deep)
        found: float = values[j, c, i] + n * (side + w * busy + b * (j + alone))
        found += m * (top + e * alone + b * (i + busy)) + b * n * m
        return found + w * n * (n - 1) / 2 + e * m * (m - 1) / 2

    def best(c: int, i: int, j: int) -> float:
        found = at(c, i, j)
        if c == 0 and j:
            found = min(found, at(k + 1, i, j - 1))
        return min(found, best(c + 1, i - 1, j)) if c < k and i else found

    def change(c: int, i: int, j: int) -> float:
        alone, here = c == k + 1, at(c, i, j)
        found = small * (i + (0 if alone else c)) + large * (j + alone)
        found += l1 * (best(c, i + 1, j) - here) + lk * (best(c, i, j + 1) - here)
        if alone:
            return found + mk * (best(0, i, j) - here)
        return found + c * m1 * (best(c - 1, i, j) - here) if c else found

    told = bellman.RelativeValues(
        small_most=wide, large_most=deep, prices=(side, top), bends=(w, b, e), values=packed(values)
    )
    states = product(range(k + 2), range(wide + k + 2), range(deep + 2))
    least = min(change(*state) for state in states)
    shown = bellman.proven_bound(queue, told)
    assert least - 1e-9 * (1 + abs(least)) <= shown <= least
