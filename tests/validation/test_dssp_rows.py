"""The rows of side constraints and the checker of solutions accept the same selections."""

from itertools import product
from random import Random
from typing import Any, get_args

import msgspec
import numpy as np
import pytest
from builders.effort import examples, tried
from builders.rules import DRAWS, Named, some_rule
from hypothesis import example
from hypothesis import strategies as st

from schedopt.formulations.dssp import Season, Selection
from schedopt.formulations.program import IntegerProgram
from schedopt.instances.dssp import Instance, Job, SideConstraint, selected, selected_nights
from schedopt.solvers.result import Document
from schedopt.validation.documents import check


def some_night(draw: Random) -> Instance:
    windowed = draw.random() < 0.7
    jobs = tuple(
        Job(
            name=f"j{i}",
            reward=1,
            demand=draw.choice((0, 1, 1.5, 2, 3, 4, 6)),
            critical_path=draw.randint(0, 5),
            groups={"team": "ab"[i % 2]},
            release=draw.choice((0, 0, 1, 2.5)) if windowed else 0,
            deadline=draw.choice((None, None, 2, 4, 5, 9)) if windowed else None,
        )
        for i in range(draw.randint(2, 5))
    )
    names = [job.name for job in jobs]
    rules = [some_rule(draw, names, "ab") for _ in range(draw.randint(0, 2))]
    return Instance(
        name="rows", processors=draw.randint(1, 2), deadline=5, jobs=jobs, constraints=tuple(rules)
    )


def holds(program: IntegerProgram, chosen: list[int]) -> bool:
    """Return True if the columns are open and satisfy all rows."""
    return program.satisfied_by(program.point(chosen))


def found(night: Instance, fill: float, solution: Any) -> list[str]:
    """Return what the checker finds of a selection or a season."""
    claim = Document(
        instance="rows",
        problem="dssp",
        formulation="selection" if night.nights == 1 else "season",
        solver="highs",
        termination="completed",
        solution_status="feasible",
        sense="maximize",
        objective=night.objective_of(solution),
        options={"fill": fill},
        solution=msgspec.to_builtins(solution),
    )
    return check(night, claim).violations


def agreed(verdicts: list[tuple[bool, bool, Any, Any]]) -> None:
    """Expect both to say the same, unless nothing can be selected: then there is no bound."""
    if any(right for right, *_ in verdicts):
        for right, held, *what in verdicts:
            assert right == held, what


@tried(600, st.integers(0, 10**9))
@example(2835)  # a cap on a group that has used much, and has no job that can be in time
def test_rows_hold_where_the_checker_finds_nothing(seed: int) -> None:
    draw = Random(seed)  # noqa: S311
    night, fill = some_night(draw), draw.choice((1.0, 1.0, 0.5, 2.0))
    program = Selection(night, fill=fill).integer_program().with_count()
    verdicts = []
    for chosen in product((False, True), repeat=len(night.jobs)):
        wrong = found(night, fill, selected(night, np.array(chosen), fill))
        columns = np.flatnonzero(chosen).tolist()
        verdicts.append((not wrong, holds(program, columns), night.constraints, columns))
    agreed(verdicts)


def some_jobs(draw: Random, nights: int) -> tuple[Job, ...]:
    """Draw up to five jobs, of several nights up to four, some for some of the nights only."""
    jobs = []
    for i in range(draw.randint(2, 5 if nights == 1 else 4)):
        first = draw.randint(1, nights)
        jobs.append(
            Job(
                name=f"j{i}",
                reward=1,
                demand=draw.choice((0, 1, 1.5, 2, 3, 6)),
                critical_path=draw.choice((1, 2, 9)),
                groups={"team": "ab"[i % 2]},
                first_night=first,
                last_night=draw.randint(first, nights) if nights > 1 else None,
            )
        )
    return tuple(jobs)


def test_there_is_a_draw_for_each_kind() -> None:
    assert {kind.kind() for kind in get_args(SideConstraint)} == DRAWS.keys()


@pytest.mark.parametrize("nights", [1, 2, 3])
@pytest.mark.parametrize("kind", DRAWS)
def test_rows_and_violations_agree_on_every_plan(kind: str, nights: int) -> None:
    for seed in range(examples(40)):
        draw = Random(f"{kind} {nights} {seed}")  # noqa: S311
        jobs = some_jobs(draw, nights)
        rule = DRAWS[kind](draw, Named([job.name for job in jobs], "ab"))
        night = Instance(
            name="rows",
            processors=draw.randint(1, 2),
            deadline=5,
            jobs=jobs,
            nights=nights,
            constraints=(msgspec.structs.replace(rule, name="rule"),),
        )
        model = Selection(night) if nights == 1 else Season(night)
        program = model.integer_program()
        for plan in product(*([0, *model.columns_of(j)] for j in range(len(jobs)))):
            columns = [model.columns_of(j)[n] for j, n in enumerate(plan) if n]
            if not all(model.open[i] for i in columns):
                continue
            violated = program.violated_rows(program.point(columns)).tolist()
            wrong = [program.labels[i] for i in violated if program.owners[i]]
            runs = [[j for j, on in enumerate(plan) if on == n] for n in range(1, nights + 1)]
            solution: Any = selected_nights(night, runs) if nights > 1 else model.selected(columns)
            found_wrong = [w for w in found(night, 1.0, solution) if w.startswith("rule: ")]
            assert bool(wrong) == bool(found_wrong), (seed, plan, wrong, found_wrong)
