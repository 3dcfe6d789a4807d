"""The checker of msfq finds each way in which a result can be wrong."""

import json
from collections.abc import Callable
from functools import cache
from itertools import product
from typing import Any

import msgspec
import pytest
from builders.msfq import at_load, one_or_all

from schedopt import check, evaluate, solve
from schedopt.formulations.constraints import ResponseTime
from schedopt.solvers.result import Document

ONE_OR_ALL = at_load(3, 0.5)


@cache
def good(what: str) -> Document:
    if what == "threshold":
        return solve(ONE_OR_ALL)
    if what == "table":
        return solve(at_load(2, 0.5), formulation="optimal-policy")
    return evaluate(ONE_OR_ALL, "msf", options={"arrivals": 50_000})


def broken(what: str, change: Callable[[Any], None]) -> Document:
    document = json.loads(msgspec.json.encode(good(what).document()))
    change(document)
    return msgspec.convert(document, Document)


def scaled_curve(d: Any) -> None:
    d["solution"]["curve"] = [v * 1.01 for v in d["solution"]["curve"]]
    for key in ("objective", "bound"):
        d[key] *= 1.01
    for c in d["solution"]["classes"]:
        c["mean_response_time"] *= 1.01
    for key in ("mean_response_time", "weighted_response_time"):
        d["solution"][key] *= 1.01


def first(d: Any, **changes: Any) -> None:
    d["solution"]["classes"][0].update(changes)


def strange(table: list[str]) -> None:
    table[0] = "x" * len(table[0])


def wider(d: Any) -> None:
    d["solution"]["at_empty"].append(d["solution"]["at_empty"].pop() + ".")


def worse_threshold(d: Any) -> None:
    d["solution"]["threshold"] = (d["solution"]["threshold"] + 1) % 3


def shifted(d: Any) -> None:
    """Give to one class what another loses, so that their mean stays."""
    small, large = d["solution"]["classes"]
    small["mean_response_time"] += 0.01
    large["mean_response_time"] -= 0.09
    d["solution"]["weighted_response_time"] += (0.9 * 0.01 - 0.2 * 0.09) / 1.1


@pytest.mark.parametrize(
    ("what", "change", "says"),
    [
        ("threshold", scaled_curve, "curve: "),
        ("threshold", worse_threshold, "at the threshold"),
        ("threshold", lambda d: d["solution"].update(threshold=3), "not from 0 to 2"),
        ("threshold", lambda d: d["solution"]["curve"].pop(), "2 values"),
        ("threshold", lambda d: d["solution"]["curve"].__setitem__(2, 0.5), "falls to 0.5"),
        ("threshold", lambda d: d["solution"]["classes"].reverse(), "not those of the instance"),
        ("simulated", lambda d: first(d, mean_number=9.0), "Little's law"),
        ("simulated", lambda d: d["solution"].update(utilization=0.9), "load balance"),
        ("simulated", lambda d: d["solution"].update(utilization=1.5), "not between 0 and 1"),
        ("simulated", lambda d: d["solution"].update(utilization=-0.1), "not between 0 and 1"),
        ("simulated", lambda d: d["solution"].update(confidence=-0.1), "confidence"),
        ("simulated", lambda d: first(d, mean_response_time=0.8), "less than the mean service 1"),
        ("simulated", lambda d: first(d, percentiles={"95": 9.0, "99": 0.01}), "percentiles"),
        ("simulated", lambda d: first(d, mean_response_time=0.8, jobs=1000), "the mean service 1"),
        ("table", shifted, "need 1: a mean response time of"),
        ("table", lambda d: strange(d["solution"]["at_empty"]), "unknown letters"),
        ("table", lambda d: strange(d["solution"]["admit"][0]), "unknown letters"),
        ("table", lambda d: d["solution"]["at_empty"].pop(), "tables"),
        ("table", wider, "tables: not 2 tables of"),
        ("table", lambda d: d["solution"]["admit"].clear(), "tables"),
    ],
)
def test_check_queue_names_each_fault(what: str, change: Callable[[Any], None], says: str) -> None:
    queue = at_load(2, 0.5) if what == "table" else ONE_OR_ALL
    report = check(queue, broken(what, change))
    assert any(says in violation for violation in report.violations), report.violations


def test_check_queue_recomputes_a_policy_table() -> None:
    def always_small(d: Any) -> None:
        rows = d["solution"]["at_empty"]
        d["solution"]["at_empty"] = [row[0] + "S" * (len(row) - 1) for row in rows]

    report = check(at_load(2, 0.5), broken("table", always_small))
    assert any("the table has" in violation for violation in report.violations)


def test_check_queue_judges_response_times() -> None:
    rule = ResponseTime(need=3, at_most=1.01, name="tight")
    result = evaluate(ONE_OR_ALL, "msf", options={"arrivals": 50_000}, constraints=[rule])
    assert any(v.startswith("tight: need 3") for v in result.violations)


@pytest.mark.parametrize("arrivals", [1_000, 3_000, 30_000])
def test_check_queue_passes_simulations(arrivals: int) -> None:
    for load, rates in product((0.3, 0.8), ((1.0, 1.0), (5.0, 0.2))):
        small, large = rates
        queue = one_or_all(3, load * 1.5 * small, load * 0.5 * large, small, large)
        document = evaluate(queue, "msf", options={"arrivals": arrivals}).document()
        assert check(queue, document).ok
        told: Any = json.loads(msgspec.json.encode(document))
        told["solution"]["utilization"] *= 0.6
        assert check(queue, msgspec.convert(told, Document)).ok == (arrivals < 10_000)
