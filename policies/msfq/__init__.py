"""msfq policies: what is run at a queue of multiserver jobs. Importing this registers them."""

from policies.msfq import by_job, class_thresholds, one_or_all, rules, static_quickswap
from policies.msfq.logs import log_policy, preemptive, registered
from policies.msfq.registration import admission_rule
from policies.msfq.rule import Rule, Twin
from policies.msfq.state import Job, Running, State

__all__ = [
    "Job",
    "Rule",
    "Running",
    "State",
    "Twin",
    "admission_rule",
    "by_job",
    "class_thresholds",
    "log_policy",
    "one_or_all",
    "preemptive",
    "registered",
    "rules",
    "static_quickswap",
]
