"""The checker of msfq finds each way in which a result can be wrong."""

import json
from collections.abc import Callable
from functools import cache
from itertools import product
from typing import Any

import msgspec
import pytest
from builders.msfq import at_load, of_classes, one_or_all

from schedopt import check, evaluate, solve
from schedopt.formulations.constraints import ResponseTime
from schedopt.instances.msfq import ClassTime, Simulated
from schedopt.solvers.result import Document
from schedopt.validation.msfq import simulated
from schedopt.validation.report import Report

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
        ("table", wider, "tables: not 2 of"),
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


SEEN = ClassTime(
    need=1,
    mean_response_time=3.0,
    confidence=0.1,
    percentiles={},
    jobs=1200,
    arrival_rate=2.0,
    mean_number=6.0,
)


def test_check_queue_thresholds_of_simulated_measures() -> None:
    """Means of 1,000 jobs on, loads of 10,000 arrivals on."""
    queue = of_classes(4, (1, 2.0, 1.0))

    def judged(**changes: Any) -> list[str]:
        own = {key: changes.pop(key) for key in list(changes) if key in ClassTime.__struct_fields__}
        run = Simulated(
            mean_response_time=1.0,
            weighted_response_time=1.0,
            arrivals=10_000,
            confidence=0.0,
            utilization=0.5,
            classes=(msgspec.structs.replace(SEEN, **own),),
        )
        report = Report()
        simulated.check(queue, msgspec.structs.replace(run, **changes), report)
        return [line.partition(":")[0] for line in [*report.violations, *report.unjudged]]

    assert not judged()
    assert not judged(utilization=1 + 1e-10, arrivals=0)
    assert not judged(utilization=0.0, arrivals=9_999)
    assert judged(utilization=0.0) == ["load balance"]
    assert judged(utilization=1 + 1e-8, arrivals=0) == ["utilization"]
    assert judged(mean_number=60.0, jobs=1000, arrivals=0) == ["Little's law"]
    assert not judged(mean_number=60.0, jobs=999, arrivals=0)
    assert judged(percentiles={"5": 2.0, "10": 1.0}) == ["percentiles"]
    assert not judged(percentiles={"10": 2.0, "5": 1.0})
    for lost in ("mean_number", "arrival_rate"):
        assert judged(**{lost: msgspec.UNSET}) == ["need 1", "load balance"]
    assert judged(percentiles=msgspec.UNSET) == ["need 1"]
    assert judged(arrival_rate=0.0, mean_number=0.0) == ["load balance"]
