"""How much tests try: a quarter of their random examples, all of them in `make test-all`, or more.

``SCHEDOPT_TESTS=all`` tries all, ``SCHEDOPT_TESTS=30`` thirty times as many.
"""

import os
from collections.abc import Callable
from typing import Any

import hypothesis
from hypothesis import settings

TIMES = os.environ.get("SCHEDOPT_TESTS", "")
ALL = TIMES == "all" or TIMES.isdecimal()
"""Whether this is the full run, or more."""


def examples(full: int) -> int:
    """Return how many examples to try, of so many in the full run."""
    if TIMES.isdecimal():
        return full * int(TIMES)
    return full if ALL else max(5, full // 4)


def tried(full: int, *given: Any, **named: Any) -> Callable[[Any], Any]:
    """Give a test so many random examples in the full run, drawn by what hypothesis is given."""
    return lambda test: settings(max_examples=examples(full))(
        hypothesis.given(*given, **named)(test)
    )
