"""Tables and charts say of rows what counting by hand gives."""

import re
from pathlib import Path
from statistics import fmean, median
from typing import Any

import msgspec
import numpy as np
import pytest
from builders.cli import run
from builders.effort import tried
from builders.msfq import queue_of
from builders.reports import row
from hypothesis import strategies as st

import schedopt
from schedopt.analysis.statistics import contenders, overview, profiles, summary
from schedopt.analysis.tables import RowTable, leader, measured_tables, standings
from schedopt.formats import percent
from schedopt.instances.errors import InputError
from schedopt.instances.files import dump
from schedopt.instances.msfq.logs import Jobs
from schedopt.policies.registry import registered
from schedopt.report.bench_page import write
from schedopt.sweep.plan import Sweep
from schedopt.sweep.rows import Row, read_rows, table
from schedopt.sweep.sources import FileSource
from schedopt.verbs.bench import plan_tasks

CONTENDERS = (("a", {}), ("b", {}), ("c", {"fill": 0.5}), ("c", {"fill": 1.0}))
OBJECTIVES = (None, 0.0, 2.0, 2.0 + 1e-12, 3.0, 8.0)
"""Missing, nothing at all, two that only rounding tells apart, and others."""


@st.composite
def random_rows(draw: st.DrawFn) -> list[Row]:
    """Draw rows of one problem: ties, gaps in the table, violations, unproven references."""
    problem = draw(st.sampled_from(["dssp", "epoch"]))
    sign = 1 if problem == "dssp" else -1
    rows = []
    for i in range(draw(st.integers(1, 4))):
        reference = draw(st.sampled_from([None, 2.0, 3.0, 8.0]))
        proven = reference is not None and draw(st.booleans())
        for policy, options in draw(st.lists(st.sampled_from(CONTENDERS), unique_by=str)):
            for seed in range(draw(st.integers(1, 2))):
                objective = draw(st.sampled_from(OBJECTIVES))
                broken = objective is not None and draw(st.integers(0, 4)) == 0
                gap = None
                if None not in (objective, reference) and not broken and draw(st.integers(0, 4)):
                    gap = sign * (reference - objective) / reference
                    gap = max(0.0, gap) if proven else gap
                rows.append(
                    row(
                        instance=f"i{i}",
                        problem=problem,
                        policy=policy,
                        options=options,
                        seed=seed,
                        objective=objective,
                        reference=reference,
                        reference_proven=proven,
                        gap=gap,
                        violations=("cap",) if broken else (),
                        seconds=draw(st.sampled_from([0.001, 0.25])),
                    )
                )
    return [
        Row(**({f: getattr(r, f) for f in Row.__struct_fields__} | {"key": str(k)}))
        for k, r in enumerate(draw(st.permutations(rows)))
    ]


def cells_of(rows: list[Row]) -> dict[str, dict[str, str]]:
    """Return the cells of the table that terminal and page render: by contender, then heading."""
    ((_, shown),) = standings(summary(rows), overview(rows))
    return {mine[0]: dict(zip(shown.heads, mine, strict=True)) for mine in shown.texts()}


def by_hand(rows: list[Row]) -> dict[str, dict[str, Any]]:
    """Count what the summary claims, in the plainest way there is."""
    who = contenders(rows)
    more = rows[0].problem == "dssp"
    scores: dict[tuple[str, str], float] = {}
    for name in who.values():
        for file in {r.file for r in rows}:
            runs = [r for r in rows if who[r.key] == name and r.file == file]
            fine = [
                r.objective
                for r in runs
                if r.objective is not None
                and not r.violations
                and (r.gap is not None or r.reference is None)
            ]
            if runs and len(fine) == len(runs):
                scores[name, file] = fmean(fine)
    files = {file for _, file in scores}
    found = {}
    for name in dict.fromkeys(who.values()):
        wins = 0
        for file in files:
            others = [value for (_, f), value in scores.items() if f == file]
            mine = scores.get((name, file))
            top = (max if more else min)(others)
            wins += mine is not None and abs(mine - top) <= 1e-9 * max(abs(mine), abs(top))
        gaps = [r.gap for r in rows if who[r.key] == name and r.gap is not None]
        found[name] = {
            "wins": f"{wins} of {len(files)}",
            "optimal": sum(
                r.gap <= 1e-9 and r.reference_proven
                for r in rows
                if who[r.key] == name and r.gap is not None
            ),
            "gaps": gaps,
        }
    return found


@tried(60, random_rows().filter(bool))
def test_the_summary_says_what_counting_by_hand_gives(rows: list[Row]) -> None:
    shown, counted = cells_of(rows), by_hand(rows)
    assert set(shown) == set(counted)
    found = {standing.contender: standing for standing in summary(rows)}
    for name, mine in counted.items():
        assert shown[name]["wins"] == mine["wins"]
        of = len(mine["gaps"])
        assert shown[name]["optimal"] == (f"{mine['optimal']} of {of}" if of else "–")
        if of:
            assert found[name].mean == pytest.approx(fmean(mine["gaps"]))
            assert found[name].median == pytest.approx(median(mine["gaps"]))
            assert found[name].worst == max(mine["gaps"])


@tried(60, random_rows().filter(bool))
def test_the_profile_begins_with_the_wins(rows: list[Row]) -> None:
    standings = {standing.contender: standing for standing in summary(rows)}
    for profile in profiles(rows):
        standing = standings[profile.contender]
        assert sum(ratio == 1.0 for ratio in profile.ratios) == standing.wins


def test_the_rows_that_once_were_counted_differently(tmp_path: Path) -> None:
    """What nobody solved is no instance, seeds are no cases, and unproven is not optimal."""
    rows = [
        row(instance="one", policy=p, seed=s, objective=v, gap=g, reference_proven=False)
        for p, s, v, g in (("a", 0, 10.0, 0.0), ("a", 1, 10.0, 0.0), ("b", 0, 8.0, 0.2))
    ]
    rows += [row(instance="two", policy=p, objective=10.0, gap=0.0) for p in "ab"]
    rows += [row(instance="three", policy=p, objective=None) for p in "ab"]
    counted = {name: (mine["wins"], mine["optimal"]) for name, mine in cells_of(rows).items()}
    assert counted == {"a": ("2 of 2", "1 of 3"), "b": ("1 of 2", "1 of 2")}
    write(rows, tmp_path / "page.html")
    web = (tmp_path / "page.html").read_text()
    assert all(f">{cell}</span></td>" in web for cells in counted.values() for cell in cells)


WEEK = 7 * 86400
CLASSES = Path(__file__).parents[2] / "instances" / "msfq"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    draw = np.random.default_rng(1)
    n = 600
    jobs = Jobs.of(
        np.sort(draw.uniform(0, 6 * 604800.0, n)).round(),
        draw.integers(1, 9, n),
        draw.lognormal(8.5, 1.0, n).round() + 1,
        user=[str(u) for u in draw.integers(0, 5, n).tolist()],
    )
    path = tmp_path_factory.mktemp("logs") / "small.json"
    dump(queue_of(jobs, 8), path)
    return path


@pytest.fixture(scope="module")
def rows(log: Path) -> RowTable:
    names = ["fcfs", "easy", "saf", "adaptive-quickswap"]
    return schedopt.bench([log], policies=names)


def test_every_policy_is_for_logs_or_for_classes(log: Path) -> None:
    sweep = Sweep()

    def planned(path: Path) -> set[str]:
        ((task,), _) = plan_tasks([FileSource(path)], sweep)
        return {run.policy for run in task.runs}

    every = registered("msfq")
    on_logs, on_classes = planned(log), planned(next(CLASSES.glob("*.json")))
    assert on_logs | on_classes == set(every)
    assert {name for name in every if every[name].suits == "beside"} == on_logs - on_classes
    assert on_classes - on_logs == {"msfq", "two-threshold", "nmsr"}
    named = schedopt.bench([next(CLASSES.glob("*.json"))], policies=["easy"])
    assert [row.termination for row in named] == ["not-applicable"]


def test_rows_tell_what_is_measured_and_keep_it(rows: RowTable, tmp_path: Path) -> None:
    assert all(row.reference_bound and row.objective >= row.reference_bound for row in rows)  # type: ignore[operator]
    assert all(row.confidence is None and row.measures["± of batches"] > 0 for row in rows)
    (tmp_path / "rows.jsonl").write_bytes(table(rows, ".jsonl"))
    assert read_rows(tmp_path / "rows.jsonl") == list(rows)


def test_a_picture_of_one_log_has_bars(rows: RowTable) -> None:
    (axes,) = schedopt.plot(rows).axes
    best = min(row.objective or 0.0 for row in rows)
    assert sorted(bar.get_width() for bar in axes.patches) == pytest.approx(
        sorted(100 * ((row.objective or 0.0) / best - 1) for row in rows)
    )


def test_the_table_leads_with_it(rows: RowTable) -> None:
    (shown,) = measured_tables(rows)
    assert shown.heads[:4] == ("policy", "response", "over the bound", "± of batches")
    (standing, *_), bound = summary(rows), rows[0].reference_bound or 0.0
    over = (rows[0].objective or 0.0) / bound - 1
    assert next(cells[2] for cells in shown.texts() if cells[0] == "fcfs") == percent(over)
    assert (standing.contender, standing.mean) == ("fcfs", pytest.approx(over))
    best = min(rows, key=lambda row: row.objective or 0.0).policy
    assert shown.rows[0][0] == best
    assert leader(summary(rows), overview(rows)[0]).startswith(f"{best}: ")


def test_a_page_has_it_too(rows: RowTable, tmp_path: Path) -> None:
    write(rows, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    section = text[text.index("<h2>What is measured") : text.index("<h2>msfq")]
    assert "no schedule is below" in section
    assert len(re.findall("<tr>", section)) == 1 + 4


def test_starts_are_those_of_one_policy(log: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="one policy on one instance: 2 runs would write"):
        schedopt.evaluate(log, ["fcfs", "easy"], options={"starts": str(tmp_path / "s.csv")})
    with pytest.raises(InputError, match="2 runs would write"):
        schedopt.bench([log], policies=["fcfs", "saf"], options={"starts": str(tmp_path / "s.csv")})
    told = schedopt.evaluate(log, "fcfs", options={"starts": str(tmp_path / "s.csv")})
    assert told.confidence is msgspec.UNSET  # a replay is exact
    assert "by batch means" in run("evaluate", log, "--policy", "fcfs").stdout


def test_a_terminal_shows_it(log: Path) -> None:
    done = run("bench", log, "--policy", "fcfs,saf")
    assert "over the bound" in done.stdout.replace("\n", " ") or "bound" in done.stdout
