"""What fixed orders go by, where it takes a logarithm: that of C, as in `rules`, not numpy's."""

from __future__ import annotations

from math import log10
from typing import Any

from schedopt.policies.msfq.compiling import compiled


@compiled
def f1(submit: Any, need: Any, planned: Any, keys: Any) -> None:
    """Fill in log10(r)·n + 870·log10(s) for each job; times in seconds, at least 1."""
    for job in range(submit.size):
        r, s = max(planned[job], 1.0), max(submit[job], 1.0)
        keys[job] = log10(r) * need[job] + 870.0 * log10(s)
