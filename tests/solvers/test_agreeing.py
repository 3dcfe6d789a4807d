"""Smallest conflicts are those of all subsets, and the loop of every search."""

from collections.abc import Iterable
from itertools import combinations, product
from math import inf
from random import Random

import numpy as np
import pytest
from builders.effort import tried
from hypothesis import given
from hypothesis import strategies as st

from schedopt.formulations.program import IntegerProgram, ProgramWriter
from schedopt.instances.decimals import Whole
from schedopt.solvers.clock import now
from schedopt.solvers.conflict import ConflictNotReducedError, smallest_conflict
from schedopt.solvers.dssp.selection.priced_core import conflict_oracle
from schedopt.solvers.result import Limits, Termination
from schedopt.solvers.running import Run, drive

Step = tuple[float | None, float | None, bool] | BaseException


class Scripted:
    """A search that plays a script of (value, bound, done)."""

    def __init__(self, *steps: Step) -> None:
        self.steps = list(steps)
        self.value: float | None = None
        self.bound: float | None = None

    def advance(self, seconds: float) -> bool:
        step = self.steps.pop(0)
        if isinstance(step, BaseException):
            raise step
        self.value, self.bound, done = step
        return done


@pytest.mark.parametrize(
    ("steps", "limits", "ends"),
    [
        ([(9.0, 4.0, False), (5.0, 5.0, False)], Limits(), "optimal"),
        ([(9.0, 4.0, False), (9.0, 8.5, False)], Limits(gap=0.1), "optimal"),
        ([(9.0, 4.0, False), (9.0, 8.5, True)], Limits(), "completed"),
        ([(None, None, True)], Limits(), "optimal"),
        ([(9.0, 4.0, False), (9.0, 8.0, False)], Limits(time_limit=0.0), "time-limit"),
        ([(9.0, 4.0, False), KeyboardInterrupt()], Limits(), "interrupted"),
        ([(9.0, 4.0, False), MemoryError("full")], Limits(), "error"),
    ],
)
def test_drive_ends_with_the_right_termination(
    steps: list[Step], limits: Limits, ends: Termination
) -> None:
    run, search = Run(limits), Scripted(*steps)
    stopped, message = drive(search, run)
    assert stopped == ends
    assert message == ("full" if ends == "error" else "")
    assert run.trace[-1][1:] == (search.value, search.bound)


NAMES = [f"c{i}" for i in range(7)]
families = st.lists(
    st.sets(st.sampled_from(NAMES), min_size=1, max_size=4).map(frozenset), min_size=1, max_size=5
)


@given(families)
def test_smallest_conflict_of_random_families(minimal: list[frozenset[str]]) -> None:
    def holds(names: frozenset[str]) -> bool:
        return not any(conflict <= names for conflict in minimal)

    found = smallest_conflict(NAMES, holds)
    assert not holds(frozenset(found))
    assert found == [name for name in NAMES if name in found]
    for smaller in combinations(NAMES, len(found) - 1):
        assert holds(frozenset(smaller))


@pytest.mark.parametrize("stop", [TimeoutError, KeyboardInterrupt])
def test_smallest_conflict_cut_short_keeps_a_conflict(stop: type[BaseException]) -> None:
    bad, left = frozenset({"c1", "c4"}), iter(range(5))

    def holds(names: frozenset[str]) -> bool:
        if next(left, None) is None:
            raise stop
        return not bad <= names

    with pytest.raises(ConflictNotReducedError) as caught:
        smallest_conflict(NAMES, holds)
    assert bad < set(caught.value.conflict) < set(NAMES)


def contradictory(rng: Random) -> IntegerProgram:
    """Return a small program with up to seven side constraints of a row or two each."""
    columns = rng.randint(1, 6)
    writer = ProgramWriter([str(j) for j in range(columns)], np.ones(columns, dtype=np.bool_))
    for i in range(rng.randint(1, 7)):
        for part in range(rng.choice([1, 1, 2])):
            terms = {j: rng.randint(-4, 5) for j in range(columns) if rng.random() < 0.6}
            low, high = (sum(pick(0, c) for c in terms.values()) for pick in (min, max))
            below = rng.randint(low, high) if rng.random() < 0.5 else -inf
            above = rng.randint(low, high) - (rng.random() < 0.3) if rng.random() < 0.6 else inf
            name = f"rule {i}" if rng.random() < 0.9 else ""
            names = f"{i}.{part}", name
            writer.add(names, list(terms), list(terms.values()), (below, above))
    return writer.program(Whole.of(np.zeros(columns)))


@tried(600, seed=st.integers(0, 2**31))
def test_conflicts_of_selections_are_smallest(seed: int) -> None:
    program = contradictory(Random(seed))  # noqa: S311
    points = product((0, 1), repeat=program.n_columns)
    broken = [
        {program.owners[i] for i in program.violated_rows(np.array(point)).tolist()}
        for point in points
    ]
    names = sorted({*program.owners} - {""})

    def refuted(asked: Iterable[str]) -> bool:
        return not any("" not in rows and rows.isdisjoint(asked) for rows in broken)

    if refuted(names):
        conflict = smallest_conflict(names, conflict_oracle(program, names, Limits(), now()))
        assert refuted(conflict)
        fewer = combinations(names, len(conflict) - 1) if conflict else ()
        assert not any(map(refuted, fewer))
