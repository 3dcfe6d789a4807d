"""msfq policies: what is run at a queue of multiserver jobs. Importing this registers them."""

from schedopt.policies import registry
from schedopt.policies.msfq import (
    by_job,
    class_thresholds,
    killing,
    one_or_all,
    rules,
    static_quickswap,
)
from schedopt.policies.msfq.logs import log_policy, preemptive, registered, tuned
from schedopt.policies.msfq.registration import admission_rule
from schedopt.policies.msfq.rule import Rule, Seen, Twin
from schedopt.policies.msfq.state import Job, Running, State

__all__ = [
    "Job",
    "Rule",
    "Running",
    "Seen",
    "State",
    "Twin",
    "admission_rule",
    "by_job",
    "class_thresholds",
    "killing",
    "log_policy",
    "one_or_all",
    "preemptive",
    "registered",
    "rules",
    "static_quickswap",
    "tuned",
]

registry.settle("msfq")
