"""What certificates cost beside solving, and how often there is one.

``python -m benchmarks.certificates`` prints, for each kind of formulation, the CPU time of building
and solving, of making the certificate, and of ``check``, which judges the solution and re-proves
the bound, on an instance of which nothing has been computed before; then how many of what
``generate`` makes at default sizes are re-proved (``python -m benchmarks.certificates SEEDS``: of
so many seeds, by default 5).
"""

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import msgspec

from benchmarks.tables import Measured, measurement, row
from benchmarks.timing import spent
from schedopt import check, generate, solve
from schedopt.instances.constraints import FairShare
from schedopt.instances.errors import InputError
from schedopt.instances.fair_share import Each
from schedopt.problems import problem, problems
from schedopt.solvers.engine import NoCertificateError
from schedopt.solvers.result import Limits
from schedopt.validation.msfq.transforms import curve
from schedopt.verbs.solve import modelled

MAKING, CHECKING = 3.0, 1.0  # what making, and checking, may take of the solve
ENOUGH = 0.95  # of generated instances: how many are to be re-proved
LIMIT = 60.0  # seconds for a solve, and for the making of a certificate


def _shared(night: Any) -> FairShare:
    """Cap each team at nine tenths of the share that it takes without a rule."""
    solution: Any = solve(night).solution
    shares = solution.shares["team"]
    return FairShare(by="team", at_most={team: 0.9 * share for team, share in shares.items()})


class Kind(NamedTuple):
    """What is solved: a generator's instance at seed 1, perhaps under a rule, as a formulation."""

    name: str
    problem: str
    generator: str | None = None
    options: dict[str, Any] = {}  # noqa: RUF012
    formulation: str | None = None
    rule: Callable[[Any], FairShare] | None = None

    def make(self) -> Any:
        """Return the instance."""
        instance: Any = generate(self.problem, self.generator, seed=1, options=self.options)
        rules = (self.rule(instance),) if self.rule else ()
        return msgspec.structs.replace(instance, constraints=rules) if rules else instance


TEAMS = {"teams": 20, "stages": False, "nights": 56}
FAIR = FairShare(by="team", each=Each(at_most=0.3), window=2)
KINDS = (
    *(
        Kind(f"{family}, {jobs:,} jobs", "dssp", family, {"jobs": jobs})
        for family in ("uncorrelated", "weakly-correlated", "strongly-correlated", "subset-sum")
        for jobs in (40, 1_000, 10_000)
    ),
    Kind("fair share, a night", "dssp", None, {"teams": 3, "stages": False}, rule=_shared),
    Kind("fair share, 2,388 jobs, 20 teams", "dssp", None, TEAMS, rule=_shared),
    *(
        Kind(f"season, {nights} nights", "dssp", "season", {"nights": nights}, rule=lambda _: FAIR)
        for nights in (2, 3)
    ),
    Kind("a schedule", "dssp", formulation="schedule"),
    Kind("allocation, one law", "hesrpt"),
    Kind("allocation, mixed laws", "hesrpt", "mixed", {"jobs": 7}),
    Kind("partition, uniform", "epoch", "uniform"),
    Kind("partition, planted", "epoch", "planted"),
    Kind("rectangles", "epoch", "binomial", formulation="rectangles"),
    *(
        Kind(f"{what}, k = {k}", "msfq", "one-or-all", {"k": k, "load": 0.7}, what)
        for what, k in (
            *(("threshold", k) for k in (4, 16, 32, 64)),
            *(("optimal-policy", k) for k in (2, 4)),
        )
    ),
    Kind("bound of a log", "msfq", "lublin-feitelson", {"jobs": 500}),
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


def _measured(kind: Kind) -> tuple[float, float, float, str]:
    """Return the CPU milliseconds of solving, making and checking, in turns, and what is said."""
    least = [float("inf")] * 3
    instance = kind.make()
    began, said = time.perf_counter(), ""
    for turn in range(6):
        solved, (model, result) = spent(partial(_solved, _anew(instance), kind.formulation))
        record = problem(model.problem)
        try:
            made, proof = spent(partial(record.certificate, model, result, Limits(LIMIT)))
        except NoCertificateError as why:
            return 1e3 * solved, float("nan"), float("nan"), str(why)
        document = result.document()
        if proof is not None:
            document = msgspec.structs.replace(document, certificate=proof)
        curve.cache_clear()  # the checker keeps a curve that it has recomputed
        checked, report = spent(partial(check, _anew(instance), document))
        said = report.bound
        if turn:  # what is compiled, or loaded, is there by now
            least = [min(pair) for pair in zip(least, (solved, made, checked), strict=True)]
        if turn > 1 and time.perf_counter() - began > 5:
            break
    solved, made, checked = (1e3 * seconds for seconds in least)
    return solved, made, checked, said


@measurement
def costs() -> Measured:
    """Print what making and checking cost beside solving, for each kind of formulation."""
    yield "certificates: CPU ms of solving, least of 5 turns, and making and checking over it"
    dearest = slowest = (0.0, "")
    for kind in KINDS:
        solved, made, checked, said = _measured(kind)
        making, checking = made / solved, checked / solved
        dearest = max(dearest, (making, kind.name))
        slowest = max(slowest, (checking, kind.name))
        beside = {"make ms": made, "of it": making, "check ms": checked, "of it ": checking}
        yield row(kind.name, solved, "ms", **beside, bound=said.split(",")[0])
    yield row(f"making over solving, at most ({dearest[1]})", dearest[0], most=MAKING)
    yield row(f"checking over solving, at most ({slowest[1]})", slowest[0], most=CHECKING)


@measurement
def generated(seeds: int) -> Measured:
    """Print how many of what ``generate`` makes at default sizes are re-proved."""
    yield f"generated at default sizes, {seeds} seeds, {LIMIT:.0f} s: how many are re-proved"
    proved = whole = 0
    for record in problems():
        for name in record.generators():
            began, done, why = time.perf_counter(), 0, ""
            try:
                for seed in range(seeds):
                    given = generate(record.name, name, seed=seed)
                    result = solve(given, certificate=True, time_limit=LIMIT)
                    done += result.bound_checked
                    why = why if result.bound_checked else str(result.message or "")
            except InputError as error:
                yield row(f"{record.name} {name}", why=f"no formulation takes it: {error}"[:60])
                continue
            seconds = (time.perf_counter() - began) / seeds
            what = f"{record.name} {name}"
            yield row(what, done, f"of {seeds}", seconds_each=seconds, why=why[:60])
            proved, whole = proved + done, whole + seeds
    yield row("part that is re-proved", proved / whole, least=ENOUGH)


if __name__ == "__main__":
    costs()
    generated(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
