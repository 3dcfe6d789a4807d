"""dssp policies: selectors and dispatchers. Importing this module registers them."""

from schedopt.policies import registry
from schedopt.policies.dssp import dispatchers, selectors
from schedopt.policies.dssp.two_phase import two_phase

__all__ = ["dispatchers", "selectors", "two_phase"]

registry.settle("dssp")
