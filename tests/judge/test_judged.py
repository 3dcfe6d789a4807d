"""Schedules, selections and seasons, judged by trying everything."""

import json
from copy import deepcopy
from random import Random
from typing import Any

import pytest
from builders.effort import ALL, tried
from hypothesis import strategies as st
from msgspec import convert, to_builtins
from msgspec.structs import replace

import schedopt
from judge.brute import Night
from judge.nights import drawn
from judge.trial import keeps
from judge.verdicts import judged, judged_file
from schedopt.formulations.dssp import Season, Selection
from schedopt.instances import files
from schedopt.instances.dssp import selected_nights
from schedopt.solvers.result import Document
from schedopt.validation.documents import check
from schedopt.validation.dssp.bound import reprove

PART = 25
SEEDS = st.integers(0, 2**31)
KINDS = ("schedule", "selection", "schedule", "season")


@pytest.mark.parametrize("part", range(80 if ALL else 8))
def test_solver_and_brute_force_agree_on_random_nights(part: int) -> None:
    kind = KINDS[part % len(KINDS)]
    said = {seed: judged(kind, seed) for seed in range(PART * part, PART * (part + 1))}
    right = {"agreed", "infeasible"} | ({"withheld"} if kind == "schedule" else set())
    assert not {seed: verdict for seed, verdict in said.items() if verdict not in right}
    assert [*said.values()].count("withheld") <= PART / 5


@pytest.mark.parametrize("nights", [1, 2, 3])
@tried(160, seed=SEEDS)
def test_rows_and_checkers_agree_with_brute_force_on_random_plans(nights: int, seed: int) -> None:
    draw = Random(seed)  # noqa: S311
    text = drawn(seed, ("after",) if nights > 1 else (), nights)
    instance, night = files.parse(text), Night(text)
    model = (Season if nights > 1 else Selection)(instance)
    program = model.integer_program()
    claim = schedopt.solve(instance, threads=1)
    for _ in range(10):
        plan = {name: draw.choice((0, *night.nights)) for name in night.jobs}
        run = [[j for j, n in enumerate(plan.values()) if n == m] for m in night.nights]
        solution = selected_nights(instance, run) if nights > 1 else model.selected(run[0])
        worth = instance.objective_of(solution)
        told = replace(claim, solution=solution, objective=worth, bound=worth, gap=0.0)
        right = night.allows(plan)
        assert (not check(instance, told.document()).violations) == right, plan
        if all(n in (0, *model.columns_of(j)) for j, n in enumerate(plan.values())):
            columns = model.chosen_columns(solution)
            assert program.satisfied_by(program.point(columns)) == right, plan


TOLD_BESIDE = ("completion", "makespan", "utilization", "objective", "late")
"""What follows from tasks, and is not forged along."""


@tried(400, seed=SEEDS)
def test_schedule_checker_agrees_with_brute_force_on_forged_plans(seed: int) -> None:
    draw = Random(seed)  # noqa: S311
    text = drawn(seed, ("rules", "late"))
    instance, night = files.parse(text), Night(text)
    plan = to_builtins(schedopt.evaluate(instance, "first").document())
    unit = min((x for job in instance.jobs for s in job.stages for x in s if x), default=1.0)
    for _ in range(20):
        forged = deepcopy(plan)
        tasks = forged["solution"]["tasks"]
        long = [task for task in tasks if task["start"] < task["end"]]
        if not long:
            break
        one, by = draw.choice(long), draw.choice((-2, -1, -1, 1, 2)) * unit
        moving = [one] if draw.random() < 0.5 else [t for t in tasks if t["job"] == one["job"]]
        if draw.random() < 0.6:
            for task in moving:
                task |= {"start": task["start"] + by, "end": task["end"] + by}
        else:
            on = one.get("processors", [one["processor"]])
            on = draw.choices(range(-1, 6), k=max(1, len(on) + draw.choice((0, 0, 0, 1, -1))))
            one |= {"processor": on[0], "processors": on}
        told = check(instance, convert(forged, Document)).violations
        found = [what for what in told if not what.startswith(TOLD_BESIDE)]
        right = keeps(night, tasks)
        assert (not found) == right, ([tuple(t.values())[1:] for t in tasks], found)


@tried(120, seed=SEEDS)
def test_certificate_proves_the_bound_and_no_lower_one(seed: int) -> None:
    instance = files.parse(drawn(seed))
    result = schedopt.solve(instance, certificate=True, threads=1)
    if result.termination == "infeasible":
        return
    assert schedopt.check(instance, result).bound == "re-proved"
    claim = result.document()
    for lower in (result.objective - 1, result.objective / 2):
        forged = replace(claim, bound=lower, objective=lower)
        shown = reprove(instance, instance.constraints, claim.certificate, forged)
        assert (shown is None) == (lower == result.objective == 0)


def file(jobs: list[Any], **given: Any) -> bytes:
    named = [{"name": "first", "reward": 7} | job for job in jobs]
    return json.dumps({"problem": "dssp", "name": "n", "jobs": named} | given).encode()


SOON = file([{"stages": [[1]]}], processors=1, capacity=[[0, 0], [0.5, 1]], deadline=1.5)
SEATED = file(
    [{"stages": [[1]], "holds": {"lic": 1}}],
    processors=1,
    resources={"lic": [[0.5, 1]]},
    deadline=1.5,
)
NEEDED = [{"kind": "require", "jobs": ["first"]}]
WIDE = file(
    [{"stages": [[1]], "processors": 2}],
    pools={"big": 1, "cpu": 2},
    down=[{"start": 2, "end": 3, "processors": 1, "pool": "cpu"}],
    deadline=4,
)
SECOND = {"name": "second", "reward": 5, "stages": [[2]], "after": ["first"], "deadline": 7}
LATE = file([{"stages": [[3]], "deadline": 1}, SECOND], processors=1, deadline=7)
ENDED = file(
    [
        {"stages": [[3], [0]]},
        {"name": "then", "reward": 2, "stages": [[0]], "after": ["first"]},
        {"name": "later", "reward": 4, "stages": [[0]], "release": 3.5},
    ],
    processors=1,
    deadline=9,
    end=3,
)
BEYOND = file([{"stages": [[4]], "deadline": 5}], processors=1, deadline=2)
SEATS = {"kind": "seats", "capacity": 1, "use": {"first": 2}}
FLOOR = {"kind": "fair-share", "by": "team", "at_least": {"fx": 0.2}}
OWED = {"processors": 1, "deadline": 4, "constraints": [FLOOR, SEATS]}
UNSEATED = file([{"stages": [[1]], "groups": {"team": "fx"}}], **OWED)
TOO_MUCH = file([{"stages": [[1, 1, 1, 1, 1]], "groups": {"team": "fx"}}], **OWED)


@pytest.mark.parametrize(
    ("text", "kind", "best"),
    [
        (SOON, "schedule", 7),
        (SEATED, "schedule", 7),
        (json.dumps(json.loads(SOON) | {"constraints": NEEDED}).encode(), "schedule", 7),
        (WIDE, "schedule", 7),
        (LATE, "schedule", 0),
        (json.dumps(json.loads(LATE) | {"constraints": NEEDED}).encode(), "schedule", None),
        (json.dumps(json.loads(LATE) | {"late": [[0, 0.5], [2, 0]]}).encode(), "schedule", 5),
        (ENDED, "schedule", 9),
        (BEYOND, "selection", 7),
        *((UNSEATED, kind, None) for kind in KINDS[1:]),
        *((TOO_MUCH, kind, 0) for kind in KINDS[1:]),
    ],
)
def test_solver_and_brute_force_agree_on_regression_nights(
    text: bytes, kind: str, best: float | None
) -> None:
    night = Night(text)
    assert (night.best_schedule() if kind == "schedule" else night.best_selection()) == best
    assert judged_file(kind, text) == ("infeasible" if best is None else "agreed")
