"""Profiles cut into valleys, and processors for what fits on one: against all times and levels."""

from fractions import Fraction
from itertools import combinations, pairwise

from hypothesis import given
from hypothesis import strategies as st

from schedopt.formulations.dssp.valleys import Task, number_processors, valley_levels
from schedopt.instances.dssp.machine import Steps

PROFILES = st.lists(st.integers(0, 4), min_size=1, max_size=9)
TASKS = st.lists(st.tuples(st.integers(0, 8), st.integers(1, 5), st.integers(1, 2)), max_size=25)


def between(profile: list[int], low: int, high: int) -> list[int]:
    return [min(max(amount, low), high) - low for amount in profile]


def is_valley(profile: list[int]) -> bool:
    """Tell whether no amount is above one before and one after it, with some in between."""
    return not any(
        profile[a] < profile[b] > profile[c] and all(profile[a : c + 1])
        for a, b, c in combinations(range(len(profile)), 3)
    )


@given(PROFILES, TASKS)
def test_whatever_fits_on_a_valley_finds_processors_that_stay(
    profile: list[int], given_tasks: list[tuple[int, int, int]]
) -> None:
    levels = [*valley_levels(profile), max(profile)]
    valleys = [between(profile, low, high) for low, high in pairwise(levels)]
    assert all(map(is_valley, valleys))
    fewer = combinations(range(1, max(profile)), max(0, len(levels) - 3))
    for some in fewer if len(levels) > 2 else ():
        parts = pairwise([0, *some, max(profile)])
        assert not all(is_valley(between(profile, low, high)) for low, high in parts)
    for there in valleys:
        left, tasks = list(there), list[Task]()
        for start, length, takes in given_tasks:
            during = range(start, min(start + length, len(there)))
            if during and all(left[time] >= takes for time in during):
                tasks.append(Task(start, during.stop, takes, len(tasks)))
                left = [n - takes * (time in during) for time, n in enumerate(left)]
        steps = Steps(tuple(map(Fraction, range(len(there)))), tuple(map(Fraction, there)))
        on = number_processors(steps, tasks)
        for time, amount in enumerate(there):
            runs = [task for task in tasks if task.start <= time < task.end]
            taken = [number for task in runs for number in on[task.position]]
            assert len({*taken}) == len(taken) == sum(task.takes for task in runs)
            assert all(number < amount for number in taken)
