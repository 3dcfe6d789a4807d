"""Policies by name, those of two phases too: ``greedy+lcpf``, ``selection+lcpf``."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from instances.constraints import Constraint
from instances.errors import InputError, shown
from schedopt.problems import catalog
from solvers import selecting


def policy(problem: str, name: str, constraints: Sequence[Constraint] = ()) -> Any:
    """Return a policy by name.

    Parameters
    ----------
    problem : str
        The problem that it is for.
    name : str
        A registered policy, or two joined by ``+``: one that chooses, or a formulation that does,
        and one that dispatches.
    constraints : sequence of Constraint
        Side constraints beyond the instance's, which a formulation that chooses keeps.

    Raises
    ------
    InputError
        If there is no such policy.
    """
    known = catalog.policies(problem)
    first, plus, second = name.partition("+")
    if not plus:
        return known[catalog.pick(name, known, f"a policy of {problem}")]
    choosing = {key: value for key, value in known.items() if value.phase == "choose"}
    dispatching = {key: value for key, value in known.items() if value.phase == "dispatch"}
    if not dispatching:
        raise InputError(f"one policy: {problem} has no two phases", found=shown(name))
    exact = _by_formulation(problem, constraints)
    choosing[exact.name] = exact
    selector = choosing[catalog.pick(first, choosing, f"a policy of {problem} that chooses")]
    dispatcher = dispatching[
        catalog.pick(second, dispatching, f"a policy of {problem} that dispatches")
    ]
    return import_module(f"policies.{problem}").two_phase(selector, dispatcher)


def _by_formulation(problem: str, constraints: Sequence[Constraint]) -> Any:
    """Return a policy that chooses as the default formulation's optimum does."""
    from policies.registry import NotApplicableError, Policy

    kind = catalog.formulation_type(problem)

    def run(instance: Any, **options: Any) -> Any:
        model = kind(instance, **options).add(*constraints)
        result = selecting.solve(model)
        if not result.proven:
            why = result.conflict or (result.termination,)
            raise NotApplicableError(f"{kind.name} has no optimum to dispatch: {', '.join(why)}")
        return result.solution

    return Policy(
        name=kind.name,
        problem=problem,
        run=run,
        source="Anderson et al., SPAA 2005, section 3.1, equations 1 and 2",
        summary="the proven optimum under all side constraints",
        options=kind.known_options,
        phase="choose",
    )
