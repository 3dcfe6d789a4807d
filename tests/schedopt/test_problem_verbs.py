"""The verbs on hesrpt, epoch, msfq and logs, as a user types them."""

import json
from pathlib import Path
from typing import Any

import pytest
from builders.cli import ROOT, refused, run
from builders.msfq import at_load, one_or_all, queue_of, random_jobs

from schedopt import bench
from schedopt.instances.files import dump
from schedopt.sweep.sources import read_source

EPOCH, HESRPT, MSFQ = (ROOT / "instances" / name for name in ("epoch", "hesrpt", "msfq"))


def said(*words: object, status: int = 0) -> Any:
    """Run a verb with --json, and return what it prints."""
    return json.loads(run(*words, "--json", status=status).stdout)


def rows_of(*words: object) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run("bench", *words, "--json").stdout.splitlines()]


@pytest.fixture
def queue(tmp_path: Path) -> Path:
    dump(at_load(3, 0.6), tmp_path / "q.json")
    return tmp_path / "q.json"


@pytest.mark.parametrize(
    ("file", "words", "expected"),
    [
        (EPOCH / "fig3.json", ["--formulation", "partition"], {"objective": 48}),
        (EPOCH / "fig3.json", ["--formulation", "rectangles"], {"objective": 36}),
        (HESRPT / "teams.json", [], {"certified": "all"}),
        (MSFQ / "small.json", [], {"termination": "optimal"}),
        (MSFQ / "small.json", ["--option", "method=area"], {"termination": "optimal"}),
        (MSFQ / "small.json", ["--option", "variant=lazy"], {"termination": "optimal"}),
    ],
    ids=["partition", "rectangles", "allocation", "exact", "area", "lazy"],
)
def test_solve_check_and_plot_of_every_problem(
    file: Path, words: list[str], expected: dict[str, object], tmp_path: Path
) -> None:
    result = tmp_path / "r.json"
    run("solve", file, *words, "--output", result)
    document = json.loads(result.read_text())
    told = document["solution"] | document
    assert {key: told[key] for key in expected} == expected
    by_area_or_lazy = "--option" in words  # nothing recomputes their curves
    judged = run("check", file, result, status=1 if by_area_or_lazy else 0).stdout
    assert ("not judged" if by_area_or_lazy else "holds") in judged
    run("plot", result, "--instance", file, "--output", tmp_path / "r.png")
    run("plot", file, "--output", tmp_path / "r.svg")
    assert (tmp_path / "r.png").read_bytes().startswith(b"\x89PNG")
    assert b"svg" in (tmp_path / "r.svg").read_bytes()
    assert "a file that exists" in refused("check", file, tmp_path / "none")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["solve", EPOCH / "fig3.json", "--option", "model=none"], "model"),
        (["solve", EPOCH / "fig3.json", "--option", "colour=red"], "colour"),
        (["solve", HESRPT / "twins.json", "--option", "order=a"], "names of all jobs"),
        (["solve", HESRPT / "twins.json", "--solver", "highs"], "a solver of allocation"),
        (["solve", HESRPT / "twins.json", "--option", "fill=1"], "an option of allocation"),
        (["solve", HESRPT / "twins.json", "--constraints", "RULE"], "require"),
        (["evaluate", "QUEUE", "--policy", "msfq", "--option", "threshold=3"], "from 0 to 2"),
        (["evaluate", "QUEUE", "--policy", "msfq", "--option", "threshold=1.5"], "from 0 to k - 1"),
        (["evaluate", "QUEUE", "--policy", "no-such"], "a policy of msfq"),
        (["solve", "SEVERAL"], "one-or-all"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_verbs_refuse_wrong_options_of_every_problem(
    words: list[object], says: str, queue: Path, tmp_path: Path
) -> None:
    places: dict[object, Path] = {"QUEUE": queue}
    places |= {name: tmp_path / f"{name}.json" for name in ("RULE", "SEVERAL")}
    places["RULE"].write_text('{"kind": "require", "jobs": ["a"]}')
    run("generate", "msfq", "--generator", "multi-class", "--seed", 3, "-o", places["SEVERAL"])
    assert says in refused(*(places.get(word, word) for word in words))


def test_bench_gives_rectangles_no_gap_to_epochs() -> None:
    none = said("evaluate", EPOCH / "fig7.json", "--policy", "buddy", status=2)
    assert (none["termination"], none["objective"]) == ("not-applicable", None)
    assert "no power of two" in none["message"]
    rows = {row["policy"]: row for row in rows_of(EPOCH / "fig3.json")}
    assert rows["buddy"]["gap"] is None
    assert rows["buddy"]["objective"] == 36
    assert rows["heuristic-epoch"]["gap"] is not None


def test_unstable_queue_exits_2_from_evaluate_and_0_from_bench(tmp_path: Path) -> None:
    path = tmp_path / "u.json"
    dump(one_or_all(2, 1.5, 0.5), path)
    done = run("evaluate", path, "--policy", "msf", status=2)
    assert "need 1: 0.75, need 2: 0.5" in done.stderr
    rows = rows_of(path)
    assert {row["objective"] for row in rows} == {None}
    unstable = [row for row in rows if row["termination"] == "unstable"]
    assert len(unstable) >= 5
    assert all("need 2: 0.5" in row["message"] for row in unstable)
    others = {row["termination"] for row in rows} - {"unstable"}
    assert others <= {"not-applicable"}, "policies for logs"


def test_bench_reference_threshold_is_proven_for_msfq_only(tmp_path: Path) -> None:
    dump(at_load(8, 0.85), tmp_path / "q.json")
    few = {"arrivals": 20_000}
    rows = bench(tmp_path / "q.json", policies=["msf", "msfq", "first-fit"], options=few)
    assert [row.reference_proven for row in rows] == [False, True, False]
    assert [row.reference_bound is None for row in rows] == [True, False, True]
    assert len({row.reference for row in rows}) == 1
    (row,) = bench(tmp_path / "q.json", policies=["msfq"], options={**few, "method": "area"})
    assert not row.reference_proven, "an approximation proves nothing"
    (lazy,) = bench(tmp_path / "q.json", policies=["msfq"], options={**few, "variant": "lazy"})
    assert lazy.reference_proven
    assert lazy.reference != row.reference


def test_bench_gives_no_gap_to_policies_that_know_sizes(tmp_path: Path) -> None:
    dump(at_load(2, 0.5), tmp_path / "q.json")
    (tmp_path / "shortest.py").write_text(
        "from schedopt.policies.msfq import admission_rule\n"
        "@admission_rule('shortest', source='a test', summary='the shortest that fits')\n"
        "def shortest(state):\n"
        "    fitting = [job for job in state.jobs if job.need <= state.free]\n"
        "    return min(fitting, key=lambda job: (job.estimate or 0, job.number), default=None)\n"
    )
    asked = {"policies": ["shortest"], "policy_files": [tmp_path / "shortest.py"]}
    for estimates in ("exact", "none"):
        options = {"arrivals": 20_000, "estimates": estimates}
        (row,) = bench(tmp_path / "q.json", **asked, options=options)
        assert row.reference_formulation == "optimal-policy"
        assert (row.gap is None) == (estimates == "exact")


SUBMITS = "".join(
    f"{i + 1} {4 * i} -1 {7 + 5 * (i % 4)} {1 + i % 3} -1 -1 -1 {9 + 9 * (i % 4)} -1 1 {i % 2} "
    "1 -1 1 -1 -1 -1\n"
    for i in range(60)
)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    (tmp_path / "toy.swf").write_text("; MaxProcs: 4\n" + SUBMITS)
    words = ("--option", "problem=msfq", "--option", "as=jobs", "-o", tmp_path / "toy.json")
    done = run("convert", tmp_path / "toy.swf", *words)
    assert "60 of 60 jobs of toy" in done.stderr
    return tmp_path / "toy.json"


def test_evaluate_of_a_log_writes_starts_that_check(log: Path, tmp_path: Path) -> None:
    starts = tmp_path / "starts.csv"
    words = ("--policy=easy", "--option", f"starts={starts}", "--json", "-o", tmp_path / "r.json")
    document = json.loads(run("evaluate", log, *words).stdout)
    assert document["solution"]["estimates"] == "given"
    assert {
        "mean_response_time",
        "mean_wait",
        "mean_bounded_slowdown",
        "utilization",
        "jobs",
        "by",
    } <= document["solution"].keys()
    assert document["checked"]
    assert len(starts.read_text().splitlines()) == 61
    assert "holds" in run("check", log, tmp_path / "r.json").stdout
    document["solution"]["mean_wait"] += 1
    (tmp_path / "r.json").write_text(json.dumps(document))
    assert "mean_wait" in run("check", log, tmp_path / "r.json", status=1).stdout


def test_convert_of_a_log_needs_an_output_file(log: Path, tmp_path: Path) -> None:
    said = refused("convert", tmp_path / "toy.swf", "--option=problem=msfq", "--option=as=jobs")
    assert "--output FILE" in said and "toy.parquet" in said


def test_source_holds_the_log_of_its_instance(tmp_path: Path) -> None:
    original = queue_of(*random_jobs(7))
    dump(original, tmp_path / "a.json")
    source = read_source(tmp_path / "a.json")
    (tmp_path / "a.parquet").rename(tmp_path / "gone.parquet")
    moved: Any = source.load()
    assert moved.jobs.submit.tolist() == original.jobs.submit.tolist()
    dump(queue_of(*random_jobs(8, servers=original.servers)), tmp_path / "a.json")
    other = read_source(tmp_path / "a.json")
    assert other.digest != source.digest, "another log is another instance"


def test_solve_bounds_a_log(log: Path, tmp_path: Path) -> None:
    words = ("--certificate", "-o", tmp_path / "b.json")
    shown = run("solve", log, *words).stdout
    assert "best policy" in shown
    assert "at least" in shown
    document = json.loads((tmp_path / "b.json").read_text())
    assert document["formulation"] == "bound"
    assert document["objective"] == min(document["solution"]["policies"].values())
    assert document["bound"] == max(document["solution"]["bounds"].values())
    assert document["bound_checked"]
    assert "re-proved" in run("check", log, tmp_path / "b.json").stdout
    for name in ("threshold", "optimal-policy"):
        assert "formulation bound" in refused("solve", log, "--formulation", name)


def test_convert_takes_a_window_of_a_log(tmp_path: Path) -> None:
    text = "; MaxProcs: 4\n; UnixStartTime: 1027839845\n" + SUBMITS
    (tmp_path / "toy.swf").write_text(text)
    words = ["convert", tmp_path / "toy.swf", "--option", "as=jobs", "-o", tmp_path / "w.json"]
    assert "11 of 11 jobs" in run(*words, "--option", "start=100", "--option", "end=144").stderr
    date = "start=2002-07-28T07:05:45"  # a hundred seconds on
    assert "35 of 35 jobs" in run(*words, "--option", date).stderr
