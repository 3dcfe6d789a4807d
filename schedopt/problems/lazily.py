"""What is imported when it is first used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any


@cache
def at_home(home: str) -> Any:
    """Return what ``module:name`` stands for; `import_module` alone takes longer than a look-up."""
    module, _, attribute = home.partition(":")
    return getattr(import_module(module), attribute)


def lazily(module: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a module's ``__getattr__``, which imports names from the modules they live in."""

    def found(name: str) -> Any:
        if name in homes:
            return getattr(import_module(homes[name]), name)
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return found
