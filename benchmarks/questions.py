"""Answers to one question forged into answers to another: through check, and into an archive.

What answers a question of `benchmarks.asking`, solved or made by a policy, is rewritten in part or
in all that states another question of its row: name, digest, formulation, options, constraints,
objective, the type of the solution, the certificate. A forgery passes if a check finds all of it
right, or the archive takes it, and what it says of the question that it states is false.
"""

import contextlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import msgspec

from benchmarks.asking import ROWS, Question, Source, Tree, answer, optimum, questions, sources
from schedopt import check
from schedopt.archive.entries import Entry, Group, Provenance, entries, entry_from
from schedopt.archive.judging import submit, verify
from schedopt.instances import archived
from schedopt.instances.decoding import convert
from schedopt.instances.errors import InputError
from schedopt.instances.files import decode, dump, encode
from schedopt.instances.protocol import identity
from schedopt.problems import problem
from schedopt.solvers.result import Document, as_document, gap
from schedopt.validation.report import Report
from schedopt.verbs.check import question_differences

SAME = {"allocation": 1e-5, "optimal-policy": 3e-4, "threshold": 2e-4}
"""Relative: what two ways to an optimum, or its checker, may be off by; 1e-9 elsewhere."""
Became = tuple[str, frozenset[str], str]
"""The row, what was rewritten, and what became of it: ``passes`` is what must not be."""


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
        tree.update({key: other[key] for key in CLAIMS if key in other})

    def solution(tree: Tree) -> None:
        tree["solution"] = shaped(tree["solution"], question)

    return {
        "formulation": formulation,
        "options": asks,
        "constraints": constraints,
        "instance": named,
        "certificate": certificate,
        "objective": objective,
        "solution": solution,
    }


ASKED = {
    "fill",
    "risk",
    "scenarios",
    "seed",
    "widths",
    "order",
    "method",
    "variant",
    "first",
    "count",
}
CLAIMS = ("objective", "bound", "gap", "termination", "solution_status", "sense", "risk")


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
        end = now + part.get("duration", 0.0)
        for name, nodes in part.get("nodes", {}).items():
            pieces[name] = {"nodes": nodes, "start": now, "end": end}
        now = end
    return {"rectangles": pieces or solution.get("rectangles", {})}


def _as_optimal(tree: Tree, draw: Random) -> None:
    """Claim that the solution is optimal."""
    tree.update(solution_status="optimal", termination="optimal", gap=0.0)
    tree["bound"] = tree["objective"]
    if draw.random() < 0.3:
        tree["certificate"] = {"kind": draw.choice(("nodes", "order", "ranks", "branchings"))}


def _infeasible(tree: Tree) -> None:
    tree.update(
        termination="infeasible",
        solution_status="none",
        solution={},
        objective=None,
        bound=None,
        gap=None,
    )
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
    source: Source = draw.choice(sources(draw.choice(rows) if draw.random() < 0.03 else row))
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
    if not question_differences(report) and document.formulation:
        best = optimum(forgery.instance, document.formulation, {}, ())
        every.append(_held(document, report, document.formulation, {}, best))
    return min(every, key=("passes", "believed", "true").index)


def truth(instance: Any, document: Document, report: Report) -> str:
    """Tell whether what a document claims holds for the question that it states."""
    if document.formulation:
        options = document.question.options if document.question else document.options
        options = {key: options[key] for key in ASKED & options.keys() if options[key] is not None}
        told = document.question.constraints if document.question else document.constraints
        checker = import_module(f"schedopt.validation.{document.problem}")
        said = convert(told, checker.CONSTRAINTS, "question")
        added = tuple(rule for rule in said if rule not in instance.constraints)
        best = optimum(instance, document.formulation, options, added)
        return _held(document, report, document.formulation, options, best)
    shape = next((f for f, marks in SHAPES.items() if marks <= document.solution.keys()), "")
    if not shape or document.policy == "hybrid":
        return "true"  # no formulation is answered: nothing is claimed but the objective
    fill = document.options.get("fill", 1.0)
    options = {"fill": fill} if shape in ("selection", "season") else {}
    return _held(document, report, shape, options, optimum(instance, shape, options, ()))


SHAPES = {
    "season": {"nights"},
    "schedule": {"tasks"},
    "selection": {"selected"},
    "rectangles": {"rectangles"},
    "partition": {"epochs", "overhead"},
    "allocation": {"order", "completion"},
    "bound": {"starts", "jobs"},
}


def _held(
    document: Document, report: Report, formulation: str, options: Tree, best: float | None
) -> str:
    """Judge a claim by the known optimum, which is None where there can be none."""
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


def attempt(seed: int, rows: tuple[str, ...] = ROWS) -> Became:
    """Forge and check; return the row, what was rewritten, and what became of it."""
    draw = Random(f"question {seed}")  # noqa: S311
    forgery = forged(draw, rows)
    became = judged(forgery)
    if became == "passes":
        became = f"passes: {seed}"
    return forgery.target.row, forgery.changed, became


@contextlib.contextmanager
def an_archive(rows: tuple[str, ...] = ROWS) -> Iterator[dict[str, Question]]:
    """Make an archive of entries with weak bounds, one for each instance with a file of its own."""
    before = os.environ.get(archived.PLACE)
    with tempfile.TemporaryDirectory() as folder:
        home, known = Path(folder), {}
        for question in (question for row in rows for question in questions(row)):
            if question.rules or getattr(question.of, "log", None) is not None:
                continue
            if question.of.name not in known and (tree := answer(Source(question))) is not None:
                _enter(home / f"{question.row}-{question.of.name}", question, deepcopy(tree))
                known[question.of.name] = question
        os.environ[archived.PLACE] = folder
        try:
            yield known
        finally:
            os.environ.pop(archived.PLACE)
            if before is not None:
                os.environ[archived.PLACE] = before


def _enter(folder: Path, question: Question, tree: Tree) -> None:
    """Make a group of one open entry: the optimum, with a bound far off."""
    apart = 0.5 if tree["sense"] == "minimize" else 2.0
    tree.update(solution_status="feasible", termination="completed")
    tree["bound"] = apart * tree["objective"]
    tree["gap"] = gap(tree["objective"], tree["bound"])
    tree.pop("certificate", None)
    for part in ("instances", "results"):
        (folder / part).mkdir(parents=True)
    dump(question.of, folder / "instances" / f"{question.of.name}.json.gz")
    dump(
        Group(name=folder.name, version="1", title="", source="", licence=""), folder / "group.json"
    )
    _write(folder, question, msgspec.convert(tree, Document), "")


def _write(folder: Path, question: Question, result: Document, proof: str) -> None:
    """Write a result, and the entry that says it, with their digests."""
    name = f"{question.of.name}.json.gz"
    dump(result, folder / "results" / name)
    made = entry_from(
        result,
        instance=folder / "instances" / name,
        text=encode(result),
        made=None,
        by=Provenance(by="a solver", date="2026-01-01"),
        proof=proof,
    )
    asks = {"formulation": question.formulation, "options": dict(question.options)}
    entry = msgspec.structs.replace(made, name=question.of.name, **asks)
    (folder / "entries.jsonl").write_bytes(encode(entry))


def submitted(seed: int, known: Mapping[str, Question]) -> Became:
    """Forge, and submit to the archive; or put it there with all its digests, and verify."""
    draw = Random(f"entry {seed}")  # noqa: S311
    rows = tuple({question.row: 0 for question in known.values()})
    forgery = forged(draw, rows)
    while forgery.target.of.name not in known:
        forgery = forged(draw, rows)
    question = known[forgery.target.of.name]
    group = f"{question.row}-{question.of.name}"
    path = archived.instance_path(f"{group}/{question.of.name}")
    file = path.parent.parent / "claim.json"
    file.write_text(json.dumps(forgery.tree))
    try:
        became = (_verified if seed % 2 else _submitted)(question, path, file)
    except (InputError, msgspec.ValidationError):
        became = "refused"
    became = f"passes: entry {seed}" if became == "passes" else became
    return question.row, forgery.changed | {"entry"}, became


def _submitted(question: Question, path: Path, file: Path) -> str:
    taken = submit(path, file, "somebody").entry
    return "found" if taken is None else _entered(question, taken, sure=True)


def _verified(question: Question, path: Path, file: Path) -> str:
    """Put a claim in the place of an entry's result, and what it says in the entry's line."""
    folder, name = path.parent.parent, path.name
    kept = {
        each: each.read_bytes() for each in (folder / "entries.jsonl", folder / "results" / name)
    }
    claim = decode(file.read_bytes(), Document)
    proof = str((claim.certificate or {}).get("kind", ""))
    try:
        _write(folder, question, claim, proof)
        verdict = verify(folder.name, entries(folder.name)[0])
        if verdict.wrong:
            return "found"
        return _entered(question, entries(folder.name)[0], sure=verdict.bound == "re-proved")
    finally:
        for each, data in kept.items():
            each.write_bytes(data)


def _entered(question: Question, entry: Entry, *, sure: bool) -> str:
    """Tell whether an entry of the archive is true."""
    best = optimum(question.of, question.formulation, dict(question.options), ())
    larger = 1.0 if entry.sense == "maximize" else -1.0
    if best is None or entry.objective is None:
        return "true" if entry.objective is None else "passes"
    room = SAME.get(question.formulation, 1e-9) * abs(best)
    cuts = entry.bound is not None and larger * (best - entry.bound) > room
    if larger * (entry.objective - best) > room or (cuts and sure):
        return "passes"
    return "believed" if cuts else "true"
