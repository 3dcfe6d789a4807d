"""msfq policies: what is run at a queue of multiserver jobs. Importing this registers them."""

from schedopt.policies import registry
from schedopt.policies.msfq import by_job, killing, quickswap, rules
from schedopt.policies.msfq.logs import catalogue, log_policy
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
    "catalogue",
    "killing",
    "log_policy",
    "quickswap",
    "rules",
]

registry.settle("msfq")
