"""What there is: formulations, solvers, policies, constraint kinds and generators, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, get_args

from instances.errors import InputError, listing, shown, suggestion
from instances.files import PROBLEMS

FORMULATIONS: dict[str, dict[str, str]] = {
    "dssp": {
        "selection": "formulations.dssp.selection:Selection",
        "schedule": "formulations.dssp.schedule:Schedule",
    },
    "hesrpt": {"allocation": "formulations.hesrpt.allocation:Allocation"},
    "epoch": {
        "partition": "formulations.epoch.partition:Partition",
        "rectangles": "formulations.epoch.rectangles:Rectangles",
    },
    "msfq": {
        "threshold": "formulations.msfq.threshold:Threshold",
        "optimal-policy": "formulations.msfq.optimal:OptimalPolicy",
    },
}
"""For each problem, its formulations and where they live; the first is the default."""

REFERENCES = {"msfq": "schedopt.problems.msfq.reference:reference"}
"""Problems whose policies are not measured against the default formulation, and what against."""

HINTS: dict[str, tuple[str, ...]] = {"dssp": ("greedy", "greedy-half")}
"""Policies quick enough to start a solver from."""

HINTS_FROM = 500
"""Jobs from which on a start pays: loading compiled heuristics takes a second by itself."""


@dataclass(frozen=True)
class Solver:
    """A solver: what it takes, in words, and the modelling language that it takes."""

    takes: str
    engine: str


SOLVERS: dict[str, Solver] = {
    "highs": Solver("linear models in Pyomo, with any side constraints", "pyomo"),
    "cp-sat": Solver("schedules and partitions, exactly, with any side constraints", "cp-sat"),
    "queues": Solver("thresholds by enumeration, optimal policies by value iteration", "numeric"),
    "core": Solver("selections without side constraints: an exact knapsack algorithm", "pyomo"),
    "prices": Solver("allocations without side constraints: the dual, over all orders", "cvxpy"),
    "clarabel": Solver("allocations, as convex programs, with any side constraints", "cvxpy"),
}

TINY: dict[str, bytes] = {
    "dssp": b'{"problem":"dssp","name":"tiny","processors":2,"deadline":4,"jobs":['
    b'{"name":"a","reward":5,"stages":[[2,3]]},{"name":"b","reward":3,"stages":[[3]]},'
    b'{"name":"c","reward":1,"stages":[[1]]}]}',
    "hesrpt": b'{"problem":"hesrpt","name":"tiny","servers":10,"speedup":{"kind":"power","p":0.5},'
    b'"jobs":[{"name":"a","size":1},{"name":"b","size":2}]}',
    "epoch": b'{"problem":"epoch","name":"tiny","nodes":4,"inequity":1,"jobs":['
    b'{"name":"a","minimum":2},{"name":"b","minimum":3}]}',
    "msfq": b'{"problem":"msfq","name":"tiny","servers":2,"classes":['
    b'{"need":1,"arrival_rate":0.3,"service_rate":1},'
    b'{"need":2,"arrival_rate":0.2,"service_rate":1}]}',
}
"""An instance of each problem, small enough to try a policy or a solver on."""


def formulation_type(problem: str, name: str | None = None) -> type[Any]:
    """Return a problem's formulation class by name; the default one where no name is given.

    Raises
    ------
    InputError
        If the problem has no formulation of that name.
    """
    known = FORMULATIONS[problem]
    home = known[pick(name, known, f"a formulation of {problem}") if name else next(iter(known))]
    module, _, attribute = home.partition(":")
    return getattr(import_module(module), attribute)  # type: ignore[no-any-return]


def reference(problem: str) -> Any:
    """Return the function that gives a problem's reference, of those in `REFERENCES`."""
    module, _, attribute = REFERENCES[problem].partition(":")
    return getattr(import_module(module), attribute)


def policies(problem: str) -> Mapping[str, Any]:
    """Return the registered policies of a problem, by name."""
    from policies.registry import registered

    return registered(problem)


def generators(problem: str) -> Mapping[str, Any]:
    """Return the generators of a problem, by name."""
    return import_module(f"instances.{problem}.generators").GENERATORS  # type: ignore[no-any-return]


def generator(of: str, name: str | None = None) -> Any:
    """Return a problem's generator by name; the first one where no name is given.

    Raises
    ------
    InputError
        If there is no such problem or generator.
    """
    known = generators(problem(of))
    return known[pick(name or next(iter(known)), known, f"a generator of {of}")]


def constraint_kinds(problem: str) -> dict[str, Any]:
    """Return the kinds of side constraints that a problem's instances may have, by name."""
    union = import_module(f"instances.{problem}").SideConstraint
    return {kind.kind(): kind for kind in get_args(union) or (union,)}


def reproductions() -> Mapping[str, Any]:
    """Return the reproductions of all papers, by name."""
    from validation.reproduce.ledger import ledger

    return ledger()


def problem(name: str) -> str:
    """Return the name of a problem if there is one.

    Raises
    ------
    InputError
        If there is not.
    """
    return pick(name, dict.fromkeys(PROBLEMS), "a problem")


def pick(name: str, known: Mapping[str, Any], what: str) -> str:
    """Return a name that is known.

    Raises
    ------
    InputError
        If it is not, with the names that are.
    """
    if name not in known:
        raise InputError(f"{what}{suggestion(name, known) or listing(known)}", found=shown(name))
    return name
