"""Prove a bound on the overhead again from a certificate, in integers and without a solver.

The overhead is N for each epoch, so a bound on the number of epochs suffices. Each kind of
certificate is an argument that the docstring of its checking function explains.
"""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import isfinite, isqrt

import msgspec
import numpy as np

from schedopt.instances.constraints import Apart, Constraint, Together, label
from schedopt.instances.epoch import Instance
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


Certificate = Nodes | Leaders | Clique


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
    if claim.sense != "minimize":
        raise _NotShownError(f"overhead is minimized, not {claim.sense}d")
    stated = msgspec.convert(certificate, Certificate, strict=True)
    if claim.formulation != "partition":
        raise _NotShownError(f"a number of epochs says nothing of {claim.formulation}")
    return instance.nodes * _fewest_epochs(instance, constraints, stated)


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


def _bundle_minima(instance: Instance, rules: Iterable[Constraint]) -> list[list[int]]:
    """Return the minima in decreasing order of the jobs that must share an epoch."""
    bundles = [{job.name} for job in instance.jobs]
    for rule in rules:
        if isinstance(rule, Together):
            touched = [b for b in bundles if not b.isdisjoint(rule.jobs)]
            bundles = [b for b in bundles if b.isdisjoint(rule.jobs)]
            bundles.append(set().union(*touched))
    minimum = {job.name: job.minimum for job in instance.jobs}
    return [sorted((minimum[j] for j in b), reverse=True) for b in bundles]


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
