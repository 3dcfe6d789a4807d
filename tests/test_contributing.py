"""The recipes of CONTRIBUTING.md and docs/howto/problem.md; and the files a repository has."""

import json
import re
import sys
from pathlib import Path

from builders.cli import ROOT, process

TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PROBLEM = (ROOT / "docs" / "howto" / "problem.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    return TEXT.split(f"## {title}\n")[1].split("\n## ")[0]


def blocks(text: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)


def python(code: str, folder: Path = ROOT) -> str:
    place = {"PYTHONPATH": str(folder)}
    return process(sys.executable, "-c", code, directory=folder, env=place).stdout


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
    objective, violations = python(code + "\nassert result.checked").split()
    assert float(objective) > 0
    assert violations == "()"


VERBS = """
import sys
from schedopt.__main__ import main
if __name__ == "__main__":
    for words in {}:
        sys.argv[1:] = words
        try:
            main()
        except SystemExit as ended:
            assert not ended.code, words
"""


PLUGGED = """
import schedopt
for formulation in ("pick", "pick-whole"):
    result = schedopt.solve("some.json", formulation=formulation)
    assert result.proven and result.checked and not result.violations, result
    assert result.solution == schedopt.pick.Picked(picked="c")
    rule = schedopt.Forbid(jobs=("a", "c"), name="not a, c")
    none = schedopt.solve("some.json", formulation=formulation, constraints=[rule])
    assert none.termination == "infeasible" and set(none.conflict) == {"not b", "not a, c"}, none
(row,) = schedopt.bench("some.json")
assert row.gap == 0.5 and row.policy == "first", row
made = schedopt.generate("pick", seed=3, options={"count": 4})
assert schedopt.solve(made).objective == max(made.numbers.values())
few = schedopt.evaluate("example:night", "smallest-first+lcpf")
assert few.checked, few
made = schedopt.convert("two.oar")
assert made.name == "two", made
"""


BROKEN = """
import schedopt
try:
    schedopt.evaluate("example:night", "smallest-first")
except schedopt.InputError as error:
    print(error)
"""


def installed(folder: Path) -> None:
    """Write the recipes as a distribution that is installed in a folder."""
    for name, code in re.findall(r"^`([\w/.]+)\.py` —.*?```python\n(.*?)```", PROBLEM, re.M | re.S):
        layer = name.removeprefix("schedopt/").split("/")[0]
        path = folder / "schedopt_pick" / layer / f"{Path(name).name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(re.sub(r"schedopt\.(\w+)\.pick", r"schedopt_pick.\1", code))
    package = folder / "schedopt_pick"
    (package / "__init__.py").touch()
    (package / "mine.py").write_text(blocks(section("Add a policy"))[0])
    (package / "rules.py").write_text(blocks(section("Add a constraint kind"))[0])
    (package / "oar.py").write_text(
        "import schedopt\nfrom msgspec.structs import replace\nOPTIONS = {}\n"
        "def convert(path):\n    return replace(schedopt.example('two-shots'), name='two')\n"
    )
    (package / "own.sh").write_text("#: each job\necho {{job}}\n#: end\n")
    info = folder / "schedopt_pick-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: schedopt-pick\nVersion: 1.0\n")
    points = {
        "problems": "pick = schedopt_pick",
        "policies": "dssp.mine = schedopt_pick.mine",
        "constraints": "dssp.budget = schedopt_pick.rules:Budget",
        "converters": "dssp.oar = schedopt_pick.oar",
        "templates": "mine = schedopt_pick",
    }
    text = "".join(f"[schedopt.{kind}]\n{point}\n" for kind, point in points.items())
    (info / "entry_points.txt").write_text(text)


def test_another_distribution_adds_a_problem_and_parts_of_ours(tmp_path: Path) -> None:
    installed(tmp_path)
    (tmp_path / "two.oar").write_text("whatever")
    rules = [{"kind": "forbid", "jobs": ["b"], "name": "not b"}]
    numbers = {"problem": "pick", "name": "n", "numbers": {"a": 1, "b": 3, "c": 2}}
    (tmp_path / "some.json").write_text(json.dumps(numbers | {"constraints": rules}))
    rule = {"kind": "budget", "name": "budget", "price": 0.001, "money": 20_000}
    (tmp_path / "rules.json").write_text(json.dumps(rule))
    python(PLUGGED, tmp_path)
    verbs = (
        ["list"],
        ["doctor"],
        ["solve", "some.json", "-o", "result.json"],
        ["check", "some.json", "result.json"],
        ["evaluate", "some.json", "--policy=first"],
        ["generate", "pick", "--count=2", "-o", "made"],
        ["bench", "made", "--jobs=2", "--report=report.html"],
        ["plot", "result.json", "-o", "result.png"],
        ["solve", "example:night", "--constraints=rules.json", "-o", "ruled.json"],
        ["check", "example:night", "ruled.json"],
        ["plan", "example:night", "--template=own", "-o", "plan.sh"],
    )
    python(VERBS.format(verbs), tmp_path)
    assert (tmp_path / "plan.sh").read_text().startswith("echo ")
    assert (tmp_path / "report.html").stat().st_size > 10_000
    assert (tmp_path / "result.png").exists()
    (tmp_path / "schedopt_pick" / "mine.py").write_text("1 / 0\n")
    broken = python(BROKEN, tmp_path)
    assert "schedopt-pick: schedopt.policies dssp.mine: found ZeroDivisionError" in broken
