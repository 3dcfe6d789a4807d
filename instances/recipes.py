"""Recipes: named generators of random instances, whatever the problem.

All draws come from one PCG64 stream that the seed starts, so a seed fixes an instance bit for bit.
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
    """Return the stream of random numbers of a seed, or of several together."""
    import numpy as np

    return np.random.Generator(np.random.PCG64(seeds if len(seeds) > 1 else seeds[0]))


@dataclass(frozen=True)
class Recipe:
    """A named generator: called with a seed and options, it returns an instance.

    Attributes
    ----------
    name : str
        Its name on the command line.
    make : callable
        ``make(seed, values)`` with a value for every option.
    options : mapping of str to Option
        Its options.
    summary : str
        What it makes, in a line.
    source : str
        Where it is defined.
    beside : bool
        Whether what it makes has a table beside its file.
    random : bool
        Whether it draws anything: else all seeds make the same instance, by other names.
    """

    name: str
    make: Callable[[int, Mapping[str, Any]], Any]
    options: Mapping[str, Option]
    summary: str
    source: str
    beside: bool = False
    random: bool = True

    def __call__(self, seed: int, **options: Any) -> Any:
        """Make the instance of a seed, 0 or more; options that are left out keep their default.

        The same seed and options give the same instance. `InputError` says what is not right of
        them.
        """
        if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
            raise InputError("a whole number, 0 or more", found=quote(seed), parameter="seed")
        return self.make(seed, complete(options, self.options, self.name))


def by_name(*recipes: Recipe) -> dict[str, Recipe]:
    """Return recipes by name, in this order."""
    return {recipe.name: recipe for recipe in recipes}


def numbered_names(prefix: str, count: int) -> list[str]:
    """Return ``prefix`` with 1, 2, ..., ``count``, of the same width."""
    width = len(str(count))
    return [f"{prefix}{i:0{width}d}" for i in range(1, count + 1)]
