"""msfq policies: what is run at a queue of multiserver jobs. Importing this registers them."""

from policies.msfq import registered

__all__ = ["registered"]
