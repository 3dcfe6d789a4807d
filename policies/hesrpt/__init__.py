"""Share policies of hesrpt. Importing this module registers them."""

from schedopt.policies import registry
from schedopt.policies.hesrpt import concave, shares

__all__ = ["concave", "shares"]

registry.settle("hesrpt")
