"""Forged results, certificates and answers to other questions through the checker: none may pass.

``make agree``, or ``PYTHONPATH=tests python -m builders.forging [CLAIMS [QUESTIONS]]``: so many, by
default 3,000 and 5,000. A forged claim is a right result with a statement made false, or a worse
solution that is said to be optimal with a certificate that was changed. A forged question is an
answer, or a policy's result, rewritten in part to state another question; it passes if what is
taken of it, by the checker or into an archive, is false by the optimum of the declared model. Exit
1 if one passes.
"""

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import import_module
from itertools import product
from random import Random
from typing import Any, NamedTuple

import msgspec

from builders import agree
from builders.msfq import least
from schedopt import check, evaluate, generate, load, solve
from schedopt.instances import constraints as kinds
from schedopt.instances.encoding import convert
from schedopt.instances.errors import InputError
from schedopt.instances.fair_share import Each
from schedopt.instances.protocol import identity
from schedopt.problems import problem
from schedopt.solvers.result import Document
from schedopt.verbs.check import question_differences

Tree = dict[str, Any]
ROWS = ("dssp", "epoch", "hesrpt", "msfq")
SEEDS = 5  # of each formulation that is drawn


def tree_of(result: Any) -> Tree:
    """Return a result as a file holds it."""
    tree: Tree = json.loads(msgspec.json.encode(result.document()))
    return tree


def document(tree: Tree) -> Document:
    return msgspec.convert(tree, Document)


def places(node: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every place of a document as what holds it, and its key or position there."""
    for key in list(node) if isinstance(node, dict) else range(len(node)):
        yield node, key
        if isinstance(node[key], dict | list):
            yield from places(node[key])


# --- forged claims ---------------------------------------------------------------------------


class Case(NamedTuple):
    """An instance, its result with a certificate, and a worse solution said to be the optimum."""

    instance: Any
    right: Tree
    worse: Tree | None = None


NO_NUMBERS = (float("nan"), float("inf"), -float("inf"))
STRANGE: tuple[Any, ...] = (
    *("NaN", "1e400", "1_000", "\u0661", "9" * 1_999, 10**40, 2**63, -(2**63), 1e308),
    *(*NO_NUMBERS, True, None, [], {}, [[[]]]),
)
"""What a number, or a list, of a certificate may be replaced by: all of it read somewhere."""


@cache
def cases(row: str) -> tuple[Case, ...]:
    """Return what is forged of a row: every kind of certificate."""
    forged = []
    for asked in _certified(row):
        result = solve(asked, threads=1, certificate=True)
        if result.bound_checked and result.objective:
            instance = getattr(asked, "instance", asked)
            forged.append(Case(instance, tree_of(result), _worse(instance, result)))
    return tuple(forged)


DRAWN = {
    "epoch/partition": (1, 12, 22, 41, 47, 135),
    "epoch/rectangles": (0, 2, 3),
    "hesrpt/allocation": range(12),
    "msfq/threshold": (1, 2, 5),
    "msfq/bound": range(3),
}
"""Seeds of what the contract suite draws: certificates of every kind are among them."""
EXAMPLES = {"epoch": ("fig8", "fig7", "three-wide"), "hesrpt": ("twins", "amdahl-twins", "mixed")}
RULES = ("fair-share cap", "fair-share floor of selected", "together", "resource", "seats")


def _certified(row: str) -> Iterator[Any]:
    """Yield instances, or formulations, whose bounds are certified."""
    for kind, seeds in DRAWN.items():
        yield from (agree.draw_formulation(kind, seed) for seed in seeds if kind.startswith(row))
    if row == "dssp":
        for family, jobs in (("weakly-correlated", 200), ("strongly-correlated", 100)):
            yield generate("dssp", family, seed=1, options={"jobs": jobs})
        yield from (agree.selection(kind, seed, 10) for kind in RULES for seed in range(3))
        yield problem("dssp").formulation("schedule")(load("example:predictions"))
        for seed, window in enumerate((1, 2, 3)):
            rule = kinds.FairShare(by="team", each=Each(at_most=0.3), window=window)
            season = generate("dssp", "season", seed=seed, options={"nights": 3})
            yield msgspec.structs.replace(season, constraints=(rule,))
    for name in EXAMPLES.get(row, ()):
        yield load(f"example:{name}")


def _worse(instance: Any, result: Any) -> Tree | None:
    """Return a result with a worse solution in it, said to be the optimum; None where none is."""
    row, right = result.problem, tree_of(result)
    if row == "msfq":
        return None
    if row == "dssp":
        names = result.solution.selected
        job = next((j.name for j in instance.jobs if j.reward and j.name in names), None)
        rule = [kinds.Forbid(jobs=(job,))] if job else []
        other = solve(instance, formulation=result.formulation, constraints=rule)
    else:
        other = evaluate(instance, {"epoch": "heuristic-epoch", "hesrpt": "equi"}[row])
    worth, best = other.objective, result.objective
    if other.violations or worth is None or abs(worth - best) <= 1e-6 * best:
        return None
    solution = tree_of(other)["solution"]
    if "certified" in right["solution"]:
        solution["certified"] = right["solution"]["certified"]
    return right | {"solution": solution, "objective": worth, "bound": worth, "gap": 0.0}


def falsify(right: Tree, draw: Random) -> Tree:
    """Return a right result with one statement made false, or two."""
    worth, bound, certificate = right["objective"], right["bound"], right.get("certificate")
    by, number = draw.choice((1e-6, 1e-3, 0.1, 0.9)), draw.choice(NO_NUMBERS)
    senses = {"maximize": "minimize", "minimize": "maximize"}
    changes: list[Tree] = [
        {"sense": senses[right["sense"]]},
        *({"bound": bound + sign * by * (abs(bound) or 1.0)} for sign in (-1, 1)),
        *({"objective": worth * (1 + sign * by)} for sign in (-1, 1)),
        *({"termination": word} for word in ("infeasible", "unbounded", "unstable")),
        *({"solution_status": "none"}, {"objective": None}, {"bound": None}, {"gap": 0.5}),
        {"bound": number, "gap": 0.0},
        {"bound": number, "objective": number},
        {"bound": -bound, "objective": -worth},
        {"formulation": "other"},
        {"conflict": ["c0"]},
    ]
    if certificate is not None:
        last = max(certificate)
        parts = {key: value for key, value in certificate.items() if key != last}
        other = ({}, {"kind": "trust"}, {"kind": "proof"} | parts, certificate | {"x": [1]}, parts)
        changes += [{"certificate": each} for each in other]
    forged = deepcopy(right)
    for change in draw.sample(changes, draw.choice((1, 2))):
        forged |= deepcopy(change)
    return forged


def pretend(case: Case, draw: Random, row: str) -> Tree:
    """Return a worse solution, said to be the optimum, with a certificate that was meddled with."""
    forged: Tree = deepcopy(case.worse or {})
    if "certificate" in forged:
        if draw.random() < 0.15:
            owners = [each for each in cases(row) if "certificate" in each.right]
            forged["certificate"] = deepcopy(draw.choice(owners).right["certificate"])
        for _ in range(draw.choice((0, 1, 1, 1, 2, 4))):
            _meddle_with(forged["certificate"], draw)
    return forged


def _meddle_with(certificate: Tree, draw: Random) -> None:
    """Change a number, a sign, a row, a leaf, whatever is in it."""
    where, key = draw.choice(list(places(certificate)) or [({"": 0}, "")])
    value = where[key]
    if draw.random() < 0.1:
        where[key] = deepcopy(draw.choice(STRANGE))
    elif isinstance(value, bool) or value is None:
        where[key] = not value
    elif isinstance(value, int):
        where[key] = draw.choice((0, -value, value + 1, value - 1, 2 * value, value // 2, 10**30))
    elif isinstance(value, float):
        where[key] = value * draw.choice((0.0, -1.0, 0.5, 1 + 1e-9, 1.01, 2.0, 1e6))
    elif isinstance(value, str):
        where[key] = draw.choice((f"{value}x", "", "0", f"-{value}", "capacity"))
    elif isinstance(value, list) and value:
        at = draw.randrange(len(value))
        change = draw.choice((partial(value.pop, at), value.clear, partial(draw.shuffle, value)))
        draw.choice((change, partial(value.insert, at, deepcopy(draw.choice(value)))))()
    elif draw.random() < 0.5:
        del where[key]


def forge_claim(seed: int, row: str) -> str:
    """Forge a claim and check it; return what became of it: ``passes`` is what must not be."""
    draw = Random(f"claim {seed}")  # noqa: S311
    case = draw.choice(cases(row))
    is_stated = seed % 2 or case.worse is None
    return judge_claim(case, falsify(case.right, draw) if is_stated else pretend(case, draw, row))


def judge_claim(case: Case, forged: Tree) -> str:
    """Return what becomes of a forged claim."""
    if forged == case.right:
        return "unchanged"
    became = checked(case.instance, forged)
    if isinstance(became, str):
        return became
    nothing = forged["bound"] is None and forged["solution_status"] != "optimal"
    return "claims nothing" if nothing else "passes"


def checked(instance: Any, tree: Tree) -> Any:
    """Return the report of a document in which nothing is wrong, else what became of it."""
    try:
        report = check(instance, document(tree))
    except (InputError, msgspec.ValidationError):
        return "refused"
    return "found" if report.violations else report


# --- forged questions: parts of two answers ---------------------------------------------------


@dataclass(frozen=True, eq=False)
class Question:
    """An instance with a formulation, its options and added rules; or a policy in their place."""

    row: str
    instance: Any
    formulation: str = ""
    options: Tree = field(default_factory=dict)
    added: tuple[kinds.Constraint, ...] = ()
    policy: str = ""


VARIED: dict[str, tuple[Tree, ...]] = {
    "selection": ({"fill": 0.5}, {"fill": 2.0}, {"risk": "mean", "scenarios": 20}),
    "season": ({"fill": 0.5},),
    "rectangles": ({"widths": "powers-of-two"},),
    "threshold": ({"method": "area"}, {"method": "paper"}),
}
"""Options that are asked for on instances beside those that are drawn."""
RULED: dict[str, Callable[[Any], kinds.Constraint]] = {
    "dssp": lambda night: kinds.Forbid(jobs=(max(night.jobs, key=lambda job: job.reward).name,)),
    "epoch": lambda packing: kinds.Apart(jobs=tuple(job.name for job in packing.jobs[:2])),
    "hesrpt": lambda jobs: kinds.Shares(jobs=(jobs.jobs[0].name,), at_most=0.3),
    "msfq": lambda queue: kinds.ResponseTime(need=1, at_most=1.5),
}
"""Side constraints that are added, likewise."""


@cache
def questions(row: str) -> tuple[Question, ...]:
    """Return drawn questions of a row, and others on their instances, which differ in little."""
    asked = []
    names = problem(row).formulation_names
    for name, seed in product(names, range(SEEDS)):
        model = agree.draw_formulation(f"{row}/{name}", seed)
        options = {key: model.options[key] for key in model.known_options & model.options.keys()}
        instance, added = model.instance, tuple(model.added)
        some = [(name, o, a) for o in (options, {}) for a in (added, (), (RULED[row](instance),))]
        some += [(other, o, ()) for other in names for o in ({}, *VARIED.get(other, ()))]
        asked += [Question(row, instance, *each) for each in some]
    return tuple(asked)


@cache
def results(row: str) -> tuple[Question, ...]:
    """Return policies on the instances of a row's questions."""
    return tuple(
        Question(row, instance, options=options, policy=name)
        for instance in {id(q.instance): q.instance for q in questions(row)}.values()
        for name, policy in problem(row).policies().items()
        for few in ({} if getattr(instance, "log", None) else {"arrivals": 2_000},)
        for options in (few if "arrivals" in policy.options else {},)
        if "dispatcher" not in policy.options
    )


def solve_question(instance: Any, formulation: str, options: Tree, added: Any, **how: Any) -> Any:
    asked = {"formulation": formulation, "options": options, "constraints": added}
    return solve(instance, threads=1, **asked, **how)


@cache
def answer(question: Question) -> Tree | None:
    """Return the document of an answer, None where there is none."""
    try:
        if question.policy:
            result: Any = evaluate(question.instance, question.policy, options=question.options)
        else:
            asked = (question.formulation, question.options, question.added)
            result = solve_question(question.instance, *asked, certificate=True)
    except InputError:
        return None
    return None if result.solution is None or result.violations else tree_of(result)


_OPTIMA: dict[str, float | None] = {}


def optimum(instance: Any, formulation: str, options: Tree, added: Any) -> float | None:
    """Return the optimum of a question by its declared model; None where there is none."""
    key = repr((identity(instance), formulation, sorted(options.items(), key=str), added))
    if key not in _OPTIMA and formulation == "bound":
        _OPTIMA[key] = least(instance)
    elif key not in _OPTIMA:
        _OPTIMA[key] = None
        with suppress(InputError):
            solver = None if formulation == "optimal-policy" else "model"  # which proves nothing
            right = solve_question(instance, formulation, options, added, solver=solver)
            _OPTIMA[key] = right.objective if right.proven else None
    return _OPTIMA[key]


CLAIMS = ("objective", "bound", "gap", "termination", "solution_status", "sense", "risk")
OFTEN = {
    "formulation": ("formulation", "policy", "solver"),
    "options": ("options",),
    "constraints": ("constraints",),
    "instance": ("instance", "problem"),
}
"""What is said in these keys of a document, and in the same of its question."""
SELDOM = {"certificate": ("certificate",), "objective": CLAIMS, "solution": ("solution",)}
CLAIMED = {"solution_status": "optimal", "termination": "optimal", "gap": 0.0}
NOTHING = {"solution_status": "none", "termination": "infeasible", "solution": {}}


def _copy(tree: Tree, other: Tree, keys: tuple[str, ...]) -> None:
    for key in keys:
        tree.pop(key, None)
        tree |= {key: deepcopy(other[key])} if key in other else {}


def forge_question(seed: int, rows: tuple[str, ...] = ROWS) -> tuple[str, list[str], str]:
    """Forge and check; return the row, what was rewritten, and what became of it."""
    draw, right, other = Random(f"question {seed}"), None, None  # noqa: S311
    row = draw.choice(rows)
    while right is None:
        source = draw.choice(results(row) if draw.random() < 0.2 else questions(row))
        right = answer(source)
    near = [q for q in questions(row) if q.instance is source.instance]  # differ in little
    while other is None:
        target = draw.choice(near if draw.random() < 0.6 else questions(row))
        other = answer(target)
    tree, often, parts = deepcopy(right), draw.choice((0.3, 0.6, 0.9, 1.0)), []
    for part, keys in (OFTEN | SELDOM).items():
        if draw.random() < often * (1.0 if part in OFTEN else 0.4):
            parts.append(part)
            _copy(tree, other, keys)
            _copy(tree["question"], other["question"], keys if part in OFTEN else ())
    for part, chance, change in (
        ("claim", 0.4, CLAIMED | {"bound": tree["objective"]}),
        ("no solution", 0.05, NOTHING | dict.fromkeys(CLAIMS[:3])),
        ("certificate", 0.05, {"certificate": {"kind": draw.choice(("nodes", "order", "ranks"))}}),
    ):
        if draw.random() < chance:
            parts.append(part)
            tree |= change
    if draw.random() < 0.05:
        parts.append("question")
        tree.pop("question")
    instance = draw.choice((target.instance, target.instance, target.instance, source.instance))
    return row, parts, verdict_on(instance, tree)


def verdict_on(instance: Any, tree: Tree) -> str:
    """Return what becomes of a document: ``passes`` is what must not be."""
    report = checked(instance, tree)
    if isinstance(report, str) or not report.whole:
        return report if isinstance(report, str) else "not judged"
    claim = document(tree)
    if claim.termination == "infeasible" or not claim.formulation:
        return "believed" if claim.formulation else "true"  # a policy bounds nothing
    proved, question = report.bound == "re-proved", claim.question or claim
    options = {key: value for key, value in question.options.items() if value is not None}
    supported = set(problem(claim.problem).formulation(claim.formulation).known_options)
    checker = import_module(f"schedopt.validation.{claim.problem}")
    rules = convert(question.constraints, checker.CONSTRAINTS, "question")
    added = tuple(rule for rule in rules if rule not in instance.constraints)
    asked = (claim.formulation, {key: options[key] for key in supported & options.keys()}, added)
    verdicts = [_by_optimum(claim, proved, instance, asked)]
    if not question_differences(report):
        verdicts.append(_by_optimum(claim, proved, instance, (claim.formulation, {}, ())))
    return min(verdicts, key=("passes", "believed", "true").index)


SAME = {"allocation": 1e-5, "optimal-policy": 3e-4, "threshold": 2e-4}
"""Relative: what two ways to an optimum, or its checker, may be off by; 1e-9 elsewhere."""


def _by_optimum(
    claim: Document, proved: bool, instance: Any, question: tuple[str, Tree, Any]
) -> str:
    """Judge a claim by the optimum of a question."""
    formulation, options, _ = question
    if claim.objective is None:
        return "true"
    if options.get("method", "exact") != "exact":  # an approximation: none is an optimum
        return "passes" if proved else "believed"
    if (best := optimum(instance, *question)) is None:
        return "passes"  # there is no such question, or no answer to it
    room = SAME.get(formulation, 1e-9) * max(abs(best), 1e-9)
    larger = 1.0 if claim.sense == "maximize" else -1.0
    beyond = larger * (claim.objective - best) > room
    cuts = claim.bound is not None and larger * (best - claim.bound) > room
    short = claim.proven and abs(claim.objective - best) > room
    if beyond or (proved and (cuts or short)):
        return "passes"
    return "believed" if cuts or short else "true"


def forge_questions(count: int, rows: tuple[str, ...] = ROWS) -> Counter[tuple[str, str, str]]:
    """Count row, part and fate of so many. Those that happen to be true are not counted."""
    fates: Counter[tuple[str, str, str]] = Counter()
    seed = forged = 0
    while forged < count:
        row, parts, became = forge_question(seed := seed + 1, rows)
        forged += became != "true"
        became = f"passes: {seed}" if became == "passes" else became
        fates.update((row, part, became) for part in parts if became != "true")
    return fates


def main() -> None:
    """Forge so many, and say which pass; exit 1 if one does."""
    seeds = [int(word) for word in sys.argv[1:]]
    claims, asked = (seeds + [3_000, 5_000][len(seeds) :])[:2]
    fates = forge_questions(asked)
    for seed in range(claims):
        became = forge_claim(seed, row := ROWS[seed % len(ROWS)])
        fates[row, "claims", f"passes: {seed}" if became == "passes" else became] += 1
    for (row, part, became), times in sorted(fates.items()):
        print(f"{row}, {part}: {became} {times:,}")
    sys.exit(any(became.startswith("passes") for _, _, became in fates))


if __name__ == "__main__":
    main()
