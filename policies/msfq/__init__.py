"""msfq policies: what is run at a queue of multiserver jobs. Importing this registers them."""

from policies.msfq import one_or_all, rules, static_quickswap

__all__ = ["one_or_all", "rules", "static_quickswap"]
