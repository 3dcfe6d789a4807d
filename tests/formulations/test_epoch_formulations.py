"""Partition: conflicts, limits, native rows, refusals."""

import pytest
from builders.epoch import packing

from schedopt import solve
from schedopt.formulations.constraints import Apart, Forbid
from schedopt.formulations.epoch import Partition, Rectangles
from schedopt.instances.epoch.generators import GENERATORS
from schedopt.instances.errors import InputError


def test_a_time_limit_keeps_the_start_and_an_honest_bound() -> None:
    instance = GENERATORS["planted"](2, nodes=1000, epochs=20, inequity=50, fewest=3, most=5)
    result = solve(instance, threads=1, time_limit=0.5)
    assert result.termination == "time-limit"
    assert result.violations == ()
    assert result.bound is not None
    assert 20_000 == result.bound <= (result.objective or 0)


def test_what_a_partition_refuses() -> None:
    instance = packing([4, 4], 16, 0)
    with pytest.raises(InputError, match="together"):
        Partition(instance).add(Forbid(jobs=("j1",)))
    for form in ("none", "slots"):
        with pytest.raises(InputError, match="auto, or direct"):
            Partition(instance, model=form)
    with pytest.raises(InputError, match="together"):
        Rectangles(instance).add(Forbid(jobs=("j1",)))
    model = Partition(instance, model="direct")
    model.model.add(model.x["j2", "j1"] == 0)
    with pytest.raises(InputError, match="before native"):
        model.add(Apart(jobs=("j1", "j2")))
