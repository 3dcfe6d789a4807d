"""Replanning: what runs, fails, comes and goes in the night, on the command line and in Python."""

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest
from builders.cli import refused, run

import schedopt
from schedopt.instances.constraints import AtLeast, FairShare
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.errors import InputError
from schedopt.planning.document import PlanInHand

TITLES = ("job", "status", "start", "processors", "end", "pool")
Times = dict[str, tuple[float, float]]


def state(*rows: str) -> pl.DataFrame:
    cells = [[*row.split(","), "", "", "", "", ""][:6] for row in rows]
    return pl.DataFrame(cells, schema=[*TITLES], orient="row")


def night(processors: int, deadline: float, *jobs: tuple[str, float, Any], **more: Any) -> Instance:
    made = tuple(Job(name=name, reward=reward, stages=stages) for name, reward, stages in jobs)
    return Instance(name="n", processors=processors, deadline=deadline, jobs=made, **more)


def times(plan: Any) -> Times:
    return {row["job"]: (row["start"], row["end"]) for row in plan.rows if row["run"]}


def kinds(plan: Any) -> dict[str, str]:
    return {change.job: change.change for change in plan.changes}


def chain(instance: Instance, *steps: tuple[float, pl.DataFrame | None]) -> Any:
    plan: Any = schedopt.plan(instance)
    for at, told in steps:
        plan = schedopt.replan(plan, at=at, state=told)
        assert not plan.result.violations
    return plan


# --- what an attack found ---------------------------------------------------------------------

TWO = night(1, 8, ("a", 5, ((5,),)), ("b", 4, ((5,),)))


def test_machine_without_any_processor_is_refused_by_its_report() -> None:
    with pytest.raises(InputError, match="state: found none; expected a processor before"):
        schedopt.replan(schedopt.plan(TWO), at=0, state=state(",,,0"))


# --- what is reported -------------------------------------------------------------------------


def evening(**more: Any) -> Instance:
    jobs = tuple(
        Job(name=name, reward=reward, stages=stages, groups={"team": team})
        for name, reward, stages, team in (
            ("a", 5.0, ((2.0, 3.0), (4.0,)), "light"),
            ("b", 4.0, ((1.0, 1.0, 1.0),), "fx"),
            ("c", 4.0, ((3.0,), (5.0,)), "fx"),
            ("d", 1.0, ((1.0,), (1.0, 2.0)), "fx"),
        )
    )
    given: dict[str, Any] = {"processors": 2, "deadline": 10, "unit": "h"} | more
    return Instance(name="night", jobs=jobs, start="2026-10-24T20:00[Europe/Berlin]", **given)


def test_replan_gives_a_reason_for_jobs_that_no_longer_run() -> None:
    plan = chain(evening(), (3.5, state("c,failed", ",,,3")))
    by = {change.job: change for change in plan.changes}
    assert by["c"].change == "dropped"
    assert by["c"].why.startswith("failed; ")
    ranks = {row["job"]: row["rank"] for row in plan.rows}
    assert ranks["a"] is None  # it runs already: nobody releases it twice


def test_replan_of_a_large_night_moves_only_the_failed_job() -> None:
    lengths = (0.5, 0.75, 1.0, 1.25)
    jobs = [(f"job{i}", 1 + i % 5, ((lengths[i % 4],) * 25,)) for i in range(18)]
    plan = schedopt.plan(night(50, 12, *jobs))
    moved = next(row["job"] for row in plan.rows if row["start"] <= 2 < row["end"])
    new = schedopt.replan(plan, at=2, state=state(f"{moved},failed"))
    assert new.result.objective == plan.result.objective
    changed = [change.job for change in new.changes if change.change not in ("", "kept")]
    assert changed == [moved]


def test_stay_gives_up_no_more_than_its_part_of_the_reward() -> None:
    jobs = [Job(name=n, reward=10.0, stages=((4.0,),)) for n in "ab"]
    jobs.append(Job(name="c", reward=10.1, stages=((4.0,),), release=1.0))
    instance = Instance(name="stay", processors=2, deadline=5, jobs=tuple(jobs))
    plan = schedopt.plan(instance, constraints=[schedopt.Forbid(jobs=("c",))])
    held = msgspec.structs.replace(plan.result, constraints=())  # now c may run
    rows = state("a,waiting", "b,waiting")
    assert "c" in times(schedopt.replan(held, at=0.5, instance=instance, state=rows))
    near = schedopt.replan(held, at=0.5, instance=instance, state=rows, stay=0.01)
    assert {*times(near)} == {"a", "b"}
    assert near.result.objective == 20


def test_replan_names_and_drops_a_rule_that_cannot_be_kept() -> None:
    instance = night(2, 10, ("a", 5, ((9,),)), ("b", 5, ((9,),)))
    rule = AtLeast(name="two", jobs=("a", "b"), count=2)
    plan: Any = schedopt.plan(instance, constraints=[rule])
    plan = schedopt.replan(plan, at=4, state=state("b,failed"))
    assert "rule two can no longer hold, and is ignored" in plan.notes
    assert schedopt.check(instance, plan.result).whole
    again = schedopt.replan(plan, at=5)
    assert times(again) == times(plan) == {"a": (0, 9)}


@pytest.mark.parametrize(
    ("rows", "says", "place"),
    [
        (("z,failed",), "a job of the night", "row 1, column 'job'"),
        (("a,failed", "a,done"), "one row for each job", "row 2, column 'job'"),
        (("a,running,9",), "a start up to", "row 1"),
        (("a,running,noon",), "a finite number", "row 1, column 'start'"),
        ((",failed",), "a job", "row 1, column 'job'"),
        (("d,running",), "at most 2 processors in use; report what failed", "state"),
    ],
)
def test_replan_refuses_an_impossible_state(rows: tuple[str, ...], says: str, place: str) -> None:
    plan = schedopt.plan(evening(), constraints=[schedopt.Forbid(jobs=("b", "d"))])
    with pytest.raises(InputError, match=says) as caught:
        schedopt.replan(plan, at=2.5, state=state(*rows))
    assert (caught.value.place or caught.value.parameter) == place


def test_replan_reads_finished_frames_from_the_state_of_a_farm(tmp_path: Path) -> None:
    export = tmp_path / "farm.csv"
    export.write_text("name,Owner,status,done\nb,me,Rendering,2\nold,me,Completed,5\nc,you,Dead,\n")
    plan = chain(evening(), (2, None))
    plan = schedopt.replan(plan, at=3.5, state=export)
    runs = plan.replanning.rest.progress["b"].runs
    assert sum(run.end <= 3.5 for run in runs.values()) >= 2
    assert not plan.replanning.rest.progress["c"].runs


def test_replan_refuses_a_time_before_the_last_replanning_or_the_start() -> None:
    plan = schedopt.plan(evening())
    with pytest.raises(InputError, match=r"from \S+T20:00\S+ \(the start of the night\)"):
        schedopt.replan(plan, at="19:30")
    with pytest.raises(InputError, match=r"a time from \S+T23:00\S+ \(the last"):
        schedopt.replan(schedopt.replan(plan, at="23:00"), at="22:30")


def test_replan_adds_jobs_during_the_night(tmp_path: Path) -> None:
    more = tmp_path / "more.csv"
    more.write_text("name,reward,tasks\nnew,50,2x2h\n")
    plan = schedopt.replan(schedopt.plan(evening()), at=1, add=more)
    assert kinds(plan)["new"] == "added"
    again = schedopt.replan(plan, at=1.5)
    assert times(again) == times(plan)
    more.write_text("name,reward,tasks\na,50,2x2h\n")
    with pytest.raises(InputError, match="new to the night"):
        schedopt.replan(plan, at=2, add=more)


# --- the plan document ----------------------------------------------------------------------


def two_jobs() -> Instance:
    jobs = (
        Job(name="a", reward=5, stages=((5.0,),)),
        Job(name="b", reward=4, stages=((1.0, 1.0), (2.0,))),
    )
    return Instance(name="two", processors=2, deadline=8, jobs=jobs)


def test_plan_document_holds_the_night_and_an_empty_history(tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    schedopt.plan(two_jobs()).write(file)
    document = json.loads(file.read_bytes())
    assert document["history"] == []
    assert document["night"]["jobs"][0]["name"] == "a"
    plan = PlanInHand.of(schedopt.load(file))
    assert plan.night == two_jobs()
    again = tmp_path / "again.json"
    schedopt.dump(schedopt.load(file), again)
    assert json.loads(again.read_bytes()) == document


# --- tomorrow ---------------------------------------------------------------------------------


def two_of_fx() -> Instance:
    jobs = tuple(
        Job(name=name, reward=reward, stages=((4,),), groups={"team": "fx"})
        for name, reward in (("a", 5), ("b", 4))
    )
    cap = FairShare(by="team", at_most={"fx": 0.9}, name="cap")
    return Instance(name="cr", processors=1, deadline=10, jobs=jobs, constraints=(cap,))


@pytest.mark.parametrize(("at", "told", "used"), [(6, None, 8), (3, "a,failed", 7)])
def test_carry_counts_what_the_whole_night_used(
    at: float, told: str | None, used: float, tmp_path: Path
) -> None:
    plan = tmp_path / "plan.json"
    chain(two_of_fx(), (at, state(told) if told else None)).write(plan)
    (rule,) = schedopt.carry(plan, half_life="7d")
    assert isinstance(rule, FairShare)
    assert (rule.past["fx"], rule.past_total) == (used, 10)


def test_past_is_remembered_by_the_rule_of_the_same_name(tmp_path: Path) -> None:
    plan, usage, night_file = (tmp_path / f"{n}.json" for n in ("plan", "usage", "night"))
    schedopt.plan(two_of_fx()).write(plan)
    run("carry", plan, "--half-life", "1d", "--output", usage)
    schedopt.dump(two_of_fx(), night_file)
    run("plan", night_file, "--past", usage, "--output", plan)
    document = json.loads(plan.read_bytes())
    (rule,) = document["night"]["constraints"]
    assert (rule["name"], rule["at_most"], rule["past"]) == ("cap", {"fx": 0.9}, {"fx": 8})
    assert not document["constraints"]


# --- the command line -------------------------------------------------------------------------


def test_chain_on_the_command_line_needs_the_plan_alone(tmp_path: Path) -> None:
    file, first, new = (tmp_path / name for name in ("n.json", "plan.json", "new.json"))
    schedopt.dump(evening(), file)
    run("plan", file, "--output", first)
    file.unlink()
    told = tmp_path / "state.csv"
    told.write_text("job,status\nc,FAILED\n")
    table, script, picture = (tmp_path / f"new.{ending}" for ending in ("csv", "sh", "png"))
    page = tmp_path / "new.html"
    how = ["--at", "23:30", "--state", told]
    outputs = [word for path in (new, table, script, picture) for word in ("--output", path)]
    said = run("replan", first, *how, *outputs, "--report", page)
    assert "failed" in said.stdout
    assert picture.stat().st_size
    assert re.search("job .*change .*planned .*now .*why", said.stdout)
    assert re.search(">job<.*>change<.*>planned<.*>now<.*>why<", page.read_text())
    assert "holds" in run("check", new).stdout
    read = pl.read_csv(table)
    assert {"was", "was_time", "change"} < {*read.columns}
    assert read.columns[3:6] == ["reward", "start_time", "end_time"]
    later = json.loads(run("replan", new, "--at", "01:00", "--json").stdout)
    assert later["objective"] == json.loads(new.read_bytes())["objective"]
    run("plot", new, "--output", tmp_path / "again.png")


@pytest.mark.parametrize(
    "forge", ["selected", "start", "history", "unknown", "job", "night", "bound"]
)
def test_forged_plan_fails_its_check(forge: str, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    plan = chain(evening(), (3.5, state("c,failed")))
    plan.write(file)
    document = json.loads(file.read_bytes())
    if forge == "selected":
        document["solution"]["selected"].append("c")
    elif forge == "start":
        late = [task for task in document["solution"]["tasks"] if task["start"] >= 3.5]
        late[-1]["start"], late[-1]["end"] = late[-1]["start"] - 9, late[-1]["end"] - 9
    elif forge == "history":
        document["history"] = [e for e in document["history"] if e["kind"] != "failed"]
    elif forge == "unknown":
        document["history"].append({"kind": "paused", "at": 4})
    elif forge == "job":
        document["history"].append({"kind": "waiting", "at": 4, "job": "z"})
    elif forge == "night":
        document["night"]["deadline"] = 9
    else:
        document["objective"] = 99
    file.write_text(json.dumps(document))
    status = 1 if forge in ("start", "bound") else 2
    run("check", file, status=status)


def test_replan_refuses_a_file_that_is_not_a_plan(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    schedopt.dump(evening(), tmp_path / "elsewhere.json.gz")
    run("solve", tmp_path / "elsewhere.json.gz", "--output", file)
    (tmp_path / "elsewhere.json.gz").unlink()
    assert "a plan with its night" in refused("replan", file, "--at", "1")
    assert "a plan document" in refused("check", file)
    plan = tmp_path / "plan.json"
    schedopt.plan(evening()).write(plan)
    assert "to before 2026-10-25T05:00" in refused("replan", plan, "--at", "11")
    assert "from 0 to 1" in refused("replan", plan, "--at", "1", "--stay", "2")
