"""msfq as optimization: the best threshold of MSFQ, and the optimal policy above it."""

from formulations.msfq.optimal import OptimalPolicy
from formulations.msfq.threshold import Threshold

__all__ = ["OptimalPolicy", "Threshold"]
