"""Prove a bound on the overhead again from a certificate, in integers and without a solver.

The overhead is N for each epoch, so a bound on the number of epochs suffices. Each kind of
certificate is an argument that the docstring of its checking function explains.
"""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import isfinite, isqrt, lcm

import msgspec
import numpy as np

from schedopt.instances.constraints import Apart, Constraint, Together, label
from schedopt.instances.epoch import Instance
from schedopt.instances.errors import quote
from schedopt.solvers.result import Document
from schedopt.validation.report import CertificateRecord


class Nodes(CertificateRecord, frozen=True, tag="nodes"):
    """The bound by area: each job uses at least its minimum, or the largest of its bundle."""


class Leaders(CertificateRecord, frozen=True, tag="leaders"):
    """Lower bounds on the largest minimum of each epoch (its leader), sorted in decreasing order.

    Each pair is a lower bound and the number of leaders in a row for which it holds.
    """

    leaders: list[tuple[int, int]]


class Clique(CertificateRecord, frozen=True, tag="apart"):
    """The bound by an ``apart`` constraint: each of its jobs is in another epoch."""

    constraint: str


class Widths(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Widths that a prime excludes together; prime 0 stands for all subset sums of heights."""

    prime: int
    widths: list[int]


class Narrowest(CertificateRecord, frozen=True, tag="widths"):
    """For rectangles: widths that no schedule has, in the order in which they are excluded."""

    steps: list[Widths]


Certificate = Nodes | Leaders | Clique | Narrowest


def reprove(
    instance: Instance,
    constraints: Sequence[Constraint],
    certificate: Mapping[str, object],
    claim: Document,
) -> str | None:
    """Prove a claimed bound again: see `validation.documents`."""
    try:
        proven = _proven_bound(instance, constraints, certificate, claim)
    except msgspec.ValidationError as error:
        return f"the certificate cannot be read: {error}"
    except ValueError as reason:
        return str(reason)
    if claim.bound is None or not isfinite(claim.bound) or Fraction(claim.bound) > proven:
        return f"the certificate shows {proven}, not {claim.bound}"
    return None


def _proven_bound(
    instance: Instance,
    constraints: Sequence[Constraint],
    certificate: Mapping[str, object],
    claim: Document,
) -> int:
    """Return the lower bound on the overhead that a certificate proves."""
    if claim.sense != "minimize":
        raise _NotShownError(f"overhead is minimized, not {claim.sense}d")
    stated = msgspec.convert(certificate, Certificate, strict=True)
    if isinstance(stated, Narrowest) and claim.formulation == "rectangles":
        powers = claim.options.get("widths") == "powers-of-two"
        bundles = _bundles(instance, constraints)
        return least_overhead(instance, bundles, stated.steps, powers=powers)
    if not isinstance(stated, Narrowest) and claim.formulation == "partition":
        return instance.nodes * _fewest_epochs(instance, constraints, stated)
    raise _NotShownError(f"a certificate of that kind says nothing of {claim.formulation}")


class _NotShownError(ValueError):
    """A step of a certificate that does not follow; the message names it."""


def _fewest_epochs(
    instance: Instance,
    rules: Sequence[Constraint],
    given: Nodes | Leaders | Clique,
) -> int:
    """Return the lower bound on the number of epochs that a certificate proves."""
    if isinstance(given, Nodes):
        k = instance.inequity
        taken = sum(max(m, jobs[0] - k) for jobs in _bundle_minima(instance, rules) for m in jobs)
        return -(-taken // instance.nodes)
    if isinstance(given, Leaders):
        return _check_leaders(instance, given.leaders)
    for position, rule in enumerate(rules):
        if isinstance(rule, Apart) and label(rule, position) == given.constraint:
            return len(set(rule.jobs))
    raise _NotShownError(f"no jobs are kept apart by {given.constraint!r}")


def _bundles(instance: Instance, rules: Iterable[Constraint]) -> Iterable[set[str]]:
    """Yield the sets of jobs that must share an epoch; each job is in one set."""
    bundles = [{job.name} for job in instance.jobs]
    for rule in rules:
        if isinstance(rule, Together):
            touched = [b for b in bundles if not b.isdisjoint(rule.jobs)]
            bundles = [b for b in bundles if b.isdisjoint(rule.jobs)]
            bundles.append(set().union(*touched))
    return bundles


def _bundle_minima(instance: Instance, rules: Iterable[Constraint]) -> list[list[int]]:
    """Return the minima of each bundle in decreasing order."""
    minimum = {job.name: job.minimum for job in instance.jobs}
    return [sorted((minimum[j] for j in b), reverse=True) for b in _bundles(instance, rules)]


def _jobs_that_fit(instance: Instance, leader: int, size: int) -> int:
    """Return the most jobs of at least a given minimum in an epoch with a given leader."""
    nodes, k = instance.nodes, instance.inequity
    if k == 0:  # all get N/h, which is whole and has room for the leader
        low = [d for d in range(1, isqrt(nodes) + 1) if nodes % d == 0]
        return max(h for d in low for h in (d, nodes // d) if h * leader <= nodes)
    return 1 + (nodes - leader) // max(1, size, leader - k)


def _check_leaders(instance: Instance, leaders: Sequence[tuple[int, int]]) -> int:
    """Check that the i-th largest leader of any partition is at least the i-th given leader.

    Suppose not, for a leader with minimum s. Then only i - 1 epochs hold jobs with minimum s or
    more. By induction their leaders are at least those given before, and an epoch with a larger
    leader holds fewer jobs. So these epochs hold at most as many jobs as the given leaders could,
    which is fewer than the number of jobs with minimum s or more.
    """
    minima = np.array([job.minimum for job in instance.jobs])
    before: list[tuple[int, int]] = []
    for size, times in leaders:
        if not 1 <= size <= instance.nodes or times < 1 or (before and size >= before[-1][0]):
            raise _NotShownError(f"leaders: {times} of {size} is out of place")
        room = sum(_jobs_that_fit(instance, leader, size) * n for leader, n in before)
        room += _jobs_that_fit(instance, size, size) * (times - 1)
        if room >= int((minima >= size).sum()):
            raise _NotShownError(f"leaders: fewer than {times} more of {size} may do")
        before.append((size, times))
    return sum(times for _, times in before)


# --- rectangles -----------------------------------------------------------------------------------


def least_overhead(
    instance: Instance, bundles: Iterable[set[str]], steps: Sequence[Widths], *, powers: bool
) -> int:
    """Return a lower bound on the overhead of rectangles.

    All rectangles have area N/J, so one with width A lasts N/(J A). On each node they fill the
    quantum, so the sum of 1/A over them is J/N. A width that is in no such sum is in no schedule,
    and a job has one of the other widths. Jobs that must be together have the same width.

    Raises
    ------
    ValueError
        If a width is excluded that some sum may have.
    """
    nodes, jobs = instance.nodes, len(instance.jobs)
    total, minimum = Fraction(jobs, nodes), {job.name: job.minimum for job in instance.jobs}
    remaining = {w for w in range(min(minimum.values()), nodes + 1) if Fraction(1, w) <= total}
    for step in steps:
        gone = set(step.widths)
        if not gone <= remaining:
            raise ValueError("widths: one drops out that is not there")
        possible = (
            _widths_in_sums(remaining, total)
            if step.prime == 0
            else _widths_by_prime(remaining, step.prime, total)
        )
        if gone & possible:
            raise ValueError(f"widths: {min(gone & possible)} is not shown to be in no schedule")
        remaining -= gone
    if powers:
        remaining = {w for w in remaining if w.bit_count() == 1 or w == nodes}
    width = {m: min(w for w in remaining | {nodes} if w >= m) for m in set(minimum.values())}
    used = sum(len(bundle) * width[max(minimum[j] for j in bundle)] for bundle in bundles)
    return max(used, nodes)


def _widths_by_prime(widths: set[int], prime: int, total: Fraction) -> set[int]:
    """Return the widths that the highest power of a prime does not exclude.

    Let that power p^a be in some widths c p^a and not in the total's denominator. Then the sum of
    1/c over these widths is a multiple of p. The least sum of 1/A for each residue is found by
    adding widths as long as some sum decreases.
    """
    if prime > max(widths):
        raise ValueError(f"widths: {quote(prime)} is more than any of them")
    if prime < 2 or any(prime % d == 0 for d in range(2, int(prime**0.5) + 1)):
        raise ValueError(f"widths: {prime} is no prime")
    highest = max(_prime_power(w, prime) for w in widths)
    if highest == 0 or highest <= _prime_power(total.denominator, prime):
        return widths
    group = [w for w in widths if _prime_power(w, prime) == highest]
    inverse = {w: pow(w // prime**highest, -1, prime) for w in group}
    least: list[Fraction | None] = [Fraction(0)] + [None] * (prime - 1)
    changed = True
    while changed:
        changed = False
        for residue, sofar in enumerate(list(least)):
            for w in group if sofar is not None else ():
                to, more = (residue + inverse[w]) % prime, (sofar or 0) + Fraction(1, w)
                least_before = least[to]
                if more <= total and (least_before is None or more < least_before):
                    least[to], changed = more, True
    kept = set(widths)
    for w in group:
        rest = least[-inverse[w] % prime]
        if rest is None or rest + Fraction(1, w) > total:
            kept.discard(w)
    return kept


def _widths_in_sums(widths: set[int], total: Fraction, most_units: int = 1 << 27) -> set[int]:
    """Return the widths in any multiset in which the sum of 1/A is the total.

    Raises
    ------
    ValueError
        If the common grid of all sums has more than ``most_units`` points.
    """
    whole = lcm(*widths, total.denominator)
    units = int(whole * total)
    if units > most_units:
        raise ValueError("widths: too many sums to follow")
    reached, full = 1, (1 << (units + 1)) - 1
    for w in widths:
        height = whole // w
        while height <= units:  # 1, 2, 4, ... more of this width
            reached |= (reached << height) & full
            height *= 2
    return {w for w in widths if whole // w <= units and reached >> (units - whole // w) & 1}


def _prime_power(number: int, prime: int) -> int:
    power = 0
    while number % prime == 0:
        number, power = number // prime, power + 1
    return power
