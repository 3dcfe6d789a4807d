"""The page of one result: in short, in pictures and in tables."""

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
    "The result was recomputed from the raw instance, by code that shares nothing with what made "
    "it. The page needs nothing but a browser, and sends nothing anywhere."
)
UNCHECKED = "Not all of this result could be checked. The page sends nothing anywhere."
OUTCOMES = {
    "optimal": "proven: there is no better one",
    "feasible": "the best that was found, not proven to be the best there is",
    "none": "there is none",
}
PRICES = {
    "needed": "What the job would have had to be worth to be in an optimum, all else the same.",
    "reward lost": "The optimum without the rule, minus the optimum.",
    "in without it, out without it": "Jobs that run only without the rule, and jobs that they "
    "replace.",
    "not proven": "The further solve was stopped: the true number may be larger.",
}


def write(
    instance: AnyInstance,
    result: Result,
    path: str | Path,
    run: Result | None = None,
    more: Iterable[Section] = (),
) -> None:
    """Write the page of one result, as it is run; ``path`` ends in .html.

    ``more``: parts that follow the first.
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
        "what this is": instance.description or "",
        "outcome": f"{OUTCOMES[result.solution_status]} ({result.termination})",
        "objective": f"{number(result.objective)} ({record.goal(instance)})",
        "bound": bound,
        "by": result.credit,
        **{name: text for name, text in record.lines(instance, result) if name != CAUTION},
        "rules that cannot hold together": ", ".join(result.conflict),
        "violations": "; ".join(result.violations),
        "note": str(result.message or ""),
    }
    yield Section("In short", facts={name: text for name, text in facts.items() if text})
    yield from record.sections(instance, result, run)
    if result.explanation:
        why = msgspec.convert(result.explanation, Explanation)
        words = "Each by solving again: with the job asked for, or without the rule."
        tables = tuple(table.without_empty_columns() for table in explanation_tables(why))
        yield Section("Why, and at what price", words=words, tables=tables, terms=PRICES)
