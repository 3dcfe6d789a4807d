"""Questions of every row, small enough that the optimum of each is known from its declared model.

A question is an instance, a formulation, options and added side constraints. There are several
instances of a name, which differ in numbers, in rules or in what is optimized.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from itertools import product
from random import Random
from typing import Any, NamedTuple

import msgspec
import numpy as np

from schedopt import evaluate, replan, solve
from schedopt.instances import dssp, epoch, hesrpt, msfq
from schedopt.instances.constraints import (
    Apart,
    Constraint,
    FairShare,
    Forbid,
    Require,
    ResponseTime,
    Shares,
    Together,
)
from schedopt.instances.errors import InputError
from schedopt.instances.msfq.logs import Jobs
from schedopt.instances.protocol import identity
from schedopt.problems import problem

Tree = dict[str, Any]
ROWS = ("dssp", "epoch", "hesrpt", "msfq")


class Question(NamedTuple):
    """A question: the index of an instance of a row, the formulation, options and added rules."""

    row: str
    instance: int
    formulation: str
    options: tuple[tuple[str, Any], ...] = ()
    rules: tuple[int, ...] = ()

    @property
    def of(self) -> Any:
        """The instance."""
        return instances(self.row)[self.instance]

    @property
    def added(self) -> tuple[Constraint, ...]:
        """The side constraints beyond its own."""
        return tuple(rules(self.row)[i] for i in self.rules)


class Source(NamedTuple):
    """The origin of a forgery: the answer to a question, or a policy's result on its instance."""

    question: Question
    policy: str = ""
    options: tuple[tuple[str, Any], ...] = ()
    solver: str | None = None


@cache
def instances(row: str) -> tuple[Any, ...]:
    """Return instances of a row; those of one name differ in numbers or rules alone."""
    return tuple(INSTANCES[row]())


def _nights() -> Iterator[dssp.Instance]:
    for seed, nights in ((1, 1), (2, 1), (3, 2)):
        draw = Random(seed)  # noqa: S311
        jobs = tuple(
            dssp.Job(
                name=f"j{i}",
                reward=draw.randint(1, 9),
                spread=(None, 0.5)[nights == 1 and i % 2],
                groups={"team": ("fx", "light")[i % 2]},
                stages=tuple(
                    tuple(draw.randint(1, 4) for _ in range(draw.randint(1, 2)))
                    for _ in range(draw.randint(1, 2))
                ),
            )
            for i in range(6)
        )
        night = dssp.Instance(
            name=f"nights-{nights}", processors=2, deadline=7.0, jobs=jobs, nights=nights
        )
        yield night
        cap = FairShare(by="team", at_most={"fx": 0.3}, name="cap")
        yield msgspec.structs.replace(night, constraints=(cap,))
        if seed == 1:
            yield from _machines(night)


def _machines(night: dssp.Instance) -> Iterator[dssp.Instance]:
    """Yield the rest of a night, which has its own capacity and what comes after what, and pools.

    The rest has two instances: as it is, and with other times from which processors are there.
    """
    rest: Any = replan(solve(night), at=2, instance=night).rest
    yield rest
    yield msgspec.structs.replace(rest, changes=((0.0, 0), (4.0, 2)))
    first, *others = night.jobs
    placed = msgspec.structs.replace(first, pools=("old",))
    yield msgspec.structs.replace(
        night, processors=0, pools={"old": 1, "new": 1}, jobs=(placed, *others)
    )


def _packings() -> Iterator[epoch.Instance]:
    for minima, nodes, spread in (((4, 3, 3, 1), 8, 0), ((5, 2, 2, 1), 6, 1)):
        jobs = tuple(epoch.Job(name=f"j{i}", minimum=m) for i, m in enumerate(minima))
        packing = epoch.Instance(name="packing", nodes=nodes, inequity=spread, jobs=jobs)
        yield packing
        rule = Apart(jobs=("j1", "j2"), name="apart")
        yield msgspec.structs.replace(packing, constraints=(rule,), name="apart")


def _allotments() -> Iterator[hesrpt.Instance]:
    speeds = (hesrpt.Power(p=0.5), hesrpt.Amdahl(parallel=0.9), hesrpt.Power(p=0.8))
    jobs = tuple(
        hesrpt.Job(
            name=f"j{i}", size=size, weight=weight, speedup=speed, groups={"team": "ab"[i % 2]}
        )
        for i, (size, weight, speed) in enumerate(
            zip((3.0, 1.0, 2.0), (1, 2, 5), speeds, strict=True)
        )
    )
    for objective in ("mean-flow-time", "weighted-flow-time", "makespan"):
        yield hesrpt.Instance(
            name="jobs", servers=10, speedup=speeds[0], jobs=jobs, objective=objective
        )
    alike = tuple(msgspec.structs.replace(job, speedup=None, weight=1) for job in jobs)
    yield hesrpt.Instance(name="alike", servers=10, speedup=speeds[0], jobs=alike)


def _queues() -> Iterator[msfq.Instance]:
    for servers, objective in product((2, 3), ("mean", "weighted")):
        classes = (
            msfq.JobClass(need=1, arrival_rate=0.1 * servers, service_rate=1.0),
            msfq.JobClass(need=servers, arrival_rate=0.05, service_rate=0.5),
        )
        yield msfq.Instance(
            name=f"queue-{servers}",
            servers=servers,
            classes=classes,
            objective=objective,  # type: ignore[arg-type]
        )
    for seed in (1, 2):
        draw = np.random.default_rng(seed)
        log = Jobs.of(
            np.sort(draw.integers(0, 12, 6)),
            draw.integers(1, 4, 6),
            draw.integers(1, 9, 6).astype(float),
        )
        bare = msfq.Instance(name=f"log-{seed}", servers=3, log="log.csv")
        yield bare.with_jobs(log)
        if seed == 1:
            yield msgspec.structs.replace(bare, objective="weighted").with_jobs(log)
        gpus = {"gpu": draw.integers(0, 3, 6)}
        columns = (log.submit, log.need, log.run)
        several = msgspec.structs.replace(bare, resources={"gpu": 2})
        yield several.with_jobs(Jobs.of(*columns, needs=gpus))
        each = {part: msfq.Partition(servers=3, resources={"gpu": 2}) for part in "ab"}
        parted = msgspec.structs.replace(bare, servers=6, partitions=each)
        yield parted.with_jobs(Jobs.of(*columns, needs=gpus, partition=[*"aababb"]))


INSTANCES: Mapping[str, Callable[[], Iterator[Any]]] = {
    "dssp": _nights,
    "epoch": _packings,
    "hesrpt": _allotments,
    "msfq": _queues,
}


@cache
def rules(row: str) -> tuple[Constraint, ...]:
    """Return side constraints that questions of a row add."""
    return {
        "dssp": (
            Forbid(jobs=("j0",), name="forbid"),
            Require(jobs=("j1",)),
            FairShare(by="team", at_most={"light": 0.4}, name="cap"),
        ),
        "epoch": (Apart(jobs=("j0", "j3"), name="apart"), Together(jobs=("j0", "j1"))),
        "hesrpt": (
            Shares(jobs=("j0",), at_most=0.3, name="cap"),
            FairShare(by="team", at_least={"b": 0.5}),
        ),
        "msfq": (ResponseTime(need=1, at_most=1.2, name="soon"),),
    }[row]


OPTIONS: Mapping[str, tuple[Tree, ...]] = {
    "selection": (
        {"fill": 1.0},
        {"fill": 0.5},
        {"fill": 2.0},
        *(
            {"fill": 1.0, "risk": risk, "scenarios": 20, "seed": seed}
            for risk, seed in (("mean", 1), ("mean", 2), ("cvar:0.8", 1), ("chance:0.8", 1))
        ),
    ),
    "season": ({"fill": 1.0}, {"fill": 0.5}),
    "rectangles": ({"widths": "any"}, {"widths": "powers-of-two"}),
    "allocation": ({}, {"order": "j0,j1,j2"}, {"order": "j2,j1,j0"}),
    "threshold": (
        {"method": "exact", "variant": "literal"},
        {"method": "exact", "variant": "lazy"},
        {"method": "area", "variant": "literal"},
        {"method": "paper", "variant": "literal"},
    ),
}
UNRULED = ("optimal-policy", "bound")


@cache
def questions(row: str) -> tuple[Question, ...]:
    """Return the questions of a row that can be asked."""
    found = []
    for i, instance in enumerate(instances(row)):
        for name in problem(row).formulation_homes:
            log = getattr(instance, "log", None) is not None
            if row == "msfq" and log != (name == "bound"):
                continue
            if row == "dssp" and (instance.nights > 1) != (name == "season"):
                continue
            every = range(len(rules(row)) if name not in UNRULED else 0)
            for options, added in product(OPTIONS.get(name, ({},)), ((), *((r,) for r in every))):
                found.append(Question(row, i, name, tuple(options.items()), added))
    return tuple(found)


@cache
def sources(row: str) -> tuple[Source, ...]:
    """Return the origins of a row: an answer to each question, and every policy's result."""
    found = [Source(question) for question in questions(row)]
    found += [Source(q, solver="crossing") for q in questions(row) if crosses(q)]
    few = {question.instance: question for question in reversed(questions(row))}
    for question in few.values():
        for name, policy in problem(row).policies().items():
            if "dispatcher" in policy.options:
                continue
            some: tuple[Tree, ...] = ({},)
            if row == "dssp" and "fill" in policy.options:
                some = ({}, {"fill": 2.0})
            if "arrivals" in policy.options and question.of.log is None:
                some = ({"arrivals": 2_000},)
            found += [Source(question, name, tuple(options.items())) for options in some]
    return tuple(found)


def crosses(question: Question) -> bool:
    """Tell whether the engine of rules that cross takes a question."""
    return question.formulation == "selection" and "risk" not in dict(question.options)


@cache
def answer(source: Source) -> Tree | None:
    """Return the document of an origin, None where there is none."""
    question = source.question
    try:
        if source.policy:
            result = evaluate(question.of, source.policy, options=dict(source.options))
        else:
            result = asked(
                question.of,
                question.formulation,
                dict(question.options),
                question.added,
                certificate=True,
                solver=source.solver,
            )
    except InputError:
        return None
    if result.solution is None or result.violations:
        return None
    told: Tree = json.loads(msgspec.json.encode(result.document()))
    return told


def asked(instance: Any, formulation: str, options: Tree, added: Any, **how: Any) -> Any:
    """Return the answer to a question."""
    return solve(
        instance, formulation=formulation, options=options, constraints=added, threads=1, **how
    )


_OPTIMA: dict[str, float | None] = {}


def optimum(instance: Any, formulation: str, options: Tree, added: Any) -> float | None:
    """Return the optimum of a question by its declared model; None where there is none.

    Optimal policies have two engines, of which the declared model proves nothing.
    """
    key = repr((identity(instance), formulation, sorted(options.items(), key=str), added))
    if key not in _OPTIMA:
        if formulation == "bound":
            _OPTIMA[key] = import_module("builders.msfq").least(instance)
            return _OPTIMA[key]
        try:
            solver = None if formulation == "optimal-policy" else "model"
            right = asked(instance, formulation, options, added, solver=solver)
            _OPTIMA[key] = right.objective if right.proven else None
        except InputError:
            _OPTIMA[key] = None
    return _OPTIMA[key]
