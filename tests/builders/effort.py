"""How much tests try: a quarter of their random examples, all of them in `make test-all`, or more.

``SCHEDOPT_TESTS=all`` tries all, ``SCHEDOPT_TESTS=30`` thirty times as many.
"""

import os

TIMES = os.environ.get("SCHEDOPT_TESTS", "")
ALL = TIMES == "all" or TIMES.isdecimal()
"""Whether this is the full run, or more."""


def examples(full: int) -> int:
    """Return how many examples to try, of so many in the full run."""
    if TIMES.isdecimal():
        return full * int(TIMES)
    return full if ALL else max(5, full // 4)
