"""dssp policies: what people select and dispatch with. Importing this registers them."""

from policies.dssp import dispatchers, selectors
from policies.dssp.two_phase import two_phase

__all__ = ["dispatchers", "selectors", "two_phase"]
