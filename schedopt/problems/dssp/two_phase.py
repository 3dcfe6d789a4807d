"""Policies of two phases, such as ``greedy+lcpf`` and ``selection+lcpf``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec

from schedopt.instances.constraints import Constraint, Seats
from schedopt.instances.errors import pick_name
from schedopt.solvers import portfolio
from schedopt.solvers.result import Result

if TYPE_CHECKING:
    from schedopt.instances.dssp import Instance, Selected
    from schedopt.policies.registry import Policy
    from schedopt.problems.record import Problem

NEAR = 1e-6  # largest relative gap of an unproven selection that is still dispatched


def two_phase(record: Problem, name: str, constraints: Sequence[Constraint] = ()) -> Policy:
    """Return a policy that selects jobs, by a policy or a formulation, and then dispatches them."""
    from schedopt.policies.dssp import two_phase as joined

    known, problem = record.policies(), record.name
    first, _, second = name.partition("+")
    choosing = {key: value for key, value in known.items() if value.phase == "choose"}
    dispatching = {key: value for key, value in known.items() if value.phase == "dispatch"}
    exact = _by_formulation(constraints)
    choosing[exact.name] = exact
    selector = choosing[pick_name(first, choosing, f"a policy of {problem} that chooses")]
    dispatcher = dispatching[
        pick_name(second, dispatching, f"a policy of {problem} that dispatches")
    ]
    return joined(with_seats(selector, constraints), with_seats(dispatcher, constraints))


def with_seats(policy: Policy, constraints: Sequence[Constraint]) -> Policy:
    """Return a policy that obeys additional rules of seats."""
    seats = tuple(rule for rule in constraints if isinstance(rule, Seats))
    if not seats or (policy.phase == "choose" and "dispatcher" not in policy.options):
        return policy

    def run(instance: Instance, **options: Any) -> Any:
        together = (*instance.constraints, *seats)
        return policy.run(msgspec.structs.replace(instance, constraints=together), **options)

    return replace(policy, run=run)


def _by_formulation(constraints: Sequence[Constraint]) -> Policy:
    """Return a policy that selects by the optimal selection."""
    from schedopt.formulations.dssp import Selection
    from schedopt.policies.registry import NotApplicableError, Policy

    def run(instance: Instance, **options: Any) -> Selected:
        model = Selection(instance, **options).add(*constraints)
        result: Result[Selected] = portfolio.solve(model)
        if result.proven and result.solution is not None:
            return result.solution
        if result.solution is None or result.gap is None or result.gap > NEAR:
            why = result.conflict or (result.termination,)
            raise NotApplicableError(f"selection has no optimum to dispatch: {', '.join(why)}")
        note = f"dispatched a selection within {result.gap:.1g} of the optimum, not proven optimal"
        return msgspec.structs.replace(result.solution, note=note)

    return Policy(
        name=Selection.name,
        problem="dssp",
        run=run,
        source="Anderson et al., SPAA 2005, section 3.1, equations 1 and 2",
        summary="the optimum under all side constraints, or within 1e-6 of it",
        options=Selection.known_options,
        phase="choose",
    )
