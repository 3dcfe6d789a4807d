"""epoch policies: what the 1994 paper proposes. Importing registers them."""

from schedopt.policies import registry
from schedopt.policies.epoch import heuristics

__all__ = ["heuristics"]

registry.settle("epoch")
