"""Policies of epoch, from the paper of 1994. Importing this module registers them."""

from schedopt.policies import registry
from schedopt.policies.epoch import heuristics

__all__ = ["heuristics"]

registry.settle("epoch")
