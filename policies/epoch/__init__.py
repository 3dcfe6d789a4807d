"""epoch policies: what the 1994 paper proposes, and an exact method. Importing registers them."""

from schedopt.policies import registry
from schedopt.policies.epoch import dynamic, heuristics

__all__ = ["dynamic", "heuristics"]

registry.settle("epoch")
