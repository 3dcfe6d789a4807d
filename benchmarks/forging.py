"""Forged results and certificates through the checker: none may pass.

``python -m benchmarks.forging [NUMBERS [QUESTIONS]]``: so many, by default 3,000 and 5,000. Half of
the first are right results with a statement made false: sense, bound, objective, status, what is
certified, times, the kind or the owner of the certificate. The others claim that a solution which
is right, but not best, is optimal, with the certificate of the optimum, with another's, or with one
that was changed: numbers, signs, rows, leaves, whatever is in it. The second are answers to another
question, and entries of an archive: see `benchmarks.questions`. Exit 1 if one passes.
"""

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import msgspec
import numpy as np

from benchmarks import agreeing, questions
from benchmarks.agree import drawn
from benchmarks.fuzzing import places
from benchmarks.tables import out
from schedopt import check, evaluate, generate, load, solve
from schedopt.formulations.epoch import Partition
from schedopt.instances.constraints import FairShare, Together
from schedopt.instances.dssp import selected
from schedopt.instances.epoch import Instance as Packing
from schedopt.instances.epoch.generators import named
from schedopt.instances.errors import InputError
from schedopt.instances.fair_share import Each
from schedopt.instances.msfq import Instance
from schedopt.instances.msfq.logs import Jobs
from schedopt.solvers.result import Document, as_document

BUNDLED = Path(__file__).parent.parent / "instances"
Tree = dict[str, Any]


class Case(NamedTuple):
    """An instance, its result with a certificate, and a worse solution said to be the optimum."""

    instance: Any
    right: Tree
    worse: Tree | None


@cache
def cases(row: str = "") -> tuple[Case, ...]:
    """Return what is forged, of one row or of all: all kinds of certificates."""
    if not row:
        return tuple(case for row in MADE for case in cases(row))
    return tuple(case for make in MADE[row] for case in make())


def plain(result: Any) -> Tree:
    found: Tree = json.loads(msgspec.json.encode(result.document()))
    return found


def _selections() -> Iterator[Case]:
    nights = [
        load(BUNDLED / "dssp" / "constraints.json"),
        *(generate("dssp", seed=seed) for seed in range(2)),
        generate("dssp", "weakly-correlated", seed=1, options={"jobs": 200}),
        generate("dssp", "strongly-correlated", seed=1, options={"jobs": 100}),
    ]
    kinds = ("fair-share cap", "fair-share floor of selected", "together", "resource", "seats")
    nights += [agreeing.selection(kind, seed, 10) for kind in kinds for seed in range(2)]
    for night in nights:
        result = solve(night, certificate=True)
        if result.bound_checked and result.objective:
            yield Case(night, plain(result), _fewer(night, result))
    night = load(BUNDLED / "dssp" / "predictions.json")
    yield Case(night, plain(solve(night, formulation="schedule", certificate=True)), None)


def _seasons() -> Iterator[Case]:
    for seed, window in enumerate((1, 2, 3)):
        rule = FairShare(by="team", each=Each(at_most=0.3), window=window)
        season = generate("dssp", "season", seed=seed, options={"nights": 3})
        season = msgspec.structs.replace(season, constraints=(rule,))
        result = solve(season, certificate=True)
        if result.bound_checked:
            yield Case(season, plain(result), None)


def _fewer(night: Any, result: Any) -> Tree | None:
    """Return the result without one of its jobs, said to be the optimum, where rules allow it."""
    for name in result.solution.selected:
        job = night.jobs[night.index[name]]
        kept = [night.index[other] for other in result.solution.selected if other != name]
        solution = selected(night, np.array(kept, dtype=np.int64), 1.0)
        objective = night.objective_of(solution)
        if job.reward == 0 or objective == result.objective:
            continue
        less = plain(result)
        less.update(solution=as_document(solution), objective=objective, bound=objective, gap=0.0)
        without = {key: value for key, value in less.items() if key != "certificate"}
        if check(night, document(without)).ok:
            return less
    return None


def _dressed(right: Tree, other: Any) -> Tree:
    """Return the optimum's result with a policy's solution and objective in it."""
    told = plain(other)
    clothed = {**right, "solution": told["solution"], "objective": told["objective"]}
    clothed.update(bound=told["objective"], gap=0.0)
    if "certified" in right["solution"]:
        clothed["solution"]["certified"] = right["solution"]["certified"]
    return clothed


def _bundled(row: str, policy: str, names: tuple[str, ...]) -> Iterator[Case]:
    for name in names:
        instance = load(BUNDLED / row / f"{name}.json")
        right = plain(solve(instance, threads=1, certificate=True))
        worse = evaluate(instance, policy)
        better = worse.violations or worse.objective <= right["objective"] * (1 + 1e-6)
        yield Case(instance, right, None if better else _dressed(right, worse))


def _queues() -> Iterator[Case]:
    for seed in (1, 2, 5):
        model = drawn("msfq/threshold", seed)
        right = plain(solve(model))
        yield Case(model.instance, right, _scaled(right, 1.1))


def _logs() -> Iterator[Case]:
    for seed in range(3):
        draw = np.random.default_rng(seed)
        submit, need = np.sort(draw.integers(0, 40, 20)), draw.integers(1, 5, 20)
        jobs = Jobs.of(submit, need, draw.integers(1, 20, 20).astype(float))
        queue = Instance(name=f"log-{seed}", servers=4, log="log.parquet").with_jobs(jobs)
        result = solve(queue, certificate=True)
        if result.bound_checked:
            yield Case(queue, plain(result), None)


def _packings() -> Iterator[Case]:
    """Yield bounds that are re-proved from each kind of certificate."""
    models = [drawn("epoch/partition", seed) for seed in (1, 12, 22, 41, 47, 135)]
    models += [drawn("epoch/rectangles", seed) for seed in (0, 2, 3)]
    rules = (Together(jobs=("j1", "j2")),)
    some = {"name": "multipliers", "jobs": named([5, 2, 8]), "constraints": rules}
    models.append(Partition(Packing(nodes=16, inequity=4, **some)))
    for model in models:
        result = solve(model, threads=1, certificate=True)
        if result.bound_checked:
            yield Case(model.instance, plain(result), None)


MADE: dict[str, tuple[Callable[[], Iterator[Case]], ...]] = {
    "dssp": (_selections, _seasons),
    "epoch": (
        partial(_bundled, "epoch", "heuristic-epoch", ("fig8", "fig7", "three-wide", "together")),
        _packings,
    ),
    "hesrpt": (
        partial(
            _bundled, "hesrpt", "equi", ("twins", "amdahl-twins", "mixed", "not-shortest-first")
        ),
    ),
    "msfq": (_queues, _logs),
}


def _scaled(document: Tree, by: float) -> Tree:
    """Return a result whose objective, bound and times are all multiplied by a number."""

    def times(node: Any) -> Any:
        if isinstance(node, dict):
            return {key: node[key] if key in KEPT else times(node[key]) for key in node}
        if isinstance(node, list):
            return [times(each) for each in node]
        return node * by if isinstance(node, float) else node

    other = deepcopy(document)
    other.update(objective=document["objective"] * by, bound=document["bound"] * by)
    other["solution"] = times(document["solution"])
    return other


NO_NUMBERS = (float("nan"), float("inf"), -float("inf"))
STRANGE: tuple[Any, ...] = (
    *("NaN", "1e400", "1_000", "\u0661", "9" * 1_999, 10**40, 2**63, -(2**63), 1e308),
    *NO_NUMBERS,
    *(True, None, [], {}, [[[]]]),
)
"""What a number, or a list, of a certificate may be replaced by: all of it read somewhere."""

KEPT = ("selected", "order", "threshold", "nodes", "share")  # what of a solution is no time


def document(tree: Tree) -> Any:
    """Return a document."""
    return msgspec.convert(tree, Document)


def falsified(case: Case, draw: Random) -> Tree:
    """Return the right result with one statement made false, or two."""
    other = deepcopy(case.right)
    larger = 1.0 if case.right["sense"] == "maximize" else -1.0
    size = abs(other["bound"]) or 1.0
    by = draw.choice((1e-6, 1e-3, 0.1, 0.9))
    changes: list[Callable[[], None]] = [
        lambda: other.update(sense="minimize" if larger > 0 else "maximize"),
        lambda: other.update(bound=other["bound"] - larger * by * size),
        lambda: other.update(bound=other["bound"] + larger * by * size),
        lambda: other.update(objective=other["objective"] * (1 + by)),
        lambda: other.update(objective=other["objective"] * (1 - by)),
        lambda: other.update(_scaled(other, draw.choice((0.9, 1 + by)))),
        *(
            partial(other.update, termination=word)
            for word in ("infeasible", "unbounded", "unstable")
        ),
        lambda: other.update(solution_status="none"),
        lambda: other.update(objective=None),
        lambda: other.update(bound=None),
        lambda: other.update(gap=0.5),
        lambda: other.update(bound=draw.choice(NO_NUMBERS), gap=0.0),
        lambda: other.update(dict.fromkeys(("bound", "objective"), draw.choice(NO_NUMBERS))),
        lambda: other.update(bound=-other["bound"], objective=-other["objective"]),
        lambda: other.update(formulation="other"),
        lambda: other.update(conflict=["c0"]),
    ]
    if "certificate" in other:
        changes += [
            lambda: other.update(certificate={}),
            lambda: other.update(certificate={"kind": "trust"}),
            lambda: other["certificate"].update(kind="proof"),
            lambda: other["certificate"].update(more=[1]),
            lambda: other["certificate"].pop(sorted(other["certificate"])[-1]),
        ]
    for change in draw.sample(changes, draw.choice((1, 2))):
        with suppress(KeyError, IndexError, TypeError):  # the other took away what it changes
            change()
    return other


def pretended(worse: Tree, draw: Random, row: str = "") -> Tree:
    """Return a worse solution, said to be the optimum, with a certificate that was meddled with."""
    other = deepcopy(worse)
    if "certificate" not in other:
        return other
    if draw.random() < 0.15:
        owners = [each for each in cases(row) if "certificate" in each.right]
        other["certificate"] = deepcopy(draw.choice(owners).right["certificate"])
    for _ in range(draw.choice((0, 1, 1, 1, 2, 4))):
        _meddle(other["certificate"], draw)
    return other


def _meddle(certificate: Tree, draw: Random) -> None:
    if not certificate:
        return
    where, key = draw.choice(list(places(certificate)))
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
        what = draw.randrange(4)
        if what == 0:
            value.pop(draw.randrange(len(value)))
        elif what == 1:
            value.insert(draw.randrange(len(value)), deepcopy(draw.choice(value)))
        elif what == 2:
            draw.shuffle(value)
        else:
            value.clear()
    elif draw.random() < 0.5:
        del where[key]


def attempt(seed: int, row: str = "") -> tuple[str, str]:
    """Forge and check; return the row and what became of it: ``passes`` is what must not be."""
    draw = Random(seed)  # noqa: S311
    case = draw.choice(cases(row))
    told = seed % 2 or case.worse is None
    forged = falsified(case, draw) if told else pretended(case.worse or {}, draw, row)
    became = judged(case, forged)
    return case.right["problem"], f"passes: {seed}" if became == "passes" else became


def judged(case: Case, forged: Tree) -> str:
    """Return what becomes of a forged result: ``passes`` is what must not be."""
    if forged == case.right:
        return "unchanged"
    try:
        report = check(case.instance, document(forged))
    except (InputError, msgspec.ValidationError):
        return "refused"
    if report.violations:
        return "found"
    if forged["bound"] is None and forged["solution_status"] != "optimal":
        return "claims nothing"
    return "passes"


def of_questions(
    count: int, rows: tuple[str, ...] = questions.ROWS
) -> tuple[Counter[tuple[str, str]], Counter[tuple[str, str]]]:
    """Forge so many answers, an eighth of them for an archive; return their fates by row and part.

    Forgeries that happen to be true are not counted; others take their place.
    """
    by_row: Counter[tuple[str, str]] = Counter()
    by_part: Counter[tuple[str, str]] = Counter()
    seed = 0
    with questions.an_archive(rows) as known:
        while by_row.total() < count:
            seed += 1
            entry = seed % 8 == 0
            made = questions.submitted(seed, known) if entry else questions.attempt(seed, rows)
            row, parts, became = made
            if became != "true":
                by_row[row, became] += 1
                by_part.update((part, became.partition(":")[0]) for part in parts)
    return by_row, by_part


def main() -> None:
    """Forge so many, and say which pass; exit 1 if one does."""
    sys.path.insert(0, str(BUNDLED.parent / "tests"))  # where brute force is
    numbers = int(sys.argv[1]) if len(sys.argv) > 1 else 3_000
    asked = int(sys.argv[2]) if len(sys.argv) > 2 else 5_000
    by_row, by_part = of_questions(asked)
    passed = False
    for what, found in (
        ("numbers", Counter(attempt(seed) for seed in range(numbers))),
        ("questions", by_row),
        ("questions, by what is rewritten", by_part),
    ):
        out.print(f"{what}: {found.total():,}")
        for (row, ended), times in sorted(found.items()):
            out.print(f"  {row}: {ended} {times:,}")
            passed = passed or ended.startswith("passes")
    sys.exit(1 if passed else 0)


if __name__ == "__main__":
    main()
