"""Partitions and rectangles: our search and the models against the paper's search and CP-SAT."""

import pytest
from builders.effort import tried
from builders.epoch import packing
from hypothesis import reject
from hypothesis import strategies as st

from schedopt import generate, solve
from schedopt.formulations.constraints import Apart, Forbid
from schedopt.formulations.epoch import Partition, Rectangles
from schedopt.instances.epoch import Instance
from schedopt.instances.errors import InputError
from schedopt.policies.registry import NotApplicableError, registered


@st.composite
def middling(draw: st.DrawFn) -> Instance:
    nodes = draw(st.integers(20, 40))
    mean = draw(st.integers(4, nodes // 3))
    minima = draw(st.lists(st.integers(1, 2 * mean), min_size=8, max_size=14))
    return packing(minima, nodes, draw(st.integers(1, 4)))


@tried(60, middling())
def test_epoch_search_agrees_with_the_papers_search(instance: Instance) -> None:
    try:
        best = registered("epoch")["paper-search"].run(instance)
    except NotApplicableError:
        reject()
    result = solve(instance)
    assert result.proven and result.violations == ()
    assert result.objective == best.overhead


@pytest.mark.parametrize(("epochs", "inequity"), [(16, 4), (32, 6), (100, 3)])
def test_planted_packings_are_found(epochs: int, inequity: int) -> None:
    for seed in range(3):
        options = {"epochs": epochs, "inequity": inequity}
        result = solve(generate("epoch", "planted", seed=seed, options=options))
        assert result.violations == ()
        assert result.objective == result.bound == 128 * epochs


def test_epoch_search_at_a_time_limit_keeps_the_start() -> None:
    options = {"nodes": 1000, "epochs": 20, "inequity": 50, "fewest": 3, "most": 5}
    result = solve(generate("epoch", "planted", seed=2, options=options), time_limit=0.5)
    assert result.termination == "time-limit"
    assert result.violations == ()
    assert 20_000 == result.bound <= (result.objective or 0)


def test_partition_refuses_wrong_options() -> None:
    instance = packing([4, 4], 16, 0)
    for model in (Partition(instance), Rectangles(instance)):
        with pytest.raises(InputError, match="together"):
            model.add(Forbid(jobs=("j1",)))
    model = Partition(instance)
    model.model.add(model.x["j2", "j1"] == 0)
    with pytest.raises(InputError, match="before native"):
        model.add(Apart(jobs=("j1", "j2")))


def test_rectangles_with_too_many_widths_are_not_exact() -> None:
    instance = packing([1] * 12, 128, 0)
    result = solve(instance, formulation="rectangles", threads=1, time_limit=1.0)
    assert result.options["exact"] is False and result.violations == ()
    small = packing([1] * 4, 8, 0)
    assert solve(small, formulation="rectangles").options["exact"] is True


def test_rectangles_of_thousands_of_jobs_are_feasible_without_search() -> None:
    instance = packing([1, 2, 3] * 2_000, 6, 0, [Apart(jobs=("j0001", "j0002"))])
    result = solve(instance, formulation="rectangles", threads=1)
    assert (result.termination, result.violations) == ("completed", ())
    assert result.objective == 6 * 6_000


def test_native_constraints_distinguish_equal_jobs() -> None:
    for rules in ([], [Apart(jobs=("j1", "j2"))], [Apart(jobs=("j2", "j1"))]):
        model = Rectangles(packing([2, 2], 4, 0, rules))
        model.model.add(model.starts["j1"] > model.starts["j2"])
        assert solve(model).objective == 8
    assert solve(Rectangles(packing([2, 2], 4, 0))).objective == 4
