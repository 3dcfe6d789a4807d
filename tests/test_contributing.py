"""The recipes of CONTRIBUTING.md, executed as they stand; and the files a repository has."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
LAYERS = ["instances", "formulations", "policies", "solvers", "validation", "schedopt"]


def section(title: str) -> str:
    return TEXT.split(f"## {title}\n")[1].split("\n## ")[0]


def blocks(text: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)


def python(code: str, folder: Path = ROOT) -> str:
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_policy_recipe() -> None:
    code = "\n".join(blocks(section("Add a policy")))
    use = """
import schedopt
result = schedopt.evaluate("instances/dssp/night.json.gz", "smallest-first")
assert result.solution.demand <= result.solution.capacity
rows = schedopt.bench("instances/dssp/greedy-trap.json", policies=["greedy", "smallest-first"])
both = schedopt.evaluate("instances/dssp/night.json.gz", "smallest-first+most-tasks")
assert both.solution.completion.keys() == set(result.solution.selected)
shares = schedopt.evaluate("instances/hesrpt/twins.json", "by-root")
assert shares.violations == () and shares.checked
queue = schedopt.evaluate("instances/msfq/small.json", "widest-old")
assert queue.checked and not queue.violations and queue.objective > 0, queue
assert "in plain Python" in queue.message, queue.message
print(len(rows), len(result.solution.selected))
"""
    rows, selected = python(code + use).split()
    assert rows == "2"
    assert int(selected) > 30


def test_the_constraint_recipe() -> None:
    code = "\n".join(blocks(section("Add a constraint kind")))
    check = "\nassert result.solution.demand <= 20_000_000 and result.checked"
    objective, violations = python(code + check).split()
    assert float(objective) > 0
    assert violations == "()"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Copy the packages and add the recipe's problem to the copy."""
    for layer in LAYERS:
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / layer, tmp_path / layer, ignore=ignore)
    recipe = section("Add a problem")
    for name, code in re.findall(r"^`([\w/.]+\.py)` —.*?```python\n(.*?)```", recipe, re.M | re.S):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(code, encoding="utf-8")
    edits = {
        "instances/files.py": ('PROBLEMS = ("dssp",', 'PROBLEMS = ("dssp", "pick",'),
        "schedopt/catalog.py": (
            '    "dssp": {\n',
            '    "pick": {"pick": "formulations.pick:Pick"},\n    "dssp": {\n',
        ),
        "schedopt/contents.py": ("TITLES = {", 'TITLES = {"pick": "the largest number", '),
    }
    for name, (old, new) in edits.items():
        path = tmp_path / name
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")
    catalog = tmp_path / "schedopt" / "catalog.py"
    tiny = """TINY["pick"] = b'{"problem":"pick","name":"tiny","numbers":{"a":1}}'\n"""
    catalog.write_text(catalog.read_text(encoding="utf-8") + tiny, encoding="utf-8")
    return tmp_path


def test_the_problem_recipe(copy: Path) -> None:
    instance = copy / "some.json"
    numbers = {"a": 1, "b": 3, "c": 2}
    rules = [{"kind": "forbid", "jobs": ["b"], "name": "not b"}]
    document = {"problem": "pick", "name": "n", "numbers": numbers, "constraints": rules}
    instance.write_text(json.dumps(document))
    use = """
import schedopt
result = schedopt.solve("some.json")
assert result.solution.picked == "c" and result.checked and not result.violations, result
(row,) = schedopt.bench("some.json")
assert row.gap == 0.5 and row.policy == "first", row
from schedopt.verbs.contents import sections
assert {p["name"] for p in sections()["problems"]} >= {"dssp", "pick"}
from formulations.constraints import Forbid
none = schedopt.solve("some.json", constraints=[Forbid(jobs=("a", "c"), name="not a, c")])
assert none.termination == "infeasible" and set(none.conflict) == {"not b", "not a, c"}, none
"""
    python(use, copy)
    command = "import sys; sys.argv[1:] = {}; from schedopt.__main__ import main; main()"
    for words in (["list"], ["solve", "some.json"], ["evaluate", "some.json", "--policy=first"]):
        assert python(command.format(words), copy)
    python("from instances.schema import main; main()", copy)
    assert (copy / "instances" / "pick" / "schema.json").exists()


@pytest.mark.parametrize("name", ["LICENSE", "README.md", "CHANGELOG.md", "CITATION.cff"])
def test_the_papers_of_the_house_are_there(name: str) -> None:
    assert (ROOT / name).read_text(encoding="utf-8").strip()
