"""Answers to one question forged into answers to another: through check, and into an archive.

A question is an instance, a formulation, options and added side constraints. What answers one,
solved or made by a policy, is rewritten in part or in all that states another question of the row:
name, digest, formulation, options, constraints, objective, the type of the solution, the
certificate. Each question's optimum is found by its declared model, as it stands; a forgery passes
if a check finds all of it right, or the archive takes it, and what it says of the question that it
states is false.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from functools import cache
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import msgspec
import numpy as np

from schedopt import check, evaluate, solve
from schedopt.archive.entries import Found, Group, entry_from
from schedopt.archive.judging import submit
from schedopt.instances import archived, dssp, epoch, hesrpt, msfq
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
from schedopt.instances.decoding import convert
from schedopt.instances.errors import InputError
from schedopt.instances.files import dump, encode
from schedopt.instances.identity import identity
from schedopt.instances.msfq.logs import Jobs
from schedopt.problems import problem
from schedopt.solvers.result import Document, as_document
from schedopt.verbs.check import differences

Tree = dict[str, Any]
ROWS = ("dssp", "epoch", "hesrpt", "msfq")
SAME = {"allocation": 1e-5, "optimal-policy": 3e-4, "threshold": 2e-4}
"""Relative: what two ways to an optimum, or its checker, may be off by; 1e-9 elsewhere."""


class Question(NamedTuple):
    """What is asked: the index of an instance of a row, and what of it."""

    row: str
    instance: int
    formulation: str
    options: tuple[tuple[str, Any], ...] = ()
    rules: tuple[int, ...] = ()

    @property
    def of(self) -> Any:
        return instances(self.row)[self.instance]

    @property
    def added(self) -> tuple[Constraint, ...]:
        return tuple(rules(self.row)[i] for i in self.rules)


class Source(NamedTuple):
    """What is forged: an answer to a question, or what a policy gets on its instance."""

    question: Question
    policy: str = ""
    options: tuple[tuple[str, Any], ...] = ()


@cache
def instances(row: str) -> tuple[Any, ...]:
    """Return instances of a row; those of one name differ in numbers or rules alone."""
    return tuple(INSTANCES[row]())


def _nights() -> Iterator[dssp.Instance]:
    for seed, nights in ((1, 1), (2, 1), (3, 2)):
        draw = Random(seed)  # noqa: S311
        jobs = tuple(
            dssp.Job(
                name=f"j{i}", reward=draw.randint(1, 9), groups={"team": ("fx", "light")[i % 2]},
                stages=tuple(
                    tuple(draw.randint(1, 4) for _ in range(draw.randint(1, 2)))
                    for _ in range(draw.randint(1, 2))
                ),
            )
            for i in range(6)
        )  # fmt: skip
        night = dssp.Instance(
            name=f"nights-{nights}", processors=2, deadline=7.0, jobs=jobs, nights=nights
        )
        yield night
        cap = FairShare(by="team", at_most={"fx": 0.3}, name="cap")
        yield msgspec.structs.replace(night, constraints=(cap,))


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
        hesrpt.Job(name=f"j{i}", size=size, weight=weight, speedup=speed,
                   groups={"team": "ab"[i % 2]})
        for i, (size, weight, speed) in enumerate(zip((3.0, 1.0, 2.0), (1, 2, 5), speeds,
                                                      strict=True))
    )  # fmt: skip
    for objective in ("mean-flow-time", "weighted-flow-time", "makespan"):
        yield hesrpt.Instance(
            name="jobs", servers=10, speedup=speeds[0], jobs=jobs, objective=objective
        )
    alike = tuple(msgspec.structs.replace(job, speedup=None, weight=1) for job in jobs)
    yield hesrpt.Instance(name="alike", servers=10, speedup=speeds[0], jobs=alike)


def _queues() -> Iterator[msfq.Instance]:
    for servers, objective in product((2, 3), ("mean", "weighted")):
        classes = (
            msfq.JobClass(need=1, arrival_rate=0.25 * servers, service_rate=1.0),
            msfq.JobClass(need=servers, arrival_rate=0.1, service_rate=0.5),
        )
        yield msfq.Instance(
            name=f"queue-{servers}", servers=servers, classes=classes, objective=objective  # type: ignore[arg-type]
        )  # fmt: skip
    for seed in (1, 2):
        draw = np.random.default_rng(seed)
        log = Jobs.of(
            np.sort(draw.integers(0, 12, 6)), draw.integers(1, 4, 6),
            draw.integers(1, 9, 6).astype(float),
        )  # fmt: skip
        bare = msfq.Instance(name=f"log-{seed}", servers=3, log="log.csv")
        yield bare.with_jobs(log)
        if seed == 1:
            yield msgspec.structs.replace(bare, objective="weighted").with_jobs(log)


INSTANCES: Mapping[str, Callable[[], Iterator[Any]]] = {
    "dssp": _nights, "epoch": _packings, "hesrpt": _allotments, "msfq": _queues
}  # fmt: skip


@cache
def rules(row: str) -> tuple[Constraint, ...]:
    """Return side constraints that questions of a row add."""
    return {
        "dssp": (Forbid(jobs=("j0",), name="forbid"), Require(jobs=("j1",)),
                 FairShare(by="team", at_most={"light": 0.4}, name="cap")),
        "epoch": (Apart(jobs=("j0", "j3"), name="apart"), Together(jobs=("j0", "j1"))),
        "hesrpt": (Shares(jobs=("j0",), at_most=0.3, name="cap"),
                   FairShare(by="team", at_least={"b": 0.5})),
        "msfq": (ResponseTime(need=1, at_most=3.0, name="soon"),),
    }[row]  # fmt: skip


OPTIONS: Mapping[str, tuple[Tree, ...]] = {
    "selection": ({"fill": 1.0}, {"fill": 0.5}, {"fill": 2.0}),
    "season": ({"fill": 1.0}, {"fill": 0.5}),
    "rectangles": ({"widths": "any"}, {"widths": "powers-of-two"}),
    "allocation": ({}, {"order": "j0,j1,j2"}, {"order": "j2,j1,j0"}),
    "threshold": (
        {"method": "exact", "variant": "literal"}, {"method": "exact", "variant": "lazy"},
        {"method": "area", "variant": "literal"}, {"method": "paper", "variant": "literal"},
    ),
    "window": ({"first": 0, "count": 6}, {"first": 0, "count": 3}, {"first": 3, "count": 3}),
}  # fmt: skip
UNRULED = ("optimal-policy", "window", "bound")


@cache
def questions(row: str) -> tuple[Question, ...]:
    """Return the questions of a row that can be asked."""
    found = []
    for i, instance in enumerate(instances(row)):
        for name in problem(row).formulation_homes:
            log = getattr(instance, "log", None) is not None
            if row == "msfq" and log != (name in ("bound", "window")):
                continue
            if row == "dssp" and (instance.nights > 1) != (name == "season"):
                continue
            every = range(len(rules(row)) if name not in UNRULED else 0)
            for options, added in product(OPTIONS.get(name, ({},)), ((), *((r,) for r in every))):
                found.append(Question(row, i, name, tuple(options.items()), added))
    return tuple(found)


@cache
def sources(row: str) -> tuple[Source, ...]:
    """Return what is forged of a row: an answer to each question, and every policy's."""
    found = [Source(question) for question in questions(row)]
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


@cache
def answer(source: Source) -> Tree | None:
    """Return what is forged as a document, None where there is none."""
    question = source.question
    try:
        if source.policy:
            result = evaluate(question.of, source.policy, options=dict(source.options))
        else:
            result = asked(question.of, question.formulation, dict(question.options),
                           question.added, certificate=True)  # fmt: skip
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
    """Return the optimum of a question by its declared model; None where there is none."""
    key = repr((identity(instance), formulation, sorted(options.items(), key=str), added))
    if key not in _OPTIMA:
        try:
            if formulation == "bound":  # over all schedules: those of a window of all jobs
                options = {"first": 0, "count": len(instance.jobs)}
                formulation = "window"
            right = asked(instance, formulation, options, added, solver="model")
            _OPTIMA[key] = right.objective if right.proven else None
        except InputError:
            _OPTIMA[key] = None
    return _OPTIMA[key]


# What is rewritten, each by a name under which it is counted.


def stated(question: Question) -> dict[str, Callable[[Tree], None]]:
    """Return what makes a document say that it answers a question, part by part."""
    instance, options = question.of, dict(question.options)
    own = [as_document(rule) for rule in instance.constraints]
    added = [as_document(rule) for rule in question.added]

    def formulation(tree: Tree) -> None:
        tree.pop("policy", None)
        tree.update(formulation=question.formulation, solver=tree.get("solver", "highs"))
        tree["question"]["formulation"] = question.formulation

    def asks(tree: Tree) -> None:
        tree["question"]["options"] = options
        tree["options"] = options | {k: v for k, v in tree["options"].items() if k not in ASKED}

    def constraints(tree: Tree) -> None:
        tree["constraints"] = added
        tree["question"]["constraints"] = own + added

    def named(tree: Tree) -> None:
        tree.update(instance=instance.name, problem=question.row)
        tree["question"]["instance"] = as_document(identity(instance))

    def certificate(tree: Tree) -> None:
        other = answer(Source(question)) or {}
        tree.pop("certificate", None)
        if "certificate" in other:
            tree["certificate"] = deepcopy(other["certificate"])

    def objective(tree: Tree) -> None:
        other = answer(Source(question)) or tree
        tree.update({key: other[key] for key in CLAIMS})

    def solution(tree: Tree) -> None:
        tree["solution"] = shaped(tree["solution"], question)

    return {"formulation": formulation, "options": asks, "constraints": constraints,
            "instance": named, "certificate": certificate, "objective": objective,
            "solution": solution}  # fmt: skip


ASKED = {"fill", "widths", "order", "method", "variant", "first", "count"}
CLAIMS = ("objective", "bound", "gap", "termination", "solution_status", "sense")


def shaped(solution: Tree, question: Question) -> Tree:
    """Return a solution in the shape of another formulation's."""
    right = (answer(Source(question)) or {}).get("solution", {})
    if question.row == "epoch":
        return _as_rectangles(solution) if "rectangles" in right else _as_epochs(solution)
    if question.row == "dssp" and "nights" in right:
        return {"nights": [solution, *right["nights"][1:]], "capacity": solution.get("capacity")}
    common = {key: value for key, value in solution.items() if key in right}
    return {key: deepcopy(common.get(key, value)) for key, value in right.items()}


def _as_epochs(solution: Tree) -> Tree:
    parts: dict[tuple[float, float], dict[str, int]] = {}
    for name, piece in solution.get("rectangles", {}).items():
        parts.setdefault((piece["start"], piece["end"]), {})[name] = piece["nodes"]
    epochs = [{"duration": end - start, "nodes": nodes} for (start, end), nodes in parts.items()]
    return {"epochs": epochs or solution.get("epochs", [])}


def _as_rectangles(solution: Tree) -> Tree:
    pieces, now = {}, 0.0
    for part in solution.get("epochs", ()):
        end = now + part["duration"]
        for name, nodes in part["nodes"].items():
            pieces[name] = {"nodes": nodes, "start": now, "end": end}
        now = end
    return {"rectangles": pieces or solution.get("rectangles", {})}


def _as_optimal(tree: Tree, draw: Random) -> None:
    """Call what is in hand optimal."""
    tree.update(solution_status="optimal", termination="optimal", gap=0.0)
    tree["bound"] = tree["objective"]
    if draw.random() < 0.3:
        tree["certificate"] = {"kind": draw.choice(("nodes", "order", "ranks", "branchings"))}


def _infeasible(tree: Tree) -> None:
    tree.update(termination="infeasible", solution_status="none", solution={}, objective=None,
                bound=None, gap=None)  # fmt: skip
    tree.pop("certificate", None)


class Forgery(NamedTuple):
    """A document, the instance that it is held against, and what was rewritten."""

    tree: Tree
    instance: Any
    target: Question
    changed: frozenset[str]


def forged(draw: Random, rows: tuple[str, ...] = ROWS) -> Forgery:
    """Return an answer to one question that says it is one to another."""
    row = draw.choice(rows)
    source: Source = draw.choice(sources(draw.choice(ROWS) if draw.random() < 0.03 else row))
    right = answer(source)
    if right is None:
        return forged(draw, rows)
    target = draw.choice(questions(row))
    if draw.random() < 0.5:  # one that differs in little
        near = [q for q in questions(row) if q.instance == source.question.instance]
        target = draw.choice(near or [target])
    tree, parts = deepcopy(right), stated(target)
    often = draw.choice((0.3, 0.6, 0.9, 1.0))
    changed = {name for name in parts if draw.random() < often * (0.4 if name in RARE else 1.0)}
    for name in sorted(changed):
        parts[name](tree)
    if draw.random() < 0.4:
        changed.add("claim")
        _as_optimal(tree, draw)
    for name, change in (
        ("certificate", lambda: tree.pop("certificate", None)),
        ("question", lambda: tree.pop("question")),
        ("question", lambda: tree["question"].update(options={})),
        ("options", lambda: tree["options"].update(dict(draw.choice(questions(row)).options))),
        ("policy", lambda: tree.update(policy=draw.choice([*problem(row).policies()]))),
        ("claim", lambda: _infeasible(tree)),
    ):
        if draw.random() < 0.05:
            changed.add(name)
            change()
            if name == "question":
                break
    against = draw.choice((target.of, target.of, target.of, source.question.of))
    return Forgery(tree, against, target, frozenset(changed))


RARE = ("objective", "certificate", "solution")


def judged(forgery: Forgery) -> str:
    """Return what becomes of a forgery: ``passes`` is what must not be."""
    try:
        document = msgspec.convert(forgery.tree, Document)
        report = check(forgery.instance, document)
    except (InputError, msgspec.ValidationError):
        return "refused"
    if report.violations:
        return "found"
    if not report.whole:
        return "not judged"
    if document.termination == "infeasible":
        return "believed"
    every = [truth(forgery.instance, document, report)]
    if not differences(report) and document.formulation:
        every.append(_held(forgery.instance, document, report, document.formulation, {}, ()))
    return min(every, key=("passes", "believed", "true").index)


def truth(instance: Any, document: Document, report: Any) -> str:
    """Tell whether what a document claims holds for the question that it states."""
    if document.formulation:
        options = document.question.options if document.question else document.options
        options = {key: options[key] for key in options if key in ASKED}
        told = document.question.constraints if document.question else document.constraints
        checker = problem(document.problem).name
        kinds = __import__(f"schedopt.validation.{checker}", fromlist=["x"]).CONSTRAINTS
        said = convert(told, kinds, "question")
        added = tuple(rule for rule in said if rule not in instance.constraints)
        return _held(instance, document, report, document.formulation, options, added)
    shape = next((f for f, marks in SHAPES.items() if marks <= document.solution.keys()), "")
    if not shape or document.policy == "hybrid":
        return "true"  # no formulation is answered: nothing is claimed but the objective
    fill = document.options.get("fill", 1.0)
    options = {"fill": fill} if shape in ("selection", "season") else {}
    return _held(instance, document, report, shape, options, ())


SHAPES = {"season": {"nights"}, "schedule": {"tasks"}, "selection": {"selected"},
          "rectangles": {"rectangles"}, "partition": {"epochs", "overhead"},
          "allocation": {"order", "completion"}, "bound": {"starts", "jobs"}}  # fmt: skip


def _held(
    instance: Any, document: Document, report: Any, formulation: str, options: Tree, added: Any
) -> str:
    best = optimum(instance, formulation, options, added)
    objective, bound = document.objective, document.bound
    if objective is None:
        return "true"
    if options.get("method", "exact") != "exact":  # an approximation: none is an optimum
        return "passes" if report.bound == "re-proved" else "believed"
    if best is None:
        return "passes"  # there is no such question, or no answer to it
    room = SAME.get(formulation, 1e-9) * max(abs(best), 1e-9)
    larger = 1.0 if document.sense == "maximize" else -1.0
    simulated = "arrivals" in document.solution and not document.proven
    beyond = larger * (objective - best) > room and not simulated
    cuts = bound is not None and larger * (best - bound) > room
    short = document.proven and abs(objective - best) > room
    if beyond or (report.bound == "re-proved" and (cuts or short)):
        return "passes"
    return "believed" if cuts or short else "true"


def attempt(seed: int, rows: tuple[str, ...] = ROWS) -> tuple[str, frozenset[str], str]:
    """Forge and check; return the row, what was rewritten, and what became of it."""
    draw = Random(f"question {seed}")  # noqa: S311
    forgery = forged(draw, rows)
    became = judged(forgery)
    if became == "passes":
        became = f"passes: {seed}"
    return forgery.target.row, forgery.changed, became


@contextlib.contextmanager
def an_archive() -> Iterator[dict[str, Question]]:
    """Make an archive of weak entries, one for each instance that has a file of its own."""
    before = os.environ.get(archived.PLACE)
    with tempfile.TemporaryDirectory() as folder:
        home, known = Path(folder), {}
        for question in _archived():
            tree = answer(Source(question))
            if tree is not None and question.of.name not in known:
                _enter(home / f"{question.row}-{question.of.name}", question, deepcopy(tree))
                known[question.of.name] = question
        os.environ[archived.PLACE] = folder
        try:
            yield known
        finally:
            os.environ.pop(archived.PLACE)
            if before is not None:
                os.environ[archived.PLACE] = before


def _archived() -> Iterator[Question]:
    for row in ROWS:
        for question in questions(row):
            if not question.rules and getattr(question.of, "log", None) is None:
                yield question


def _enter(folder: Path, question: Question, tree: Tree) -> None:
    """Write a group of one entry: the optimum, not known to be one, under a bound far off."""
    apart = 0.5 if tree["sense"] == "minimize" else 2.0
    tree.update(solution_status="feasible", termination="completed")
    tree["bound"] = apart * tree["objective"]
    tree["gap"] = abs(tree["objective"] - tree["bound"]) / max(1e-10, abs(tree["objective"]))
    tree.pop("certificate", None)
    known = msgspec.convert(tree, Document)
    for part in ("instances", "results"):
        (folder / part).mkdir(parents=True)
    name = f"{question.of.name}.json.gz"
    dump(question.of, folder / "instances" / name)
    dump(known, folder / "results" / name)
    dump(Group(name=folder.name, version="1", title="", source="", licence=""),
         folder / "group.json")  # fmt: skip
    by = Found(by="a solver", date="2026-01-01")
    entry = entry_from(
        known, instance=folder / "instances" / name, text=encode(known), made=None, by=by, proof=""
    )
    (folder / "entries.jsonl").write_bytes(msgspec.json.encode(entry) + b"\n")


def submitted(seed: int, known: Mapping[str, Question]) -> tuple[str, frozenset[str], str]:
    """Forge, and submit to the archive."""
    draw = Random(f"entry {seed}")  # noqa: S311
    forgery = forged(draw)
    question = known.get(forgery.target.of.name)
    if question is None:
        return submitted(seed + 10**6, known)
    path = archived.instance_path(f"{question.row}-{question.of.name}/{question.of.name}")
    file = path.parent.parent / "claim.json"
    file.write_text(json.dumps(forgery.tree))
    try:
        taken = submit(path, file, "somebody").entry
    except InputError:
        return question.row, forgery.changed, "refused"
    if taken is None:
        return question.row, forgery.changed, "found"
    best = optimum(question.of, question.formulation, dict(question.options), ())
    room = SAME.get(question.formulation, 1e-9) * abs(best or 0.0)
    larger = 1.0 if taken.sense == "maximize" else -1.0
    wrong = best is None or larger * (taken.objective - best) > room  # type: ignore[operator]
    wrong = wrong or larger * (best - taken.bound) > room  # type: ignore[operator]
    return question.row, forgery.changed, f"passes: entry {seed}" if wrong else "true"
