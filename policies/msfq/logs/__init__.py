"""Policies for logs: jobs one by one, with what operators know of them."""

from policies.msfq.logs import rules
from policies.msfq.logs.plain import Machine, Rule
from policies.msfq.logs.registration import log_policy

__all__ = ["Machine", "Rule", "log_policy", "rules"]
