"""Re-prove a bound on an allocation's cost from prices of work, in intervals, without a solver.

For one completion order let W_k be the cost rate of the k last jobs. Prices of work, not negative,
under which no shares of the servers let the k last earn more than W_k in a unit of time, for every
k, show that no policy of that order costs less than the sum of price times size: all work is paid
for out of the cost rate of those who are there. Side constraints that are left out of account only
let jobs earn more, which makes the bound weaker and never wrong.

``order``
    Prices for the order that the option ``order`` gave.
``ranks``
    A price for each place in the order, from the last: where jobs differ in size alone, they are
    prices of every order, and the least sum pairs the largest size with the least price.
``diagram``
    Passes over sets of last jobs, which close what costs a goal (`decision_diagram`), and prices
    for the few orders that they leave.
``together``
    For the makespan: prices under which all jobs together earn no more than 1 in a unit of time.
``rents``
    A rent of a server that falls over time, and for each job what it costs alone to pay it
    (`lagrangian`): less the rent of all servers, that bounds all orders. Caps of teams of one
    grouping are seen here alone.

Nothing is shown of jobs that arrive later. Numbers are decimals as the file writes them; a claim
may be above what is shown by 1e-9 of it, as a solver's rounding may be.
"""

from collections.abc import Mapping, Sequence
from math import isfinite

import msgspec
import numpy as np

from schedopt.instances.constraints import Constraint
from schedopt.instances.hesrpt import Instance
from schedopt.solvers.result import Document
from schedopt.validation.hesrpt.certificates import (
    Certificate,
    Order,
    Passes,
    Ranks,
    Rents,
    Together,
)
from schedopt.validation.hesrpt.lagrangian import least_cost
from schedopt.validation.hesrpt.proofs import NotShownError, Proof

ROUNDING = 1e-9


def reproved(
    instance: Instance,
    constraints: Sequence[Constraint],
    certificate: Mapping[str, object],
    claim: Document,
) -> str | None:
    """Re-prove a claimed bound: see `validation.documents`."""
    if certificate.get("kind") == "orders":
        return "a certificate of version 0.1, which none makes any more: solve with --certificate"
    try:
        given = msgspec.convert(certificate, Certificate, strict=True)
        with np.errstate(all="ignore"):  # prices beyond all numbers show nothing
            proven = _proven_bound(instance, constraints, given, claim)
    except msgspec.ValidationError as error:
        return f"the certificate cannot be read: {error}"
    except (ValueError, LookupError, ArithmeticError) as reason:
        return str(reason)
    bound = claim.bound
    if bound is None or not isfinite(bound) or not bound <= proven * (1.0 + ROUNDING):
        return f"the certificate shows {proven:.12g}, not {bound}"
    return None


def _proven_bound(
    instance: Instance, constraints: Sequence[Constraint], given: Certificate, claim: Document
) -> float:
    if claim.sense != "minimize":
        raise NotShownError(f"cost is minimized, not {claim.sense}d")
    if claim.formulation != "allocation":
        raise NotShownError(f"prices of work say nothing of {claim.formulation}")
    if any(job.arrival > 0 for job in instance.jobs):
        raise NotShownError("prices of work say nothing of jobs that arrive later")
    if (instance.objective == "makespan") != isinstance(given, Together):
        raise NotShownError(f"that kind of certificate says nothing of a {instance.objective}")
    proof = Proof(instance, constraints, getattr(given, "by", None))
    if isinstance(given, Rents):
        return least_cost(proof.machine, proof.sizes, proof.costs, given, proof.teams(given.by))
    if isinstance(given, Order):
        return proof.of_order(given, claim)
    if isinstance(given, Ranks):
        return proof.of_ranks(given, constraints)
    if isinstance(given, Passes):
        return proof.of_passes(given)
    return proof.of_makespan(given)
