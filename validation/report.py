"""The report of a checker, and the base of certificates."""

import time
from dataclasses import dataclass, field
from math import inf

import msgspec


class CertificateRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind"):
    """A certificate as a document holds it; its kind is its tag."""


class Refuted(str):
    """Why a claimed bound is wrong, and not merely unproven."""

    __slots__ = ()


@dataclass
class Report:
    """What is wrong with a result, and what could not be judged.

    Attributes
    ----------
    violations : list of str
        What is wrong, each in a line.
    unchecked : list of str
        Remarks on what was not, or not wholly, recomputed, each in a line.
    unjudged : list of str
        What the claim needs and no checker here can judge, each in a line.
    settings : list of str
        Options that are not at their default, of those that change what is asked.
    differences : list of str
        Where else the question that was answered is not that of the file as it stands.
    asked : bool
        Whether the result says which question it answers; else there is nothing to compare.
    late : bool
        Whether something was left out, since there was no more time for it.
    until : float or None
        The moment of `time.perf_counter` at which to have ended; None where it may take any time.
    bound : str
        What the bound, or the proof that there is no solution, is worth: ``re-proved``, or
        ``believed`` and from whom; empty where there is none.
    """

    violations: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    unjudged: list[str] = field(default_factory=list)
    settings: list[str] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)
    bound: str = ""
    asked: bool = True
    late: bool = False
    until: float | None = None

    @property
    def left(self) -> float:
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

    def expect(self, holds: bool, otherwise: str) -> None:
        """Note a violation unless the condition holds."""
        if not holds:
            self.violations.append(otherwise)


def same(a: float, b: float, scale: float | None = None) -> bool:
    """Tell whether two numbers are the same up to rounding, on the scale of a third, and finite."""
    return abs(a - b) <= 1e-9 * max(abs(a), abs(b), abs(scale or 0.0)) < inf
