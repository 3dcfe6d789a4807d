"""msfq policies: what is run at a queue of multiserver jobs. Importing this registers them."""

from schedopt.policies import registry
from schedopt.policies.msfq import by_job, killing, quickswap, rules
from schedopt.policies.msfq.logs import log_policy, registered
from schedopt.policies.msfq.registration import admission_rule
from schedopt.policies.msfq.rule import Job, Rule, Running, Seen, State, Twin

__all__ = [
    "Job",
    "Rule",
    "Running",
    "Seen",
    "State",
    "Twin",
    "admission_rule",
    "by_job",
    "killing",
    "log_policy",
    "quickswap",
    "registered",
    "rules",
]

registry.settle("msfq")
