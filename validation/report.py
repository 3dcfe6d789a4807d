"""The report of a checker, and the base class of certificates."""

import time
from dataclasses import dataclass, field
from math import inf

import msgspec


class CertificateRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind"):
    """A certificate in a result document; its kind is its tag."""


class OutOfTimeError(Exception):
    """The time limit of a check was reached."""


class Refuted(str):
    """The reason why a claimed bound is wrong, and not merely unproven."""

    __slots__ = ()


@dataclass
class Report:
    """What is wrong with a result, and what could not be checked, one line each."""

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
        """The seconds until the time limit of the check."""
        return inf if self.until is None else max(0.0, self.until - time.perf_counter())

    @property
    def ok(self) -> bool:
        """Whether no violation was found."""
        return not self.violations

    @property
    def whole(self) -> bool:
        """Whether no violation was found, and everything that the claim needs was checked."""
        return self.ok and not self.unjudged

    def expect_time(self) -> None:
        """Raise `OutOfTimeError` at the time limit of the check."""
        if not self.seconds_left:
            raise OutOfTimeError

    def expect(self, holds: bool, otherwise: str) -> None:
        """Report a violation unless a condition holds."""
        if not holds:
            self.violations.append(otherwise)


def same(a: float, b: float, scale: float | None = None) -> bool:
    """Return True if two numbers are finite and equal up to rounding, relative to ``scale``."""
    return abs(a - b) <= 1e-9 * max(abs(a), abs(b), abs(scale or 0.0)) < inf
