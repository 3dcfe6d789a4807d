"""What is installed, what is said where an extra is missing, and that measurements are there."""

import json
import subprocess
import sys
import tomllib
import warnings
from importlib import import_module
from pathlib import Path

import pytest
from builders.cli import ROOT, process

import schedopt
from schedopt.instances.extras import EXTRAS, OPENS

LAYERS = ("instances", "formulations", "solvers", "policies", "validation")


def test_wheel_installs_one_package(installed: Path) -> None:
    assert {path.name for path in installed.iterdir() if path.suffix != ".dist-info"} == {
        "schedopt"
    }
    for layer in LAYERS:
        assert (installed / "schedopt" / layer / "__init__.py").is_file()


HOSTILE = """
import schedopt
for name in ("two-shots", "twins", "fig8", "small"):
    result = schedopt.solve(f"example:{name}")
    assert result.solution is not None and not result.violations, result
    print(name, result.objective, schedopt.__file__)
"""


def test_wheel_works_beside_files_named_like_layers(installed: Path, tmp_path: Path) -> None:
    for name in ("solvers", "policies", "validation", "formulations"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('the wrong file')\n")
    (tmp_path / "instances").mkdir()
    (tmp_path / "instances" / "__init__.py").write_text("raise RuntimeError('the wrong file')\n")
    (tmp_path / "mine.py").write_text(HOSTILE)
    found = {"PYTHONPATH": str(installed)}
    done = process(sys.executable, "mine.py", directory=tmp_path, env=found)
    lines = done.stdout.splitlines()
    assert len(lines) == 4
    assert all(str(installed) in line for line in lines)


WITHOUT = """
import sys
for package in sys.argv.pop(1).split(","):
    sys.modules[package] = None  # whoever imports it is told that there is none
"""
COMMAND = "from schedopt.__main__ import main; main()"
NEEDING = {
    "schedule": "solve example:night --formulation schedule --solver cp-sat",
    "hesrpt": "solve example:teams --solver model",
    "msfq": "solve example:small --solver model",
    "fast": "evaluate example:one-or-all --policy msf --option arrivals=2000000",
    "tables": "bench example:two-shots --policy greedy --output rows.parquet",
    "plot": "plot example:night --output night.png",
    "cluster": "bench example:two-shots --policy greedy --cluster tcp://localhost:1",
    "scip": "solve example:night --solver scip",
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


CALL = """
import schedopt
try:
    schedopt.solve("example:night", solver="scip")
except schedopt.MissingExtraError as error:
    assert isinstance(error, ImportError) and isinstance(error, schedopt.InputError)
    print(error.name)
"""


def test_call_raises_an_error_for_a_missing_extra(tmp_path: Path) -> None:
    done = run_without(["pyscipopt"], CALL, folder=tmp_path)
    assert done.stdout.split() == ["pyscipopt"], done.stderr


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


@pytest.mark.parametrize("name", ["plan.sh", "plan.csv"])
def test_base_install_writes_a_plan_as_script_and_csv(name: str, tmp_path: Path) -> None:
    farm = Path(__file__).parents[1] / "instances" / "dssp" / "farm.csv"
    hours = ("--from", "2026-11-22T20:00+01:00", "--until", "06:00", "--seats", "houdini=3")
    words = ("plan", str(farm), "--processors", "6", *hours, "--output", name)
    done = run_without(list(EXTRAS), COMMAND, *words, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "opening titles" in (tmp_path / name).read_text()


def test_extras_bring_their_packages() -> None:
    project = Path(__file__).parents[1] / "pyproject.toml"
    extras = tomllib.loads(project.read_text())["project"]["optional-dependencies"]
    for package, extra in EXTRAS.items():
        assert any(brought.startswith(package) for brought in extras[extra])
    assert set(OPENS) == set(EXTRAS.values()) == set(NEEDING)
    (whole,) = extras["all"]
    several = set(whole.removeprefix("schedopt[").removesuffix("]").split(","))
    assert several == set(OPENS) - {"cluster", "scip"}


MODULES = {path.stem for path in (ROOT / "benchmarks").glob("*.py")} - {"__init__"}
MODULES |= {"simulators.__main__", "slurm.__main__"}


def test_benchmarks_can_be_imported() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in sorted(MODULES):
            import_module(f"benchmarks.{name}")
