"""What people see at a terminal: tables on standard output, progress on standard error."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from instances.constraints import FairShare
from schedopt.formats import number, percent
from solvers.result import Result, Watch, gap

out = Console(highlight=False)
if not out.is_terminal:
    out.width = 120
err = Console(stderr=True, highlight=False)

Advance = Callable[[int, int], None]
"""Called with how many are done and how many there are."""

_COLOURS = {"optimal": "green", "feasible": "yellow", "none": "red"}


@contextmanager
def live(what: str) -> Iterator[Watch | None]:
    """Show incumbent, bound and gap while a solver runs; nothing where no one is looking."""
    if not err.is_terminal:
        yield None
        return
    with err.status(f"{escape(what)}: starting") as status:

        def watch(seconds: float, objective: float | None, bound: float | None) -> None:
            status.update(
                f"{escape(what)}: {seconds:.1f} s, best {number(objective)}, "
                f"bound {number(bound)}, gap {percent(gap(objective, bound))}"
            )

        yield watch


@contextmanager
def bar(what: str) -> Iterator[Advance]:
    """Show a progress bar; where no one is looking, a line now and then."""
    columns = (
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as progress:
        task = progress.add_task(what, total=None)
        said = time.monotonic()

        def advance(done: int, total: int) -> None:
            nonlocal said
            progress.update(task, completed=done, total=total)
            if not err.is_terminal and time.monotonic() - said > 10:
                said = time.monotonic()
                err.print(f"{done} of {total} {what}")

        yield advance


def result(instance: Any, document: Result) -> None:
    """Show one result: how it ended, who got what, what is wrong."""
    colour = _COLOURS[document.solution_status]
    head = Table.grid(padding=(0, 2))
    title = document.policy or f"{document.formulation} with {document.solver}"
    head.add_row("[bold]instance", escape(f"{document.instance} ({document.problem})"))
    head.add_row("[bold]solved as" if document.solver else "[bold]policy", escape(str(title)))
    head.add_row(
        "[bold]outcome", f"[{colour}]{document.solution_status}[/] ({document.termination})"
    )
    sure = f"   ± {number(document.confidence)} (95%)" if document.confidence else ""
    head.add_row("[bold]objective", f"{number(document.objective)}{sure}")
    head.add_row("[bold]bound", f"{number(document.bound)}   gap {percent(document.gap)}")
    seconds = document.seconds
    head.add_row(
        "[bold]seconds",
        f"build {seconds.build:.3f}, solve {seconds.solve:.3f}, check {seconds.check:.3f}",
    )
    solution: Any = document.solution
    if document.problem == "hesrpt" and solution:
        head.add_row("[bold]completion", _completions(solution))
    if document.problem == "epoch" and hasattr(solution, "epochs"):
        head.add_row("[bold]epochs", _epochs(solution.epochs))
    if hasattr(solution, "makespan"):
        head.add_row("[bold]schedule", _times(instance, document))
    if isinstance(getattr(solution, "threshold", None), int):
        head.add_row("[bold]threshold", str(solution.threshold))
    for entry in getattr(solution, "classes", ())[:40]:
        time = entry.mean_response_time
        head.add_row(f"[bold]need {entry.need}", f"mean response time {number(time)}")
    out.print(head)
    for group_table in _shares(instance, document):
        out.print(group_table)
    if document.conflict:
        out.print("[red]these side constraints cannot hold together:[/]")
        for name in document.conflict:
            out.print(f"  {escape(name)}")
    for violation in document.violations:
        out.print(f"[red]violation:[/] {escape(violation)}")
    if document.message is not msgspec.UNSET:
        out.print(f"[yellow]note:[/] {escape(str(document.message))}")


def _completions(solution: Any) -> str:
    """Say which jobs complete first, when and with what share at the start; and what is proven."""
    first: Mapping[str, float] = solution.epochs[0].share if solution.epochs else {}
    parts = [
        f"{escape(name)} at {number(solution.completion[name])}"
        + (f" ({percent(first[name])} at first)" if name in first else "")
        for name in solution.order[:8]
    ]
    more = ", ..." if len(solution.order) > 8 else ""
    over = {"all": "; proven over all orders", "given": "; proven for this order"}
    return ", ".join(parts) + more + over.get(solution.certified or "", "")


def _epochs(epochs: Sequence[Any]) -> str:
    """Say how many epochs there are, and how many jobs each of the first holds."""
    counts = [str(len(epoch.nodes)) for epoch in epochs[:20]]
    more = ", ..." if len(epochs) > 20 else ""
    return f"{len(epochs)}, of {', '.join(counts)}{more} jobs"


def _times(instance: Any, document: Result) -> str:
    """Say how a schedule went: what was in time, how long it took, how busy it was."""
    solution: Any = document.solution
    ends = solution.completion
    done = sum(end <= instance.deadline * (1 + 1e-11) for end in ends.values())
    makespan = solution.makespan / instance.deadline
    busy = solution.utilization
    return (
        f"{done} of {len(ends)} jobs in time, makespan {makespan:.2f} deadlines, "
        f"busy {busy:.1%} until the deadline"
    )


def _shares(instance: Any, document: Result) -> Iterator[Table]:
    """Yield a table for each grouping: who asked for how much, and who got what."""
    solution: Any = document.solution
    if not hasattr(solution, "shares"):
        return
    chosen = set(solution.selected)
    total = len(instance.jobs)
    used = solution.demand / solution.capacity
    verb, what = ("run", "asked for") if hasattr(solution, "tasks") else ("selected", "used")
    out.print(f"\n{len(chosen)} of {total} jobs {verb}, {used:.1%} of the capacity {what}")
    for by, shares in solution.shares.items():
        if len(shares) > 40:
            continue
        table = Table(title=escape(by), title_justify="left")
        for heading in ("", "jobs", "selected", "asked", "share", "cap", "floor"):
            table.add_column(heading, justify="left" if not heading else "right")
        caps, floors = _bounds(instance, document, by)
        for group, share in sorted(shares.items()):
            mine = instance.groups[by][group]
            picked = sum(instance.jobs[j].name in chosen for j in mine)
            asked = instance.demands[mine].sum() / solution.capacity
            at_cap = group in caps and share > caps[group] - 0.005
            table.add_row(
                escape(group),
                str(len(mine)),
                str(picked),
                f"{asked:.1%}",
                f"[bold]{share:.1%}[/]" if at_cap else f"{share:.1%}",
                f"{caps[group]:.1%}" if group in caps else "",
                f"{floors[group]:.1%}" if group in floors else "",
            )
        yield table


def _bounds(instance: Any, document: Result, by: str) -> tuple[dict[str, float], dict[str, float]]:
    """Return the fair-share caps and floors in force on a grouping, the tightest of each."""
    caps: dict[str, float] = {}
    floors: dict[str, float] = {}
    for rule in [*instance.constraints, *document.constraints]:
        if isinstance(rule, FairShare) and rule.by == by:
            for group, share in rule.at_most.items():
                caps[group] = min(share, caps.get(group, 1.0))
            for group, share in rule.at_least.items():
                floors[group] = max(share, floors.get(group, 0.0))
    return caps, floors


def results(instance: Any, documents: Sequence[Result]) -> None:
    """Show several policies on one instance, or one of them in full."""
    if len(documents) == 1:
        result(instance, documents[0])
        return
    table = Table(title=escape(instance.name), title_justify="left")
    for heading in ("policy", "objective", "seconds", "side constraints broken"):
        table.add_column(
            heading, justify="right" if heading in ("objective", "seconds") else "left"
        )
    for document in documents:
        note = "; ".join(document.violations)
        if not document.solution:
            note = f"{document.termination}: {document.message}"
        table.add_row(
            str(document.policy),
            number(document.objective),
            f"{document.seconds.solve:.4f}",
            escape(note),
        )
    out.print(table)


def contents(sections: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """Show what there is, section by section."""
    for title, entries in sections.items():
        table = Table(title=title, title_justify="left", show_lines=False)
        for key in entries[0] if entries else ():
            table.add_column(key)
        for entry in entries:
            cells = ["\n".join(v) if isinstance(v, list) else str(v) for v in entry.values()]
            table.add_row(*map(escape, cells))
        out.print(table)


def doctor(findings: Sequence[Any]) -> None:
    """Show what the doctor found."""
    table = Table.grid(padding=(0, 2))
    for finding in findings:
        mark = "[green]well[/]" if finding.ok else "[red]ILL[/]"
        table.add_row(finding.name, mark, escape(finding.detail))
    out.print(table)


_VERDICTS = {True: "[green]holds[/]", False: "[red]differs[/]", None: "cannot be judged"}


def reproductions(found: Sequence[Mapping[str, Any]]) -> None:
    """Show reproductions: each claim, the paper's numbers, ours, and the verdict."""
    for entry in found:
        out.print(f"\n[bold]{entry['name']}[/]: {escape(entry['title'])}")
        out.print(f"{escape(entry['source'])}. {escape(entry['workload'])}")
        table = Table("claim", "paper", "here", "verdict")
        for claim in entry["claims"]:
            cells = (escape(claim[key]) for key in ("says", "paper", "ours"))
            table.add_row(*cells, _VERDICTS[claim["holds"]])
        out.print(table)
        plot = f"; plot in {entry['plot']}" if entry["plot"] else ""
        out.print(f"{entry['seconds']:.1f} s{plot}")


def ledger(found: Sequence[Mapping[str, Any]]) -> None:
    """Show all entries of the ledger, a line for each, with the verdict that was recorded."""
    table = Table("entry", "what", "claims", "verdict")
    for entry in found:
        count = str(len(entry["claims"]))
        table.add_row(entry["name"], escape(entry["title"]), count, entry["verdict"])
    out.print(table)
    out.print("as last recorded, in full; run an entry anew by its name, or `all`")
