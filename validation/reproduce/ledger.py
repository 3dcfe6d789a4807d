"""The ledger of the papers' claims: entries in claims.json, and the runners that judge them.

A runner returns an answer for each claim of an entry: our result in words, and whether the claim
holds. The texts of the claims, the papers' numbers and the sources are in claims.json.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

FILE = Path(__file__).with_name("claims.json")
MODULES = {
    "dssp": ("theorems", "nights"),
    "hesrpt": ("theorems", "figures"),
    "epoch": ("schedules", "sweeps"),
    "msfq": ("figures", "lemmas"),
}
"""The modules with the runners of each problem."""

Curve = tuple[Any, Any]
Answer = tuple[str, bool | None]
"""Our result in words, and whether the claim holds; None if it cannot be judged."""

Answers = dict[str, Answer]  # by the id of the claim


class Claim(msgspec.Struct, frozen=True):
    """A claim of a paper: its statement and number, our result, and whether it holds."""

    id: str  # unique within the entry
    says: str
    paper: str
    ours: str = ""
    holds: bool | None = None


@dataclass(frozen=True)
class Findings:
    """The result of a runner.

    Attributes
    ----------
    answers : dict
        The answer to each claim by its id.
    curves : dict
        The curves of a figure by their labels, if the entry is drawn.
    xlabel, ylabel : str
        The labels of the axes.
    """

    answers: Answers
    curves: Mapping[str, Curve] = field(default_factory=dict)
    xlabel: str = ""
    ylabel: str = ""


class Entry(msgspec.Struct, frozen=True):
    """A figure, table, theorem or example of a paper, with the results of its last run."""

    name: str  # such as ``dssp/figure-3``
    title: str
    source: str
    workload: str  # the instances, and how they differ from the paper's
    quick: bool  # whether the last run used fewer instances
    seconds: float
    claims: tuple[Claim, ...]

    @property
    def verdicts(self) -> list[bool | None]:
        """Whether each claim holds."""
        return [claim.holds for claim in self.claims]

    def with_answers(self, outcome: Findings) -> tuple[Claim, ...]:
        """Return the claims with the answers of a run; `KeyError` if their ids differ."""
        if unlike := {claim.id for claim in self.claims} ^ outcome.answers.keys():
            raise KeyError(f"{self.name}: claims and answers differ in {sorted(unlike)}")
        return tuple(
            msgspec.structs.replace(claim, ours=ours, holds=None if holds is None else bool(holds))
            for claim in self.claims
            for ours, holds in (outcome.answers[claim.id],)
        )


def ledger() -> dict[str, Entry]:
    """Return all entries by name, in the order of the file. No runner is imported."""
    entries = msgspec.json.decode(FILE.read_bytes(), type=tuple[Entry, ...])
    return {entry.name: entry for entry in entries}


Runner = Callable[[bool], Findings | Answers]


def runner(name: str) -> Runner:
    """Return the runner of an entry: for ``dssp/figure-3`` the function ``figure_3`` of a module.

    The modules are those of `MODULES`. With ``quick`` a runner takes seconds.

    Raises
    ------
    KeyError
        If there is no runner of this name.
    """
    row, _, item = name.partition("/")
    for part in MODULES[row]:
        module = import_module(f"schedopt.validation.reproduce.{row}_{part}")
        function: Runner | None = getattr(module, re.sub("[-.]", "_", item), None)
        if function is not None:
            return function
    raise KeyError(name)


def run(name: str, quick: bool) -> Findings:
    """Return the findings of an entry's runner."""
    outcome = runner(name)(quick)
    return outcome if isinstance(outcome, Findings) else Findings(outcome)


def proven_optimum(model: Any, solver: str | None = None, time_limit: float | None = None) -> Any:
    """Return the result of solving a model on one thread to a proven optimum.

    Raises
    ------
    RuntimeError
        If the optimum is not proven.
    """
    from schedopt.solvers import portfolio
    from schedopt.solvers.result import Limits

    result = portfolio.solve(model, Limits(threads=1, time_limit=time_limit), solver=solver)
    if not result.proven or result.solution is None:
        raise RuntimeError(f"{model.instance.name} was not solved to optimality")
    return result


# --- runners ---------------------------------------------------------------------------------

Judge = Callable[[list[Any]], Answer]


def runner_over(
    cases: Callable[[bool], Iterable[tuple[Any, ...]]], **judges: Judge
) -> Callable[[Callable[..., Any]], Runner]:
    """Return a decorator that makes a runner of a function that measures one instance.

    Parameters
    ----------
    cases : callable
        Returns the arguments of all measurements; its argument is ``quick``.
    **judges : callable
        For each claim the function that judges the list of all measured values. A ``_`` in the name
        stands for ``-`` in the id of the claim.

    Notes
    -----
    The measuring function returns a value, a list of values, or a dict of these by claim.
    """

    def of_property(measure: Callable[..., Any]) -> Runner:
        def runs(quick: bool) -> Answers:
            values: dict[str, list[Any]] = {claim: [] for claim in judges}
            for case in cases(quick):
                measured = measure(*case)
                for claim, value in (
                    measured if isinstance(measured, dict) else dict.fromkeys(judges, measured)
                ).items():
                    values[claim] += value if isinstance(value, list) else [value]
            return {
                claim.replace("_", "-"): judge(values[claim]) for claim, judge in judges.items()
            }

        return runs

    return of_property


def judge_below(most: float, what: str = "relative difference", where: str = "instances") -> Judge:
    """Return a judge that expects all values to be below ``most``."""
    return lambda found: (
        f"largest {what} {max(found):.1e} in {len(found)} {where}",
        max(found) < most,
    )


def judge_never(text: str) -> Judge:
    """Return a judge that expects only False; the text has the number of True and of all values."""
    return lambda found: (text.format(sum(found), len(found)), not any(found))


def judge_always(text: str) -> Judge:
    """Return a judge that expects only True; the text has the number of True and of all values."""
    return lambda found: (text.format(sum(found), len(found)), all(found))


def list_by_name(values: Mapping[str, float], form: str) -> str:
    """Return values by name as a text."""
    return ", ".join(f"{name} {value:{form}}" for name, value in values.items())
