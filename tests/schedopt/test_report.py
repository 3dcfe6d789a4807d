"""The report: what it counts, what it draws, and that no name can break out of it."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from builders.reports import EVIL, row
from typer.testing import CliRunner

from instances.errors import InputError
from schedopt.analysis.profiles import profiles
from schedopt.analysis.summary import summary
from schedopt.cli import app
from schedopt.report import write
from schedopt.report.charts import MANY, charts
from schedopt.report.drawings import BUDGET, Picture, best, chosen
from schedopt.report.writing import as_script, page
from schedopt.sweep.plan import Sweep
from schedopt.sweep.rows import Row
from schedopt.verbs.bench import bench

ROOT = Path(__file__).parent.parent.parent
DSSP, EPOCH = Path("instances/dssp"), Path("instances/epoch")


def test_what_answers_another_question_is_no_contender() -> None:
    rows = [row(policy="epochs", objective=32.0, gap=0.0)]
    rows += [row(policy="rectangles", objective=16.0, gap=None)]
    rows += [row(policy="breaks", objective=1.0, gap=None, violations=("cap",))]
    shares = {profile.contender: profile.at(1e9) for profile in profiles(rows)}
    assert shares == {"epochs": 1.0, "rectangles": 0.0, "breaks": 0.0}
    assert best(rows) is rows[0]
    assert best(rows[1:]) is None


def test_without_a_reference_policies_still_compare() -> None:
    blank = {"gap": None, "reference": None, "reference_proven": False, "problem": "epoch"}
    rows = [row(policy=p, objective=v, **blank) for p, v in (("a", 4.0), ("b", 2.0))]
    assert [profile.ratios for profile in profiles(rows)] == [(2.0,), (1.0,)]
    assert best(rows) is rows[1]


def test_charts_are_what_plotly_takes() -> None:
    from plotly.graph_objects import Figure

    few = [row(instance=str(i), policy=p, gap=i / 9) for i in range(9) for p in ("a", *EVIL)]
    many = [row(instance=str(i), policy="b", gap=i / MANY) for i in range(MANY + 1)]
    far = [row(instance=str(i), policy="c", objective=2.0**-i, gap=2.0**i) for i in range(6)]
    for rows in (few, many, far):
        for chart in charts(rows, summary(rows), profiles(rows)).values():
            assert len(Figure(chart).data) == len({r.policy for r in rows})
    shown = charts(many, summary(many), profiles(many))["gaps"]["data"][0]
    assert "x" not in shown
    assert shown["median"] == [0.5]


def test_pictures_go_to_the_telling_instances_and_within_the_time() -> None:
    gaps = {"a": 0.1, "b": 0.3, "c": 0.2, "slow": 0.9}
    cases = {
        name: [row(instance=name, gap=gap, reference_seconds=2 * BUDGET * (name == "slow"))]
        for name, gap in gaps.items()
    }
    assert chosen(cases, 2) == ["b", "c"]
    assert chosen(cases, 9) == ["a", "b", "c"]
    assert chosen(cases, 0) == []


@pytest.mark.parametrize("name", [*EVIL, "\u2028\u2029", "]]>", "<!--<script>"])
def test_no_name_ends_the_script_tag_that_it_stands_in(name: str) -> None:
    text = as_script({"name": name})
    assert not set(text) & set("<>&\u2028\u2029")
    assert json.loads(text) == {"name": name}


def test_every_name_is_escaped_wherever_it_stands() -> None:
    rows = [row(instance=n, policy=n, file=n, message=n, violations=(n,)) for n in EVIL]
    text = page(rows, {}, failures=EVIL)
    body = text[text.index("<body>") :]
    tags = {tag.lower() for tag in re.findall(r"<([a-z]+)", body[: body.index('id="plotly"')])}
    assert not tags & {"img", "b", "a", "i", "iframe", "object"}
    assert body.count("<script") == body.count("</script>") == 3
    assert not re.search(r"<[^>]* on\w+=", body[: body.index('id="plotly"')])


def test_the_policy_names_the_pages_own_scripts_and_nothing_else() -> None:
    text = page([row()], {})
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    assert "default-src 'none'" in policy[1]
    assert "script-src 'sha256-" in policy[1]
    (own,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert base64.b64encode(hashlib.sha256(own.encode()).digest()).decode() in policy[1]
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", text)
    assert not re.search(r"@import|url\(", text[: text.index("</style>")])


def test_a_bench_becomes_a_page_with_pictures_and_certificates(tmp_path: Path) -> None:
    files = [DSSP / "greedy-trap.json", EPOCH / "fig8.json"]
    rows = bench(files)
    target = tmp_path / "report.html"
    write(rows, target, sweep=Sweep())
    text = target.read_text(encoding="utf-8")
    assert text.count("<svg role=") == 4
    assert "<style type=" not in text
    data = json.loads(text.split('id="data">')[1].split("</script>")[0])
    assert [len(data["rows"]), len(data["instances"])] == [len(rows), 2]
    trap, fig8 = data["instances"]
    assert (trap["reference"], trap["bound"], trap["proven"]) == (
        rows[0].reference,
        rows[0].reference,
        True,
    )
    assert (trap["formulation"], trap["solver"]) == ("selection", "core")
    assert (fig8["formulation"], fig8["solver"]) == ("partition", "epochs")
    again = tmp_path / "again.html"
    write(rows, again, sweep=Sweep())
    assert again.read_bytes() == target.read_bytes()
    write(rows, again)
    assert again.read_text(encoding="utf-8").count("<svg") == 0


def test_a_file_that_is_not_what_was_benched_has_no_picture_and_says_why(tmp_path: Path) -> None:
    copy, target = tmp_path / "copy.json", tmp_path / "report.html"
    copy.write_bytes((DSSP / "greedy-trap.json").read_bytes())
    sweep = Sweep(policies=("greedy",))
    rows = bench(copy, policies=["greedy"])
    for spoil, says in (
        (lambda: copy.write_bytes((DSSP / "two-shots.json").read_bytes()), "has changed since"),
        (copy.unlink, "not drawn: "),
    ):
        spoil()
        write(rows, target, sweep=sweep)
        text = target.read_text(encoding="utf-8")
        assert "<svg" not in text
        assert says in text[text.index('<template id="picture-0">') :]


def test_the_verb_writes_it_beside_what_failed(tmp_path: Path) -> None:
    bad, target = tmp_path / "bad.json", tmp_path / "report.html"
    bad.write_text('{"problem": "dssp", "name": "<b>"')
    words = ["bench", str(DSSP / "greedy-trap.json"), str(bad), "--report", str(target), "--json"]
    done = CliRunner().invoke(app, [*words, "--policy", "greedy,core", "--pictures", "0"])
    assert done.exit_code == 2
    assert len(done.stdout.splitlines()) == 2
    assert f"wrote {target}" in done.stderr
    text = target.read_text(encoding="utf-8")
    assert "bad.json" in text.split('class="failures"')[1].split("</section>")[0]
    assert "<svg" not in text


def test_interrupted_while_drawing_it_is_written_with_what_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = iter([[Picture("one", "<svg></svg>")]])

    def impatient(*args: object) -> list[Picture]:
        for pair in drawn:
            return pair
        raise KeyboardInterrupt

    monkeypatch.setattr("schedopt.report.drawings.drawn", impatient)
    target = tmp_path / "report.html"
    files = [str(DSSP / name) for name in ("greedy-trap.json", "two-shots.json")]
    done = CliRunner().invoke(app, ["bench", *files, "--policy", "core", "--report", str(target)])
    assert done.exit_code == 130
    assert "lacks pictures" in done.stderr
    assert target.read_text(encoding="utf-8").count("<svg") == 1


def test_what_cannot_be_drawn_costs_its_own_picture_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: object, **words: object) -> None:
        raise ZeroDivisionError("<b>")

    monkeypatch.setattr("schedopt.verbs.plot.plot", broken)
    rows = bench(DSSP / "greedy-trap.json", policies=["core"])
    write(rows, tmp_path / "report.html", sweep=Sweep(policies=("core",)))
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert text.count("not drawn: ZeroDivisionError: &lt;b&gt;") == 2


@pytest.mark.parametrize("name", ["report.txt", "nowhere/report.html"])
def test_a_report_that_cannot_be_written_is_refused_before_the_work(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def must_not_run(*args: object, **words: object) -> list[Row]:
        raise AssertionError("work was done")

    monkeypatch.setattr("schedopt.verbs.bench.bench", must_not_run)
    words = ["bench", str(DSSP), "--report", str(tmp_path / name)]
    done = CliRunner().invoke(app, words)
    assert isinstance(done.exception, InputError)


def test_no_rows_still_make_a_page(tmp_path: Path) -> None:
    write([], tmp_path / "report.html", failures=["night.json: nothing in it"])
    assert "nothing in it" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_the_wheel_carries_page_style_and_script(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, env=dict(os.environ))
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    for name in ("page.html", "page.css", "page.js"):
        assert f"schedopt/report/{name}" in names


def test_policies_whose_long_names_begin_alike_stay_apart() -> None:
    names = ["x" * 99 + end for end in "ab"]
    rows = [row(policy=name) for name in names]
    found = charts(rows, summary(rows), profiles(rows))["gaps"]
    assert sorted(trace["y0"] for trace in found["data"]) == names


def test_settings_of_a_policy_stand_apart(tmp_path: Path) -> None:
    settings = {"fill": [0.5, 1.0]}
    rows = bench("instances/dssp/greedy-trap.json", policies=["greedy"], options=settings)
    target = tmp_path / "report.html"
    write(rows, target, sweep=Sweep(policies=("greedy",), options=settings))
    text = target.read_text(encoding="utf-8")
    assert "greedy fill=0.5" in text
    assert "greedy fill=1.0" in text
    assert "not drawn" not in text
