"""The terminal's lines and tables on a result of msfq: thresholds, and response times by class."""

import msgspec

from schedopt import tables as column
from schedopt.formats import number
from schedopt.instances.msfq import Instance, answers
from schedopt.problems.summary import Lines, Tables
from schedopt.solvers.result import Result
from schedopt.tables import Cell, Table, Value

TAIL = "99"  # the percentile that is shown if it was measured


def lines(queue: Instance, result: Result[answers.Answer | answers.LogAnswer]) -> Lines:
    """Yield the threshold, if there is one, and the mean response times of all jobs."""
    solution = result.solution
    if solution is None:
        return
    if (
        isinstance(solution, answers.Thresholded | answers.Simulated)
        and solution.threshold is not msgspec.UNSET
    ):
        yield "threshold", str(solution.threshold)
    yield "mean response time", number(solution.mean_response_time)
    yield "weighted by load", number(solution.weighted_response_time)
    if isinstance(solution, answers.Replayed):
        yield "mean wait", number(solution.mean_wait)
        yield "mean bounded slowdown", number(solution.mean_bounded_slowdown)
        yield "utilization", f"{solution.utilization:.1%}"
    if isinstance(solution, answers.Replayed) and solution.confidence is not None:
        of = "for the process that the log is a part of; for the log itself it is exact"
        yield "by batch means", f"± {number(solution.confidence)} (95%) {of}"
    if isinstance(solution, answers.Bracketed):
        yield "best policy", solution.policy


def measures(result: Result[answers.Answer | answers.LogAnswer]) -> dict[str, float]:
    """Return what a replay of a log measures, as the tables of a bench head it."""
    solution = result.solution
    if not isinstance(solution, answers.Replayed):
        return {}
    values: dict[str, float | None] = {"response": solution.mean_response_time}
    values["± of batches"] = solution.confidence
    values["slowdown"] = solution.mean_bounded_slowdown
    values |= {
        "wait": solution.mean_wait,
        "utilization": solution.utilization,
        "lost": solution.loss_of_capacity,
        "fairness": solution.fairness,
    }
    return {name: value for name, value in values.items() if value is not None}


def tables(
    queue: Instance,
    result: Result[answers.Answer | answers.LogAnswer],
    *,
    most: int = 40,  # rows of each table
) -> Tables:
    """Yield response times by class; for a log, by user, group, queue and need."""
    solution = result.solution
    if isinstance(solution, answers.Answer):
        heads = "mean response time", "95% interval", f"{TAIL}th percentile"
        columns = (column.count("servers needed"), *map(column.number, heads))
        rows = map(_row, solution.classes[:most])
        yield Table.of(f"by class{_more(most, len(solution.classes))}", columns, rows)
    elif isinstance(solution, answers.Replayed):
        for by, measures in solution.by.items():
            means = "mean response time", "mean wait", "mean bounded slowdown"
            columns = (column.text(by), column.count("jobs"), *map(column.number, means))
            largest = sorted(measures.items(), key=lambda pair: -pair[1].jobs)[:most]
            lines = (
                (name, m.jobs, m.mean_response_time, m.mean_wait, m.mean_bounded_slowdown)
                for name, m in largest
            )
            yield Table.of(f"by {by}{_more(most, len(measures))}", columns, lines)
    elif isinstance(solution, answers.Bracketed):
        bounds = sorted(solution.bounds.items(), key=lambda pair: -pair[1])
        yield Table.of("bounds", (column.text("by"), column.number("at least")), bounds)
        least = bounds[0][1] if bounds else 0.0
        policies = sorted(solution.policies.items(), key=lambda pair: pair[1])[:most]
        over = column.percent("over the bound")
        yield Table.of(
            f"policies{_more(most, len(solution.policies))}",
            (column.text("policy"), column.number("response time"), over),
            ((name, value, value / least - 1 if least else None) for name, value in policies),
        )


def _more(most: int, count: int) -> str:
    return f" ({most} of {count:,})" if count > most else ""


def _row(entry: answers.ClassTime) -> tuple[Value, ...]:
    mean, half = entry.mean_response_time, entry.confidence or None
    return (
        entry.need,
        "no jobs counted" if mean is None else mean,
        half and Cell(f"± {number(half)}", half),
        (entry.percentiles or {}).get(TAIL),
    )
