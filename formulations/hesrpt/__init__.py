"""hesrpt as a model: how to share servers between parallelizable jobs."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from formulations.hesrpt.allocation import Allocation

__all__ = ["Allocation"]


def __getattr__(name: str) -> Any:
    """Import a formulation when it is asked for, and its engine with it."""
    from importlib import import_module

    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("formulations.hesrpt.allocation"), name)
