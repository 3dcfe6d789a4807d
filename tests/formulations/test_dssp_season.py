"""Seasons and shares over nights by enumeration; windows of jobs; profiles cut into blocks."""

from typing import Any

import msgspec
from builders.refusals import refusal

import schedopt
from schedopt.formulations.dssp import Season
from schedopt.instances import files
from schedopt.instances.dssp import Instance, SelectedNights, selected_nights


def found(instance: Instance, solution: SelectedNights) -> tuple[str, ...]:
    worth = instance.objective_of(solution)
    told = {"solution": solution, "objective": worth, "bound": worth, "gap": 0.0}
    claim = msgspec.structs.replace(schedopt.solve(instance), **told)
    return tuple(schedopt.check(instance, claim).violations)


def test_check_season_names_each_fault() -> None:
    text = (
        b'{"problem":"dssp","name":"s","processors":1,"deadline":5,"nights":2,"jobs":['
        b'{"name":"a","reward":1,"stages":[[3]],"groups":{"team":"fx"},"last_night":1},'
        b'{"name":"b","reward":1,"stages":[[3]],"groups":{"team":"fx"}}],'
        b'"constraints":[{"kind":"fair-share","by":"team","at_most":{"fx":1}}]}'
    )
    instance = files.parse(text)
    assert not found(instance, selected_nights(instance, [[0], [1]]))
    for nights, word in (
        ([[], [0]], "is for nights 1 to 1"),
        ([[1], [1]], "run on two nights: b"),
        ([[0, 1], []], "night 1"),
        ([[0]], "nights: 1, and there are 2"),
        ([[0], [1], []], "nights: 3, and there are 2"),
    ):
        told = found(instance, selected_nights(instance, nights))
        assert any(word in what for what in told), (nights, told)
    right = selected_nights(instance, [[0], [1]])
    night = msgspec.structs.replace(right.nights[0], shares={"team": {"fx": 0.5}})
    wrong = msgspec.structs.replace(right, nights=(night, right.nights[1]))
    assert any("shares" in what for what in found(instance, wrong))


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
