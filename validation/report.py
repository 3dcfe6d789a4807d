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
    """The reason why a claimed bound is false, not merely unproven."""

    __slots__ = ()


@dataclass
class Report:
    """What is wrong with a result, and what could not be checked, one line each."""

    violations: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)  # what was not recomputed completely
    unjudged: list[str] = field(default_factory=list)  # what no checker can judge
    settings: list[str] = field(default_factory=list)  # options other than the defaults
    differences: list[str] = field(default_factory=list)  # between the question and the file
    bound: str = ""  # ``re-proved``, or ``believed`` and its source; empty without a bound
    asked: bool = True  # whether the result contains its question
    late: bool = False  # whether checks were skipped at the time limit
    until: float | None = None  # the time limit as `time.perf_counter`; None for no limit

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
        """Whether everything that the claim needs was checked, without a violation."""
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
