"""What is left of a time limit that several engines share, and one account of what they did."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeVar

import msgspec

from schedopt.solvers.clock import now
from schedopt.solvers.result import Limits, Result

LONGEST = 30.0
"""Seconds that an engine may have at most before the next has its turn."""

S = TypeVar("S")


@dataclass
class Clock:
    """A time limit that several engines share.

    Attributes
    ----------
    limits : Limits
        Of the whole run.
    before : float
        Seconds of building before the run.
    build : float
        Seconds of building and compiling within it, which are not counted as solving.
    """

    limits: Limits
    before: float = 0.0
    build: float = 0.0
    began: float = field(default_factory=now)

    @property
    def spent(self) -> float:
        """Seconds of solving so far."""
        return now() - self.began - self.build

    def left(self) -> Limits:
        """Return the limits for all that remains."""
        limit = self.limits.time_limit
        if limit is None:
            return self.limits
        return replace(self.limits, time_limit=max(0.0, limit - self.spent))

    def part(self, share: float) -> Limits:
        """Return the limits for an engine after which another has its turn."""
        left = self.left().time_limit
        most = LONGEST if left is None else min(LONGEST, left * share)
        return replace(self.limits, time_limit=most)

    def timed(self, result: Result[S]) -> Result[S]:
        """Say what all took, and which limits were asked for."""
        seconds = msgspec.structs.replace(
            result.seconds, build=self.before + self.build, solve=max(0.0, self.spent)
        )
        options = {**result.options, "gap": self.limits.gap, "time_limit": self.limits.time_limit}
        return msgspec.structs.replace(result, seconds=seconds, options=options)
