"""epoch policies: what the 1994 paper proposes, and an exact method. Importing registers them."""

from schedopt.policies import registry
from schedopt.policies.epoch import buddies, dynamic, greedy, search

__all__ = ["buddies", "dynamic", "greedy", "search"]

registry.settle("epoch")
