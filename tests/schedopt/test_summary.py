"""Summaries, profiles and pairs: beside calculations small enough to do by hand."""

import itertools
import json
import statistics
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from builders.cli import refused, run
from builders.reports import row as plain_row

from schedopt.analysis.statistics import (
    FEW,
    against,
    contenders,
    interval,
    profiles,
    rank,
    summary,
)
from schedopt.analysis.tables import RowTable, standing_table
from schedopt.instances.errors import InputError
from schedopt.sweep.rows import BenchRow, table
from schedopt.sweep.sources import generated_sources
from schedopt.verbs.bench import bench
from schedopt.verbs.plot import plot, save


def row(instance: str, policy: str, objective: float | None, **more: Any) -> BenchRow:
    """Return a row whose reference is a proven 100, unless said otherwise."""
    reference = more.get("reference", 100.0)
    gap = None
    if objective is not None and reference is not None and not more.get("violations"):
        sign = 1 if more.get("problem", "dssp") == "dssp" else -1
        gap = sign * (reference - objective) / reference
    told = {"reference": 100.0, "gap": gap, "seconds": 1.0, "reference_seconds": 2.0}
    return plain_row(instance=instance, policy=policy, objective=objective, **(told | more))


ROWS = [
    row("one", "a", 100.0, seconds=0.5),
    row("one", "b", 90.0),
    row("two", "a", 80.0, seconds=1.5),
    row("two", "b", 80.0),
    row("three", "a", 50.0, reference_proven=False),
    row("three", "b", 99.0, violations=("too much",)),
    row("four", "a", None, termination="not-applicable"),
    row("four", "b", 70.0),
    row("five", "a", None, termination="time-limit"),
]


def test_summary_equals_hand_calculations() -> None:
    a, b = summary(ROWS)
    assert (a.problem, a.contender, a.runs, a.counted) == ("dssp", "a", 5, 3)
    assert (a.mean, a.median, a.worst) == (pytest.approx(0.7 / 3), 0.2, 0.5)
    assert (a.worst_instance, a.seconds) == ("three", 1.0)
    assert (a.instances, a.wins, a.at_optimum) == (4, 3, 1)  # nobody counts on five
    assert a.endings == {"not-applicable": 1, "time-limit": 1}
    assert (b.counted, b.mean, b.worst_instance) == (3, pytest.approx(0.2), "four")
    assert (b.wins, b.at_optimum, b.endings) == (2, 0, {"violations": 1})


def test_profiles_hold_ratios_to_the_best() -> None:
    a, b = profiles(ROWS)
    assert a.instances == b.instances == 4
    assert a.ratios == (1.0, 1.0, 1.0)
    assert b.ratios == (1.0, 1.0, pytest.approx(100 / 90))
    rows = [row("one", "a", 0.0), row("one", "b", 5.0), row("two", "a", 0.0), row("two", "b", 0.0)]
    assert [one.ratios for one in profiles(rows)] == [(1.0, float("inf")), (1.0, 1.0)]


def test_against_counts_wins_and_mean_advantage() -> None:
    rows = [row(f"i{i}", "a", v) for i, v in enumerate((90.0, 80.0, 100.0, 60.0))]
    rows += [row(f"i{i}", "b", v) for i, v in enumerate((100.0, 80.0, 50.0, 40.0))]
    (pair,), (other,) = (against(rows, name) for name in "ab")
    gains = [-0.1, 0.0, 0.5, 1 / 3]
    assert (pair.compared, pair.better, pair.same, pair.worse) == (4, 2, 1, 1)
    assert pair.mean == pytest.approx(statistics.mean(gains))
    assert (pair.low, pair.high) == interval([(gain,) for gain in gains])
    assert (other.better, other.worse, other.mean) == (1, 2, pytest.approx(-pair.mean))
    with pytest.raises(InputError, match="did you mean 'greedy'"):
        against([row("one", "greedy", 1.0)], "gredy")
    assert against([row("one", "a", 1.0), row("two", "b", 1.0)], "a") == []


def test_summary_averages_seeds_and_separates_options() -> None:
    rows = [row("one", "r", v, seed=s) for s, v in ((1, 80.0), (2, 100.0))]
    rows += [row("one", "f", v, options={"fill": f}) for f, v in ((0.5, 90.0), (1.0, 95.0))]
    assert set(contenders(rows).values()) == {"r", "f fill=0.5", "f fill=1.0"}
    wins = {standing.contender: standing.wins for standing in summary(rows)}
    assert wins == {"r": 0, "f fill=0.5": 0, "f fill=1.0": 1}
    pair = against(rows, "r")[0]
    assert (pair.b, pair.compared, pair.better, pair.worse) == ("f fill=0.5", 2, 1, 1)
    missing = [*rows[:1], row("one", "r", None, seed=2), *rows[2:]]
    assert against(missing, "r") == []


def test_interval_resamples_whole_groups() -> None:
    groups = [(0.0, 0.2, 0.4), (1.0,), (0.3, 0.1), (0.6,)]
    found = interval(groups, level=0.8, resamples=100_000)
    means = [
        statistics.fmean(value for group in picked for value in group)
        for picked in itertools.product(groups, repeat=4)
    ]
    assert found == pytest.approx(np.quantile(means, [0.1, 0.9]), abs=0.01)
    assert interval(groups) == interval(groups)


def test_summary_has_intervals_from_ten_instances_on() -> None:
    rows = [plain_row(instance=str(i), policy="p", gap=i / 100) for i in range(FEW)]
    (few,), (enough,) = summary(rows[1:]), summary(rows)
    assert (few.low, few.high) == (None, None)
    assert enough.low < enough.mean < enough.high
    twice = [  # seeds of one instance are no further instances
        plain_row(instance=r.instance, policy="p", gap=r.gap, seed=s) for r in rows for s in (1, 2)
    ]
    (both,) = summary(twice)
    assert (both.low, both.high) == (pytest.approx(enough.low), pytest.approx(enough.high))


def test_rank_puts_complete_policies_first() -> None:
    rows = [plain_row(instance=str(i), policy="all", gap=0.1) for i in range(2)]
    rows += [plain_row(instance="0", policy="one", gap=0.0)]
    rows += [plain_row(instance="0", policy="none", objective=None)]
    assert [standing.contender for standing in rank(summary(rows))] == ["all", "one", "none"]


def test_bench_rows_have_a_short_repr_and_an_html_table() -> None:
    rows = bench("instances/dssp/greedy-trap.json", policies=["greedy", "core"])
    assert repr(rows) == "<2 rows; dssp: 1 instance>"
    shown = rows._repr_html_()
    assert "99.80%" in shown
    assert "optimum proven for 1" in shown
    assert (repr(RowTable()), RowTable()._repr_html_()) == ("<0 rows>", "")


def test_bench_rows_convert_to_frames() -> None:
    rows = RowTable(
        [plain_row(gap=0.25), plain_row(policy="none", objective=None, options={"fill": 0.5})]
    )
    frame = rows.to_polars()
    assert frame["policy"].to_list() == ["greedy", "none"]
    assert frame["gap"].to_list() == [0.25, None]
    assert [json.loads(text) for text in frame["options"]] == [{}, {"fill": 0.5}]
    pytest.importorskip("pandas")
    assert list(rows.to_pandas().columns) == frame.columns


def test_summary_of_simulations_has_noise_and_no_optimum() -> None:
    rows = [row(f"i{i}", "a", 2.0, reference=2.0, confidence=n) for i, n in enumerate((0.6, 0.8))]
    [simulated] = summary(rows)
    assert simulated.at_optimum == 0
    assert simulated.noise == pytest.approx(0.25)
    assert standing_table([simulated]).texts()[0][1] == "0.00% ± 25.00%"
    [short] = summary([msgspec.structs.replace(r, confidence=None, sampled=True) for r in rows])
    assert short.at_optimum == 0
    [exact] = summary([msgspec.structs.replace(each, confidence=None) for each in rows])
    assert exact.at_optimum == 2
    assert standing_table([exact]).texts()[0][1] == "0.00%"


"""Missing, nothing at all, two that only rounding tells apart, and others."""


# --- the verb, and the picture ---------------------------------------------------------------


@pytest.fixture(scope="module")
def real() -> list[BenchRow]:
    sources = generated_sources("dssp", "uncorrelated", seeds=range(4), options={"jobs": 30})
    sources += generated_sources("epoch", seeds=[1, 2])
    return bench(generated=sources)


def test_summary_verb_prints_what_the_functions_return(
    real: list[BenchRow], tmp_path: Path
) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_bytes(table(real, ".jsonl"))
    words = ["summary", str(file), "--compare", "greedy"]
    told = json.loads(run(*words, "--json").stdout)
    assert told["summary"] == msgspec.to_builtins(summary(real))
    assert told["pairs"] == msgspec.to_builtins(against(real, "greedy"))
    shown = run(*words).stdout
    for word in ("instance by instance", "which is better"):
        assert word in shown
    empty = tmp_path / "empty.jsonl"
    empty.write_bytes(b"")
    for wrong in ([empty], [tmp_path / "missing.csv"], [file, "--compare", "gredy"]):
        assert refused("summary", *wrong)


def test_plot_of_rows_draws_profiles(real: list[BenchRow], tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    evil = [msgspec.structs.replace(r, policy="<script>$x_^$") for r in real[:1]]
    file.write_bytes(table([*evil, *real[1:]], ".jsonl"))
    figure = plot(file)
    names = [text.get_text() for axes in figure.axes for text in axes.get_legend().get_texts()]
    assert "greedy" in names
    assert len(figure.axes) == 2
    for ending in (".png", ".html"):
        save(figure, tmp_path / f"p{ending}")
        data = (tmp_path / f"p{ending}").read_bytes()
        assert len(data) > 5_000
        assert b"<script" not in data
