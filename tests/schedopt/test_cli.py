"""The command line as users meet it: what it prints, writes and explains, how it exits."""

import json
import os
import shutil
import subprocess
from inspect import signature
from math import inf
from pathlib import Path
from typing import Any

import msgspec
import pytest
from builders.cli import COMMAND, ROOT, Ran, invoked, refused, run
from builders.msfq import at_load, one_or_all
from typer.main import get_command

import schedopt
from schedopt import bench
from schedopt.cli.options import app, flag_of
from schedopt.formats import natural, number, percent
from schedopt.instances.errors import InputError
from schedopt.instances.files import PROBLEMS, dump, parse
from schedopt.problems import problem, problems
from schedopt.verbs.generate import generate
from schedopt.verbs.load import read_constraints

DSSP, EPOCH, HESRPT, MSFQ = (
    ROOT / "instances" / name for name in ("dssp", "epoch", "hesrpt", "msfq")
)
NIGHT = str(DSSP / "night.json.gz")


def said(*words: object, status: int = 0) -> Any:
    """Run a verb with --json, and return what it prints."""
    return json.loads(run(*words, "--json", status=status).stdout)


def test_solve_check_and_a_result_that_was_tampered_with(tmp_path: Path) -> None:
    night, rules, result = (tmp_path / name for name in ("night.json.gz", "rules.json", "r.json"))
    run("generate", "dssp", "--seed", 3, "--output", night)
    rule = {"kind": "fair-share", "by": "team", "at_most": {"lighting": 0.3}, "name": "cap"}
    rules.write_text(json.dumps([rule]))
    document = said("solve", night, "--constraints", rules, "--output", result)
    assert json.loads(result.read_text()) == document
    assert (document["gap"], document["violations"], document["checked"]) == (0.0, [], True)
    assert document["solution"]["shares"]["team"]["lighting"] <= 0.3 + 1e-9
    assert "holds" in run("check", night, result).stdout
    document["solution"]["selected"].pop()
    result.write_text(json.dumps(document))
    assert "the selected jobs earn" in run("check", night, result, status=1).stdout


@pytest.mark.parametrize(
    ("file", "words", "expected"),
    [
        (EPOCH / "fig3.json", ["--formulation", "partition"], {"objective": 48}),
        (EPOCH / "fig3.json", ["--formulation", "rectangles"], {"objective": 36}),
        (HESRPT / "teams.json", [], {"certified": "all"}),
        (MSFQ / "small.json", [], {"termination": "optimal"}),
        (MSFQ / "small.json", ["--option", "method=area"], {"termination": "optimal"}),
    ],
    ids=["partition", "rectangles", "allocation", "exact", "area"],
)
def test_solve_check_and_plot_of_every_problem(
    file: Path, words: list[str], expected: dict[str, object], tmp_path: Path
) -> None:
    result = tmp_path / "r.json"
    run("solve", file, *words, "--output", result)
    document = json.loads(result.read_text())
    told = document["solution"] | document
    assert {key: told[key] for key in expected} == expected
    by_area = "--option" in words  # nothing recomputes its curve
    judged = run("check", file, result, status=1 if by_area else 0).stdout
    assert ("not judged" if by_area else "holds") in judged
    run("plot", result, "--instance", file, "--output", tmp_path / "r.png")
    assert (tmp_path / "r.png").read_bytes().startswith(b"\x89PNG")


def test_solve_names_conflicting_rules_and_exits_3() -> None:
    document = said("solve", DSSP / "conflict.json", status=3)
    assert set(document["conflict"]) == {"lighting-floor", "fx-floor", "trailer-tonight"}
    assert document["termination"] == "infeasible"
    assert "cannot hold together" in run("solve", DSSP / "conflict.json", status=3).stdout


def test_solve_without_a_solution_at_the_time_limit_exits_4(tmp_path: Path) -> None:
    instance = generate("dssp", "subset-sum", seed=1, options={"jobs": 60, "range": 1000000})
    jobs = {job.name: job.demand for job in instance.jobs}
    half = sum(jobs.values()) / 3
    exactly = [  # a sum to hit to the unit: nothing is found at once
        {"kind": "resource", "name": "most", "capacity": half, "use": jobs},
        {"kind": "fair-share", "by": "all", "at_least": {"x": half / instance.capacity()}},
    ]
    grouped = tuple(msgspec.structs.replace(job, groups={"all": "x"}) for job in instance.jobs)
    dump(msgspec.structs.replace(instance, jobs=grouped), tmp_path / "i.json")
    (tmp_path / "c.json").write_text(json.dumps(exactly))
    words = ["--constraints", tmp_path / "c.json", "--time-limit", 0]
    document = said("solve", tmp_path / "i.json", *words, status=4)
    assert (document["termination"], document["solution_status"]) == ("time-limit", "none")
    assert document["objective"] is None


def test_evaluate_of_a_policy_that_does_not_apply_exits_2(tmp_path: Path) -> None:
    text = (DSSP / "two-shots.json").read_text().replace('"reward": 5', '"reward": 5.5')
    (tmp_path / "i.json").write_text(text)
    done = run("evaluate", tmp_path / "i.json", "--policy", "dp-profits", "--json", status=2)
    assert json.loads(done.stdout)["termination"] == "not-applicable"
    assert done.stderr.count("\n") == 1
    assert "whole rewards" in done.stderr
    dump(one_or_all(2, 1.5, 0.5), tmp_path / "u.json")
    done = run("evaluate", tmp_path / "u.json", "--policy", "msf", status=2)
    assert "need 1: 0.75, need 2: 0.5" in done.stderr
    rows = bench(tmp_path / "u.json", policies=["msf", "easy"])
    assert [row.termination for row in rows] == ["unstable", "not-applicable"]


def test_list_help_and_version_print() -> None:
    sections = said("list")
    assert {p["name"] for p in sections["policies"]} >= {"greedy", "core", "fptas", "dp-profits"}
    assert "fair-share" in run("list", "constraints").stdout
    overview = run("--help").stdout
    for verb in ("solve", "evaluate", "bench", "summary", "check", "generate", "convert", "list"):
        assert "Example: schedopt" in run(verb, "--help").stdout
        assert verb in overview
    assert run("--version").stdout.startswith("schedopt ")


# --- bad input -------------------------------------------------------------------------------

WRONG = [
    ("solve nowhere.json", "nowhere.json: found nothing; expected a file that exists"),
    ("solve NIGHT --solver higs", "--solver: found 'higs'"),
    ("solve NIGHT --formulation selektion", "did you mean 'selection'"),
    ("solve NIGHT --option fil=0.9", "did you mean 'fill'"),
    ("solve NIGHT --time-limit -1", "--time-limit: found -1.0"),
    ("solve NIGHT --output no/where.json", "a folder that exists"),
    ("solve NIGHT --constraints NIGHT", "`kind`"),
    ("solve NIGHT --colour", "--colour"),
    ("solve NIGHT --formulation schedule --write m.lp", "--formulation: found schedule"),
    ("solve HESRPT --option order=a", "names of all jobs"),
    ("evaluate NIGHT --policy gredy", "did you mean 'greedy'"),
    ("evaluate NIGHT --policy fptas --option epsilon=2", "option epsilon"),
    ("check NIGHT NIGHT", "unknown field"),
    ("generate dsp", "did you mean 'dssp'"),
    ("generate dssp --seed -1", "--seed: "),
    ("generate dssp --count 3", "--output FOLDER"),
    ("bench NIGHT --output rows.txt", ".jsonl, .csv, .parquet"),
    ("whatif NIGHT --vary deadline=nan", "--vary: "),
    ("ready TABLE --capacity , --order priority", "--capacity: "),
    ("start-times MSFQ --at noon", "--at: "),
    ("list polices", "did you mean 'policies'"),
    ("frobnicate", "frobnicate"),
]


@pytest.mark.parametrize(("words", "says"), WRONG, ids=[words for words, _ in WRONG])
def test_wrong_usage_prints_one_message_and_exits_2(words: str, says: str) -> None:
    places = {
        "NIGHT": NIGHT,
        "TABLE": str(DSSP / "jobs.csv"),
        "HESRPT": "example:twins",
        "MSFQ": "example:one-or-all",
    }
    done = run(*(places.get(word, word) for word in words.split()), status=2)
    assert done.stdout == ""
    assert says in " ".join(done.stderr.split()), done.stderr


ONLY_PYTHON = {"watch", "stop", "progress", "tell", "many", "start"}
CALLS = (
    "solve evaluate bench whatif generate convert plan replan ready carry start_times check_starts"
)


@pytest.mark.parametrize("name", CALLS.split())
def test_every_keyword_of_a_function_is_a_flag_of_its_verb(name: str) -> None:
    verbs: Any = get_command(app)
    flags = {flag for one in verbs.commands[name.replace("_", "-")].params for flag in one.opts}
    parameters = signature(getattr(schedopt, name)).parameters.values()
    keywords = {p.name for p in parameters if p.kind is p.KEYWORD_ONLY} - ONLY_PYTHON
    assert {flag_of(keyword) for keyword in keywords} <= flags


# --- what is explained -----------------------------------------------------------------------


@pytest.mark.parametrize("name", PROBLEMS)
def test_new_writes_a_commented_file_that_solves(name: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    invoked("new", name, "--output", file)
    assert file.read_text().count("\n//") > 5
    found = said("solve", file)
    assert (found["solution_status"], found["violations"]) == ("optimal", [])
    assert parse(invoked("new", name, "--json").encode()) == schedopt.load(file)


KINDS = [(record.name, kind) for record in problems() for kind in record.constraint_kinds()]


@pytest.mark.parametrize(("name", "kind"), KINDS)
def test_explain_example_of_each_constraint_kind_is_valid(
    name: str, kind: str, tmp_path: Path
) -> None:
    (told,) = [entry for entry in schedopt.explain(kind) if entry.what == "side constraint"]
    assert name in told.problems
    assert all(field["says"] for field in told.fields), told.fields
    rules = tmp_path / "rules.json"
    rules.write_text(json.dumps(told.example))
    (rule,) = read_constraints(rules, name)
    same = eval(told.python, {"schedopt": schedopt})  # noqa: S307
    assert json.loads(msgspec.json.encode(rule)) == json.loads(msgspec.json.encode(same))
    assert any(takes(name, form, rule) for form in problem(name).formulation_names)


def takes(name: str, formulation: str, rule: schedopt.Constraint) -> bool:
    """Return True if a formulation of what `new` writes takes a side constraint."""
    try:
        problem(name).formulation(formulation)(parse(problem(name).commented())).add(rule)
    except InputError:
        return False
    return True


# --- outputs ---------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a folder with a file of each kind that verbs read, under an ending that they write."""
    shutil.copy(DSSP / "two-shots.json", tmp_path / "night.json")
    shutil.copy(DSSP / "jobs.csv", tmp_path / "jobs.csv")
    (tmp_path / "rules.json").write_text('{"kind": "forbid", "name": "none", "jobs": ["shot-a"]}')
    (tmp_path / "hard.json").hardlink_to(tmp_path / "night.json")
    for name in ("soft.json", "page.html", "rows.csv", "plot.png"):
        (tmp_path / name).symlink_to("night.json")
    monkeypatch.chdir(tmp_path)
    return tmp_path


OVER = [
    "solve night.json -o night.json",
    "solve night.json -o hard.json",
    "solve night.json --constraints rules.json -o rules.json",
    "plot night.json -o plot.png",
    "bench night.json --report page.html",
    "bench night.json --output rows.csv",
    "convert jobs.csv --option processors=20 -o jobs.csv",
]
ENDINGS = [
    "solve night.json -o plan.ods",
    "generate dssp -o night.yaml",
    "plot night.json -o night.gif",
]


@pytest.mark.parametrize("words", [*OVER, *ENDINGS])
def test_outputs_never_overwrite_inputs_nor_take_unknown_endings(folder: Path, words: str) -> None:
    if words in ENDINGS:
        (folder / "night.json").write_text("{")  # were it read first, the message would say so
    before = {path.name: path.read_bytes() for path in folder.glob("*.*")}
    message = refused(*words.split())
    ending = "expected a name ending in ."
    assert ending in message or (words in OVER and "another file than what is read" in message)
    assert {path.name: path.read_bytes() for path in folder.glob("*.*")} == before


@pytest.mark.parametrize("text", [b'{"mine": 1}\n{"mine": 2', b'{"problem": "dssp", "name": "n"}'])
def test_bench_leaves_a_file_of_other_contents_alone(folder: Path, text: bytes) -> None:
    (folder / "notes.jsonl").write_bytes(text)
    refused("bench", "night.json", "--policy", "greedy", "--output", "notes.jsonl")
    assert (folder / "notes.jsonl").read_bytes() == text


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_json_is_printed_when_the_output_disk_is_full() -> None:
    done = run("solve", "example:two-shots", "--json", "-o", "/dev/full", status=2)
    assert json.loads(done.stdout)["objective"] == 9
    assert "No space left on device" in done.stderr
    run("plan", "example:evening", "--output", "/dev/null")  # a device needs no ending


@pytest.mark.parametrize("words", [["solve", "--help"], ["list", "--json"]])
def test_closed_pipe_is_no_traceback(words: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        done = subprocess.run([*COMMAND, *words], check=False, stdout=pipe, stderr=-1)
    assert (done.returncode, done.stderr) == (1, b"")


EVIL = "\x1b]0;owned\x07\x1b[31m\u202e\x9b31mred:smile:[bold]\r\n"


def harmless(done: Ran) -> str:
    text = done.stdout + done.stderr
    assert "Traceback" not in text
    for character in "\x1b\x07\r\x9b\u202e":
        assert character not in text
    return text


def test_control_characters_in_names_are_escaped_on_a_terminal(tmp_path: Path) -> None:
    document = json.loads((DSSP / "two-shots.json").read_text())
    document["name"] += EVIL
    for job in document["jobs"]:
        job["name"] += EVIL
        job["groups"] = {f"team{EVIL}": EVIL}
    rule = {"kind": "fair-share", "name": f"cap{EVIL}", "by": f"team{EVIL}"}
    document["constraints"] = [rule | {"at_most": {EVIL: 0.1}}]
    evil, result, several = (tmp_path / f"{name}.json" for name in ("evil", "r", "s"))
    evil.write_text(json.dumps(document))
    for status, words in (
        (0, ["solve", evil, "-o", result]),
        (0, ["evaluate", evil, "--policy", "greedy,core", "-o", several]),
        (1, ["check", evil, several]),
        (0, ["bench", evil, "--policy", "greedy,core"]),
    ):
        done = run(*words, status=status)
        assert ":smile:" in harmless(done) or words[0] != "solve"
    nothing = run("solve", f"{tmp_path}/{EVIL.strip()}.json", status=2)
    assert "\\x1b]0;owned\\x07" in harmless(nothing)


def test_formats_of_numbers_and_percentages() -> None:
    percents = "unknown 0.00% 0.00% 0.00% 0.0001% 0.0099% 0.01% 4.19% -50.00%"
    values = (None, 0.0, 6.2e-17, -6.2e-17, 1.2e-6, 9.9e-5, 0.0001, 0.04187, -0.5)
    assert [percent(value) for value in values] == percents.split()
    numbers = "unknown 0 0 12,345 0.3 1,234,567 1,234.57 0.000123457 1e+20 inf"
    told = (None, 0.0, -0.0, 12345.0, 0.1 + 0.2, 1234567.25, 1234.5678, 0.00012345678, 1e20, inf)
    assert [number(value) for value in told] == numbers.split()
    names = ["", "9", "10", "9" * 5000, "a", "team", "team2", "team18b3", "team18b12", "team19"]
    assert sorted([*names[5:], *names[:5]], key=natural) == names


# --- queues and logs -------------------------------------------------------------------------


def test_bench_gives_a_gap_only_to_policies_of_the_same_question(tmp_path: Path) -> None:
    rows = {row.policy: row for row in bench(EPOCH / "fig3.json")}
    assert (rows["buddy"].gap, rows["buddy"].objective) == (None, 36)  # rectangles, not epochs
    assert rows["heuristic-epoch"].gap is not None
    dump(at_load(8, 0.85), tmp_path / "q.json")
    few = {"arrivals": 20_000}
    rows = {r.policy: r for r in bench(tmp_path / "q.json", policies=["msf", "msfq"], options=few)}
    assert [row.reference_proven for row in rows.values()] == [False, True]
    (row,) = bench(tmp_path / "q.json", policies=["msfq"], options={**few, "method": "area"})
    assert not row.reference_proven, "an approximation proves nothing"


SUBMITS = "".join(
    f"{i + 1} {4 * i} -1 {7 + 5 * (i % 4)} {1 + i % 3} -1 -1 -1 {9 + 9 * (i % 4)} -1 1 {i % 2} "
    "1 -1 1 -1 -1 -1\n"
    for i in range(60)
)


def test_log_is_converted_evaluated_solved_and_checked(tmp_path: Path) -> None:
    log, starts, result = (tmp_path / name for name in ("toy.json", "starts.csv", "r.json"))
    (tmp_path / "toy.swf").write_text("; MaxProcs: 4\n; UnixStartTime: 1027839845\n" + SUBMITS)
    words = ["convert", tmp_path / "toy.swf", "--option", "problem=msfq", "--option", "as=jobs"]
    assert "--output FILE" in refused(*words)  # the jobs are written beside the instance
    assert "11 of 11" in run(*words, "--option=start=100", "--option=end=144", "-o", log).stderr
    assert "60 of 60 jobs of toy" in run(*words, "-o", log).stderr

    document = said(
        "evaluate", log, "--policy", "easy", "--option", f"starts={starts}", "-o", result
    )
    assert len(starts.read_text().splitlines()) == 61
    assert "holds" in run("check", log, result).stdout
    document["solution"]["mean_wait"] += 1
    result.write_text(json.dumps(document))
    assert "mean_wait" in run("check", log, result, status=1).stdout

    assert "best policy" in run("solve", log, "--certificate", "-o", result).stdout
    document = json.loads(result.read_text())
    assert document["objective"] == min(document["solution"]["policies"].values())
    assert document["bound"] == max(document["solution"]["bounds"].values())
    assert "re-proved" in run("check", log, result).stdout
    assert "formulation bound" in refused("solve", log, "--formulation", "threshold")
