"""What certificates cost beside solving, and how often there is one.

``python -m benchmarks.certificates`` prints, for each kind of formulation, the CPU time of building
and solving, of making the certificate, and of ``check``, which judges the solution and re-proves
the bound, on an instance of which nothing has been computed before; then how many of what
``generate`` makes at default sizes are re-proved (``python -m benchmarks.certificates SEEDS``: of
so many seeds, by default 5).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import msgspec
from rich.table import Table

from benchmarks.timing import out, verdict
from schedopt import check, generate, solve
from schedopt.instances.constraints import FairShare
from schedopt.instances.errors import InputError
from schedopt.instances.fair_share import Each
from schedopt.problems import problem, problems
from schedopt.solvers.door import NoCertificateError
from schedopt.solvers.result import Limits
from schedopt.validation.msfq.transforms import curve
from schedopt.verbs.solve import modelled

MAKING, CHECKING = 3.0, 1.0
"""What making, and checking, may take of the solve."""

ENOUGH = 0.95
"""Of generated instances: how many are to be re-proved."""

LIMIT = 60.0
"""Seconds for a solve, and for the making of a certificate."""


class Kind(NamedTuple):
    """An instance of a kind of formulation."""

    name: str
    instance: Any
    formulation: str | None = None


def _knapsack(family: str, jobs: int) -> Kind:
    return Kind(
        f"{family}, {jobs:,} jobs", generate("dssp", family, seed=1, options={"jobs": jobs})
    )


def _shared(name: str, teams: int, options: Mapping[str, Any]) -> Kind:
    """Return nights whose teams may each have a little less than they would take."""
    night: Any = generate("dssp", seed=1, options={"teams": teams, "stages": False, **options})
    solution: Any = solve(night).solution
    shares = solution.shares["team"]
    rule = FairShare(by="team", at_most={team: 0.9 * share for team, share in shares.items()})
    return Kind(name, msgspec.structs.replace(night, constraints=(rule,)))


def _season(nights: int) -> Kind:
    season: Any = generate("dssp", "season", seed=1, options={"nights": nights})
    rule = FairShare(by="team", each=Each(at_most=0.3), window=2)
    return Kind(f"season, {nights} nights", msgspec.structs.replace(season, constraints=(rule,)))


def _queue(k: int, formulation: str) -> Kind:
    options = {"k": k, "load": 0.7}
    return Kind(
        f"{formulation}, k = {k}", generate("msfq", "one-or-all", options=options), formulation
    )


KINDS: tuple[Callable[[], Kind], ...] = (
    *(
        partial(_knapsack, family, jobs)
        for family in ("uncorrelated", "weakly-correlated", "strongly-correlated", "subset-sum")
        for jobs in (40, 1_000, 10_000)
    ),
    partial(_shared, "fair share, a night", 3, {}),
    partial(_shared, "fair share, 2,388 jobs, 20 teams", 20, {"nights": 56}),
    partial(_season, 2),
    partial(_season, 3),
    lambda: Kind("a schedule", generate("dssp"), "schedule"),
    lambda: Kind("allocation, one law", generate("hesrpt")),
    lambda: Kind("allocation, mixed laws", generate("hesrpt", "mixed", options={"jobs": 7})),
    lambda: Kind("partition, uniform", generate("epoch", "uniform")),
    lambda: Kind("partition, planted", generate("epoch", "planted")),
    lambda: Kind("rectangles", generate("epoch", "binomial"), "rectangles"),
    *(partial(_queue, k, "threshold") for k in (4, 16, 32, 64)),
    *(partial(_queue, k, "optimal-policy") for k in (2, 4)),
    lambda: Kind("bound of a log", generate("msfq", "lublin-feitelson", options={"jobs": 500})),
)


def _anew(instance: Any) -> Any:
    """Return an instance as it is when it has just been read: nothing is computed from it yet."""
    fresh = msgspec.structs.replace(instance)
    if getattr(instance, "log", None) is not None:
        fresh = fresh.with_jobs(instance.jobs)
    return fresh


def _solved(instance: Any, formulation: str | None) -> tuple[Any, Any]:
    """Build and solve; return the model and its result, which nobody has checked."""
    model = modelled(instance, formulation, None)
    return model, problem(model.problem).solve(model, None, Limits(LIMIT))


def _spent(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.process_time()
    done = work()
    return 1e3 * (time.process_time() - began), done


def _measured(kind: Kind) -> tuple[float, float, float, str]:
    """Return the CPU milliseconds of solving, making and checking, in turns, and what is said."""
    least = [float("inf")] * 3
    began, said = time.perf_counter(), ""
    for turn in range(6):
        given = _anew(kind.instance)
        solved, (model, result) = _spent(partial(_solved, given, kind.formulation))
        record = problem(model.problem)
        try:
            made, found = _spent(partial(record.certificate, model, result, Limits(LIMIT)))
        except NoCertificateError as why:
            return solved, float("nan"), float("nan"), str(why)
        document = result.document()
        if found is not None:
            document = msgspec.structs.replace(document, certificate=found)
        curve.cache_clear()  # the checker keeps a curve that it has recomputed
        checked, report = _spent(partial(check, _anew(kind.instance), document))
        said = report.bound
        if turn:  # what is compiled, or loaded, is there by now
            least = [min(pair) for pair in zip(least, (solved, made, checked), strict=True)]
        if turn > 1 and time.perf_counter() - began > 5:
            break
    return least[0], least[1], least[2], said


def costs() -> None:
    """Print what making and checking cost beside solving, for each kind of formulation."""
    table = Table(title="certificates: CPU ms, least of 5 turns", title_justify="left")
    for heading in ("kind", "solve", "make", "of it", "check", "of it", "bound"):
        table.add_column(heading, justify="left" if heading in ("kind", "bound") else "right")
    dear, slow = {}, {}
    for of in KINDS:
        kind = of()
        solved, made, checked, said = _measured(kind)
        if made > MAKING * solved:
            dear[kind.name] = made / solved
        if checked > CHECKING * solved:
            slow[kind.name] = checked / solved
        cells = (f"{solved:.2f}", f"{made:.2f}", f"{made / solved:.2f}")
        table.add_row(
            kind.name, *cells, f"{checked:.2f}", f"{checked / solved:.2f}", said.split(",")[0]
        )
    out.print(table)
    for over, target in (
        (dear, f"making takes at most {MAKING:g} times the solve"),
        (slow, "checking takes less than the solve"),
    ):
        told = "; ".join(f"{name}: {ratio:.1f}" for name, ratio in over.items())
        verdict(not over, f"{target}{f' ({told})' if told else ''}")


def generated(seeds: int) -> None:
    """Print how many of what ``generate`` makes at default sizes are re-proved."""
    table = Table(
        title=f"generated at default sizes, {seeds} seeds, {LIMIT:.0f} s", title_justify="left"
    )
    for heading in ("problem", "generator", "re-proved", "believed", "seconds", "why"):
        table.add_column(heading, justify="left" if heading in ("problem", "generator", "why")
                         else "right")  # fmt: skip
    proved = whole = 0
    for record in problems():
        for name in record.generators():
            began, believed, why = time.perf_counter(), 0, ""
            for seed in range(seeds):
                given = generate(record.name, name, seed=seed)
                try:
                    result = solve(given, certificate=True, time_limit=LIMIT)
                except InputError as error:
                    why = f"no formulation takes it: {error}"
                    break
                if not result.bound_checked:
                    believed += 1
                    why = str(result.message or "")
            spent = (time.perf_counter() - began) / seeds
            if why.startswith("no formulation"):
                table.add_row(record.name, name, "", "", "", why[:60])
                continue
            cells = (str(seeds - believed), str(believed or ""), f"{spent:.1f}", why[:60])
            table.add_row(record.name, name, *cells)
            proved, whole = proved + seeds - believed, whole + seeds
    out.print(table)
    verdict(proved >= ENOUGH * whole, f"{ENOUGH:.0%} are re-proved ({proved} of {whole})")


def main() -> None:
    """Print both tables."""
    costs()
    generated(int(sys.argv[1]) if len(sys.argv) > 1 else 5)


if __name__ == "__main__":
    main()
