"""How much tests try: a third of their random examples, or all of them in `make test-all`."""

import os

ALL = os.environ.get("SCHEDOPT_TESTS") == "all"
"""Whether this is the full run."""


def examples(full: int) -> int:
    """Return how many examples to try, of so many in the full run."""
    return full if ALL else max(5, full // 3)
