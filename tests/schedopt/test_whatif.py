"""What if: each row is what solving the changed instance says, resumed, on processes or not."""

import json
from pathlib import Path

import msgspec
import pytest
from builders.cli import run
from builders.dssp import night as small

import schedopt
from schedopt.instances import files
from schedopt.instances.dssp import Instance
from schedopt.instances.errors import InputError
from schedopt.sweep.varying import Vary, combinations


def night() -> Instance:
    cap = schedopt.FairShare(name="cap", by="team", at_most={"fx": 0.5})
    return small([(9, 5), (4, 3), (7, 4), (3, 3), (5, 2), (2, 1)], 5.0, [cap])


def test_each_row_is_what_solving_says() -> None:
    import msgspec

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


def test_on_processes_and_resumed(tmp_path: Path) -> None:
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
    with pytest.raises(InputError, match="others"):
        schedopt.whatif(source, ["processors=1,2"], output=output)
    picture = tmp_path / "curves.svg"
    run("plot", output, "--output", picture)
    assert b"option.fill 0.5" in picture.read_bytes() or picture.stat().st_size > 5000


def test_units_places_and_a_table(tmp_path: Path) -> None:
    files.dump(night(), tmp_path / "n.json")
    given = ["whatif", tmp_path / "n.json", "--vary", "deadline=5,2h,90m", "--unit", "m"]
    rows = [json.loads(line) for line in run(*given, "--json").stdout.splitlines()]
    assert [row["values"]["deadline"] for row in rows] == [5, 120, 90]
    (own,) = schedopt.whatif(msgspec.structs.replace(night(), unit="h"), ["deadline=90m"])
    assert own.values["deadline"] == 1.5
    dated = msgspec.structs.replace(night(), unit="h", start="2026-11-22T20:00:00+01:00")
    (own,) = schedopt.whatif(dated, ["deadline=06:00"])
    assert own.values["deadline"] == 10
    table = tmp_path / "rows.csv"
    run(*given, "--output", table)
    assert table.read_text().startswith("instance,deadline,objective,bound")
    rows_of_reward = schedopt.whatif(night(), ["jobs.j1.reward=3,30"])
    assert rows_of_reward[1].objective > (rows_of_reward[0].objective or 0)  # type: ignore[operator]
    infeasible = [schedopt.Require(name="all", jobs=("j0", "j1", "j2"))]
    (row,) = schedopt.whatif(night(), ["processors=1"], constraints=infeasible)
    assert row.termination == "infeasible" and "all" in row.conflict


@pytest.mark.parametrize(
    ("vary", "word"),
    [
        ("procesors=1", "procesors"),
        ("processors=0", "processors"),
        ("processors=x", "processors"),
        ("deadline=06:00", "a start with its date"),
        ("rules.cop.at_most.fx=0.1", "cap"),
        ("jobs.j9.reward=1", "j9"),
        ("processors", "PLACE=VALUES"),
        ("processors=1:2:0", "FIRST:LAST:STEP"),
        ("processors=1:99999999:1", "FIRST:LAST:STEP"),
        ("processors=1,,2", "between two commas"),
        ("processors.x=1", "holds others"),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_solved(vary: str, word: str) -> None:
    with pytest.raises(InputError) as caught:
        schedopt.whatif(night(), [vary])
    assert word in str(caught.value)


def test_values_are_the_decimals_that_are_written() -> None:
    def none(text: str) -> float:
        raise InputError("no", found=text)

    assert Vary.of("a=0.1:0.5:0.1", none).values == (0.1, 0.2, 0.3, 0.4, 0.5)
    assert Vary.of("a=3:2:-1,x,true", none).values == (3, 2, "x", True)
    with pytest.raises(InputError, match="once"):
        combinations([Vary("a", (1,)), Vary("a", (2,))])
