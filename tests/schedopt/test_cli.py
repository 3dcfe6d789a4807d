"""The command line as users meet it: what it prints, writes and explains, how it exits."""

import json
import os
import pty
import re
import signal
import subprocess
from contextlib import suppress
from inspect import signature
from pathlib import Path
from typing import Any

import msgspec
import pytest
from builders.cli import COMMAND, ROOT, invoked, refused, run
from builders.refusals import refusal
from typer.main import get_command

import schedopt
from schedopt.cli.app import app, flag_of
from schedopt.instances.errors import InputError
from schedopt.instances.files import PROBLEMS, dump, load, parse
from schedopt.problems import problem, problems
from schedopt.verbs.explain import everything
from schedopt.verbs.generate import generate
from schedopt.verbs.load import read_constraints

BUNDLED = ROOT / "instances" / "dssp"


def test_solve_check_and_a_result_that_was_tampered_with(tmp_path: Path) -> None:
    night, rules, result = (tmp_path / name for name in ("night.json.gz", "rules.json", "r.json"))
    run("generate", "dssp", "--seed", 3, "--output", night)
    rule = {"kind": "fair-share", "by": "team", "at_most": {"lighting": 0.3}, "name": "cap"}
    rules.write_text(json.dumps([rule]))
    done = run("solve", night, "--constraints", rules, "--json", "--output", result)
    document = json.loads(done.stdout)
    assert json.loads(result.read_text()) == document
    assert (document["gap"], document["violations"], document["checked"]) == (0.0, [], True)
    assert document["solution"]["shares"]["team"]["lighting"] <= 0.3 + 1e-9
    assert "holds" in run("check", night, result).stdout

    others = [job.name for job in load(night).jobs]
    others = [name for name in others if name not in document["solution"]["selected"]]
    document["solution"]["selected"][0] = others[0] if others else "nobody"
    result.write_text(json.dumps(document))
    assert "the selected jobs earn" in run("check", night, result, status=1).stdout


def test_solve_names_conflicting_rules_and_exits_3() -> None:
    done = run("solve", BUNDLED / "conflict.json", "--json", status=3)
    document = json.loads(done.stdout)
    assert set(document["conflict"]) == {"lighting-floor", "fx-floor", "trailer-tonight"}
    assert document["termination"] == "infeasible"
    shown = run("solve", BUNDLED / "conflict.json", status=3).stdout
    assert "cannot hold together" in shown


def test_solve_without_a_solution_at_the_time_limit_exits_4(tmp_path: Path) -> None:
    instance = generate("dssp", "subset-sum", seed=1, options={"jobs": 60, "range": 1000000})
    half = sum(job.demand for job in instance.jobs) / 3
    jobs = {job.name: job.demand for job in instance.jobs}
    exactly = [  # a sum to hit to the unit: nothing is found at once
        {"kind": "resource", "name": "most", "capacity": half, "use": jobs},
        {"kind": "fair-share", "by": "all", "at_least": {"x": half / instance.capacity()}},
    ]
    grouped = [msgspec.structs.replace(job, groups={"all": "x"}) for job in instance.jobs]
    dump(msgspec.structs.replace(instance, jobs=tuple(grouped)), tmp_path / "i.json")
    (tmp_path / "c.json").write_text(json.dumps(exactly))
    words = ["--constraints", tmp_path / "c.json", "--time-limit", 0, "--json"]
    document = json.loads(run("solve", tmp_path / "i.json", *words, status=4).stdout)
    assert (document["termination"], document["solution_status"]) == ("time-limit", "none")
    assert document["objective"] is None


def test_solve_writes_the_incumbent_when_interrupted_and_exits_130(tmp_path: Path) -> None:
    instance = generate("dssp", "strongly-correlated", seed=1, options={"jobs": 1000})
    dump(instance, tmp_path / "hard.json")
    words = ["solve", tmp_path / "hard.json", "--solver", "highs", "--output", tmp_path / "r.json"]
    terminal, end = pty.openpty()  # at a terminal it says what it has found
    command = [*COMMAND, *map(str, words)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=end)
    os.close(end)
    said = b""
    while not re.search(rb"best [\d,]+", said):
        said += os.read(terminal, 4096)
    process.send_signal(signal.SIGINT)
    with suppress(OSError):  # which is how the terminal says that the other end is closed
        while said := os.read(terminal, 4096):
            pass
    os.close(terminal)
    assert process.wait() == 130, said
    document = json.loads((tmp_path / "r.json").read_text())
    assert document["termination"] == "interrupted"
    assert document["objective"] > 0
    assert document["bound"] >= document["objective"]


def test_evaluate_of_a_policy_that_does_not_apply_exits_2(tmp_path: Path) -> None:
    text = (BUNDLED / "two-shots.json").read_text().replace('"reward": 5', '"reward": 5.5')
    (tmp_path / "i.json").write_text(text)
    words = ["--policy", "dp-profits", "--json"]
    done = run("evaluate", tmp_path / "i.json", *words, status=2)
    assert json.loads(done.stdout)["termination"] == "not-applicable"
    assert done.stderr.count("\n") == 1
    assert "whole rewards" in done.stderr


def test_list_help_and_version_print() -> None:
    sections = json.loads(run("list", "--json").stdout)
    assert {p["name"] for p in sections["policies"]} >= {"greedy", "core", "fptas", "dp-profits"}
    dssp = [f["name"] for f in sections["formulations"] if f["problem"] == "dssp"]
    assert dssp == ["selection", "schedule", "season"]
    assert "fair-share" in run("list", "constraints").stdout
    overview = run("--help").stdout
    for verb in ("solve", "evaluate", "bench", "summary", "check", "generate", "convert", "list"):
        assert "Example: schedopt" in run(verb, "--help").stdout
        assert verb in overview
    assert run("--version").stdout.startswith("schedopt ")


NIGHT = str(BUNDLED / "night.json.gz")
WRONG = [
    (["solve", "nowhere.json"], ["nowhere.json", "a file that exists"]),
    (["convert", "nowhere.csv"], ["nowhere.csv", "a file that exists"]),
    (["solve", NIGHT, "--solver", "higs"], ["'higs'", "highs"]),
    (["solve", NIGHT, "--solver", "core"], ["--solver: core", "no team over 30%"]),
    (["solve", NIGHT, "--formulation", "selektion"], ["did you mean 'selection'"]),
    (["solve", NIGHT, "--option", "fil=0.9"], ["'fil'", "did you mean 'fill'"]),
    (["solve", NIGHT, "--option", "fill"], ["KEY=VALUE"]),
    (["solve", NIGHT, "--option", "fill=-1"], ["option fill", "a number above 0"]),
    (["solve", NIGHT, "--time-limit", "-1"], ["--time-limit: found -1.0"]),
    (["solve", NIGHT, "--time-limit", "soon"], ["--time-limit"]),
    (["solve", NIGHT, "--output", "no/where.json"], ["a folder that exists"]),
    (["solve", NIGHT, "--constraints", NIGHT], ["night.json.gz", "`kind`"]),
    (["solve", NIGHT, "--colour"], ["--colour"]),
    (["evaluate", NIGHT, "--policy", "gredy"], ["did you mean 'greedy'"]),
    (["evaluate", NIGHT], ["--policy: found ''; expected a policy, or several"]),
    (["evaluate", NIGHT, "--policy", "fptas", "--option", "epsilon=2"], ["option epsilon"]),
    (["check", NIGHT, NIGHT], ["night.json.gz", "unknown field"]),
    (["generate", "dsp"], ["did you mean 'dssp'"]),
    (["generate", "dssp", "--seed", "1-5"], ["'--seed': '1-5' is not a valid int"]),
    (["solve", NIGHT, "--gap", "little"], ["found 'little'; expected a number such as 0.05"]),
    (["check", NIGHT, str(BUNDLED / "farm.csv")], ["expected a result, as `schedopt solve"]),
    (["generate", "dssp", "--count", "3"], ["--output FOLDER"]),
    (["convert", str(BUNDLED / "jobs.csv")], ["--option processors=16", "--option as=jobs"]),
    (["bench", NIGHT, "--output", "rows.txt"], [".jsonl, .csv, .parquet"]),
    (["bench", NIGHT, "--jobs", "0"], ["from 1 to"]),
    (["list", "polices"], ["did you mean 'policies'"]),
    (["frobnicate"], ["frobnicate"]),
]


@pytest.mark.parametrize(("words", "says"), WRONG, ids=[" ".join(w[:1] + w[-2:]) for w, _ in WRONG])
def test_wrong_usage_prints_one_message_and_exits_2(words: list[str], says: list[str]) -> None:
    done = run(*words, status=2)
    assert done.stdout == ""
    for word in says:
        assert word in done.stderr, done.stderr


KINDS = [(record.name, kind) for record in problems() for kind in record.constraint_kinds()]


@pytest.mark.parametrize("name", PROBLEMS)
def test_new_writes_a_commented_file_that_solves(name: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    invoked("new", name, "--output", file)
    assert file.read_text().count("\n//") > 5
    found = json.loads(invoked("solve", file, "--json"))
    assert (found["solution_status"], found["violations"]) == ("optimal", [])
    bare = invoked("new", name, "--json")
    assert json.loads(bare)["problem"] == name
    assert parse(bare.encode()) == schedopt.load(file)


@pytest.mark.parametrize(("name", "kind"), KINDS)
def test_explain_example_of_each_constraint_kind_is_valid(
    name: str, kind: str, tmp_path: Path
) -> None:
    (said,) = [entry for entry in schedopt.explain(kind) if entry.what == "side constraint"]
    assert name in said.problems
    assert all(field["says"] for field in said.fields), said.fields
    assert len({field["says"] for field in said.fields}) == len(said.fields)
    rules = tmp_path / "rules.json"
    rules.write_text(json.dumps(said.example))
    (rule,) = read_constraints(rules, name)
    same = eval(said.python, {"schedopt": schedopt})  # noqa: S307
    assert json.loads(msgspec.json.encode(rule)) == json.loads(msgspec.json.encode(same))
    taken = [form for form in problem(name).formulation_names if takes(name, form, rule)]
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


def test_explain_shows_an_entry_and_suggests_names() -> None:
    names = {entry.name for entry in everything()}
    assert names >= {"fair-share", "lcpf", "hesrpt", "easy", "selection", "planted"}
    assert "did you mean 'fair-share'?" in refused("explain", "fare-share")
    shown = invoked("explain", "fair-share")
    assert '{"kind": "fair-share"' in shown
    assert "required" in shown


def test_parse_skips_comments_and_keeps_places() -> None:
    text = b'// first\n{"problem": "epoch", "name": "x", // no\n'
    assert "line 2, column 35" in str(refusal(parse, text))
    url = b'{"problem":"epoch","name":"http://x\\n// y","nodes":2,"inequity":0,"jobs":[\n  // one\n'
    assert parse(url + b'{"name":"a","minimum":1}]}').name == "http://x\n// y"


ONLY_PYTHON = {"watch", "stop", "progress", "tell", "many", "start"}


@pytest.mark.parametrize(
    "name",
    [
        "solve",
        "evaluate",
        "bench",
        "whatif",
        "generate",
        "convert",
        "plan",
        "replan",
        "ready",
        "carry",
        "start_times",
        "check_starts",
    ],
)
def test_every_keyword_of_a_function_is_a_flag_of_its_verb(name: str) -> None:
    verbs: Any = get_command(app)
    flags = {flag for one in verbs.commands[name.replace("_", "-")].params for flag in one.opts}
    parameters = signature(getattr(schedopt, name)).parameters.values()
    keywords = {p.name for p in parameters if p.kind is p.KEYWORD_ONLY} - ONLY_PYTHON
    assert {flag_of(keyword) for keyword in keywords} <= flags
