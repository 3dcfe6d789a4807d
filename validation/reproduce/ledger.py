"""The ledger of the papers' claims: entries in claims.json, and the runners that measure.

A runner returns measured values by name. A claim in claims.json has the paper's number, our result
as a text with expressions of the measured values in braces, and the expression by which it holds.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

FILE = Path(__file__).with_name("claims.json")
Values = dict[str, Any]
"""Measured values by name; ``curves`` has the points of a figure's curves by their labels."""
Runner = Callable[[bool], Values]


class Claim(msgspec.Struct, frozen=True):
    """A claim of a paper: its statement and number, our result, and whether it holds."""

    id: str  # unique within the entry
    says: str
    paper: str
    form: str  # our result in words, as an f-string of the measured values
    # Whether it holds, as an expression of the measured values; empty if this cannot be judged.
    test: str = ""
    ours: str = ""
    holds: bool | None = None

    def judged(self, values: Values) -> "Claim":
        """Return the claim with the result of a run."""
        names = {"by_name": list_by_name, **values}
        ours = eval(f'f"""{self.form}"""', names)  # noqa: S307  our own file
        holds = eval(self.test, names) if self.test else None  # noqa: S307
        return msgspec.structs.replace(
            self, ours=ours, holds=None if holds is None else bool(holds)
        )


class Entry(msgspec.Struct, frozen=True):
    """A figure, table, theorem or example of a paper, with the results of its last run."""

    name: str  # such as ``dssp/figure-3``
    title: str
    source: str
    workload: str  # the instances, and how they differ from the paper's
    quick: bool  # whether the last run used fewer instances
    seconds: float
    claims: tuple[Claim, ...]
    axes: tuple[str, str] = ("", "")  # the labels of the figure

    @property
    def verdicts(self) -> list[bool | None]:
        """Whether each claim holds."""
        return [claim.holds for claim in self.claims]


def ledger() -> dict[str, Entry]:
    """Return all entries by name, in the order of the file. No runner is imported."""
    entries = msgspec.json.decode(FILE.read_bytes(), type=tuple[Entry, ...])
    return {entry.name: entry for entry in entries}


def runner(name: str) -> Runner:
    """Return the runner of an entry: for ``dssp/figure-3`` the function ``figure_3`` of a module.

    With ``quick`` a runner takes seconds.
    """
    problem, _, item = name.partition("/")
    module = import_module(f"schedopt.validation.reproduce.{problem}")
    function: Runner = getattr(module, re.sub("[-.]", "_", item))
    return function


def proven_optimum(model: Any, solver: str | None = None, time_limit: float | None = None) -> Any:
    """Return the result of solving a model on one thread; `RuntimeError` without a proof."""
    from schedopt.solvers import portfolio
    from schedopt.solvers.result import Limits

    result = portfolio.solve(model, Limits(threads=1, time_limit=time_limit), solver=solver)
    if not result.proven or result.solution is None:
        raise RuntimeError(f"{model.instance.name} was not solved to optimality")
    return result


def runner_over(
    cases: Callable[[bool], Iterable[tuple[Any, ...]]],
) -> Callable[[Callable[..., Values]], Runner]:
    """Return a decorator that makes a runner of a function that measures one instance.

    ``cases`` returns the arguments of all measurements; its argument is ``quick``. The runner
    returns the list of measured values of each name; a measured list is appended as a whole.
    """

    def of_measure(measure: Callable[..., Values]) -> Runner:
        def runs(quick: bool) -> Values:
            found: dict[str, list[Any]] = {}
            for case in cases(quick):
                for name, value in measure(*case).items():
                    found.setdefault(name, []).extend(value if isinstance(value, list) else [value])
            return found

        return runs

    return of_measure


def list_by_name(values: Mapping[str, float], form: str) -> str:
    """Return values by name as a text."""
    return ", ".join(f"{name} {value:{form}}" for name, value in values.items())


def verdict(held: Sequence[bool | None]) -> str:
    """Return the verdict of an entry in words: the worst of its claims."""
    if False in held:
        return "differs" if not any(held) else f"differs in {held.count(False)} of {len(held)}"
    if None in held:
        return "cannot be checked" if not any(held) else "holds as far as it can be checked"
    return "holds"
