"""Random epoch instances by name: the paper's distributions, and instances with a known optimum."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from schedopt.instances.epoch.records import MOST_NODES, Instance, Job
from schedopt.instances.errors import InputError, expect
from schedopt.instances.options import number, whole
from schedopt.instances.recipes import Recipe, by_name, numbered_names, stream

if TYPE_CHECKING:  # at run time it would load all of numpy.random
    Draw = np.random.Generator

PAPER = "McCann and Zahorjan, TR 94-10-05, University of Washington, 1994"


def mean_minimum(nodes: int, jobs: int, load: float) -> float:
    """Return the mean minimum, in nodes, for a load factor L = J·M/N (section 5)."""
    return load * nodes / jobs


def drawn_uniform(draw: Draw, nodes: int, shape: Any, mean: float) -> Any:
    """Draw minima uniform on 1 .. 2·mean - 1 (Table 3), at most N, in an array of a shape."""
    largest = _largest(draw, shape, mean)
    return np.minimum(1 + np.floor(draw.random(shape) * largest).astype(np.int64), nodes)


def drawn_binomial(draw: Draw, nodes: int, shape: Any, mean: float) -> Any:
    """Draw minima 1 + Binomial(2·mean - 2, 1/2), at most N: same range and mean, less variance.

    The paper says "binomial" without parameters; these are this project's.
    """
    return np.minimum(1 + draw.binomial(_largest(draw, shape, mean) - 1, 0.5), nodes)


def _largest(draw: Draw, shape: Any, mean: float) -> Any:
    """Return 2·mean - 1 as random integers with that mean."""
    most = max(1.0, 2 * mean - 1)
    low = int(most)
    return np.where(draw.random(shape) < most - low, low + 1, low)


def _random(name: str, minima: Callable[[Draw, int, Any, float], Any], summary: str) -> Recipe:
    def make(seed: int, values: Mapping[str, Any]) -> Instance:
        nodes, jobs, load = values["nodes"], values["jobs"], values["load"]
        return Instance(
            name=f"{name}-{nodes}x{jobs}-{seed}",
            description=f"{jobs} jobs, minima {summary}, load factor {load:.0%} (seed {seed}).",
            nodes=nodes,
            inequity=values["inequity"],
            jobs=numbered_jobs(
                minima(stream(seed), nodes, jobs, mean_minimum(nodes, jobs, load)).tolist()
            ),
        )

    return Recipe(name, make, _RANDOM_OPTIONS, f"minima {summary}", f"{PAPER}, Table 3")


def numbered_jobs(minima: Sequence[int]) -> tuple[Job, ...]:
    """Return jobs with the given minima, named in order."""
    names = numbered_names("j", len(minima))
    return tuple(Job(name=name, minimum=m) for name, m in zip(names, minima, strict=True))


# --- planted ----------------------------------------------------------------------------------


def _planted_instance(seed: int, values: Mapping[str, Any]) -> Instance:
    """Draw jobs that fill a known number of epochs completely.

    N is divided, once for each epoch, into parts that differ by k at most. The parts are the
    minima, in random order. They sum to N times the number of epochs, so no partition has fewer
    epochs.
    """
    nodes, epochs, inequity = values["nodes"], values["epochs"], values["inequity"]
    fewest, most = values["fewest"], values["most"]
    expected = f"a number from `fewest`, {fewest}, to `nodes`, {nodes}"
    expect(fewest <= most <= nodes, expected, most, "option most")
    draw = stream(seed)
    minima: list[int] = []
    for _ in range(epochs):
        minima += _split_nodes(draw, nodes, inequity, fewest, most)
    draw.shuffle(minima)
    return Instance(
        name=f"planted-{nodes}x{epochs}-k{inequity}-{seed}",
        description=f"{len(minima)} jobs that fill {epochs} epochs exactly (seed {seed}): "
        f"the optimum is {epochs * nodes}.",
        nodes=nodes,
        inequity=inequity,
        jobs=numbered_jobs(minima),
    )


def _split_nodes(draw: Draw, nodes: int, inequity: int, fewest: int, most: int) -> list[int]:
    counts = [h for h in range(fewest, most + 1) if inequity > 0 or nodes % h == 0]
    if not counts:
        raise InputError("`fewest` to `most` with a divisor of N between", place="option inequity")
    while True:
        h = int(draw.choice(counts))
        above = draw.integers(0, min(inequity, nodes), h, endpoint=True)
        base, spare = divmod(nodes - int(above.sum()), h)
        if base < 1:
            continue
        room = np.flatnonzero(above < inequity)
        if len(room) < spare:
            continue
        above[draw.choice(room, spare, replace=False)] += 1
        parts: list[int] = (base + above).tolist()
        return parts


_NODES = whole(128, 1, MOST_NODES, ": N")
_INEQUITY = whole(1, 0, MOST_NODES, ": k")
_RANDOM_OPTIONS = {
    "nodes": _NODES,
    "jobs": whole(8, 1, 10**5, ": J"),
    "load": number(
        1.0,
        "a number above 0: the load factor, jobs times their mean minimum over nodes",
        lambda v: 0 < v <= 10**6,
    ),
    "inequity": _INEQUITY,
}

GENERATORS: dict[str, Recipe] = by_name(
    _random("uniform", drawn_uniform, "uniform from 1 to twice their mean less 1"),
    _random("binomial", drawn_binomial, "binomial from 1 to twice their mean less 1"),
    Recipe(
        "planted",
        _planted_instance,
        {
            "nodes": _NODES,
            "epochs": whole(8, 1, 10**4, ": how many epochs the jobs fill"),
            "inequity": _INEQUITY,
            "fewest": whole(2, 1, MOST_NODES, ": the fewest jobs of an epoch"),
            "most": whole(20, 1, MOST_NODES, ": the most jobs of an epoch"),
        },
        "jobs that fill a known number of epochs to the last node",
        "our own; the optimum is known, and hard to find for heuristics",
    ),
)
