"""The report of a checker, and the base of certificates."""

import time
from dataclasses import dataclass, field
from math import inf

import msgspec


class CertificateRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind"):
    """A certificate as a document holds it; its kind is its tag."""


class OutOfTimeError(Exception):
    """A check was given up, since no time was left for it."""


class Refuted(str):
    """Why a claimed bound is wrong, and not merely unproven."""

    __slots__ = ()


@dataclass
class Report:
    """What is wrong with a result, and what could not be judged: each in a line."""

    violations: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)  # what was not, or not wholly, recomputed
    unjudged: list[str] = field(default_factory=list)  # what the claim needs, and nobody here knows
    settings: list[str] = field(default_factory=list)  # options of the question beyond defaults
    differences: list[str] = field(default_factory=list)  # of the question from the file's own
    bound: str = ""  # ``re-proved``, or ``believed`` and from whom; empty where there is none
    asked: bool = True  # whether the result says which question it answers
    late: bool = False  # whether something was left out, since there was no more time for it
    until: float | None = None  # by `time.perf_counter`; None where it may take any time

    @property
    def seconds_left(self) -> float:
        """The seconds left for the check."""
        return inf if self.until is None else max(0.0, self.until - time.perf_counter())

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.violations

    @property
    def whole(self) -> bool:
        """Whether nothing is wrong, and everything that the claim needs was judged."""
        return self.ok and not self.unjudged

    def expect_time(self) -> None:
        """Raise `OutOfTimeError` if no time is left for the check."""
        if not self.seconds_left:
            raise OutOfTimeError

    def expect(self, holds: bool, otherwise: str) -> None:
        """Note a violation unless the condition holds."""
        if not holds:
            self.violations.append(otherwise)


def same(a: float, b: float, scale: float | None = None) -> bool:
    """Tell whether two numbers are the same up to rounding, on the scale of a third, and finite."""
    return abs(a - b) <= 1e-9 * max(abs(a), abs(b), abs(scale or 0.0)) < inf
