"""A smallest set of constraints that cannot hold together, found with any yes-or-no solver."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Holds = Callable[[frozenset[str]], bool]
MOST_ROUNDS = 1_000


def smallest_conflict(names: Sequence[str], holds: Holds) -> list[str]:
    """Return a smallest set of constraints that cannot hold together.

    Each set whose removal makes the rest satisfiable (a correction) shares a member with every
    conflict. So a smallest set that meets all corrections known so far either is a conflict, and
    then none is smaller, or it grows to a largest satisfiable set, whose complement is one more
    correction. A conflict from which nothing can be left out, found first, says when to stop.

    Parameters
    ----------
    names : sequence of str
        All constraints; together they cannot hold.
    holds : callable
        Tells whether a set of them can hold together.

    Returns
    -------
    list of str
        In the given order; empty where the model cannot hold even without them. After
        ``MOST_ROUNDS`` corrections it is the one from which nothing can be left out.

    Notes
    -----
    Source: Ignatiev, Previti, Liffiton and Marques-Silva, "Smallest MUS extraction with minimal
    hitting set dualization", CP 2015.
    """
    best = _irreducible(names, holds)
    corrections: list[frozenset[str]] = []
    for _ in range(MOST_ROUNDS):
        core = _smallest_meeting(corrections)
        if len(core) == len(best):
            break
        if not holds(core):
            best = core
            break
        satisfied = core
        for name in names:
            if name not in satisfied and holds(satisfied | {name}):
                satisfied |= {name}
        corrections.append(frozenset(names) - satisfied)
    return [name for name in names if name in best]


def _irreducible(names: Sequence[str], holds: Holds) -> frozenset[str]:
    """Leave out one constraint after the other, as long as the rest still cannot hold."""
    core = frozenset(names)
    for name in names:
        if not holds(core - {name}):
            core -= {name}
    return core


def _smallest_meeting(sets: Sequence[frozenset[str]]) -> frozenset[str]:
    """Return a smallest set that shares a member with each of the sets."""
    size = 0
    while True:
        found = _meeting(sets, size)
        if found is not None:
            return found
        size += 1


def _meeting(sets: Sequence[frozenset[str]], size: int) -> frozenset[str] | None:
    """Return a set of at most ``size`` members that meets all of the sets, if there is one."""
    if not sets:
        return frozenset()
    if size == 0:
        return None
    fewest: frozenset[str] = min(sets, key=len)
    for member in sorted(fewest):  # one of these must be in it
        rest = _meeting([s for s in sets if member not in s], size - 1)
        if rest is not None:
            return rest | {member}
    return None
