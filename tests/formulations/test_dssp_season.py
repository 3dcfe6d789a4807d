"""Seasons: the program against plain enumeration, and the checker against both."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

import schedopt
from schedopt.formulations.dssp import Season
from schedopt.instances import files
from schedopt.instances.dssp import Instance, SelectedNights, selected_nights
from schedopt.instances.errors import InputError

TEAMS = ("fx", "light")


def season(draw: random.Random) -> Instance:
    nights = draw.randrange(1, 5)
    jobs = []
    for j in range(draw.randrange(2, 6)):
        first = draw.randrange(1, nights + 1)
        jobs.append(
            {
                "name": f"j{j}",
                "reward": draw.randrange(10),
                "demand": draw.choice((0, 1, 2, 3, 4, 1.5, 7)),
                "critical_path": draw.choice((1, 1, 1, 1, 9)),
                "groups": {"team": draw.choice(TEAMS)} if j > 1 else {"team": TEAMS[j]},
                "first_night": first,
                "last_night": draw.randrange(first, nights + 1),
            }
        )
    rules = [fair(draw, i) for i in range(draw.choice((0, 1, 1, 1, 2)))]
    if draw.random() < 0.4:
        two = draw.sample([job["name"] for job in jobs], 2)
        rules.append(
            draw.choice(
                (
                    {"kind": "require", "jobs": two[:1]},
                    {"kind": "forbid", "jobs": two[:1]},
                    {"kind": "apart", "jobs": two},
                    {"kind": "together", "jobs": two},
                    {"kind": "imply", "if": two[0], "then": two[1]},
                    {"kind": "at-most", "by": "team", "group": "fx", "count": 1},
                    {"kind": "at-least", "jobs": two, "count": 1},
                    {"kind": "resource", "name": "r", "capacity": 2, "use": dict.fromkeys(two, 2)},
                )
            )
        )
    document = {"problem": "dssp", "name": "s", "processors": 1, "deadline": 5, "nights": nights}
    return files.parse(files.encode({**document, "jobs": jobs, "constraints": rules}))


def fair(draw: random.Random, i: int) -> dict[str, Any]:
    rule: dict[str, Any] = {"kind": "fair-share", "name": f"f{i}", "by": "team"}
    rule[draw.choice(("at_most", "at_most", "at_least"))] = {"fx": draw.choice((0.2, 0.4, 0.5))}
    if draw.random() < 0.3:
        rule["each"] = draw.choice(({"at_most": 0.5}, {"at_least": 0.3}))
    rule["of"] = draw.choice(("capacity", "capacity", "selected"))
    if draw.random() < 0.4:
        rule["past"] = {"fx": draw.randrange(4), "light": draw.randrange(4)}
        rule["past_total"] = draw.randrange(4, 12)
    lives = draw.choice((0.5, 1, 2, 3.7))
    return rule | draw.choice(({}, {"window": draw.randrange(1, 6)}, {"half_life": lives}))


def close(left: float, right: float) -> bool:
    return left <= right + 1e-9


def kept(instance: Instance, rule: dict[str, Any], plan: tuple[int, ...]) -> bool:
    """Tell whether a plan, a night or 0 for each job, keeps a fair share; in plain numbers."""
    nights, capacity = instance.nights, 5.0
    life, window = rule.get("half_life"), rule.get("window")
    past, past_total = rule.get("past", {}), rule.get("past_total", 0)
    for n in range(1, nights + 1):
        counts, before = {n: 1.0}, 1.0 if n == 1 else 0.0
        if life:
            counts = {m: 2 ** (-(n - m) / life) for m in range(1, n + 1)}
            before = 2 ** (-n / life)
        elif window and n >= window:
            counts, before = dict.fromkeys(range(n - window + 1, n + 1), 1.0), 0.0
        elif window:
            counts, before = dict.fromkeys(range(1, n + 1), 1.0), 1.0
            if not past and n < nights:
                continue
        used = {team: before * past.get(team, 0) for team in TEAMS}
        base = before * past_total + capacity * sum(counts.values()) * (rule["of"] == "capacity")
        for job, m in zip(instance.jobs, plan, strict=True):
            part = counts.get(m, 0.0) * (job.demand or 0.0)
            used[job.groups["team"]] += part
            base += part * (rule["of"] == "selected")
        waiting = {
            job.groups["team"]
            for job, m in zip(instance.jobs, plan, strict=True)
            if not m
            and job.demand
            and (job.critical_path or 0) <= 5
            and set(counts) & set(range(job.first_night, (job.last_night or nights) + 1))
        }
        if not all(within(rule, team, used[team], base, team in waiting) for team in TEAMS):
            return False
    return True


def within(rule: dict[str, Any], team: str, mine: float, base: float, waiting: bool) -> bool:
    own = {side: rule.get(side, {}).get(team) for side in ("at_most", "at_least")}
    if team not in {*rule.get("at_most", {}), *rule.get("at_least", {})}:
        own |= rule.get("each", {})
    most, least = own["at_most"], own["at_least"]
    if most is not None and not close(mine, most * base):
        return False
    return least is None or not waiting or close(least * base, mine)


def plans(instance: Instance) -> Iterator[tuple[int, ...]]:
    choices = [
        (0, *range(job.first_night, (job.last_night or instance.nights) + 1))
        if (job.critical_path or 0) <= 5
        else (0,)
        for job in instance.jobs
    ]
    for plan in itertools.product(*choices):
        used = [0.0] * (instance.nights + 1)
        for job, n in zip(instance.jobs, plan, strict=True):
            used[n] += job.demand or 0.0
        if max(used[1:]) <= 5:
            yield plan


def brute(instance: Instance) -> float | None:
    fairs = [r for r in msgspec.to_builtins(instance.constraints) if r["kind"] == "fair-share"]
    others = [rule for rule in instance.constraints if rule.kind() != "fair-share"]
    best: float | None = None
    for plan in plans(instance):
        worth = sum(job.reward for job, n in zip(instance.jobs, plan, strict=True) if n)
        if best is not None and worth <= best:
            continue
        names = {job.name for job, n in zip(instance.jobs, plan, strict=True) if n}
        if not all(other_kept(instance, rule, plan, names) for rule in others):
            continue
        if all(kept(instance, {"of": "capacity", **rule}, plan) for rule in fairs):
            best = worth
    return best


def other_kept(instance: Instance, rule: Any, plan: tuple[int, ...], names: set[str]) -> bool:
    kind = rule.kind()
    if kind == "imply":
        return rule.if_ not in names or rule.then in names
    if kind == "resource":
        return all(
            sum(
                rule.use.get(job.name, 0)
                for job, m in zip(instance.jobs, plan, strict=True)
                if m == n
            )
            <= rule.capacity
            for n in range(1, instance.nights + 1)
        )
    listed = set(rule.jobs or [j.name for j in instance.jobs if j.groups["team"] == "fx"])
    count = len(listed & names)
    return {
        "require": count == len(listed),
        "forbid": count == 0,
        "apart": count <= 1,
        "together": count in (0, len(listed)),
        "at-most": count <= getattr(rule, "count", 0),
        "at-least": count >= getattr(rule, "count", 0),
    }[kind]


def agrees(seed: int) -> str:
    instance = season(random.Random(seed))  # noqa: S311
    result, best = schedopt.solve(instance, formulation="season"), brute(instance)
    assert not result.violations, (seed, result.violations)
    assert result.checked
    if best is None:
        assert result.termination == "infeasible", seed
        assert result.conflict, seed
    else:
        assert result.proven, seed
        assert result.objective == pytest.approx(best), seed
    return result.termination


def test_a_season_is_as_good_as_enumeration_says() -> None:
    ended = [agrees(seed) for seed in range(150)]
    assert 3 < ended.count("infeasible") < 75


@pytest.mark.slow
def test_very_many_seasons_are_as_good_as_enumeration_says() -> None:
    for seed in range(1000, 2500):
        agrees(seed)


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
        b'{"name":"b","reward":1,"stages":[[3]],"groups":{"team":"fx"}}]}'
    )
    instance = files.parse(text)
    assert not found(instance, selected_nights(instance, [[0], [1]]))
    for nights, word in (
        ([[], [0]], "is for nights 1 to 1"),
        ([[1], [1]], "run on two nights: b"),
        ([[0, 1], []], "night 1"),
        ([[0]], "nights: 1, and there are 2"),
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
