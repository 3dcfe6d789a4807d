"""dssp as models: which jobs to run by the deadline, and when."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from formulations.dssp.schedule import Schedule
    from formulations.dssp.selection import Selection

__all__ = ["Schedule", "Selection"]


def __getattr__(name: str) -> Any:
    """Import a formulation when it is asked for, and its engine with it."""
    from importlib import import_module

    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"formulations.dssp.{name.lower()}"), name)
