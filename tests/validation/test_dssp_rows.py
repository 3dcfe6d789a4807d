"""The declared rows and the checker of solutions accept the same selections."""

from itertools import product
from random import Random
from typing import Any

import msgspec
import numpy as np
from builders.effort import tried
from hypothesis import example
from hypothesis import strategies as st

from schedopt.formulations.dssp import Selection
from schedopt.formulations.program import IntegerProgram
from schedopt.instances import constraints as kinds
from schedopt.instances.dssp import Instance, Job, selected
from schedopt.instances.fair_share import Each
from schedopt.solvers.result import Document
from schedopt.validation.documents import check


def some_rule(draw: Random, names: list[str]) -> Any:
    two, share = draw.sample(names, 2), draw.choice((0.1, 0.25, 0.5, 0.9))
    use = {name: draw.randint(0, 3) for name in names}
    more: dict[str, Any] = {"of": draw.choice(("capacity", "selected"))}
    if draw.random() < 0.3:
        more["past"] = {"a": float(draw.randint(0, 4)), "b": 2.0}
    return draw.choice(
        (
            kinds.Apart(jobs=tuple(two)),
            kinds.Together(jobs=tuple(two)),
            kinds.Imply(if_=two[0], then=two[1]),
            kinds.Require(jobs=(two[0],)),
            kinds.Forbid(jobs=(two[0],)),
            kinds.AtMost(jobs=tuple(names[:3]), count=draw.randint(0, 2)),
            kinds.AtLeast(by="team", group="a", count=draw.randint(0, 2)),
            kinds.Resource(name=f"disk {draw.random()}", capacity=draw.randint(0, 5), use=use),
            *(kinds.Seats(capacity=draw.randint(1, 3), use=use) for _ in range(3)),
            *(kinds.FairShare(by="team", at_most={"a": share}, **more) for _ in range(2)),
            *(kinds.FairShare(by="team", at_least={"b": share}, **more) for _ in range(2)),
            kinds.FairShare(by="team", each=Each(at_most=share, at_least=share / 3), **more),
        )
    )


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
    rules = [some_rule(draw, [job.name for job in jobs]) for _ in range(draw.randint(0, 2))]
    return Instance(
        name="rows", processors=draw.randint(1, 2), deadline=5, jobs=jobs, constraints=tuple(rules)
    )


def holds(program: IntegerProgram, chosen: list[int]) -> bool:
    """Return True if the columns are open and satisfy all rows."""
    return program.satisfied_by(program.point(chosen))


def found(night: Instance, fill: float, solution: Any) -> list[str]:
    """Return what the checker finds of a selection."""
    claim = Document(
        instance="rows",
        problem="dssp",
        formulation="selection",
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
