"""Recipes: named generators of random instances, whatever the problem."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from schedopt.instances.errors import InputError, shown
from schedopt.instances.options import Option, checked


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
    """

    name: str
    make: Callable[[int, Mapping[str, Any]], Any]
    options: Mapping[str, Option]
    summary: str
    source: str
    beside: bool = False

    def __call__(self, seed: int, **options: Any) -> Any:
        """Make the instance of a seed.

        Parameters
        ----------
        seed : int
            0 or more; the same seed and options give the same instance.
        **options
            As listed in `options`; those left out keep their default.

        Raises
        ------
        InputError
            If the seed or an option is not right.
        """
        if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
            raise InputError("a whole number, 0 or more", found=shown(seed), place="seed")
        given = checked(options, self.options, self.name)
        defaults = {key: option.default for key, option in self.options.items()}
        return self.make(seed, defaults | given)
