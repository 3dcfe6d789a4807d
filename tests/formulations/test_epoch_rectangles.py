"""Rectangles against brute force, with side constraints and without."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product
from random import Random

import pytest
from builders.effort import examples
from builders.epoch import packing, some_packing
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET, structs

from schedopt import evaluate, solve
from schedopt.formulations.epoch import Rectangles
from schedopt.instances.constraints import Apart, Together, label
from schedopt.instances.epoch import Instance
from schedopt.instances.epoch.widths import possible_widths
from schedopt.policies.epoch.buddies import is_power


def least_rectangles(instance: Instance, widths: list[int]) -> int | None:
    """Return the least overhead of rectangles of these widths, by trying all multisets of widths.

    Widths are dealt by size; whether they can be packed is tried by filling the earliest time that
    has idle nodes with each width that is left, in turn.
    """
    nodes, jobs = instance.nodes, len(instance.jobs)
    minima = sorted(instance.minima.tolist())
    choices = [
        some
        for some in combinations_with_replacement(sorted(widths), jobs)
        if all(w >= m for w, m in zip(some, minima, strict=True))
    ]
    for some in sorted(choices, key=sum):
        if packs(nodes, jobs, some):
            return sum(some)
    return None


def packs(nodes: int, jobs: int, widths: tuple[int, ...]) -> bool:
    def fill(
        left: tuple[int, ...], running: tuple[tuple[Fraction, int], ...], now: Fraction
    ) -> bool:
        free = nodes - sum(w for _, w in running)
        if free == 0:
            if not left and len({end for end, _ in running}) == 1:
                return running[0][0] == 1
            at = min(end for end, _ in running)
            if at >= 1:
                return not left and all(end == 1 for end, _ in running)
            return fill(left, tuple(r for r in running if r[0] > at), at)
        for w in set(left):
            if w <= free:
                rest = list(left)
                rest.remove(w)
                end = now + Fraction(nodes, jobs * w)
                if end <= 1 and fill(tuple(rest), (*running, (end, w)), now):
                    return True
        return False

    return fill(widths, (), Fraction(0))


@st.composite
def some_rectangles(draw: st.DrawFn) -> Instance:
    nodes = draw(st.integers(1, 6))
    minima = draw(st.lists(st.integers(1, nodes), min_size=1, max_size=4))
    return packing(minima, nodes, 0)


@settings(max_examples=examples(80))
@given(some_rectangles())
def test_rectangles_are_brute_forces(instance: Instance) -> None:
    best = least_rectangles(instance, list(range(1, instance.nodes + 1)))
    result = solve(instance, formulation="rectangles", threads=1)
    assert result.proven
    assert result.violations == ()
    assert result.objective == best


def classes() -> Iterator[Instance]:
    """Yield every class of minima, up to the power of two that holds them, for small N and J."""
    for n in range(4):
        for j in range(3):
            widths = [1 << i for i in range(n + 1)]
            for minima in combinations_with_replacement(widths, 1 << j):
                yield packing(list(minima), 1 << n, 0)


def test_theorem_1_on_all_small_classes() -> None:
    """BUDDY is optimal among power-of-two widths: here all with N <= 8 and J <= 4."""
    for instance in classes():
        powers = [w for w in range(1, instance.nodes + 1) if is_power(w)]
        got = evaluate(instance, "buddy")
        assert got.violations == ()
        assert got.objective == least_rectangles(instance, powers)


def test_other_widths_can_beat_buddy() -> None:
    result = solve("instances/epoch/three-wide.json", formulation="rectangles", threads=1)
    assert (result.objective, result.proven) == (10.0, True)
    assert evaluate("instances/epoch/three-wide.json", "buddy").objective == 16


def test_only_powers_of_two() -> None:
    options = {"widths": "powers-of-two"}
    file = "instances/epoch/three-wide.json"
    assert solve(file, formulation="rectangles", options=options).objective == 16


def test_widths_that_no_schedule_has_drop_out() -> None:
    assert possible_widths(4, 4, 1) == [1, 2, 3, 4]
    assert possible_widths(4, 4, 3) == [3, 4]
    assert 11 not in possible_widths(16, 8, 1)
    assert possible_widths(7, 1, 1) == [7]


def test_a_grid_that_is_too_fine_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("schedopt.formulations.epoch.rectangles.MOST_UNITS", 8)
    file = "instances/epoch/three-wide.json"
    result = solve(file, formulation="rectangles", solver="cp-sat", threads=1)
    assert result.options["exact"] is False
    assert result.violations == ()
    assert (result.objective, result.bound) == (16, 10)
    assert "fewer widths" in str(result.message)
    ours = solve(file, formulation="rectangles")
    assert (ours.objective, ours.proven, ours.options["exact"]) == (10, True, True)


def test_more_jobs_than_anyone_searches_for() -> None:
    instance = packing([1, 2, 3] * 2_000, 6, 0, [Apart(jobs=("j0001", "j0002"))])
    result = solve(instance, formulation="rectangles", threads=1, time_limit=5)
    assert (result.termination, result.violations) == ("completed", ())
    assert result.objective == 6 * 6_000


# --- side constraints -------------------------------------------------------------------------


def least_ruled(instance: Instance) -> int | None:
    """Return the least overhead under side constraints: every width for every job is tried."""
    nodes, jobs = instance.nodes, len(instance.jobs)
    able = [range(m, nodes + 1) for m in instance.minima.tolist()]
    for widths in sorted(product(*able), key=sum):
        heights = [Fraction(nodes, jobs * w) for w in widths]
        if sum(w * h for w, h in zip(widths, heights, strict=True)) == nodes and any(
            keeps(instance, starts, heights) for starts in packings(nodes, widths, heights)
        ):
            return sum(widths)
    return None


def packings(
    nodes: int, widths: tuple[int, ...], heights: list[Fraction]
) -> Iterator[dict[int, Fraction]]:
    """Yield the starts of every packing that leaves no node idle, jobs told apart."""

    def fill(starts: dict[int, Fraction]) -> Iterator[dict[int, Fraction]]:
        ends = {j: start + heights[j] for j, start in starts.items()}
        for now in sorted({Fraction(0), *ends.values()}):
            running = [j for j, start in starts.items() if start <= now < ends[j]]
            free = nodes - sum(widths[j] for j in running)
            if free == 0:
                continue
            if now >= 1:
                if len(starts) == len(widths) and max(ends.values()) == 1:
                    yield starts
                return
            for j in range(len(widths)):
                if j not in starts and widths[j] <= free and now + heights[j] <= 1:
                    yield from fill({**starts, j: now})
            return

    yield from fill({})


def keeps(instance: Instance, starts: dict[int, Fraction], heights: list[Fraction]) -> bool:
    for rule in instance.constraints:
        runs = [(starts[j], starts[j] + heights[j]) for j in {instance.index[n] for n in rule.jobs}]
        if isinstance(rule, Together) and len(set(runs)) > 1:
            return False
        met = [a < d and c < b for i, (a, b) in enumerate(runs) for c, d in runs[:i]]
        if isinstance(rule, Apart) and any(met):
            return False
    return True


def without(instance: Instance, *names: str) -> Instance:
    rules = [r for i, r in enumerate(instance.constraints) if label(r, i) not in names]
    return structs.replace(instance, constraints=tuple(rules))


def agreed(instance: Instance) -> None:
    """Compare our own search, CP-SAT and brute force; a conflict is a smallest one."""
    best = least_ruled(instance)
    result = solve(instance, formulation="rectangles", threads=1, confirm=True, certificate=True)
    assert result.violations == ()
    searched = result.message is not UNSET and "nothing was searched" in str(result.message)
    assert f"confirmed by {'epochs' if searched else 'cp-sat'}" in str(result.message)
    other = solve(instance, formulation="rectangles", solver="cp-sat", threads=1)
    assert (other.termination, other.objective) == (result.termination, result.objective)
    if best is not None:
        assert result.proven
        assert (result.objective, result.bound) == (best, best)
        return
    assert result.termination == other.termination == "infeasible"
    names = [label(rule, i) for i, rule in enumerate(instance.constraints)]
    wrong = [
        some
        for size in range(1, len(names) + 1)
        for some in combinations(names, size)
        if least_ruled(without(instance, *(set(names) - set(some)))) is None
    ]
    for conflict in (result.conflict, other.conflict):
        assert conflict in wrong
        assert len(conflict) == len(wrong[0])


@settings(max_examples=examples(60))
@given(some_packing(most=4, rules=True).filter(lambda instance: instance.nodes <= 5))
def test_side_constraints_on_rectangles(instance: Instance) -> None:
    agreed(instance)


def drawn(seed: int) -> Instance:
    """Draw ties, jobs alone, jobs as large as the machine, and rules that contradict each other."""
    draw = Random(seed)  # noqa: S311
    nodes, jobs = draw.randint(1, 7), draw.randint(1, 4)
    minima = [draw.choice((1, nodes, draw.randint(1, nodes))) for _ in range(jobs)]
    names = [f"j{i + 1}" for i in range(jobs)]
    rules = [
        draw.choice((Together, Apart))(
            jobs=tuple(draw.sample(names, draw.randint(1, min(3, jobs))))
        )
        for _ in range(draw.choice((0, 1, 2, 2, 3)))
    ]
    return packing(minima, nodes, draw.randint(0, 3), rules)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_two_thousand_random_instances(part: int) -> None:
    for seed in range(100 * part, 100 * part + 100):
        agreed(drawn(seed))


def test_native_constraints_tell_jobs_apart_that_are_alike() -> None:
    model = Rectangles(packing([2, 2], 4, 0))
    model.model.add(model.starts["j1"] > model.starts["j2"])
    assert solve(model).objective == 8
    model = Rectangles(packing([2, 2], 4, 0)).add(Apart(jobs=("j1", "j2")))
    assert solve(model).objective == 8
    assert solve(Rectangles(packing([2, 2], 4, 0))).objective == 4
