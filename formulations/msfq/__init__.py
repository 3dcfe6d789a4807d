"""msfq as optimization: the best threshold of MSFQ, and the optimal policy above it."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from formulations.msfq.optimal import OptimalPolicy
    from formulations.msfq.threshold import Threshold

__all__ = ["OptimalPolicy", "Threshold"]

_HOMES = {"OptimalPolicy": "optimal", "Threshold": "threshold"}


def __getattr__(name: str) -> Any:
    """Import a formulation when it is asked for, and numba with it."""
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"formulations.msfq.{_HOMES[name]}"), name)
