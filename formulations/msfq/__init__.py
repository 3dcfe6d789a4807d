"""msfq as optimization: thresholds, the optimal policy above them, and logs."""

from formulations.msfq.classes import ClassPolicy
from formulations.msfq.log_bound import LogBound
from formulations.msfq.optimal import OptimalPolicy
from formulations.msfq.threshold import Threshold
from formulations.msfq.window import Window

__all__ = ["ClassPolicy", "LogBound", "OptimalPolicy", "Threshold", "Window"]
