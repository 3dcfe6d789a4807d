"""Compare other simulators on the archive's workloads with known starts.

``python -m benchmarks.simulators [NAME ...] [--source NAME=DIR]``. Each simulator is installed into
its own folder under build/simulators and runs every workload without GPUs. Every start is compared
with that of the policy. The table has the number of workloads on which all starts agree; below it
is the smallest case of each kind of disagreement.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.simulators import slurm
from benchmarks.simulators.peers import PEERS, Installed, MissingPeerError, Scheduler, install
from benchmarks.simulators.workloads import Workload, first_wrong, kind, workloads
from schedopt.instances.starts import WrongStart

BUILD = Path(__file__).parents[2] / "build" / "simulators"
KINDS = 3  # most kinds of disagreement that are shown


@dataclass
class Comparison:
    """The workloads on which a scheduler agrees with its policy, disagrees, or fails."""

    scheduler: Scheduler
    estimates: str
    agreeing: list[Workload] = field(default_factory=list)
    wrong: list[tuple[Workload, WrongStart]] = field(default_factory=list)
    failed: list[tuple[Workload, str]] = field(default_factory=list)

    def cell(self) -> str:
        """Return the number of workloads on which all machines agree, as a cell."""
        wrong, failed = ({one.whole for one, _ in some} for some in (self.wrong, self.failed))
        every = {one.whole for one in self.agreeing} | wrong | failed
        fail = f"; {len(failed)} fail" if failed else ""
        return f"{len(every - wrong - failed)} of {len(every)}{fail}"


def compare(
    installed: Installed, scheduler: Scheduler, estimates: str, asked: Sequence[Workload]
) -> Comparison:
    """Compare every start of a scheduler with its policy's."""
    found = Comparison(scheduler, estimates)
    given = [one.with_estimates(estimates) for one in asked]
    for workload, starts in zip(given, installed.starts(scheduler.name, given), strict=True):
        if isinstance(starts, str):
            found.failed.append((workload, starts))
        elif wrong := first_wrong(workload, starts, scheduler.policy):
            found.wrong.append((workload, wrong))
        else:
            found.agreeing.append(workload)
    return found


def smallest(workload: Workload, still: Callable[[Sequence[Workload]], Sequence[bool]]) -> Workload:
    """Return a workload from which no job can be removed without losing the disagreement.

    Halves are removed first, then quarters, and so on. ``still`` returns for several workloads
    whether each has the same disagreement.
    """
    count = len(workload.jobs) // 2
    while count:
        firsts = range(0, len(workload.jobs), count)
        fewer = [workload.without(first, count) for first in firsts]
        fewer = [one for one in fewer if one.jobs]
        kept = [one for one, differs in zip(fewer, still(fewer), strict=True) if differs]
        if kept:
            workload = kept[-1]
        else:
            count //= 2
    return workload


def cases(installed: Installed, found: Comparison) -> list[str]:
    """Return sentences on the smallest case of each of the most frequent kinds of disagreement."""
    scheduler, policy = found.scheduler, found.scheduler.policy

    def wrongs(asked: Sequence[Workload]) -> list[WrongStart | None]:
        answers = installed.starts(scheduler.name, asked)
        return [
            None if isinstance(starts, str) else first_wrong(one, starts, policy)
            for one, starts in zip(asked, answers, strict=True)
        ]

    lines = []
    for which, count in Counter(kind(wrong) for _, wrong in found.wrong).most_common(KINDS):

        def still(asked: Sequence[Workload], which: str = which) -> list[bool]:
            return [wrong is not None and kind(wrong) == which for wrong in wrongs(asked)]

        of_kind = [workload for workload, wrong in found.wrong if kind(wrong) == which]
        case = smallest(min(of_kind, key=lambda one: len(one.jobs)), still)
        (wrong,) = wrongs([case])
        if wrong is None:
            lines.append(f"first on {count}: not the same twice, {of_kind[0].name}")
        else:
            lines.append(f"first on {count}: {case.in_words()}: {wrong.in_words()}")
    for why, count in Counter(why for _, why in found.failed).most_common(KINDS):
        lines.append(f"fails on {count}: {why}")
    return lines


def checked(installed: Installed, asked: Sequence[Workload]) -> tuple[list[str], list[str]]:
    """Return the rows of a simulator, and sentences on its smallest cases."""
    peer, rows, below = installed.peer, [], []
    for scheduler in peer.schedulers:
        cells = dict.fromkeys(("given", "exact"), "")
        for estimates in scheduler.estimates:
            found = compare(installed, scheduler, estimates, asked)
            cells[estimates] = found.cell()
            for line in cases(installed, found):
                exact = ", run times known" if estimates == "exact" else ""
                below.append(f"- {peer.name} {scheduler.name}{exact}, {line}")
        title = f"[{peer.name}]({peer.url}) {peer.version[:7]}"
        rows.append(
            f"| {title} | {scheduler.name} | `{scheduler.policy}` "
            f"| {cells['given']} | {cells['exact']} |"
        )
    return rows, below


def main(words: Sequence[str] | None = None) -> int:
    """Print the table and the smallest cases; the exit status is 2 for an unknown name."""
    names = [peer.name for peer in PEERS]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.simulators", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"simulators: {', '.join(names)}, Slurm; or all")
    parser.add_argument("--source", action="append", default=[], metavar="NAME=DIR")
    parser.add_argument("--python2", help="a Python 2, which pyss needs")
    parser.add_argument("--work", type=Path, default=BUILD, help="where simulators are installed")
    given = parser.parse_args(words)
    sources = dict(source.split("=", 1) for source in given.source if "=" in source)
    known = {*names, "Slurm"}
    if unknown := {*given.names, *sources} - known or len(sources) < len(given.source):
        parser.error(f"{unknown or given.source}: expected names out of {', '.join(sorted(known))}")
    asked = list(workloads())
    print(
        "| simulator | scheduler | policy | starts agree, estimates as given "
        "| starts agree, run times known |\n| --- | --- | --- | --- | --- |"
    )
    below: list[str] = []
    for peer in PEERS:
        if given.names and peer.name not in given.names:
            continue
        try:
            installed = install(peer, given.work, sources.get(peer.name), given.python2)
        except MissingPeerError as error:
            below.append(f"- {peer.name} is not compared: {error}")
            continue
        rows, lines = checked(installed, asked)
        print(*rows, sep="\n", flush=True)
        below += lines
    print("", *below, sep="\n", flush=True)
    if not given.names or "Slurm" in given.names:
        slurm.main(asked)
    return 0


if __name__ == "__main__":
    sys.exit(main())
