"""What a bench says: averages with their intervals, sentences, notebooks, and tables for papers."""

import csv
import itertools
import json
import random
import statistics
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from builders.cli import refused, run
from builders.reports import EVIL, row

from schedopt import bench
from schedopt.analysis.averages import FEW, MANY, interval
from schedopt.analysis.row_table import RowTable
from schedopt.analysis.summary import overview, rank, summary
from schedopt.analysis.tables import standings
from schedopt.analysis.words import as_sentences
from schedopt.formats import percent
from schedopt.sweep.rows import Row, table


def test_an_interval_resamples_whole_groups() -> None:
    groups = [(0.0, 0.2, 0.4), (1.0,), (0.3, 0.1), (0.6,)]
    low, high = interval(groups, level=0.8, resamples=100_000)
    means = [
        statistics.fmean(value for group in picked for value in group)
        for picked in itertools.product(groups, repeat=4)
    ]
    expected = np.quantile(means, [0.1, 0.9])
    assert (low, high) == (
        pytest.approx(expected[0], abs=0.01),
        pytest.approx(expected[1], abs=0.01),
    )
    assert interval(groups) == interval(groups)


def test_the_normal_interval_is_the_limit_of_resampling() -> None:
    draw = random.Random(1)  # noqa: S311  no secrets here
    groups = [tuple(draw.expovariate(1) for _ in range(draw.randint(1, 3))) for _ in range(MANY)]
    normal, resampled = interval(groups), interval(groups[:-1])
    for a, b in zip(normal, resampled, strict=True):
        assert a == pytest.approx(b, abs=0.004)  # of a width of about 0.06


def test_a_standing_has_an_interval_from_ten_instances_on() -> None:
    rows = [row(instance=str(i), policy="p", gap=i / 100) for i in range(FEW)]
    (few,), (enough,) = summary(rows[1:]), summary(rows)
    assert (few.low, few.high) == (None, None)
    assert enough.low < enough.mean < enough.high


def test_seeds_of_one_instance_are_no_further_instances() -> None:
    rows = [row(instance=str(i), policy="p", gap=i / 100) for i in range(FEW)]
    twice = [row(instance=r.instance, policy="p", gap=r.gap, seed=s) for r in rows for s in (1, 2)]
    (once,), (both,) = summary(rows), summary(twice)
    assert (both.low, both.high) == (pytest.approx(once.low), pytest.approx(once.high))


def test_who_has_fewer_instances_is_not_ranked_first() -> None:
    rows = [row(instance=str(i), policy="all", gap=0.1) for i in range(2)]
    rows += [
        row(instance="0", policy="one", gap=0.0),
        row(instance="0", policy="none", objective=None),
    ]
    assert [standing.contender for standing in rank(summary(rows))] == ["all", "one", "none"]


def said(rows: list[Row]) -> str:
    (words,) = as_sentences(rows).values()
    return " ".join(words)


def nights(policy: str, gaps: list[float | None], **more: object) -> list[Row]:
    return [
        row(
            instance=f"n{i}",
            policy=policy,
            gap=gap,
            objective=None if gap is None else 10 * (1 - gap),
            **more,
        )
        for i, gap in enumerate(gaps)
    ]


def test_a_policy_that_is_optimal_is_said_to_be() -> None:
    rows = nights("exact", [0.0] * 12) + nights("also", [0.0] * 12) + nights("rough", [0.1] * 12)
    text = said(rows)
    assert "The optimum is proven on 12 of 12 instances." in text
    assert "exact and also are optimal in all 12 runs." in text
    assert "Next is rough: it loses 10.00% of the optimum on average" in text


def test_intervals_are_the_summarys_and_the_pairs() -> None:
    rows = nights("a", [i / 100 for i in range(20)]) + nights("b", [i / 50 for i in range(20)])
    a, b = summary(rows)
    text = said(rows)
    for standing in (a, b):
        assert f"{percent(standing.mean)} of the optimum on average" in text
        assert f"{percent(standing.low)[:-1]} to {percent(standing.high)}" in text
        assert f"{percent(standing.worst)} at worst (on n19)" in text


def test_few_instances_and_runs_without_a_gap_are_a_caution() -> None:
    text = said(nights("a", [0.0, 0.1]) + nights("b", [0.2, None]))
    assert "With so few instances (2) no interval is given." in text
    assert "The means leave out 1 run without a gap." in text
    assert "interval 0" not in text


def test_less_is_better_where_it_is_and_the_unproven_is_not_called_the_optimum() -> None:
    rows = nights("a", [0.2] * 3, problem="epoch", reference_proven=False)
    text = said(rows)
    assert "The optimum is proven on 0 of 3 instances." in text
    assert "a comes closest: it is 20.00% above the best solution known on average" in text
    better = nights("a", [-0.1] * 3, reference_proven=False)
    assert "10.00% better than the best solution known" in said(better)


@pytest.mark.parametrize("policies", [1, 2, 4, 9])
def test_of_many_that_are_equal_a_few_are_named(policies: int) -> None:
    rows = [r for i in range(policies) for r in nights(f"p{i}", [0.0])]
    heads = {1: "p0 is", 2: "p0 and p1 are", 4: "p0, p1, p2 and p3 are", 9: "p2 and 6 others are"}
    assert f"{heads[policies]} optimal in the only run" in said(rows)


def test_without_references_the_wins_decide() -> None:
    blank = {"reference": None, "reference_proven": False}
    rows = [
        row(policy=p, objective=v, **{"gap": None, **blank}) for p, v in (("a", 4.0), ("b", 2.0))
    ]
    assert "a is best on 1 of 1 instance." in said(rows)
    assert "No policy has a result that counts." in said([row(objective=None)])


def test_choosing_is_not_taken_for_running() -> None:
    rows = [*nights("greedy", [0.0] * 12), *nights("core+lcpf", [0.1] * 12)]
    assert "greedy only chooses jobs" in said(rows)
    assert "not so those of core+lcpf." in said(rows)
    assert "only chooses" not in said(nights("greedy", [0.0] * 12) + nights("core", [0.1] * 12))


def test_a_bench_returns_rows_that_show_what_they_say() -> None:
    rows = bench("instances/dssp/greedy-trap.json", policies=["greedy", "core"])
    assert isinstance(rows, RowTable)
    assert repr(rows) == "<2 rows; dssp: 1 instance>"
    shown = rows._repr_html_()
    assert "99.80%" in shown
    assert "optimum proven for 1" in shown


def test_many_rows_of_long_and_evil_names_stay_short_and_harmless() -> None:
    rows = RowTable(
        row(instance=f"{name}{i}", policy=name, message="x" * 500)
        for i in range(200)
        for name in EVIL
    )
    assert len(repr(rows)) < 100
    shown = rows._repr_html_()
    assert len(shown) < 10_000
    for tag in ("<script", "<img", "<b ", "<a "):
        assert tag not in shown


def test_no_rows_show_nothing() -> None:
    assert repr(RowTable()) == "<0 rows>"
    assert RowTable()._repr_html_() == ""


def test_frames_hold_every_field() -> None:
    rows = RowTable([row(gap=0.25), row(policy="none", objective=None, options={"fill": 0.5})])
    frame = rows.to_polars()
    assert frame["policy"].to_list() == ["greedy", "none"]
    assert frame["gap"].to_list() == [0.25, None]
    assert [json.loads(text) for text in frame["options"]] == [{}, {"fill": 0.5}]
    pandas = pytest.importorskip("pandas")
    other = rows.to_pandas()
    assert isinstance(other, pandas.DataFrame)
    assert list(other.columns) == frame.columns
    assert other["gap"][0] == 0.25


@pytest.mark.parametrize(("instances", "head"), [(1, "gap"), (2, "mean gap")])
def test_one_run_of_each_policy_has_no_averages(instances: int, head: str) -> None:
    rows = [row(instance=f"i{i}", policy="greedy", gap=0.25) for i in range(instances)]
    ((_, shown),) = standings(summary(rows), overview(rows))
    assert shown.heads[1] == head
    assert ("median" in shown.heads) == (instances > 1)
    assert shown.texts()[0][1] == "25.00%"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    gaps = [1 / 3, 0.0, 2 / 7]
    rows = [
        row(instance=f"i{i}", policy=p, gap=g) for i, g in enumerate(gaps) for p in ("a", "b,c")
    ]
    (tmp_path / "rows.jsonl").write_bytes(table(rows, ".jsonl"))
    return tmp_path / "rows.jsonl"


def printed_by(file: Path, *words: str) -> str:
    return run("summary", file, *words).stdout


def test_csv_keeps_every_digit(file: Path) -> None:
    told = json.loads(printed_by(file, "--json"))["summary"]
    lines = list(csv.DictReader(StringIO(printed_by(file, "--csv"))))
    assert [line["policy"] for line in lines] == ["a", "b,c"]
    for line, standing in zip(lines, told, strict=True):
        assert float(line["mean gap"]) == standing["mean"]
        assert line["95% interval low"] == line["95% interval high"] == ""
    steps = list(csv.DictReader(StringIO(printed_by(file, "--csv", "--profiles"))))
    assert {line["1.05"] for line in steps} == {"1.0"}
    (pair,) = csv.DictReader(StringIO(printed_by(file, "--csv", "--compare", "a,a")))
    assert (pair["equal"], pair["compared"]) == ("3", "3")


@pytest.mark.parametrize("words", [(), ("--compare", "a,b")], ids=["standings", "pairs"])
def test_csv_holds_both_ends_of_an_interval(words: tuple[str, ...], tmp_path: Path) -> None:
    gaps = [i / 7 for i in range(FEW)]
    rows = [row(instance=f"i{g}", policy=p, gap=g**k) for g in gaps for k, p in enumerate("ab", 1)]
    file = tmp_path / "rows.jsonl"
    file.write_bytes(table(rows, ".jsonl"))
    key = "pairs" if words else "summary"
    told = json.loads(printed_by(file, "--json", *words))[key]
    lines = csv.DictReader(StringIO(printed_by(file, "--csv", *words)))
    for line, known in zip(lines, told, strict=True):
        ends = (float(line["95% interval low"]), float(line["95% interval high"]))
        assert ends == (known["low"], known["high"])
        assert known["low"] is not None


@pytest.mark.parametrize("words", ["--json --csv", "--csv --profiles --compare a,a"])
def test_one_sort_of_output_at_a_time(file: Path, words: str) -> None:
    assert refused("summary", file, *words.split())
