"""Policies for logs: jobs one by one, with the information that operators have."""

from schedopt.policies.msfq.logs import rules
from schedopt.policies.msfq.logs.machine import Machine, Rule
from schedopt.policies.msfq.logs.registration import log_policy

__all__ = ["Machine", "Rule", "log_policy", "rules"]
