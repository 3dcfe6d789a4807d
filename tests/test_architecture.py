"""The import rules of the house: who may import whom, and that no two files import each other."""

import ast
import sys
from functools import cache
from pathlib import Path

import pytest
from builders.cli import ROOT, process

MAY_IMPORT = {
    "instances": set(),
    "formulations": {"instances"},
    "solvers": {"instances", "formulations"},
    "policies": {"instances", "formulations", "solvers"},
    "validation": {"instances", "formulations", "policies", "solvers"},
    "schedopt": {"instances", "formulations", "policies", "solvers", "validation"},
}
FILES = sorted(
    p for layer in MAY_IMPORT for p in (ROOT / layer).rglob("*.py")
)  # which follows no link


@cache
def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    parts = parts if parts[0] == "schedopt" else ("schedopt", *parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def layer_of(module: str) -> str:
    """Return the layer that a module is in: ``schedopt`` for the application."""
    second = module.split(".")[1:2]
    return second[0] if second and second[0] in MAY_IMPORT else "schedopt"


MODULES = {module_name(p) for p in FILES}


@cache
def imports(path: Path) -> frozenset[str]:
    """Return the modules of ours that a file imports, also inside functions."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(names & MODULES)


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_each_file_imports_only_what_its_layer_may(path: Path) -> None:
    layer = layer_of(module_name(path))
    for name in imports(path):
        target = layer_of(name)
        allowed = MAY_IMPORT[layer]
        assert target == layer or target in allowed, f"{module_name(path)} imports {name}"


READ_DECLARED_ROWS = {"schedopt.validation.dssp.bound"}
"""Checkers of certificates: the declared rows are the meaning of the problem."""

CHECKERS = [  # reproductions compare; they do not check
    path
    for path in FILES
    if layer_of(module_name(path)) == "validation"
    and not module_name(path).startswith("schedopt.validation.reproduce")
    and module_name(path) not in READ_DECLARED_ROWS
]


@pytest.mark.parametrize("path", CHECKERS, ids=module_name)
def test_checkers_share_no_code_with_what_they_check(path: Path) -> None:
    assert not any(layer_of(n) in ("formulations", "policies") for n in imports(path))


def test_no_two_files_import_each_other() -> None:
    graph = {module_name(p): imports(p) - {module_name(p)} for p in FILES}
    for package in list(graph):  # a package that gathers its own modules is no arrow up
        graph[package] = {n for n in graph[package] if not package.startswith(f"{n}.")}
    state: dict[str, int] = {}

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert state.get(name) != 1, f"a circle: {' -> '.join((*trail, name))}"
        if state.get(name) == 2:
            return
        state[name] = 1
        for target in sorted(graph[name]):
            visit(target, (*trail, name))
        state[name] = 2

    for name in graph:
        visit(name, ())


HEAVY = {"numba", "pyomo", "cvxpy", "ortools", "highspy", "polars", "scipy", "pandas"}


LIGHT = """
import sys
from importlib import import_module
for name in sys.argv[1:]:
    import_module(name)
    print(name, *{name.split(".")[0] for name in sys.modules})
"""


def test_a_module_pulls_in_only_what_it_needs() -> None:
    layers = (*MAY_IMPORT.keys() - {"schedopt"}, "problems")
    names = [
        *("schedopt", "schedopt.cli", "schedopt.verbs.explain", "schedopt.solvers.result"),
        *(f"schedopt.{layer}.{row}" for layer in sorted(layers) for row in sorted(ROWS)),
        *(f"schedopt.instances.{row}.generators" for row in sorted(ROWS)),
        "schedopt.formulations.dssp.selection",
        "schedopt.formulations.epoch.partition",
        "schedopt.formulations.epoch.rectangles",
        "schedopt.formulations.hesrpt.allocation",
        "schedopt.solvers.dssp.schedule",
        "schedopt.solvers.dssp.selection.knapsack",
    ]
    for line in process(sys.executable, "-c", LIGHT, *names).stdout.splitlines():
        module, *loaded = line.split()  # with what those before it have loaded
        assert not HEAVY & set(loaded), module


ROWS = {path.name for path in (ROOT / "schedopt" / "problems").iterdir() if path.is_dir()} - {
    "__pycache__"
}
