"""Units: the same times in another unit have the same optimum, proven in the same way."""

import random
from pathlib import Path
from typing import Any

import pytest
from builders.effort import tried
from hypothesis import strategies as st
from msgspec.structs import replace

import schedopt
from schedopt.instances.dssp import Instance, Job
from schedopt.verbs.solve import solve

MORE_SIXTHS = """name,reward,tasks,deadline
j0,5,1x35m,15m
j1,1,2x5m,1h
j2,3,1x35m; 1x10m,1h
j3,3,1x35m; 3x10m,
j4,1,2x25m,1h
j5,3,2x35m,1h
"""


@pytest.mark.parametrize("unit", ["s", "m", "h", "d"])
@pytest.mark.parametrize(
    ("table", "farm", "optimum"),
    [
        (MORE_SIXTHS, {"processors": 2, "capacity": {"10m": 2}}, 7),
        ("name,reward,tasks\na,5,3599.999s\nb,3,0.001s\n", {"processors": 1}, 8),
    ],
)
def test_plan_proves_the_same_optimum_in_every_unit(
    tmp_path: Path, unit: str, table: str, farm: dict[str, Any], optimum: int
) -> None:
    file = tmp_path / "jobs.csv"
    file.write_text(table)
    plan = schedopt.plan(file, until="1h", unit=unit, threads=1, time_limit=None, **farm)
    result = plan.result
    assert (result.termination, result.objective, result.bound) == ("optimal", optimum, optimum)


PARTS = st.lists(st.lists(st.integers(1, 30), min_size=1, max_size=3), min_size=1, max_size=2)


@tried(200, st.sampled_from([3, 6, 7, 42]), st.lists(PARTS, min_size=2, max_size=6), st.data())
def test_solve_proves_the_same_optimum_for_fractions_and_whole_numbers(
    denominator: int, jobs: list[list[list[int]]], data: st.DataObject
) -> None:
    deadline = data.draw(st.integers(10, 60))
    whole = Instance(
        name="whole",
        processors=data.draw(st.integers(1, 2)),
        deadline=deadline,
        jobs=tuple(
            Job(name=f"j{i}", reward=data.draw(st.integers(1, 5)), stages=stages)  # type: ignore[arg-type]
            for i, stages in enumerate(jobs)
        ),
    )
    parts = replace(
        whole,
        deadline=deadline / denominator,
        jobs=tuple(
            replace(
                job,
                stages=tuple(tuple(length / denominator for length in s) for s in job.stages or ()),
            )
            for job in whole.jobs
        ),
    )
    for formulation in ("schedule", "selection"):
        results = [solve(night, formulation=formulation, threads=1) for night in (whole, parts)]
        assert [r.termination for r in results] == ["optimal", "optimal"]
        assert results[0].objective == results[1].objective


LENGTHS = {
    "sevenths": lambda draw: draw.randint(1, 30) / draw.choice([3, 6, 7]),
    "thirteenths": lambda draw: draw.randint(1, 30) / draw.choice([11, 13, 17]),
    "four digits": lambda draw: round(draw.randint(1, 30) / draw.choice([3, 6, 7]), 4),
    "twelve digits": lambda draw: round(draw.randint(1, 30) / draw.choice([3, 6, 7]), 12),
    "doubles": lambda draw: draw.random(),
    "large": lambda draw: float(draw.randint(1, 10**14)),
}


@pytest.mark.parametrize("kind", LENGTHS)
@tried(200, seed=st.integers(0, 2**31))
def test_solve_raises_no_alarm_where_a_deadline_is_a_rounded_sum(kind: str, seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311
    jobs = [
        [[LENGTHS[kind](draw) for _ in range(draw.randint(1, 2))] for _ in range(2)]
        for _ in range(draw.randint(2, 6))
    ]
    some = jobs[: draw.randint(1, len(jobs))]
    night = Instance(
        name="planted",
        processors=1,
        deadline=sum(length for stages in some for stage in stages for length in stage),
        jobs=tuple(
            Job(name=f"j{i}", reward=draw.randint(1, 5), stages=tuple(map(tuple, stages)))
            for i, stages in enumerate(jobs)
        ),
    )
    result = solve(night, formulation="schedule", certificate=True, threads=1)
    assert (result.termination, result.violations) == ("optimal", ())
    assert result.bound_checked
    assert result.objective >= sum(job.reward for job in night.jobs[: len(some)])


def test_convert_keeps_the_unit_of_a_table_without_a_start(tmp_path: Path) -> None:
    table, made = tmp_path / "jobs.csv", tmp_path / "jobs.json"
    table.write_text("name,reward,tasks\na,5,2h\nb,4,90m\n")
    options = {"processors": 1, "deadline": "10h", "unit": "h"}
    schedopt.dump(schedopt.convert(table, options=options), made)
    rows = schedopt.whatif(made, vary=["deadline=1h,2h,4h"])
    assert [row.objective for row in rows] == [0, 5, 9]


@pytest.mark.parametrize("table", ["name,reward,tasks\na,5,2h\n", "name,reward,tasks\na,5,2x2\n"])
def test_a_start_without_a_zone_has_that_of_the_machine_which_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str
) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    file, said = tmp_path / "jobs.csv", list[str]()
    file.write_text(table)
    start = "2026-11-22T20:00"
    options = {"processors": 1, "deadline": 9, "start": start}
    night = schedopt.convert(file, options=options, tell=said.append)
    planned = schedopt.plan(file, processors=1, until=9, from_=start)
    assert night.start == planned.instance.start == f"{start}:00+01:00[Europe/Berlin]"  # type: ignore[attr-defined]
    assert any("Europe/Berlin" in line for line in said)
