"""msfq as optimization: thresholds, the optimal policy above them, and logs."""

from schedopt.formulations.msfq.log_bound import LogBound
from schedopt.formulations.msfq.optimal import OptimalPolicy
from schedopt.formulations.msfq.threshold import Threshold

__all__ = ["LogBound", "OptimalPolicy", "Threshold"]
