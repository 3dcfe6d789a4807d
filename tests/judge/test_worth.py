"""Objectives in order, and what would let a job run, judged by trying everything."""

import json
from copy import deepcopy
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from builders.effort import tried
from hypothesis import strategies as st

import schedopt
from judge.brute import Night, subsets
from judge.nights import drawn
from schedopt.instances import files
from schedopt.planning.why import smallest_changes

SEEDS = st.integers(0, 2**31)


def with_objectives(seed: int) -> Any:
    """Draw a night whose jobs have a level each, some too large to be combined into one number."""
    draw, file = Random(seed), json.loads(drawn(seed, ("late", "predicted")))  # noqa: S311
    levels = [f"level {n}" for n in range(draw.randint(1, 4))]
    size = draw.choice((1, 1, 2**20))
    for job in file["jobs"]:
        level = draw.choice(["reward", *levels, "nothing"])
        job["reward"] = size * draw.choice((1, 0.25)) if level == "reward" else 0
        job["values"] = {level: size} if level in levels else {}
    used = {name for job in file["jobs"] for name in job["values"]}
    file["objectives"] = ["reward", *(level for level in levels if level in used)]
    return file


@tried(400, seed=SEEDS)
def test_schedule_is_best_for_objectives_in_order(seed: int) -> None:
    text = json.dumps(with_objectives(seed)).encode()
    truth = Night(text).best_in_order()
    result = schedopt.solve(files.parse(text), formulation="schedule", threads=1)
    if truth is None:
        assert result.termination == "infeasible"
        return
    assert result.proven, result.message
    assert not result.violations, result.violations
    objectives = result.solution.objectives or (result.objective,)
    assert tuple(map(float, truth)) == pytest.approx(objectives)


def small_night(seed: int) -> Any:
    """Draw a night of up to five jobs in whole hours, perhaps with a cap."""
    draw = Random(seed)  # noqa: S311
    deadline, processors = draw.randint(2, 4), draw.randint(1, 2)
    jobs = [
        {
            "name": f"j{i}",
            "reward": draw.randint(0, 6),
            "stages": [
                [draw.randint(1, 3) for _ in range(draw.randint(1, 2))]
                for _ in range(draw.choice((1, 1, 2)))
            ],
            "groups": {"team": draw.choice(("fx", "light")) if i else "fx"},
            **({"deadline": draw.randint(1, deadline)} if draw.random() < 0.3 else {}),
            "processors": draw.choice((1, 1, processors)),
        }
        for i in range(draw.randint(2, 5))
    ]
    file: Any = {"problem": "dssp", "name": "small", "deadline": deadline, "end": deadline}
    file |= {"processors": processors, "jobs": jobs, "constraints": []}
    if draw.random() < 0.6:
        share = draw.choice((0.2, 0.35, 0.5))
        file["constraints"] = [{"kind": "fair-share", "by": "team", "at_most": {"fx": share}}]
    return file


def changed(file: Any, name: str, lever: str, c: int) -> Any:
    """Return a night after some steps of a change, as docs/howto/why.md describes it."""
    file = deepcopy(file)
    job = next(job for job in file["jobs"] if job["name"] == name)
    if c == 0:
        return file
    if lever == "deadline":
        due = min(job.get("deadline", file["deadline"]), file["end"]) + c
        job["deadline"], file["end"] = due, max(due, file["end"])
    elif lever == "processors":
        file["processors"] += c
    elif lever.startswith("cap"):
        shares = file["constraints"][0]["at_most"]
        shares["fx"] = round(shares["fx"] + c / 100, 2)
    else:
        job["reward"] += c
    return file


def shares_of(file: Any) -> float:
    share: float = file["constraints"][0]["at_most"]["fx"]
    return share


STEPS = {"deadline": 25, "processors": 60, "cap team fx": 80, "reward": 31}
"""Steps that are tried of each change; more are never of use in a small night."""


def smallest_step(file: Any, name: str, lever: str) -> int | None:
    """Return the least steps after which a best plan runs a job; None where none is enough."""
    for c in range(STEPS[lever] + 1):
        night = Night(json.dumps(changed(file, name, lever, c)).encode())
        with_job = night.best_in_order(name)
        if with_job is not None and with_job == night.best_in_order():
            return c
        if lever.startswith("cap") and shares_of(changed(file, name, lever, c)) >= 1:
            return None
    return None


@tried(48, seed=SEEDS)
def test_why_finds_the_smallest_change(seed: int) -> None:
    solve = partial(schedopt.solve, threads=1)
    file = small_night(seed)
    night = files.parse(json.dumps(file).encode())
    plan = solve(night, formulation="schedule")
    left_out = [job.name for job in night.jobs if job.name not in plan.solution.completion]
    for name in left_out[:2]:
        for found in smallest_changes(night, (), name, plan, solve=solve):
            assert found.proven, found
            if found.change == "none":
                assert smallest_step(file, name, "reward") == 0, found
                continue
            step = smallest_step(file, name, found.change)
            assert (found.value is None) == (step is None), (found, step)
            if step is None:
                continue
            told = changed(file, name, found.change, step)
            job = next(job for job in told["jobs"] if job["name"] == name)
            expected = {
                "deadline": job.get("deadline"),
                "processors": told["processors"],
                "cap team fx": told["constraints"] and told["constraints"][0]["at_most"]["fx"],
                "reward": job["reward"],
            }
            assert found.value == pytest.approx(expected[found.change]), (found, step)


# --- tables: what docs/howto/jobs.md says that a job is worth ----------------------------------


@st.composite
def tables(draw: st.DrawFn) -> dict[str, Any]:
    """Draw up to seven jobs in hours with priorities, on a machine that is too small for all."""
    jobs = draw(
        st.lists(
            st.tuples(
                st.sampled_from((0, 1, 5, 5.5, 80)),  # priority
                st.lists(st.integers(1, 3), min_size=1, max_size=2),  # tasks
                st.sampled_from(("", "", "", "yes", "no")),  # must
                st.sampled_from(("", "", "", "", "yes")),  # forbid
            ),
            min_size=1,
            max_size=7,
        )
    )
    words = draw(st.sampled_from(({}, {"reward": "strict"})))
    words |= draw(st.sampled_from(({}, {"priority": "lower"}, {"priority": "higher"})))
    machine = {"processors": draw(st.integers(1, 2)), "until": f"{draw(st.integers(2, 4))}h"}
    return {"jobs": jobs, "words": words, "machine": machine}


def expected_values(drawn: dict[str, Any]) -> dict[str, tuple[float, ...]]:
    """Return what each job adds to what is compared in order."""
    priorities = [priority for priority, *_ in drawn["jobs"]]
    lower = drawn["words"].get("priority") == "lower"
    levels = sorted(set(priorities), reverse=not lower)
    values = {}
    for i, priority in enumerate(priorities):
        if "reward" in drawn["words"]:
            values[f"j{i}"] = tuple(float(level == priority) for level in levels)
        else:
            worth = min(priorities) + max(priorities) - priority if lower else priority
            values[f"j{i}"] = (float(worth), float(worth == 0))
    return values


@tried(120, tables())
def test_plan_of_a_table_is_the_best_by_priority(drawn: dict[str, Any]) -> None:
    jobs, values = drawn["jobs"], expected_values(drawn)
    rows = [
        f"j{i},{priority},{' + '.join(f'{h}h' for h in tasks)},{must},{forbid}"
        for i, (priority, tasks, must, forbid) in enumerate(jobs)
    ]
    with TemporaryDirectory() as folder:
        table = Path(folder) / "jobs.csv"
        table.write_text("\n".join(["name,priority,tasks,must,forbid", *rows]))
        made = schedopt.plan(
            table, unit="h", threads=1, time_limit=None, **drawn["machine"], **drawn["words"]
        )
    hours = int(drawn["machine"]["until"][:-1])
    file: Any = {"deadline": hours, "end": hours, "processors": drawn["machine"]["processors"]}
    file["jobs"] = [
        {"name": f"j{i}", "reward": 0, "stages": [tasks]} for i, (_, tasks, *_) in enumerate(jobs)
    ]
    night = Night(json.dumps(file).encode())
    must = {f"j{i}" for i, job in enumerate(jobs) if job[2] == "yes"}
    forbidden = {f"j{i}" for i, job in enumerate(jobs) if job[3] == "yes"}

    def total(chosen: Any) -> tuple[float, ...]:
        every = [(0.0,) * len(values["j0"]), *(values[name] for name in chosen)]
        return tuple(sum(column) for column in zip(*every, strict=True))

    allowed = [some for some in subsets(night.jobs) if must <= {*some} and not forbidden & {*some}]
    best = max((total(some) for some in allowed if night.can_schedule(some)), default=None)
    runs = [row["job"] for row in made.rows if row["run"]]
    assert (best is None) == (made.result.termination == "infeasible")
    assert best is None or total(runs) == best
    assert made.result.proven or best is None
