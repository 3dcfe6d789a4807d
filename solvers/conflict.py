"""A smallest set of constraints that cannot hold together, found with any yes-or-no solver."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from schedopt.solvers.result import Result

Holds = Callable[[frozenset[str]], bool]
MOST_ROUNDS = 1_000


def smallest_conflict(names: Sequence[str], holds: Holds) -> list[str]:
    """Return a smallest set of constraints that cannot hold together.

    Parameters
    ----------
    names : sequence of str
        All constraints; together they cannot hold.
    holds : callable
        Tells whether a set of them can hold together; raises TimeoutError where it cannot tell.

    Returns
    -------
    list of str
        In the given order; empty where the model cannot hold even without them.

    Raises
    ------
    ConflictNotReducedError
        If time ran out or the search was interrupted; it holds the smallest conflict so far.
    """
    best = frozenset(names)
    try:
        for smaller in _shrinking_conflicts(names, holds):
            best = smaller
        return _in_order(names, best)
    except TimeoutError as error:
        why = str(error) or "out of time"
    except KeyboardInterrupt:
        why = "interrupted"
    except _GaveUpError as reason:
        why = str(reason)
    raise ConflictNotReducedError(why, _in_order(names, best))


def with_conflict(result: Result[Any], names: Sequence[str], holds: Holds) -> Result[Any]:
    """Return a result with a smallest set of side constraints that cannot hold together."""
    try:
        return msgspec.structs.replace(result, conflict=tuple(smallest_conflict(names, holds)))
    except ConflictNotReducedError as error:
        message = f"the conflict may not be the smallest: {error.why}"
        return msgspec.structs.replace(result, conflict=tuple(error.conflict), message=message)


class ConflictNotReducedError(Exception):
    """A conflict was found, but not whether there is a smaller one.

    Attributes
    ----------
    why : str
    conflict : list of str
        Constraints that cannot hold together.
    """

    def __init__(self, why: str, conflict: list[str]) -> None:
        super().__init__(why)
        self.why = why
        self.conflict = conflict


class _GaveUpError(Exception):
    """The search ended without an answer; the message says why."""


def _in_order(names: Sequence[str], members: frozenset[str]) -> list[str]:
    return [name for name in names if name in members]


def _shrinking_conflicts(names: Sequence[str], holds: Holds) -> Iterator[frozenset[str]]:
    """Yield ever smaller conflicts, down to a smallest.

    Leaving out one constraint after the other gives a conflict of which nothing can be left out;
    others may still be smaller. Each set whose removal makes the rest satisfiable (a correction)
    shares a member with every conflict. So a smallest set that meets all corrections known so far
    either is a conflict, and then none is smaller, or it grows to a largest satisfiable set, whose
    complement is one more correction.

    Source: Ignatiev, Previti, Liffiton and Marques-Silva, "Smallest MUS extraction with minimal
    hitting set dualization", CP 2015.
    """
    best = frozenset(names)
    if holds(best):
        raise _GaveUpError("the solver does not find them contradictory when asked again")
    for name in names:
        if not holds(best - {name}):
            best -= {name}
            yield best
    corrections: list[frozenset[str]] = []
    for _ in range(MOST_ROUNDS):
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
    raise _GaveUpError(f"no end after {MOST_ROUNDS} rounds")


def _smallest_hitting_set(sets: Sequence[frozenset[str]]) -> frozenset[str]:
    """Return a smallest hitting set: it shares a member with each of the sets."""
    size = 0
    while True:
        members = _hitting_set(sets, size)
        if members is not None:
            return members
        size += 1


def _hitting_set(sets: Sequence[frozenset[str]], size: int) -> frozenset[str] | None:
    """Return a hitting set of at most ``size`` members, if there is one."""
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
