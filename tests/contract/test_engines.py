"""What every engine of every table keeps, held against the declared model, its last row.

A new engine, or a new formulation, is tested by being in the table.
"""

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from itertools import combinations
from math import isnan
from random import Random
from threading import Event
from typing import Any

import msgspec
import pytest
from builders import forging
from builders.effort import ALL, examples

from schedopt.formulations.protocol import Formulation
from schedopt.instances.constraints import label
from schedopt.problems import problems
from schedopt.solvers.portfolio import engines
from schedopt.solvers.result import Result
from schedopt.verbs.solve import solve

DRAWN: dict[str, Callable[[Random], Formulation]] = {
    name: draw
    for record in problems()
    for name, draw in import_module(f"contract.{record.name}").FORMULATIONS.items()
}
OPTIMA: dict[str, Callable[[Any], float | None]] = {
    name: best
    for record in problems()
    for name, best in getattr(import_module(f"contract.{record.name}"), "OPTIMA", {}).items()
}
"""The optimum by trying everything; None where nothing keeps the rules, NaN if it takes long."""
SEEDS = range(examples(24))
FEWEST, MOST_SEEDS = 2, 60
"""Of what each engine is run on at least, and the seeds that are looked through for it."""
NEAR = 1e-6
"""Relative difference of two optima that counts as none: the loosest tolerance of the solvers."""


UNDECLARED = {"msfq/optimal-policy", "msfq/bound"}
"""Formulations without a declared model: tests/solvers/test_msfq.py holds them against others."""


def tables(names: Iterable[str] = DRAWN) -> Iterator[Any]:
    for name in names:
        for engine in engines(*name.split("/")):
            if engine.available:
                yield pytest.param(name, engine.name, id=f"{name}/{engine.name}")


def drawn(name: str, seed: int) -> Formulation:
    return DRAWN[name](Random(seed))  # noqa: S311


def taken(name: str, solver: str, fewest: int = FEWEST) -> Iterator[tuple[int, Formulation]]:
    """Yield the drawn formulations that an engine accepts: of more seeds where these are few."""
    engine = next(e for e in engines(*name.split("/")) if e.name == solver)
    found = 0
    for seed in range(max(MOST_SEEDS, len(SEEDS))):
        if seed >= len(SEEDS) and found >= fewest:
            return
        model = drawn(name, seed)
        if engine.accepts(model):
            found += 1
            yield seed, model


_OPTIMA: dict[tuple[str, int], Result] = {}


def declared(name: str, seed: int) -> Result:
    """Return what the declared model says."""
    if (name, seed) not in _OPTIMA:
        _OPTIMA[name, seed] = solve(drawn(name, seed), solver="model", threads=1)
    return _OPTIMA[name, seed]


def better_by(result: Result, a: float, b: float) -> float:
    """Return by how much one objective is better than another, relatively."""
    return (a - b if result.sense == "maximize" else b - a) / max(1e-9, abs(a), abs(b))


def test_contract_draws_every_formulation() -> None:
    every = {f"{r.name}/{name}" for r in problems() for name in r.formulation_names}
    assert set(DRAWN) == every
    for name in every:
        table = engines(*name.split("/"))
        names = [engine.name for engine in table]
        assert names[-1] == "model" or name in UNDECLARED
        assert len(set(names)) == len(names)
        assert {engine.confirmed_by for engine in table} <= {*names, ""}


@pytest.mark.parametrize(("name", "solver"), list(tables(sorted(DRAWN.keys() - UNDECLARED))))
def test_engine_finds_the_declared_optimum_and_no_forgery_passes(name: str, solver: str) -> None:
    table = engines(*name.split("/"))
    certificate = bool(next(e for e in table if e.name == solver).certificate)
    certified = 0
    for seed, model in taken(name, solver, MOST_SEEDS if certificate else FEWEST):
        if certified and seed >= len(SEEDS):
            break
        right = declared(name, seed)
        result = solve(model, solver=solver, certificate=certificate, threads=1)
        assert result.violations == (), (seed, result.violations)
        if certificate and result.proven and result.bound_checked:
            certified += 1
            case = forging.Case(model.instance, forging.tree_of(result), None)
            for forgery in range(6):
                forged = forging.falsify(case.right, Random(forgery))  # noqa: S311
                assert forging.judge_claim(case, forged) != "passes", (seed, forgery)
        if right.termination == "infeasible":  # which an engine of samples alone cannot prove
            assert result.termination in ("infeasible", "completed"), seed
            assert result.solution is None, seed
        else:
            assert result.termination != "infeasible", seed
        if right.objective is None or not right.proven:
            continue
        if result.bound is not None:
            assert better_by(right, right.objective, result.bound) <= NEAR, seed
        if result.objective is not None:
            assert better_by(right, result.objective, right.objective) <= NEAR, seed
        if result.proven:
            assert result.objective == pytest.approx(right.objective, rel=NEAR, abs=1e-9), seed
        known = {None, *(engine.name for engine in table)}
        assert {result.found_by, result.bounded_by, result.proved_by} <= known, seed
    assert certified or not certificate


@pytest.mark.parametrize("name", sorted(DRAWN.keys() - UNDECLARED))
def test_portfolio_proves_what_the_declared_model_proves(name: str) -> None:
    for seed in SEEDS:
        right, result = declared(name, seed), solve(drawn(name, seed), threads=1)
        assert result.violations == (), seed
        assert result.termination == right.termination or not right.proven, seed
        if right.proven:
            assert result.proven, (seed, result.message)
            assert result.objective == pytest.approx(right.objective, rel=NEAR, abs=1e-9), seed


@pytest.mark.parametrize("name", OPTIMA)
def test_portfolio_equals_brute_force(name: str) -> None:
    for seed in range(100, 400 if ALL else 150):
        best = OPTIMA[name](drawn(name, seed))
        if best is not None and isnan(best):
            continue
        result = solve(drawn(name, seed), threads=1)
        assert result.violations == (), seed
        assert (result.termination == "infeasible") == (best is None), seed
        if best is not None:
            assert result.proven, seed
            assert result.objective == pytest.approx(best, rel=1e-9), seed


@pytest.mark.parametrize(("name", "solver"), list(tables()))
def test_engine_that_is_stopped_has_a_valid_result(name: str, solver: str) -> None:
    stop = Event()
    stop.set()

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    for seed, model in taken(name, solver):
        if seed % 4 == 0:
            late = solve(model, solver=solver, time_limit=0.0, threads=1)
            assert late.violations == (), seed
            assert late.termination != "completed", seed
            result = solve(drawn(name, seed), solver=solver, stop=stop, threads=1)
            assert result.violations == (), seed
            assert result.proven or result.termination in ("interrupted", "infeasible"), seed
            for watch in (interrupt, lambda *_: True):
                result = solve(drawn(name, seed), solver=solver, watch=watch, threads=1)
                assert result.violations == (), seed


@pytest.mark.parametrize(("name", "solver"), list(tables(sorted(DRAWN.keys() - UNDECLARED))))
def test_engine_conflict_is_smallest(name: str, solver: str) -> None:
    for seed, model in taken(name, solver):
        if declared(name, seed).termination != "infeasible":
            continue
        result = solve(model, solver=solver, threads=1)
        if result.termination == "completed":
            continue  # an engine of samples alone cannot prove it
        rules = [*model.instance.constraints, *model.added]
        named = dict(zip((label(rule, i) for i, rule in enumerate(rules)), rules, strict=True))
        bare = msgspec.structs.replace(model.instance, constraints=())

        def holds(
            names: tuple[str, ...],
            model: Formulation = model,
            bare: Any = bare,
            named: dict[str, Any] = named,
        ) -> bool:
            some = type(model)(bare, **_settings(model)).add(*(named[name] for name in names))
            return solve(some, solver="model", threads=1).termination != "infeasible"

        assert not holds(result.conflict), seed
        for fewer in combinations(named, max(0, len(result.conflict) - 1)):
            assert not result.conflict or holds(fewer), seed


def _settings(model: Formulation) -> dict[str, Any]:
    return {key: value for key, value in model.options.items() if key in model.known_options}
