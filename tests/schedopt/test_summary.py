"""Summaries, profiles, pairs and changes: beside calculations small enough to do by hand."""

import json
import statistics
from pathlib import Path
from typing import Any

import msgspec
import pytest
from builders.cli import refused, run
from builders.refusals import refusal
from builders.reports import row as plain_row

from schedopt.analysis.averages import interval
from schedopt.analysis.contenders import contenders
from schedopt.analysis.pairs import compare_contenders
from schedopt.analysis.profiles import profiles
from schedopt.analysis.summary import summary
from schedopt.analysis.tables import standing_table
from schedopt.instances.errors import InputError
from schedopt.sweep.rows import FORMATS, Row, table
from schedopt.sweep.sources import generated
from schedopt.verbs.bench import bench
from schedopt.verbs.plot import plot, save


def row(instance: str, policy: str, objective: float | None, **more: Any) -> Row:
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


def test_a_summary_is_what_one_would_count() -> None:
    a, b = summary(ROWS)
    assert (a.problem, a.contender, a.runs, a.counted) == ("dssp", "a", 5, 3)
    assert (a.mean, a.median, a.worst) == (pytest.approx(0.7 / 3), 0.2, 0.5)
    assert (a.worst_instance, a.worst_file) == ("three", "three.json")
    assert (a.instances, a.wins, a.at_optimum) == (4, 3, 1)  # nobody counts on five
    assert a.proven == 4 / 5
    assert (a.seconds, a.total_seconds) == (1.0, 5.0)
    assert a.endings == {"not-applicable": 1, "time-limit": 1}
    assert (b.counted, b.mean, b.worst_instance) == (3, pytest.approx(0.2), "four")
    assert (b.wins, b.at_optimum, b.endings) == (2, 0, {"violations": 1})


def test_less_is_better_where_it_is() -> None:
    rows = [row("one", p, v, problem="epoch") for p, v in (("x", 100.0), ("y", 150.0))]
    x, y = summary(rows)
    assert (x.wins, y.wins) == (1, 0)
    assert [p.ratios for p in profiles(rows)] == [(1.0,), (1.5,)]
    (pair,) = compare_contenders(rows, "x", "y")
    assert (pair.better, pair.mean) == (1, pytest.approx(1 / 3))


def test_a_profile_is_a_share_of_instances_within_a_factor() -> None:
    a, b = profiles(ROWS)
    assert a.instances == b.instances == 4
    assert a.ratios == (1.0, 1.0, 1.0)
    assert b.ratios == (1.0, 1.0, pytest.approx(100 / 90))
    assert [a.at(t) for t in (1, 2)] == [0.75, 0.75]
    assert [b.at(t) for t in (1, 1.1, 1.12)] == [0.5, 0.5, 0.75]


def test_nothing_at_all_against_something_is_infinitely_worse() -> None:
    rows = [row("one", "a", 0.0), row("one", "b", 5.0), row("two", "a", 0.0), row("two", "b", 0.0)]
    a, b = profiles(rows)
    assert a.ratios == (1.0, float("inf"))
    assert b.ratios == (1.0, 1.0)
    assert a.at(1e300) == 0.5


def test_a_pair_says_who_is_ahead_and_by_how_much() -> None:
    rows = [row(f"i{i}", "a", v) for i, v in enumerate((90.0, 80.0, 100.0, 60.0))]
    rows += [row(f"i{i}", "b", v) for i, v in enumerate((100.0, 80.0, 50.0, 40.0))]
    (pair,), (other,) = (compare_contenders(rows, *names) for names in ("ab", "ba"))
    gains = [-0.1, 0.0, 0.5, 1 / 3]
    assert (pair.instances, pair.better, pair.same, pair.worse) == (4, 2, 1, 1)
    assert pair.mean == pytest.approx(statistics.mean(gains))
    assert pair.median == pytest.approx(statistics.median(gains))
    assert (pair.low, pair.high) == interval([(gain,) for gain in gains])
    assert (other.better, other.worse, other.mean) == (1, 2, pytest.approx(-pair.mean))


def test_a_pair_needs_instances_on_which_both_count() -> None:
    with pytest.raises(InputError, match="did you mean 'greedy'"):
        compare_contenders([row("one", "greedy", 1.0)], "gredy", "greedy")
    with pytest.raises(InputError, match="both a and b count"):
        compare_contenders([row("one", "a", 1.0), row("two", "b", 1.0)], "a", "b")


def test_seeds_are_averaged_and_options_are_contenders() -> None:
    rows = [row("one", "r", v, seed=s) for s, v in ((1, 80.0), (2, 100.0))]
    rows += [row("one", "f", v, options={"fill": f}) for f, v in ((0.5, 90.0), (1.0, 95.0))]
    assert set(contenders(rows).values()) == {"r", "f fill=0.5", "f fill=1.0"}
    wins = {standing.contender: standing.wins for standing in summary(rows)}
    assert wins == {"r": 0, "f fill=0.5": 0, "f fill=1.0": 1}
    (pair,) = compare_contenders(rows, "r", "f fill=0.5")
    assert pair.compared == (2, "replication")
    assert (pair.better, pair.worse) == (1, 1)
    missing = [*rows[:1], row("one", "r", None, seed=2), *rows[2:]]
    (pair,) = compare_contenders(missing, "r", "f fill=0.5")
    assert (pair.instances, pair.left_out, pair.worse) == (1, 1, 1)
    assert "both" in str(refusal(compare_contenders, [*missing[1:]], "r", "f fill=0.5"))


# --- the verb, and the picture ---------------------------------------------------------------


@pytest.fixture(scope="module")
def real() -> list[Row]:
    sources = generated("dssp", "uncorrelated", seeds=range(4), options={"jobs": 30})
    sources += generated("epoch", seeds=[1, 2])
    return bench(generated=sources)


@pytest.mark.parametrize("suffix", FORMATS)
def test_the_verb_says_what_the_functions_say(real: list[Row], tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"rows{suffix}"
    file.write_bytes(table(real, suffix))
    words = ["summary", str(file), "--compare", "greedy,core", "--profiles"]
    told = json.loads(run(*words, "--json").stdout)
    assert told["summary"] == msgspec.to_builtins(summary(real))
    assert told["pairs"] == msgspec.to_builtins(compare_contenders(real, "greedy", "core"))
    assert len(told["profiles"]) == len(profiles(real))
    shown = run(*words).stdout
    for word in ("instance by instance", "within a factor", "do not settle"):
        assert word in shown


def test_the_verb_refuses_what_it_cannot_tell(real: list[Row], tmp_path: Path) -> None:
    file, empty = tmp_path / "rows.jsonl", tmp_path / "empty.jsonl"
    file.write_bytes(table(real, ".jsonl"))
    empty.write_bytes(b"")
    pairs = ([file, "--compare", names] for names in ("greedy", "greedy,gredy"))
    for words in ([empty], [tmp_path / "missing.csv"], *pairs):
        assert refused("summary", *words)


def test_plot_draws_profiles(real: list[Row], tmp_path: Path) -> None:
    file = tmp_path / "rows.parquet"
    evil = [msgspec.structs.replace(r, policy="<script>$x_^$") for r in real[:1]]
    file.write_bytes(table([*evil, *real[1:]], ".parquet"))
    figure = plot(file)
    names = [text.get_text() for axes in figure.axes for text in axes.get_legend().get_texts()]
    assert "greedy" in names
    assert len(figure.axes) == 2
    for ending in (".png", ".html"):
        save(figure, tmp_path / f"p{ending}")
        data = (tmp_path / f"p{ending}").read_bytes()
        assert len(data) > 5_000
        assert b"<script" not in data


def test_a_simulated_value_is_never_the_optimum_and_says_how_exact_it_is() -> None:
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
