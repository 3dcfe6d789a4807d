"""hesrpt policies: how people share servers. Importing this registers them."""

from schedopt.policies import registry
from schedopt.policies.hesrpt import replan, shares

__all__ = ["replan", "shares"]

registry.settle("hesrpt")
