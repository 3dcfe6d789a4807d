"""Seasons and shares over nights by enumeration; windows of jobs; profiles cut into blocks."""

from typing import Any

from builders.refusals import refusal

import schedopt
from schedopt.formulations.dssp import Season
from schedopt.instances import files


def test_native_constraints_and_the_default_formulation() -> None:
    instance = files.parse(
        b'{"problem":"dssp","name":"s","processors":1,"deadline":5,"nights":2,"jobs":['
        b'{"name":"a","reward":5,"stages":[[4]]},{"name":"b","reward":4,"stages":[[4]]},'
        b'{"name":"c","reward":1,"stages":[[1]]}]}'
    )
    assert schedopt.solve(instance).formulation == "season"
    assert schedopt.solve(instance).objective == 10
    model = Season(instance)
    model.model.no_a = __import__("pyomo.environ").environ.Constraint(
        expr=model.model.x["a", 1] + model.model.x["a", 2] <= 0
    )
    assert schedopt.solve(model).objective == 5
    assert "a solver of season" in str(refusal(schedopt.solve, instance, solver="cp-sat"))


def night(rule: dict[str, Any], **more: Any) -> Any:
    jobs = [
        {"name": "a", "reward": 5, "demand": 4, "critical_path": 1, "groups": {"team": "fx"}},
        {"name": "b", "reward": 4, "demand": 3, "critical_path": 1, "groups": {"team": "fx"}},
        {"name": "c", "reward": 3, "demand": 3, "critical_path": 1, "groups": {"team": "light"}},
        {"name": "d", "reward": 2, "demand": 2, "critical_path": 1, "groups": {"team": "crowd"}},
        {"name": "e", "reward": 9, "demand": 2, "critical_path": 99, "groups": {"team": "crowd"}},
    ]
    document = {"problem": "dssp", "name": "n", "processors": 2, "deadline": 5, "jobs": jobs}
    rules = [{"kind": "fair-share", "by": "team", **rule}]
    return files.parse(files.encode({**document, "constraints": rules, **more}))


def worth(rule: dict[str, Any], **more: Any) -> float | None:
    return schedopt.solve(night(rule, **more)).objective


def test_season_counts_past_use() -> None:
    cap = {"at_most": {"fx": 0.5}}
    assert worth(cap) == 5 + 3 + 2
    assert worth({**cap, "past": {"fx": 5}, "past_total": 10}) == 5 + 3 + 2
    assert worth({**cap, "past": {"fx": 6}, "past_total": 10}) == 5 + 3 + 2
    assert worth({**cap, "past": {"fx": 7}, "past_total": 10}) == 4 + 3 + 2
    assert worth({**cap, "past": {"fx": 1}, "past_total": 10}) == 5 + 4 + 3
    assert worth({**cap, "past": {"fx": 1, "light": 9}}) == 5 + 4 + 3
    assert worth({**cap, "past": {"fx": 8}, "past_total": 10, "half_life": 1}) == 4 + 3 + 2
    assert worth({**cap, "past": {"fx": 8}, "past_total": 10, "window": 1}) == 5 + 3 + 2
    assert worth({**cap, "past": {"fx": 8}, "past_total": 10, "window": 2}) == 3 + 2
    over = schedopt.solve(night({**cap, "past": {"fx": 11}, "past_total": 10}))
    assert over.termination == "infeasible" and over.conflict == ("fair-share[0]",)
