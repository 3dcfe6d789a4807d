"""The page of one result: a summary, pictures and tables."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from schedopt.formats import number
from schedopt.instances.protocol import AnyInstance
from schedopt.problems import problem_of
from schedopt.problems.summary import CAUTION, Explanation, Section, explanation_tables
from schedopt.report import page
from schedopt.solvers.result import Result

CHECKED = (
    "The result was recomputed from the instance by a checker that shares no code with the "
    "solver. This page works offline and sends no data."
)
UNCHECKED = "Parts of this result could not be checked. This page sends no data."
OUTCOMES = {
    "optimal": "proven optimal",
    "feasible": "the best solution found; not proven optimal",
    "none": "no solution",
}
PRICES = {
    "needed": "The smallest reward with which the job would be in an optimum, all else unchanged.",
    "reward lost": "The optimum without the rule, minus the optimum with it.",
    "in without it, out without it": "Jobs that run only if the rule is dropped, and jobs that "
    "they replace.",
    "not proven": "The additional solve was stopped; the true number may be larger.",
}


def write(
    instance: AnyInstance,
    result: Result,
    path: str | Path,
    run: Result | None = None,
    more: Iterable[Section] = (),
) -> None:
    """Write the page of one result; ``path`` ends in .html.

    ``run`` is the result with times, and ``more`` are sections after the first.
    """
    footer = CHECKED if result.checked else UNCHECKED
    short, *parts = sections(instance, result, run)
    page.write(path, instance.name, problem_of(instance).title, [short, *more, *parts], footer)


def sections(instance: AnyInstance, result: Result, run: Result | None) -> Iterator[Section]:
    """Yield the parts of the page."""
    record = problem_of(instance)
    bound = ""
    if result.bound is not None:
        bound = f"{number(result.bound)}: no solution can be better ({record.gap_in_words(result)})"
    facts = {
        CAUTION: "" if run is None else record.caution(instance, result, run),
        "description": instance.description or "",
        "outcome": f"{OUTCOMES[result.solution_status]} ({result.termination})",
        "objective": f"{number(result.objective)} ({record.goal(instance)})",
        "bound": bound,
        "solver": result.credit,
        **{name: text for name, text in record.lines(instance, result) if name != CAUTION},
        "rules that cannot hold together": ", ".join(result.conflict),
        "violations": "; ".join(result.violations),
        "note": str(result.message or ""),
    }
    yield Section("In short", facts={name: text for name, text in facts.items() if text})
    yield from record.sections(instance, result, run)
    if result.explanation:
        why = msgspec.convert(result.explanation, Explanation)
        words = (
            "Each line comes from an additional solve, with the job required or the rule dropped."
        )
        tables = tuple(table.without_empty_columns() for table in explanation_tables(why))
        yield Section(
            "Why jobs are left out, and what rules cost", words=words, tables=tables, terms=PRICES
        )
