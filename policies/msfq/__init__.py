"""Policies of msfq: admission rules for queues, and disciplines for logs."""

from schedopt.policies import registry
from schedopt.policies.msfq import rules
from schedopt.policies.msfq.registration import admission_rule
from schedopt.policies.msfq.rule import FlatRule, FlatState, Job, Rule, Running, State

__all__ = [
    "FlatRule",
    "FlatState",
    "Job",
    "Rule",
    "Running",
    "State",
    "admission_rule",
    "rules",
]

registry.settle("msfq")
