"""What engines, declared models and dispatchers say of random nights, beside what is true."""

from fractions import Fraction
from typing import Any

from builders.effort import ALL

import schedopt
from judge.brute import Night
from judge.nights import drawn
from schedopt.instances import files
from schedopt.policies.dssp.dispatchers import KEYS
from schedopt.policies.registry import is_own, registered
from schedopt.problems import problem
from schedopt.solvers.portfolio import engines

PAIRS = ("selection+lcpf", "greedy+first", "maxk")
"""Policies that choose and dispatch."""
SECONDS = 20.0 if ALL else 5.0
"""What a solver may take; what is not proven then is withheld."""
NEAR = Fraction(1, 10**9)


def judged(kind: str, seed: int) -> str:
    """Return agreed, infeasible, withheld if not all is proven, or what is wrong with an answer.

    Of every 25th night each engine and each policy is asked, of others the table of engines, the
    declared model and the dispatchers.
    """
    season = kind == "season"
    text = drawn(seed, ("after",) if season else (), 2 + seed % 2 if season else 1)
    return judged_file(kind, text, everybody=seed % 25 == 0)


def judged_file(kind: str, text: bytes, *, everybody: bool = True) -> str:
    """Judge what engines and policies say of a file."""
    night, formulation = Night(text), problem("dssp").formulation(kind)
    asked: dict[str, Any] = {"formulation": kind, "threads": 1, "time_limit": SECONDS}
    truth = night.best_schedule() if kind == "schedule" else night.best_selection()
    others = [
        engine.name
        for engine in engines("dssp", kind)
        if engine.available and engine.accepts(formulation(files.parse(text)))
    ]
    said = {
        solver or "table": _judged(truth, schedopt.solve(files.parse(text), solver=solver, **asked))
        for solver in (None, *(others if everybody else others[-1:]))
    }
    if not night.rules and (kind == "schedule" or (everybody and kind == "selection")):
        own = [*(name for name in KEYS if is_own("dssp", name)), *PAIRS[: 3 * everybody]]
        if kind == "selection":
            own = [name for name in registered("dssp") if name not in (*KEYS, *PAIRS)]
        for found in schedopt.evaluate(files.parse(text), own):
            said[str(found.policy)] = _judged(truth, found)
    wrong = [f"{who}: {words}" for who, words in said.items() if words not in ("", "withheld")]
    right = "infeasible" if truth is None else "agreed"
    return "; ".join(wrong) or ("withheld" if said["table"] else right)


def _judged(truth: Fraction | None, result: Any) -> str:
    """Return what is wrong with a result: nothing, nothing that is proven, or in words."""
    value, bound = result.objective, result.bound
    if result.violations:  # of a declared model within HiGHS' tolerances: the checker says so
        told = result.solver == "model" and not result.proven
        return "withheld" if told else f"violations: {result.violations}"
    if truth is None or result.termination == "infeasible":
        same = value is None and (truth is None or result.termination != "infeasible")
        return "" if same else f"{result.termination}, {value}, and {truth} is true"
    near = NEAR * max(1, truth)
    if value is not None and value > truth + near:
        return f"{value} earned, and no more than {float(truth)} can be"
    if bound is not None and bound < truth - near:
        return f"{bound} bounds it, and {float(truth)} can be earned"
    if result.proven and value < truth - near:
        return f"{value} is called optimal, and {float(truth)} can be earned"
    return "" if result.proven or result.policy else "withheld"
