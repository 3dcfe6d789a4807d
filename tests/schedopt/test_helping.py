"""Help where one stands: explain, new, completion, the help of solve, messages with the form."""

import json
import re
import sys
from pathlib import Path

import msgspec
import pytest
from builders.cli import invoked, process, refused
from builders.refusals import refusal

import schedopt
from schedopt.instances.errors import InputError
from schedopt.instances.files import PROBLEMS, parse
from schedopt.problems import problem, problems
from schedopt.verbs.constraints import read_constraints
from schedopt.verbs.explain import everything

KINDS = [(record.name, kind) for record in problems() for kind in record.constraint_kinds()]


@pytest.mark.parametrize("name", PROBLEMS)
def test_what_new_writes_is_commented_loads_and_solves(name: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    invoked("new", name, "--output", file)
    assert file.read_text().count("\n//") > 5
    found = json.loads(invoked("solve", file, "--json"))
    assert (found["solution_status"], found["violations"]) == ("optimal", [])
    bare = invoked("new", name, "--json")
    assert json.loads(bare)["problem"] == name
    assert parse(bare.encode()) == schedopt.load(file)


@pytest.mark.parametrize(("name", "kind"), KINDS)
def test_the_example_of_each_kind_can_be_pasted(name: str, kind: str, tmp_path: Path) -> None:
    (said,) = [entry for entry in schedopt.explain(kind) if entry.what == "side constraint"]
    assert name in said.problems
    assert all(field["says"] for field in said.fields), said.fields
    assert len({field["says"] for field in said.fields}) == len(said.fields)
    rules = tmp_path / "rules.json"
    rules.write_text(json.dumps(said.example))
    (rule,) = read_constraints(rules, name)
    same = eval(said.python, {"schedopt": schedopt})  # noqa: S307
    assert json.loads(msgspec.json.encode(rule)) == json.loads(msgspec.json.encode(same))
    taken = [form for form in problem(name).formulation_homes if takes(name, form, rule)]
    assert taken
    if problem(name).formulation(taken[0]).engine == "pyomo":  # quick
        instance = parse(problem(name).commented())
        assert schedopt.solve(instance, constraints=[rule]).solution_status == "optimal"


def takes(name: str, formulation: str, rule: schedopt.Constraint) -> bool:
    """Tell whether a formulation of what `new` writes takes a side constraint."""
    try:
        problem(name).formulation(formulation)(parse(problem(name).commented())).add(rule)
    except InputError:
        return False
    return True


def test_everything_says_what_it_is_and_how_it_is_used() -> None:
    entries = list(everything())
    assert all(entry.definition and entry.summary for entry in entries)
    assert not any("::" in entry.definition for entry in entries)
    assert all(entry.source for entry in entries if entry.what in ("policy", "generator"))
    names = {entry.name for entry in entries}
    assert names >= {"fair-share", "lcpf", "hesrpt", "easy", "selection", "planted"}
    assert "did you mean 'fair-share'?" in refused("explain", "fare-share")
    shown = invoked("explain", "fair-share")
    assert '{"kind": "fair-share"' in shown
    assert "required" in shown


def test_comments_are_passed_over_and_places_stay_what_they_are() -> None:
    text = b'// first\n{"problem": "epoch", "name": "x", // no\n'
    assert "line 2, column 35" in str(refusal(parse, text))
    url = b'{"problem":"epoch","name":"http://x\\n// y","nodes":2,"inequity":0,"jobs":[\n  // one\n'
    assert parse(url + b'{"name":"a","minimum":1}]}').name == "http://x\n// y"


MAIN = "import sys; sys.argv[0] = 'schedopt'; from schedopt.__main__ import main; main()"


def completed(words: str) -> list[str]:
    """Return what bash is offered for the last word of a command line."""
    given = {"_SCHEDOPT_COMPLETE": "complete_bash", "COMP_WORDS": words}
    given["COMP_CWORD"] = str(words.count(" "))
    return process(sys.executable, "-c", MAIN, env=given).stdout.split()


def test_a_shell_completes_verbs_and_flags() -> None:
    assert completed("schedopt ev") == ["evaluate"]
    assert completed("schedopt solve --certi") == ["--certificate"]


def test_completion_is_installed(tmp_path: Path) -> None:
    line = f'{sys.executable} -c "{MAIN}" --install-completion; true'
    done = process("bash", "-c", line, env={"HOME": str(tmp_path)})
    assert "completion installed" in done.stdout, done.stderr
    script = next(
        path for path in tmp_path.rglob("*") if path.is_file() and "schedopt" in path.name
    )
    assert "complete -o default -F" in script.read_text()
    assert "schedopt" in process("bash", "-c", f"source {script} && complete -p schedopt").stdout


def test_flags_are_those_of_the_functions() -> None:
    shown = " ".join(invoked("solve", "--help").split())
    flags = {"--formulation", "--time-limit", "--option", "--confirm", "--threads", "--risk"}
    assert flags <= set(re.findall(r"--[a-z-]+", shown))
    assert "--watch" not in shown
    assert "--many" not in shown
