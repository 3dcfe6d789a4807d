"""Forged results and certificates through the checker: none may pass.

``make agree``, or ``PYTHONPATH=tests python -m builders.forging [CLAIMS]``: so many, by default
3,000. A forged claim is a right result with a statement made false, or a worse solution that is
said to be optimal with a certificate that was changed. Exit 1 if one passes.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import import_module
from itertools import product
from random import Random
from typing import Any, NamedTuple

import msgspec

from builders.delicate import selection
from schedopt import check, evaluate, generate, load, solve
from schedopt.instances import constraints as kinds
from schedopt.instances.errors import InputError
from schedopt.instances.fair_share import Each
from schedopt.problems import problem
from schedopt.solvers.result import Document

Tree = dict[str, Any]
ROWS = ("dssp", "epoch", "hesrpt", "msfq")
SEEDS = 5  # of each formulation that is drawn


def draw_formulation(name: str, seed: int) -> Any:
    """Draw a formulation as the contract suite does."""
    draws = import_module(f"contract.{name.partition('/')[0]}").FORMULATIONS
    return draws[name](Random(seed))  # noqa: S311


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
        yield from (draw_formulation(kind, seed) for seed in seeds if kind.startswith(row))
    if row == "dssp":
        for family, jobs in (("weakly-correlated", 200), ("strongly-correlated", 100)):
            yield generate("dssp", family, seed=1, options={"jobs": jobs})
        yield from (selection(kind, seed, 10) for kind in RULES for seed in range(3))
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


# --- answers ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Question:
    """An instance with a formulation, its options and added rules; or a policy in their place."""

    instance: Any
    formulation: str = ""
    options: Tree = field(default_factory=dict)
    added: tuple[kinds.Constraint, ...] = ()
    policy: str = ""


@cache
def questions(row: str) -> tuple[Question, ...]:
    """Return drawn questions of a row."""
    asked = []
    for name, seed in product(problem(row).formulation_names, range(SEEDS)):
        model = draw_formulation(f"{row}/{name}", seed)
        options = {key: model.options[key] for key in model.known_options & model.options.keys()}
        asked.append(Question(model.instance, name, options, tuple(model.added)))
    return tuple(asked)


@cache
def results(row: str) -> tuple[Question, ...]:
    """Return policies on the instances of a row's questions."""
    return tuple(
        Question(instance, options=options, policy=name)
        for instance in {id(q.instance): q.instance for q in questions(row)}.values()
        for name, policy in problem(row).policies().items()
        for few in ({} if getattr(instance, "log", None) else {"arrivals": 2_000},)
        for options in (few if "arrivals" in policy.options else {},)
        if "dispatcher" not in policy.options
    )


@cache
def answer(question: Question) -> Tree | None:
    """Return the document of an answer, None where there is none."""
    instance, options = question.instance, question.options
    try:
        if question.policy:
            result: Any = evaluate(instance, question.policy, options=options)
        else:
            asked = {"formulation": question.formulation, "constraints": question.added}
            result = solve(instance, options=options, certificate=True, threads=1, **asked)
    except InputError:
        return None
    return None if result.solution is None or result.violations else tree_of(result)


def main() -> None:
    """Forge so many claims, and say which pass; exit 1 if one does."""
    fates: Counter[tuple[str, str]] = Counter()
    for seed in range(int([*sys.argv[1:], "3000"][0])):
        became = forge_claim(seed, row := ROWS[seed % len(ROWS)])
        fates[row, f"passes: {seed}" if became == "passes" else became] += 1
    for (row, became), times in sorted(fates.items()):
        print(f"{row}: {became} {times:,}")
    sys.exit(any(became.startswith("passes") for _, became in fates))


if __name__ == "__main__":
    main()
