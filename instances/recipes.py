"""Recipes: named generators of random instances for all problems.

All random numbers come from one PCG64 stream, so that a seed determines an instance bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from schedopt.instances.errors import InputError, quote
from schedopt.instances.options import Option, complete

if TYPE_CHECKING:  # at run time it would load all of numpy.random
    from numpy.random import Generator


def stream(*seeds: int) -> Generator:
    """Return the random generator of one seed, or of several seeds together."""
    import numpy as np

    return np.random.Generator(np.random.PCG64(seeds if len(seeds) > 1 else seeds[0]))


@dataclass(frozen=True)
class Recipe:
    """A named generator that returns an instance for a seed and options."""

    name: str  # on the command line
    make: Callable[[int, Mapping[str, Any]], Any]  # of a seed and a value for every option
    options: Mapping[str, Option]
    summary: str  # a line on what it generates
    source: str  # where the generator is defined: a paper, or this project
    beside: bool = False  # whether the instance has a companion table beside its file
    random: bool = True  # if not, seeds only change the instance's name

    def __call__(self, seed: int, **options: Any) -> Any:
        """Return the instance of a seed and options; `InputError` if one of them is invalid.

        The same seed and options give the same instance. Options left out have their defaults.
        """
        if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
            raise InputError("a whole number, 0 or more", found=quote(seed), parameter="seed")
        return self.make(seed, complete(options, self.options, self.name))


def by_name(*recipes: Recipe) -> dict[str, Recipe]:
    """Return recipes by name, in the given order."""
    return {recipe.name: recipe for recipe in recipes}


def numbered_names(prefix: str, count: int) -> list[str]:
    """Return ``prefix`` followed by 1 to ``count``, padded with zeros to equal width."""
    width = len(str(count))
    return [f"{prefix}{i:0{width}d}" for i in range(1, count + 1)]
