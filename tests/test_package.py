"""The package: what is installed, extras, engines beside each other, threads, and types."""

import json
import re
import subprocess
import sys
import warnings
from importlib import import_module
from itertools import permutations, product
from pathlib import Path
from random import Random

import highspy
import pytest
from builders.cli import ROOT, process
from ortools.sat.python import cp_model

import schedopt
from schedopt.instances.extras import EXTRAS, OPENS
from schedopt.verbs.explain import doctor

LAYERS = ("instances", "formulations", "solvers", "policies", "validation")


def test_wheel_installs_one_package(installed: Path) -> None:
    assert {path.name for path in installed.iterdir() if path.suffix != ".dist-info"} == {
        "schedopt"
    }
    for layer in LAYERS:
        assert (installed / "schedopt" / layer / "__init__.py").is_file()
    for name in ("page.html", "page.css", "page.js"):
        assert (installed / "schedopt" / "report" / name).is_file()


WITHOUT = """
import sys
for package in sys.argv.pop(1).split(","):
    sys.modules[package] = None  # whoever imports it is told that there is none
"""
COMMAND = "from schedopt.__main__ import main; main()"
NEEDING = {
    "schedule": "solve example:night --formulation schedule --solver cp-sat",
    "fast": "evaluate example:one-or-all --policy msf --option arrivals=2000000",
    "tables": "bench example:two-shots --policy greedy --output rows.parquet",
    "cluster": "bench example:two-shots --policy greedy --cluster tcp://localhost:1",
}
BASE = """
import json, schedopt
told = {}
OPTIONS = {"processors": 6, "start": "20:00", "deadline": "06:00", "seats:houdini": 3}
for name in ("night", "farm", "teams", "fig7", "small"):
    if name == "farm":
        night = schedopt.convert(sys.argv[1], options=OPTIONS)
        schedopt.dump(night, "farm.json")
    result = schedopt.solve("farm.json" if name == "farm" else f"example:{name}", certificate=True)
    told[name] = [result.objective, result.bound, result.solution_status, *result.violations]
queue = schedopt.evaluate("example:one-or-all", "msfq", options={"arrivals": 2000})
told["queue"] = [queue.objective]
print(json.dumps(told))
"""


def run_without(
    packages: list[str], code: str, *words: str, folder: Path
) -> subprocess.CompletedProcess[str]:
    words = (sys.executable, "-c", WITHOUT + code, ",".join(packages), *words)
    return subprocess.run(words, capture_output=True, text=True, check=False, cwd=folder)


@pytest.mark.parametrize("extra", NEEDING)
def test_verbs_name_a_missing_extra_before_any_work(extra: str, tmp_path: Path) -> None:
    packages = [package for package, brings in EXTRAS.items() if brings == extra]
    done = run_without(packages, COMMAND, *NEEDING[extra].split(), folder=tmp_path)
    (line,) = done.stderr.splitlines()
    assert line.startswith("schedopt: ")
    assert line.endswith(f'{OPENS[extra]}: pip install "schedopt[{extra}]"')
    assert (done.returncode, done.stdout, [*tmp_path.iterdir()]) == (2, "", [])


def test_base_install_solves_checks_and_simulates_every_problem(tmp_path: Path) -> None:
    farm = Path(__file__).parents[1] / "instances" / "dssp" / "farm.csv"
    done = run_without(list(EXTRAS), BASE, str(farm), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    compiled = schedopt.evaluate("example:one-or-all", "msfq", options={"arrivals": 2000})
    assert told.pop("queue") == [compiled.objective]
    for name, (objective, bound, status) in told.items():
        what = tmp_path / "farm.json" if name == "farm" else f"example:{name}"
        assert (status, objective) == ("optimal", pytest.approx(bound, rel=1e-6))
        assert objective == pytest.approx(schedopt.solve(what).objective, rel=1e-9)


def test_base_install_writes_a_plan_as_script_and_csv(tmp_path: Path) -> None:
    farm = Path(__file__).parents[1] / "instances" / "dssp" / "farm.csv"
    hours = ("--from", "2026-11-22T20:00+01:00", "--until", "06:00", "--seats", "houdini=3")
    outputs = ("--output", "plan.sh", "--output", "plan.csv")
    words = ("plan", str(farm), "--processors", "6", *hours, *outputs)
    done = run_without(list(EXTRAS), COMMAND, *words, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    for name in ("plan.sh", "plan.csv"):
        assert "opening titles" in (tmp_path / name).read_text()


MODULES = {path.stem for path in (ROOT / "benchmarks").glob("*.py")} - {"__init__"}
MODULES |= {"simulators.__main__", "slurm.__main__"}


def test_benchmarks_can_be_imported() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in sorted(MODULES):
            import_module(f"benchmarks.{name}")


# --- engines ---

SOLVED = """
import schedopt
for name, solver in (("two-shots", "highs"), ("fig8", "cp-sat"), ("twins", "model")):
    assert schedopt.solve(f"example:{name}", solver=solver).proven, name
print("well")
"""


@pytest.mark.parametrize("order", list(permutations(["highspy", "ortools", "cvxpy"]))[::5])
def test_engines_live_together_in_every_order(order: tuple[str, ...]) -> None:
    head = "".join(f"import {name}\n" for name in order)
    head = head.replace("import ortools\n", "import ortools.sat.python.cp_model, ortools\n")
    assert process(sys.executable, "-c", head + SOLVED).stdout.strip() == "well"


def test_doctor_finds_every_engine_well() -> None:
    findings = {finding.name: finding for finding in doctor()}
    assert False not in [finding.ok for finding in findings.values()]
    tried = {name.split(" ")[1] for name in findings if name.startswith("engine ")}
    assert tried >= {"priced-core", "highs", "scip", "cp-sat", "model"}


PROGRAMS = {
    "min\n 2 x + 3 y\nst\n x + y >= 4.5\nbounds\n x <= 10\n y <= 10\ngeneral\n y\nend\n": 9,
    "min\n 2 y + 99999 z\nst\n x + y = 10\n x - 100 z <= 0\nbinary\n z\nend\n": 20,
    "min\n 100 x + 0.01 y\nst\n x + z = 3\n z - y <= 0\n - y - z <= 0\n z <= 3\n - z <= -0.45\n"
    "general\n z\nend\n": 0.03,
}
"""HiGHS 2957, 2975 and 3073, of which 1.14.0 finds 15, 99,999 and 200.01: presolve fixes a whole
column to a wrong value."""


@pytest.mark.parametrize("program", PROGRAMS)
def test_presolve_keeps_the_optimum(program: str, tmp_path: Path) -> None:
    (tmp_path / "model.lp").write_text(program)
    engine = highspy.Highs()
    engine.silent()
    engine.readModel(str(tmp_path / "model.lp"))
    engine.run()
    assert engine.getObjectiveValue() == pytest.approx(PROGRAMS[program])


@pytest.mark.parametrize("seed", range(2))
def test_sums_beyond_31_bits_do_not_wrap_in_cp_sat(seed: int) -> None:
    """or-tools 5293: an enforced row over at-most-ones, its terms beyond 2^31 together."""
    draw, count = Random(seed), 8  # noqa: S311
    sizes = [draw.randint(2**28, 2**30) for _ in range(count)]
    worth = [*(draw.randint(1, 9) for _ in range(count)), 4]
    room, apart = sum(sizes) // 2, draw.sample(range(count), 3)
    best = max(
        sum(w * x for w, x in zip(worth, chosen, strict=True))
        for chosen in product((0, 1), repeat=count + 1)
        if sum(chosen[j] for j in apart) <= 1
        and (not chosen[-1] or sum(a * x for a, x in zip(sizes, chosen, strict=False)) <= room)
    )
    model = cp_model.CpModel()
    x = [model.new_bool_var(str(j)) for j in range(count + 1)]
    model.add_at_most_one(x[j] for j in apart)
    row = model.add(cp_model.LinearExpr.weighted_sum(x[:count], sizes) <= room)
    row.only_enforce_if(x[-1])
    model.maximize(cp_model.LinearExpr.weighted_sum(x, worth))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    assert solver.status_name(solver.solve(model)) == "OPTIMAL"
    assert solver.objective_value == best


# --- threads and types ---

SERVICE = """
import gc, signal
from concurrent.futures import ThreadPoolExecutor
import schedopt

solvers = {
    "night": [None, "model", "highs"],
    "twins": [None, "model"],
    "fig7": [None, "model"],
    "small": [None],
}
tasks = 2 * [(name, solver) for name in solvers for solver in solvers[name]]

def run(task):
    name, solver = task
    result = schedopt.solve(schedopt.example(name), solver=solver)
    return result.termination, result.objective, result.checked, result.violations

state = gc.isenabled(), gc.get_threshold(), signal.getsignal(signal.SIGINT)
with ThreadPoolExecutor(6) as pool:
    together = list(pool.map(run, tasks))
alone = [run(task) for task in tasks]
assert together == alone, [(t, a, b) for t, a, b in zip(tasks, together, alone) if a != b]
assert all(checked and not violations for *_, checked, violations in together)
assert state == (gc.isenabled(), gc.get_threshold(), signal.getsignal(signal.SIGINT))
"""


def test_threads_of_a_new_process_get_what_one_thread_gets() -> None:
    assert process(sys.executable, "-W", "error", "-c", SERVICE).stderr == ""


APP = """
import schedopt
from schedopt import Result

night = schedopt.load("night.json")
selection = schedopt.dssp.Selection(night, fill=0.9).add(
    schedopt.FairShare(by="team", at_most={"fx": 0.15})
)
result = schedopt.solve(selection, time_limit=5)
reveal_type(result)  # type: Result[Selected]
reveal_type(result.objective)  # type: float | None
reveal_type(schedopt.solve(schedopt.dssp.Schedule(night)).solution)  # type: Scheduled | None
reveal_type(schedopt.solve(schedopt.hesrpt.Allocation(night)).solution)  # type: Allocated | None
reveal_type(schedopt.solve(schedopt.epoch.Partition(night)).solution)  # type: Partitioned | None
reveal_type(schedopt.solve(schedopt.msfq.Threshold(night)).solution)  # type: Thresholded | None
reveal_type(schedopt.solve("night.json"))  # type: Result[Any]
reveal_type(schedopt.solve(night))  # type: Result[Any]
reveal_type(schedopt.plan("farm.csv", processors=6, from_="20:00"))  # type: NightPlan
reveal_type(schedopt.load("night.json", problem="dssp"))  # type: Instance
schedopt.dssp.Selection(schedopt.example("night"))
schedopt.dssp.Selection(schedopt.generate("dssp"))


def stop_early(seconds: float, best: float | None, bound: float | None) -> bool:
    return best is not None


schedopt.solve(selection, watch=stop_early)
try:
    schedopt.solve(night, formulation="schedule")
except schedopt.MissingExtraError as error:
    error.name

schedopt.plan("farm.csv", procesors=6)  # error: call-arg
schedopt.solve(night, time_limit="5")  # error: arg-type
schedopt.solvee(night)  # error: attr-defined
schedopt.dssp.Selectoin(night)  # error: attr-defined
schedopt.msfq.Treshold(night)  # error: attr-defined
result.solution.selected  # error: union-attr
"""


def test_mypy_sees_the_types_of_the_api_and_reports_what_is_misspelt(tmp_path: Path) -> None:
    app = tmp_path / "app.py"
    app.write_text(APP)
    words = [sys.executable, "-m", "mypy", "--hide-error-context", str(app)]
    # From the repository, whose settings are strict, mypy takes what `make test` has analysed.
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT)
    seen = {}
    for line, text in re.findall(r"^.*app\.py:(\d+): (.*)$", done.stdout, re.MULTILINE):
        if revealed := re.fullmatch(r'note: Revealed type is "(.*)"', text):
            seen[int(line)] = "type: " + re.sub(r"\b\w+\.", "", revealed[1])
        elif text.startswith("error: "):
            seen[int(line)] = "error: " + text.rsplit("[", 1)[1].rstrip("]")
    lines = enumerate(APP.splitlines(), start=1)
    assert seen == {i: line.split("  # ")[1] for i, line in lines if "  # " in line}, done.stdout
