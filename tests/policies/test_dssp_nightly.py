"""Policies that decide night by night: what they keep, and what they lose to the clairvoyant."""

import random
from typing import Any

import msgspec
import pytest

import schedopt
from schedopt.instances import files
from schedopt.instances.dssp import Instance

NAMES = ("nightly", "nightly-carried", "nightly-greedy")


def season(seed: int, rule: dict[str, Any] | None) -> Instance:
    draw = random.Random(seed)  # noqa: S311
    nights = 4
    jobs = []
    for j in range(14):
        first = draw.randrange(1, nights + 1)
        jobs.append(
            {
                "name": f"j{j}",
                "reward": draw.randrange(1, 12),
                "demand": draw.randrange(1, 7),
                "critical_path": 1,
                "groups": {"team": ("fx", "light", "crowd")[j % 3]},
                "first_night": first,
                "last_night": min(nights, first + draw.randrange(2)),
            }
        )
    rules = [] if rule is None else [{"kind": "fair-share", "name": "f", "by": "team", **rule}]
    document = {"problem": "dssp", "name": "s", "processors": 2, "deadline": 5, "nights": nights}
    return files.parse(files.encode({**document, "jobs": jobs, "constraints": rules}))


@pytest.mark.parametrize("memory", [{}, {"window": 2}, {"window": 9}, {"half_life": 1.5}])
@pytest.mark.parametrize("seed", range(4))
def test_none_is_better_than_the_season_and_carried_shares_keep_the_rule(
    memory: dict[str, Any], seed: int
) -> None:
    rule = {"each": {"at_most": 0.4}, **memory}
    instance = season(seed, rule)
    best = schedopt.solve(instance)
    assert best.proven and not best.violations
    for name, result in zip(NAMES, schedopt.evaluate(instance, NAMES), strict=True):
        if name == "nightly-carried":
            assert not result.violations
        if not result.violations:
            assert (result.objective or 0) <= (best.objective or 0)
        outside = [schedopt.FairShare(name="f", **{"by": "team", **instance_rule(instance)})]
        bare = msgspec.structs.replace(instance, constraints=())
        again = schedopt.evaluate(bare, name, constraints=outside)
        assert again.objective == result.objective


def instance_rule(instance: Instance) -> dict[str, Any]:
    rule = instance.constraints[0]
    fields = ("at_most", "at_least", "each", "window", "half_life")
    return {field: getattr(rule, field) for field in fields}


def test_they_say_where_they_do_not_apply() -> None:
    one = schedopt.evaluate(msgspec.structs.replace(season(1, None), nights=4), "nightly")
    assert one.termination == "completed"
    tiny = schedopt.example("two-shots")
    assert schedopt.evaluate(tiny, "nightly").termination == "not-applicable"
    rule = {"at_most": {"fx": 0.1}, "past": {"fx": 9}, "past_total": 10, "half_life": 1}
    found = schedopt.evaluate(season(1, rule), "nightly-carried")
    assert found.termination == "not-applicable" and "night 1" in str(found.message)


def test_a_bench_measures_them_against_the_clairvoyant() -> None:
    from pathlib import Path
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        files.dump(season(2, {"each": {"at_most": 0.4}, "window": 2}), Path(folder) / "s.json")
        rows = schedopt.bench(folder, policies=NAMES)
    assert [row.policy for row in rows] == list(NAMES)
    assert {row.reference_formulation for row in rows} == {"season"}
    assert all(row.gap is None or row.gap >= 0 for row in rows)
