"""Seasons: rows and checker agree on every plan; native rows and the default formulation."""

import itertools
import random

import msgspec
import pytest
from builders.dssp_season import plans, season

import schedopt
from schedopt.formulations.dssp import Season
from schedopt.instances import files
from schedopt.instances.dssp import Instance, SelectedNights, selected_nights
from schedopt.instances.errors import InputError


def test_checker_and_rows_agree_on_every_plan() -> None:
    agreed = [0, 0]
    for seed in range(40):
        instance = season(random.Random(seed))  # noqa: S311
        model = Season(instance)
        program = model.program()
        for plan in itertools.islice(plans(instance), 60):
            nights = [
                [j for j, m in enumerate(plan) if m == n] for n in range(1, instance.nights + 1)
            ]
            solution = selected_nights(instance, nights)
            columns = program.completed(model.columns(solution))
            said = program.broken(columns) is None
            checked = found(instance, solution)
            assert said == (not checked), (seed, plan, checked)
            agreed[said] += 1
    assert min(agreed) > 100


def found(instance: Instance, solution: SelectedNights) -> tuple[str, ...]:
    from schedopt.solvers.result import Result

    result: Result[SelectedNights] = Result(
        instance=instance.name,
        problem="dssp",
        formulation="season",
        termination="completed",
        solution_status="feasible",
        sense="maximize",
        objective=instance.objective_of(solution),  # type: ignore[arg-type]
        solution=solution,
    )
    return tuple(schedopt.check(instance, result).violations)


def test_the_checker_finds_what_is_wrong_with_a_season() -> None:
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
    with pytest.raises(InputError, match="a solver of season"):
        schedopt.solve(instance, solver="core")
