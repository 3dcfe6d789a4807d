"""epoch as models: jobs partitioned into epochs, and jobs as rectangles of any width."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from formulations.epoch.partition import Partition
    from formulations.epoch.rectangles import Rectangles

__all__ = ["Partition", "Rectangles"]


def __getattr__(name: str) -> Any:
    """Import a formulation when it is asked for, and its engine with it."""
    from importlib import import_module

    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"formulations.epoch.{name.lower()}"), name)
