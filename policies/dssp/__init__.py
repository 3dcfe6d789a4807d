"""dssp policies: what people select and dispatch with. Importing this registers them."""

from policies.dssp import selectors

__all__ = ["selectors"]
