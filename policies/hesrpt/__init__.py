"""hesrpt policies: how people share servers. Importing this registers them."""

from policies.hesrpt import shares

__all__ = ["shares"]
