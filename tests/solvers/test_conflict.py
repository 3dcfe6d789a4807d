"""Smallest conflicts against all subsets, on random families of conflicts."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from instances.files import load
from schedopt.verbs.solve import solve
from solvers.conflict import ConflictNotReducedError, smallest_conflict

NAMES = [f"c{i}" for i in range(7)]
families = st.lists(
    st.sets(st.sampled_from(NAMES), min_size=1, max_size=4).map(frozenset), min_size=1, max_size=5
)


@given(families)
def test_the_conflict_is_a_smallest_one(minimal: list[frozenset[str]]) -> None:
    def holds(names: frozenset[str]) -> bool:
        return not any(conflict <= names for conflict in minimal)

    found = smallest_conflict(NAMES, holds)
    assert not holds(frozenset(found))
    assert found == [name for name in NAMES if name in found]
    for smaller in combinations(NAMES, len(found) - 1):
        assert holds(frozenset(smaller))


def test_a_model_that_cannot_hold_by_itself_has_an_empty_conflict() -> None:
    assert smallest_conflict(NAMES, lambda names: False) == []


def test_hundreds_of_constraints_do_not_matter() -> None:
    many = [f"c{i}" for i in range(300)]
    bad = frozenset({"c7", "c150", "c299"})
    assert smallest_conflict(many, lambda names: not bad <= names) == ["c7", "c150", "c299"]


def test_the_bundled_conflict_is_named() -> None:
    result = solve(load("instances/dssp/conflict.json"))
    assert result.termination == "infeasible"
    assert result.solution_status == "none"
    assert set(result.conflict) == {"lighting-floor", "fx-floor", "trailer-tonight"}
    assert (result.objective, result.bound, result.gap) == (None, None, None)


@pytest.mark.parametrize("stop", [TimeoutError, KeyboardInterrupt])
def test_a_search_that_is_cut_short_keeps_a_conflict(stop: type[BaseException]) -> None:
    bad, left = frozenset({"c1", "c4"}), iter(range(5))

    def holds(names: frozenset[str]) -> bool:
        if next(left, None) is None:
            raise stop
        return not bad <= names

    with pytest.raises(ConflictNotReducedError) as caught:
        smallest_conflict(NAMES, holds)
    assert bad < set(caught.value.conflict) < set(NAMES)


def test_a_solver_of_two_minds_ends_the_search() -> None:
    with pytest.raises(ConflictNotReducedError, match="asked again"):
        smallest_conflict(NAMES, lambda names: True)


def test_without_time_for_reducing_it_the_conflict_is_said_to_be_unreduced() -> None:
    night = load("instances/dssp/conflict.json")
    result = solve(night, time_limit=1e-9, solver="highs")
    assert result.termination in ("infeasible", "time-limit")
    if result.termination == "infeasible":
        assert "smallest" in str(result.message)
        assert {"lighting-floor", "fx-floor", "trailer-tonight"} <= set(result.conflict)
