"""Mutation tests of checkers and declared models: one change at a time, and the tests run again.

``python -m benchmarks.mutation [ROOM...] [--each N] [--seed S] [--only WORD] [--file FILE]
[--probes N]``: so many changes (20) drawn for each module of a room of ``validation`` (dssp, epoch,
hesrpt, msfq, or documents for what they share) or of ``formulations`` (formulations/dssp and so
on): comparisons, signs, operators, constants, conditions and calls. A change is killed if a test of
the room that runs the function fails, or takes far longer. What becomes of changes is written to a
file; run again, those that were killed are not tried again. A change is made in the process, by
giving functions another code; what stands outside of functions is not changed. A change of a model
is first tried on so many random instances (1,000) of each formulation: it does not count where no
optimum of the declared model is another. Exit 1 below 95%.
"""

import argparse
import ast
import contextlib
import gc
import importlib
import io
import signal
import sys
import time
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from random import Random
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, NamedTuple

import msgspec
import pytest

from benchmarks.tables import kept, out

ROOT = Path(__file__).parent.parent
ROWS = ("dssp", "epoch", "hesrpt", "msfq")
ROOMS = ("documents", *ROWS, *(f"formulations/{row}" for row in ROWS))
FORGERIES = "tests/validation/test_forged.py"
FORGED = (
    "test_no_field_of_a_solution_may_be_another",
    "test_what_is_not_forged_passes",
    "test_a_certificate_shows_no_more_than_the_optimum",
    "test_no_forgery_passes",
)
SHARED = ("questions", "forged", "dssp_selection_checker", "msfq_checker")
"""Tests of what all rooms share."""
FURTHER = {
    "dssp": (
        "tests/formulations/test_dssp_season.py",
        "tests/judge/test_judged.py",
        "tests/schedopt/test_plan.py",
        "tests/solvers/test_dssp_objectives.py",
    )
}
"""Tests of a checker that do not name it."""
JUDGES = ("tests/contract/test_engines.py", "tests/judge")
"""Tests of all declared models, and of those of nights."""
ENOUGH = 0.95
PAIRS: tuple[tuple[type, type], ...] = (
    (ast.Lt, ast.LtE),
    (ast.Gt, ast.GtE),
    (ast.Eq, ast.NotEq),
    (ast.In, ast.NotIn),
    (ast.Is, ast.IsNot),
    (ast.Add, ast.Sub),
    (ast.Mult, ast.Div),
    (ast.And, ast.Or),
    (ast.BitAnd, ast.BitOr),
)
SWAPPED = dict(PAIRS) | {b: a for a, b in PAIRS} | {ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult}
NAMES = {"min": "max", "any": "all", "maximum": "minimum", "floor": "ceil"}
CALLED = NAMES | {b: a for a, b in NAMES.items()}
TURNED: dict[type, type] = {ast.LtE: ast.GtE, ast.GtE: ast.LtE}
Codes = dict[tuple[str, int], CodeType]  # by qualified name and first line
Functions = dict[tuple[str, int], list[FunctionType]]


class Change(NamedTuple):
    """A node in a field of another, at a place if it is a list, and what is put there."""

    parent: ast.AST
    field: str
    i: int
    node: ast.AST
    other: ast.AST

    def put(self, node: ast.AST) -> None:
        """Put a node at the place."""
        field = getattr(self.parent, self.field)
        if isinstance(field, list):
            field[self.i] = node
        else:
            setattr(self.parent, self.field, node)

    def __str__(self) -> str:
        line = getattr(self.node, "lineno", "?")
        return f"line {line}: {_short(self.node)}  ->  {_short(self.other)}"


def changed(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what may stand in the place of a node."""
    other: Any = deepcopy(node)
    if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPPED:
        for table in (SWAPPED, TURNED):
            if made := table.get(type(node.ops[0])):
                other = deepcopy(node)
                other.ops[0] = made()
                yield other
    elif isinstance(node, ast.BinOp | ast.BoolOp | ast.AugAssign) and type(node.op) in SWAPPED:
        other.op = SWAPPED[type(node.op)]()
        yield other
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield other.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield ast.Constant(node.value + 1 if isinstance(node.value, int) else 2 * node.value + 1e-3)
    elif isinstance(node, ast.If | ast.IfExp):
        other.test = ast.UnaryOp(ast.Not(), other.test)
        yield other
    elif isinstance(node, ast.Call):
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if name in CALLED:
            setattr(other.func, "id" if hasattr(node.func, "id") else "attr", CALLED[name])
            yield other
    elif isinstance(node, ast.Raise | ast.Continue) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    ):
        yield ast.Pass()


def codes(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of functions and methods, not of what is nested in them."""
    for const in code.co_consts:
        if isinstance(const, CodeType):
            is_function = const.co_flags & 1  # has fast locals: a class body has none
            yield from (const,) if is_function else codes(const)


def changes(function: ast.AST) -> Iterator[Change]:
    """Yield every change in a function, but for texts, types and lengths that must be the same."""
    texts = [node for node in ast.walk(function) if isinstance(node, ast.JoinedStr)]
    types = [
        getattr(node, key, None) for node in ast.walk(function) for key in ("annotation", "returns")
    ]
    said = {id(part) for node in [*texts, *types] if node is not None for part in ast.walk(node)}
    for parent in ast.walk(function):
        if id(parent) in said or (isinstance(parent, ast.keyword) and parent.arg == "strict"):
            continue
        for name, field in ast.iter_fields(parent):
            if name in ("annotation", "returns"):
                continue
            for i, node in enumerate(field if isinstance(field, list) else [field]):
                if isinstance(node, ast.AST):
                    for other in changed(node):
                        yield Change(parent, name, i, node, other)


def sampled(module: ModuleType, each: int, seed: int) -> tuple[int, list[tuple[str, Codes]]]:
    """Return how many changes a module has, and some of them: in words, with all codes after it."""
    path = Path(str(module.__file__))
    tree = ast.parse(path.read_text())
    made = (ast.FunctionDef, ast.ClassDef)
    every = [change for top in tree.body if isinstance(top, made) for change in changes(top)]
    before = _by_place(tree, path)
    found = []
    for change in Random(f"{seed} {module.__name__}").sample(every, min(each, len(every))):  # noqa: S311
        words = str(change)
        change.put(change.other)
        after = _by_place(tree, path)
        change.put(change.node)
        if after != before:  # else it stands in a class, outside of its functions
            found.append((words, after))
    return len(every), found


def _by_place(tree: ast.AST, path: Path) -> Codes:
    code = compile(ast.fix_missing_locations(tree), str(path), "exec")
    return {(each.co_qualname, each.co_firstlineno): each for each in codes(code)}


def _short(node: ast.AST) -> str:
    text = ast.unparse(ast.fix_missing_locations(node)).replace("\n", " ")
    return text if len(text) < 70 else f"{text[:67]}..."


def functions(module: ModuleType) -> Functions:
    """Return the functions that were made of a module's source, whoever holds them."""
    found: Functions = {}
    for each in gc.get_objects():
        if isinstance(each, FunctionType) and each.__code__.co_filename == module.__file__:
            code = each.__code__
            found.setdefault((code.co_qualname, code.co_firstlineno), []).append(each)
    return found


class SlowError(BaseException):
    """Tests go on and on."""


class First:
    """A plugin that runs first what failed last, and notes what each test runs of a layer."""

    def __init__(self, layer: str) -> None:
        self.layer = layer
        self.killers: list[str] = []
        self.seconds: dict[str, float] = {}
        self.ran: dict[str, set[CodeType]] = {}

    def pytest_sessionstart(self) -> None:
        """Leave examples that fail as they are: that one fails is enough."""
        from hypothesis import Phase, settings  # what pytest has not rewritten before, it warns of

        phases = (Phase.explicit, Phase.generate)
        settings.register_profile("mutation", settings.get_profile("schedopt"), phases=phases)
        settings.load_profile("mutation")

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Trace a test that was not run before."""
        if item.nodeid in self.ran:
            yield
            return
        seen = self.ran[item.nodeid] = set()
        began = time.process_time()
        sys.settrace(lambda frame, *_: seen.add(frame.f_code))
        yield
        sys.settrace(None)
        self.seconds[item.nodeid] = time.process_time() - began
        self.ran[item.nodeid] = {code for code in seen if self.layer in code.co_filename}

    def of(self, kept: list[tuple[FunctionType, CodeType]]) -> list[str]:
        """Return the tests that run some of these functions, the quickest first."""
        codes = {code for _, code in kept}
        return sorted((t for t in self.ran if self.ran[t] & codes), key=self.seconds.__getitem__)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Put tests in order."""
        rank = {name: -place - 1 for place, name in enumerate(self.killers)}
        items.sort(key=lambda item: (rank.get(item.nodeid, 1), self.seconds.get(item.nodeid, 0.0)))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what fails."""
        if report.failed:
            if report.nodeid in self.killers:
                self.killers.remove(report.nodeid)
            self.killers.append(report.nodeid)


def layer_of(room: str) -> str:
    """Return the layer that a room is in."""
    return "formulations" if "/" in room else "validation"


def tests(room: str) -> list[str]:
    """Return the tests of a room: forgeries, and those of its own, or that import it."""
    if room == "documents":
        return [f"tests/validation/test_{name}.py" for name in SHARED]
    if layer_of(room) == "formulations":
        row = room.partition("/")[2]
        some = [
            file for part in ("formulations", "solvers") for file in ROOT.glob(f"tests/{part}/*.py")
        ]
        others = " or ".join(other for other in ROWS if other != row)
        own = sorted(str(file) for file in some if f"formulations.{row}" in file.read_text())
        return ["-k", f"not ({others})", *JUDGES[: 1 + (row == "dssp")], *own]
    forged = [f"{FORGERIES}::{test}[{room}]" for test in FORGED]
    files = [
        file
        for part in ("validation", "solvers")
        for file in sorted(ROOT.glob(f"tests/{part}/test_*.py"))
        if f"validation/test_{room}_" in str(file) or f"validation.{room}" in file.read_text()
    ]
    return [*forged, *map(str, files), *FURTHER.get(room, ())]


def fails(some: list[str], first: First, seconds: float) -> bool:
    """Run tests up to the first that fails, in so much time of the processor."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise SlowError(number, frame)

    _forget()
    words = [
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "--no-header",
        "-o",
        "addopts=",
    ]
    words += ["-m", "not slow"]
    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            return pytest.main([*words, *some], plugins=[first]) != 0
    except SlowError:
        return True
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _forget() -> None:
    """Empty what checkers and models remember, and what tests do."""
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", "")).startswith(str(ROOT / "tests")):
            del sys.modules[name]
        if name.startswith(("schedopt.validation", "schedopt.formulations")):
            for each in vars(module).values():
                if hasattr(each, "cache_clear"):
                    each.cache_clear()
    facts = importlib.import_module("schedopt.validation.dssp.facts")
    facts._KEY += "'"  # under which instances keep what was worked out of them


def modules(room: str) -> list[ModuleType]:
    """Return the modules of a room that have functions."""
    layer, row = layer_of(room), room.rpartition("/")[2]
    names = ["documents", "report"]
    if room != "documents":
        files = sorted((ROOT / layer / row).glob("*.py"))
        names = [f"{row}.{file.stem}" if file.stem != "__init__" else row for file in files]
    return [importlib.import_module(f"schedopt.{layer}.{name}") for name in names]


class Probes:
    """Optima of the declared models of a row on random instances, with and without a change."""

    def __init__(self, row: str, count: int) -> None:
        self.row, self.count = row, count
        self.asked: list[tuple[Any, int]] = []
        self.right: list[str] = []

    def find(self) -> None:
        """Find the optima without a change, once; tests are imported by then."""
        if not self.asked:
            draws = importlib.import_module(f"contract.{self.row}").FORMULATIONS.values()
            self.asked = [(draw, seed) for seed in range(self.count) for draw in draws]
            self.right = [*map(self._optimum, range(len(self.asked)))]

    def changed(self) -> bool:
        """Tell whether some optimum is not what it was without a change."""
        return any(right not in (self._optimum(i), "") for i, right in enumerate(self.right))

    def _optimum(self, i: int) -> str:
        draw, seed = self.asked[i]
        try:
            solve = importlib.import_module("schedopt").solve
            found = solve(draw(Random(seed)), solver="model", threads=1, time_limit=10.0)  # noqa: S311
        except Exception as error:  # noqa: BLE001 - a change may raise anything
            return type(error).__name__
        if found.termination not in ("optimal", "infeasible"):
            return self.right[i] if self.right else ""  # it is not known
        return f"{found.termination} {found.objective and float(f'{found.objective:.6g}')}"


class Tried(msgspec.Struct, frozen=True):
    """What became of a change, as a line of a file says it."""

    module: str
    change: str
    killed: bool
    same: bool = False  # no optimum is another


def measured(room: str, words: argparse.Namespace) -> tuple[int, int]:
    """Print what becomes of changes in a room, by module; return how many, and how many killed."""
    first = First(layer_of(room))
    probes = Probes(room.partition("/")[2], words.probes) if "/" in room else None
    if fails(tests(room), first, 3_600.0):
        sys.exit(f"{room}: tests fail without a change: {first.killers}")
    gone = {(line.module, line.change): line for line in kept(words.file, Tried)}
    tried = killed = 0
    for module in modules(room):
        name = module.__name__.removeprefix("schedopt.").removeprefix("validation.")
        if words.only not in module.__name__:
            continue
        count, sample = sampled(module, words.each, words.seed)
        made, survivors, same = functions(module), [], 0
        for change, after in sample:
            line = gone.get((name, change))
            if line is None or not (line.killed or line.same):
                line = _tried(name, change, (first, made, after), probes)
                if words.file:
                    with words.file.open("ab") as lines:
                        lines.write(msgspec.json.encode(line) + b"\n")
            same += line.same
            survivors += [change] * (not line.killed and not line.same)
        tried, killed = tried + len(sample) - same, killed + len(sample) - same - len(survivors)
        of = (
            f"{len(sample) - same - len(survivors)} of {len(sample) - same} killed ({count} in all)"
        )
        out.print(f"{name}: {of}" + f", {same} change no optimum" * bool(same), markup=False)
        for change in survivors:
            out.print(f"  {change}", markup=False, soft_wrap=True)
    return tried, killed


def _tried(
    name: str, change: str, made: tuple[First, Functions, Codes], probes: Probes | None
) -> Tried:
    """Change functions; return whether an optimum changes, and a test that runs them fails."""
    first, functions, after = made
    changed = [
        (function, function.__code__)
        for key, code in after.items()
        for function in functions.get(key, [])
        if function.__code__ != code
    ]
    some = first.of(changed)
    if probes:
        probes.find()
    for function, before in changed:
        function.__code__ = after[before.co_qualname, before.co_firstlineno]
    try:
        if probes and not probes.changed():
            return Tried(name, change, killed=False, same=True)
        patience = 5 + 3 * sum(map(first.seconds.__getitem__, some))
        return Tried(name, change, bool(some) and fails(some, first, patience))
    finally:
        for function, before in changed:
            function.__code__ = before


def main() -> None:
    """Change, test, and tell; exit 1 where too many changes survive."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("rooms", nargs="*", default=[*ROOMS])
    given.add_argument("--each", type=int, default=20)
    given.add_argument("--seed", type=int, default=0)
    given.add_argument("--only", default="")
    given.add_argument("--file", type=Path)
    given.add_argument("--probes", type=int, default=1000)
    words = given.parse_args()
    sys.path.insert(0, str(ROOT / "tests"))
    tried = killed = 0
    for room in words.rooms:
        more, gone = measured(room, words)
        out.print(f"{room}: {gone} of {more}, {gone / max(more, 1):.1%}", markup=False)
        tried, killed = tried + more, killed + gone
    out.print(f"all: {killed} of {tried}, {killed / max(tried, 1):.1%}", markup=False)
    sys.exit(0 if killed >= ENOUGH * tried else 1)


if __name__ == "__main__":
    main()
