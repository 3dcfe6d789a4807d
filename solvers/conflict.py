"""Smallest sets of constraints that cannot hold together."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from schedopt.solvers.result import Result

FeasibilityTest = Callable[[frozenset[str]], bool]
"""Returns whether a set of constraints is feasible; `TimeoutError` if it is not decided."""


class ConflictNotReducedError(Exception):
    """A conflict was found that may not be the smallest: the reason `why`, and the `conflict`."""

    def __init__(self, why: str, conflict: list[str]) -> None:
        super().__init__(why)
        self.why = why
        self.conflict = conflict


def smallest_conflict(names: Sequence[str], holds: FeasibilityTest) -> list[str]:
    """Return a smallest subset of infeasible constraints that is infeasible, in the given order.

    It is empty if the model is infeasible without any of them.

    Raises
    ------
    ConflictNotReducedError
        At the time limit or an interruption, with the smallest conflict so far.
    """
    best, why = frozenset(names), ""
    try:
        for smaller in _shrinking_conflicts(names, holds):
            best = smaller
    except TimeoutError as error:
        why = str(error) or "out of time"
    except KeyboardInterrupt:
        why = "interrupted"
    conflict = [name for name in names if name in best]
    if why:
        raise ConflictNotReducedError(why, conflict)
    return conflict


def with_conflict(result: Result[Any], names: Sequence[str], holds: FeasibilityTest) -> Result[Any]:
    """Return the result with a smallest set of side constraints that cannot hold together."""
    try:
        return result.with_details(conflict=tuple(smallest_conflict(names, holds)))
    except ConflictNotReducedError as error:
        message = f"the conflict may not be the smallest: {error.why}"
        result = msgspec.structs.replace(result, message=message)
        return result.with_details(conflict=tuple(error.conflict))


def _shrinking_conflicts(
    names: Sequence[str], holds: FeasibilityTest, most_rounds: int = 1_000
) -> Iterator[frozenset[str]]:
    """Yield ever smaller conflicts, down to a smallest.

    Deleting constraints one by one gives an irreducible conflict; others may still be smaller. Each
    set whose removal makes the rest feasible (a correction set) shares a member with every
    conflict. So a smallest hitting set of the known correction sets either is a conflict, and then
    a smallest one, or it grows to a maximal feasible set, whose complement is another correction
    set.

    Source: Ignatiev, Previti, Liffiton and Marques-Silva, "Smallest MUS extraction with minimal
    hitting set dualization", CP 2015.
    """
    best = frozenset(names)
    if holds(best):
        raise TimeoutError("the solver does not prove infeasibility when it solves again")
    for name in names:
        if not holds(best - {name}):
            best -= {name}
            yield best
    corrections: list[frozenset[str]] = []
    for _ in range(most_rounds):
        core = _smallest_hitting_set(corrections)
        if len(core) == len(best):
            return
        if not holds(core):
            yield core
            return
        satisfied = core
        for name in names:
            if name not in satisfied and holds(satisfied | {name}):
                satisfied |= {name}
        corrections.append(frozenset(names) - satisfied)
    raise TimeoutError(f"no end after {most_rounds} rounds")


def _smallest_hitting_set(sets: Sequence[frozenset[str]]) -> frozenset[str]:
    """Return a smallest set that shares a member with each of the sets."""
    size, members = 0, _hitting_set(sets, 0)
    while members is None:
        size += 1
        members = _hitting_set(sets, size)
    return members


def _hitting_set(sets: Sequence[frozenset[str]], size: int) -> frozenset[str] | None:
    """Return a hitting set of at most ``size`` members, or None if there is none."""
    if not sets:
        return frozenset()
    if size == 0:
        return None
    fewest: frozenset[str] = min(sets, key=len)
    for member in sorted(fewest):  # one of these must be in it
        rest = _hitting_set([s for s in sets if member not in s], size - 1)
        if rest is not None:
            return rest | {member}
    return None
