"""Share policies of hesrpt. Importing this module registers them."""

from schedopt.policies import registry
from schedopt.policies.hesrpt import shares

__all__ = ["shares"]

registry.settle("hesrpt")
