"""hesrpt policies: how people share servers. Importing this registers them."""

from schedopt.policies import registry
from schedopt.policies.hesrpt import shares

__all__ = ["shares"]

registry.settle("hesrpt")
