"""What instances and results look like at a prompt and in a notebook."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

import schedopt
from schedopt.problems import problems


@pytest.mark.parametrize("name", [record.name for record in problems()])
def test_an_instance_is_shown_in_a_line_however_large_it_is(name: str) -> None:
    instance = schedopt.generate(name, seed=1)
    text = repr(instance)
    assert len(text) < 300
    assert f"<{name} {instance.name!r}: " in text
    assert "<table>" in instance._repr_html_()


def test_counts_and_numbers_are_those_of_the_instance() -> None:
    assert repr(schedopt.example("fig8")) == "<epoch 'fig8': nodes 16, inequity 0, 5 jobs>"


def test_a_result_says_what_came_of_it_and_is_escaped() -> None:
    night = msgspec.structs.replace(schedopt.example("two-shots"), name="<b>&")
    result = schedopt.solve(night)
    assert "optimal" in repr(result)
    assert "objective 9" in repr(result)
    assert len(repr(schedopt.evaluate(schedopt.example("night"), "greedy"))) < 300
    page = result._repr_html_()
    assert "&lt;b&gt;&amp;" in page
    assert "<b>" not in page


@pytest.mark.parametrize("name", [record.name for record in problems()])
def test_an_instance_and_its_results_are_frames_in_one_call(name: str) -> None:
    instance = schedopt.generate(name, seed=1)
    document = msgspec.to_builtins(instance)
    lists = [value for value in document.values() if isinstance(value, list | tuple)]
    assert instance.to_polars().height in {len(each) for each in lists}
    result = schedopt.solve(instance, time_limit=5)
    assert result.to_polars().height == len(result.to_pandas()) > 0


def test_a_frame_has_a_column_for_each_field_and_null_where_a_row_lacks_it() -> None:
    night = schedopt.example("evening")
    frame = night.to_polars()
    assert frame["name"].to_list() == [job.name for job in night.jobs]
    assert frame["reward"].to_list() == [job.reward for job in night.jobs]
    assert frame["groups.team"].to_list() == [job.groups.get("team") for job in night.jobs]
    chosen = schedopt.solve(night)
    assert chosen.to_polars()["name"].to_list() == list(chosen.solution.selected)
    run = schedopt.evaluate(night, "lcpf")
    assert list(run.to_pandas()["end"]) == [task.end for task in run.solution.tasks]
    shares = schedopt.solve(schedopt.example("teams")).to_polars()
    assert shares["share.tune"].null_count() == shares.height - 1


def test_a_log_and_its_replay_are_frames_of_its_jobs(tmp_path: Path) -> None:
    table = tmp_path / "two.csv"
    table.write_text("submit,need,run,user\n0,1,5,a\n1,2,3,b\n")
    (tmp_path / "two.json").write_text(
        '{"problem": "msfq", "name": "two", "servers": 2, "log": "two.csv"}'
    )
    log = schedopt.load(tmp_path / "two.json")
    assert log.to_polars().rows() == [(0, 1, 5, "a"), (1, 2, 3, "b")]
    run = schedopt.evaluate(log, "fcfs")
    assert run.to_pandas()["start"].tolist() == [0, 5]
