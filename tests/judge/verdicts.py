"""What engines, declared models and dispatchers say of random nights, beside what is true."""

from fractions import Fraction
from typing import Any

import schedopt
from judge.brute import Night
from judge.nights import drawn
from schedopt.instances import files
from schedopt.policies.dssp.dispatchers import KEYS

KINDS = ("schedule", "selection", "season")
SECONDS = 20.0
"""What a solver may take; what is not proven then is withheld."""
NEAR = Fraction(1, 10**9)


def judged(kind: str, seed: int, *, declared: bool = True) -> str:
    """Return agreed, infeasible, withheld if not all is proven, or what is wrong with an answer."""
    season = kind == "season"
    text = drawn(seed, ("after",) if season else (), 2 + seed % 2 if season else 1)
    return judged_file(kind, text, declared=declared)


def judged_file(kind: str, text: bytes, *, declared: bool = True) -> str:
    """Judge what is said of a file: by the table of engines, as declared, and by dispatchers."""
    night = Night(text)
    asked: dict[str, Any] = {"formulation": kind, "threads": 1, "time_limit": SECONDS}
    truth = night.best_schedule() if kind == "schedule" else night.best_selection()
    said = {
        solver or "table": _judged(truth, schedopt.solve(files.parse(text), solver=solver, **asked))
        for solver in ((None, "model") if declared else (None,))
    }
    if kind == "schedule" and not night.rules:
        for found in schedopt.evaluate(files.parse(text), [*KEYS]):
            said[str(found.policy)] = _judged(truth, found)
    wrong = [f"{who}: {words}" for who, words in said.items() if words not in ("", "withheld")]
    right = "infeasible" if truth is None else "agreed"
    return "; ".join(wrong) or ("withheld" if "withheld" in said.values() else right)


def _judged(truth: Fraction | None, result: Any) -> str:
    """Return what is wrong with a result: nothing, nothing that is proven, or in words."""
    value, bound = result.objective, result.bound
    if result.violations:
        return f"violations: {result.violations}"
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
