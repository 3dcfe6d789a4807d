"""Sweeps and what-ifs as people declare them: files, flags, several problems, varied values."""

import json
from pathlib import Path

import msgspec
import pytest
from builders.cli import run
from builders.dssp import night as small
from builders.refusals import refusal

import schedopt
from schedopt.instances import files
from schedopt.instances.dssp import Instance
from schedopt.instances.errors import InputError
from schedopt.instances.files import dump, encode
from schedopt.sweep.sources import parse_generated
from schedopt.verbs.bench import bench
from schedopt.verbs.generate import generate


def test_bench_rows_are_by_instance_policy_options_and_seed(tmp_path: Path) -> None:
    dump(generate("dssp", seed=1), tmp_path / "night.json.gz")
    dump(generate("epoch", seed=2), tmp_path / "epoch.json")
    (tmp_path / "schema.json").write_text("{}")
    rows = bench(
        tmp_path,
        generated=["dssp/uncorrelated,seeds=4-5,jobs=30"],
        policies=["greedy", "core", "random", "heuristic-epoch"],
        options={"fill": 0.8},
        seeds=(1, 2),
    )
    night = [row for row in rows if row.file.endswith("night.json.gz")]
    assert [(row.policy, row.options.get("fill"), row.seed) for row in night] == [
        ("greedy", 0.8, 1),
        ("core", 0.8, 1),
        ("random", None, 1),  # it runs jobs: neither it nor its reference knows `fill`
        ("random", None, 2),
    ]
    assert [row.file for row in rows if row.problem == "epoch"] == [str(tmp_path / "epoch.json")]
    labels = list(dict.fromkeys(row.file for row in rows))[2:]
    assert labels == [f"dssp/uncorrelated,seed={seed},jobs=30" for seed in (4, 5)]
    for seed, label in zip((4, 5), labels, strict=True):  # which is enough to make it anew
        (source,) = parse_generated(label)
        again = generate("dssp", "uncorrelated", seed=seed, options={"jobs": 30})
        assert encode(source.load()) == encode(again)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"policies": ["greedy", "dpp"]}, "policy: found 'dpp'"),
        ({"options": {"fil": 0.5}}, "did you mean 'fill'"),
        ({"time_limit": float("nan")}, "time_limit: found nan"),
    ],
)
def test_bench_refuses_what_no_problem_of_the_sweep_knows(
    words: dict[str, object], said: str
) -> None:
    mixed = ["dssp/uncorrelated,seed=1", "epoch,seed=1"]
    with pytest.raises(InputError) as caught:
        bench(generated=mixed, **words)  # type: ignore[arg-type]
    assert said in str(caught.value)


def night() -> Instance:
    cap = schedopt.FairShare(name="cap", by="team", at_most={"fx": 0.5})
    return small([(9, 5), (4, 3), (7, 4), (3, 3), (5, 2), (2, 1)], 5.0, [cap])


def test_whatif_rows_equal_solving_each_variation() -> None:
    varied = ["processors=1,2,3", "rules.cap.at_most.fx=0.2:0.6:0.2"]
    rows = schedopt.whatif(night(), varied)
    assert len(rows) == 9
    assert [row.values["rules.cap.at_most.fx"] for row in rows[:3]] == [0.2, 0.4, 0.6]
    for row in rows:
        rule = schedopt.FairShare(
            name="cap", by="team", at_most={"fx": float(row.values["rules.cap.at_most.fx"])}
        )
        other = msgspec.structs.replace(
            night(), processors=int(row.values["processors"]), constraints=(rule,)
        )
        result = schedopt.solve(other)
        assert (row.objective, row.bound) == (result.objective, result.bound)
        assert row.shares == result.solution.shares


def test_whatif_resumes_on_several_processes(tmp_path: Path) -> None:
    output, source = tmp_path / "rows.jsonl", tmp_path / "n.json"
    files.dump(night(), source)
    varied = ["processors=1:4:1", "option.fill=0.5,1"]
    plain = schedopt.whatif(source, varied, output=output)
    lines = output.read_bytes().splitlines(keepends=True)
    output.write_bytes(b"".join(lines[:3]) + lines[3][:20])  # as a kill leaves it
    calls: list[int] = []
    watched = {"output": output, "progress": lambda done, total: calls.append(done)}
    again = schedopt.whatif(source, varied, jobs=2, **watched)
    assert [row.objective for row in again] == [row.objective for row in plain]
    assert again[:3] == plain[:3] and calls == [4, 5, 6, 7, 8]
    assert "8 with other options" in str(
        refusal(schedopt.whatif, source, ["processors=1,2"], output=output)
    )
    run("plot", output, "--output", tmp_path / "curves.png")
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")


def test_whatif_reads_units_and_places(tmp_path: Path) -> None:
    files.dump(msgspec.structs.replace(night(), unit="m"), tmp_path / "n.json")
    given = ["whatif", tmp_path / "n.json", "--vary", "deadline=5,2h,90m"]
    rows = [json.loads(line) for line in run(*given, "--json").stdout.splitlines()]
    assert [row["values"]["deadline"] for row in rows] == [5, 120, 90]
    dated = msgspec.structs.replace(night(), unit="h", start="2026-11-22T20:00:00+01:00")
    (own,) = schedopt.whatif(dated, ["deadline=06:00"])
    assert own.values["deadline"] == 10
    infeasible = [schedopt.Require(name="all", jobs=("j0", "j1", "j2"))]
    (row,) = schedopt.whatif(night(), ["processors=1"], constraints=infeasible)
    assert row.termination == "infeasible" and "all" in row.conflict


@pytest.mark.parametrize(
    ("vary", "word"),
    [
        ("procesors=1", "procesors"),
        ("deadline=06:00", "a start with its date"),
        ("rules.cop.at_most.fx=0.1", "cap"),
        ("processors=1:2:0", "FIRST:LAST:STEP"),
    ],
)
def test_whatif_refuses_a_wrong_place_before_solving(vary: str, word: str) -> None:
    with pytest.raises(InputError) as caught:
        schedopt.whatif(night(), [vary])
    assert word in str(caught.value)
