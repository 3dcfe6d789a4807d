"""The import rules of the house: who may import whom, and that no two files import each other."""

import ast
import re
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
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports(path: Path, *, lazy: bool = True) -> frozenset[str]:
    """Return the modules of ours that a file imports, with those inside functions or without."""
    tree = parsed(path)
    nodes = ast.walk(tree) if lazy else iter(tree.body)
    names: set[str] = set()
    for node in nodes:
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


def test_only_the_face_imports_validation() -> None:
    importers = {
        layer_of(module_name(p))
        for p in FILES
        if any(layer_of(n) == "validation" for n in imports(p))
    }
    assert importers <= {"schedopt", "validation"}


CHECKERS = [  # reproductions compare; they do not check
    path
    for path in FILES
    if layer_of(module_name(path)) == "validation"
    and not module_name(path).startswith("schedopt.validation.reproduce")
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


def test_no_file_is_too_long_to_read() -> None:
    others = [p for place in ("benchmarks", "docs", "tests") for p in (ROOT / place).rglob("*.py")]
    lengths = {p: len(p.read_text().splitlines()) for p in FILES + others}
    assert not {str(p): n for p, n in lengths.items() if n > (600 if "kernels" in p.stem else 450)}


LONG_FOR_A_REASON = {
    "policies.msfq.kernels.advance": "one event loop, compiled as a whole: calls cost speed",
    "validation.reproduce.cycle_kernels.simulate_cycles": "one compiled loop",
}
"""Functions of over 60 lines, signatures and docstrings apart, and why they are one."""


def functions(path: Path) -> dict[str, int]:
    """Return the lines of the body of each function in a file, docstrings apart."""
    found = {}
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.FunctionDef) and node.end_lineno:
            first = node.body[0]
            text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
            told = (first.end_lineno or 0) - first.lineno + 1 if text else 0
            length = node.end_lineno - first.lineno + 1 - told
            found[f"{module_name(path)}.{node.name}".removeprefix("schedopt.")] = length
    return found


def test_no_function_needs_scrolling() -> None:
    lengths = {name: n for path in FILES for name, n in functions(path).items()}
    long = {name for name, n in lengths.items() if n > 60}
    assert long == set(LONG_FOR_A_REASON)


ROWS = {path.name for path in (ROOT / "schedopt" / "problems").iterdir() if path.is_dir()} - {
    "__pycache__"
}
FACE = ROOT / "schedopt" / "__init__.py"  # names the rows once more, for editors alone
APPLICATION = [
    path
    for path in FILES
    if layer_of(module_name(path)) == "schedopt"
    and path != FACE
    and not module_name(path).startswith("schedopt.problems.")
]


def rows_named(path: Path) -> set[str]:
    """Return the rows that a file names in code: docstrings and the help of verbs are words."""
    tree = parsed(path)
    words: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            words.add(node.id)
        elif isinstance(node, ast.Attribute):
            words.add(node.attr)
        elif isinstance(node, ast.ImportFrom) and node.module:
            words |= {*node.module.split("."), *(alias.name for alias in node.names)}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            words.add(node.value)  # one that is a row's name and nothing else
    return words & ROWS


def test_rows_are_found() -> None:
    assert len(ROWS) >= 4
    assert rows_named(FACE) == ROWS


@pytest.mark.parametrize("path", APPLICATION, ids=module_name)
def test_nothing_but_its_own_folder_names_a_row(path: Path) -> None:
    assert not rows_named(path)


@pytest.mark.parametrize(
    "path", [p for p in FILES if layer_of(module_name(p)) == "formulations"], ids=module_name
)
def test_formulations_declare_and_solve_nothing(path: Path) -> None:
    tree = parsed(path)
    called = {
        node.func.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    assert not called & {"solve", "Solve", "optimize", "run"}
    imported = {
        layer_of(name) if name.startswith("schedopt.") else name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else [alias.name for alias in node.names]
        )
    }
    assert not imported & {"highspy", "clarabel", "numba", "solvers"}


@pytest.mark.parametrize("layer", ["formulations", "solvers", "schedopt"])
def test_types_say_what_there_is(layer: str) -> None:
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / layer).rglob("*.py")]
    lines = sum(text.count("\n") for text in texts)
    anything = sum(len(re.findall(r"\bAny\b", text)) for text in texts)
    assert anything * 1000 < 16 * lines


def test_solvers_have_one_clock_and_kernels_one_compiler() -> None:
    """Two clocks in one deadline would differ by what compiling took."""
    own = {ROOT / "solvers" / "clock.py", ROOT / "solvers" / "compiling.py"}
    for path in set(FILES) - own:
        text = path.read_text(encoding="utf-8")
        assert "from numba import njit" not in text, f"{path}: take it from solvers.compiling"
        if path.is_relative_to(ROOT / "solvers"):
            assert "perf_counter" not in text, f"{path}: ask solvers.clock.now"


def test_few_lines_are_kept_from_the_type_checker() -> None:
    kept = [path for path in FILES for _ in re.findall("type: ignore", path.read_text("utf-8"))]
    assert len(kept) < 8, kept


def test_one_place_turns_records_into_json() -> None:
    """So numbers of numpy are written as Python's wherever a result goes."""
    writers = [path for path in FILES if "msgspec.json.encode" in path.read_text(encoding="utf-8")]
    assert [path.name for path in writers] == ["encoding.py"]
