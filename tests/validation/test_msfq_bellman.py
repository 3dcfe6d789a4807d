"""Relative values: the bound that they show, and that tampering with them shows less."""

import base64
import zlib
from functools import cache
from itertools import product
from typing import Any

import msgspec
import numpy as np
import pytest
from builders.msfq import at_load, one_or_all

from schedopt import check, solve
from schedopt.instances.msfq import Instance, JobClass
from schedopt.solvers.result import Result
from schedopt.validation.msfq import bound


@cache
def solved(objective: str = "mean") -> tuple[Instance, Result]:
    queue = one_or_all(2, 1.2, 0.3, 2.0, 0.8, objective=objective)
    return queue, solve(queue, formulation="optimal-policy", gap=1e-5, certificate=True)


@pytest.mark.parametrize("objective", ["mean", "weighted"])
def test_the_bound_is_re_proved(objective: str) -> None:
    queue, result = solved(objective)
    assert result.bound_checked
    assert result.gap is not None
    assert result.gap <= 1e-5
    assert check(queue, result).bound == "re-proved"


def _judged(queue: Instance, result: Result, **changes: Any) -> str | None:
    certificate = dict(result.certificate) | changes  # type: ignore[arg-type]
    claim = msgspec.convert(msgspec.to_builtins(result), type(result), strict=False)
    return bound.reproved(queue, (), certificate, claim)


def test_what_is_tampered_with_shows_less() -> None:
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
    assert result.bound is not None
    higher = msgspec.structs.replace(result, bound=result.bound * (1 + 1e-6))
    assert _judged(queue, higher) is not None


def packed(values: Any) -> str:
    return base64.b64encode(zlib.compress(np.asarray(values, "<f8").tobytes())).decode()


MOST = 1.7e308


def test_numbers_that_overflow_show_nothing() -> None:
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
    classes = tuple(
        JobClass(need=need, arrival_rate=0.3, service_rate=1.0) for need in (1, 2)
    )  # fmt: skip
    queue = Instance(name="two", servers=3, classes=classes)
    for price, bend, value in product((0.0, MOST), (0.0, MOST), (0.0, MOST, np.nan)):
        shape = (4, 2, 6)
        values = np.where(np.indices(shape).sum(axis=0) % 2, value, -value)
        forged = {
            "kind": "class-values", "most": [3, 1], "prices": [price, -price],
            "bends": [[bend, 0.0], [0.0, bend]], "values": packed(values),
        }  # fmt: skip
        assert bound.reproved(queue, (), forged, result.document()) is not None
