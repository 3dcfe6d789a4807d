"""The report: what it counts, what it draws, and that no name can break out of it."""

import base64
import gzip
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from builders.cli import refused, run
from builders.refusals import raising
from builders.reports import EVIL, row

from schedopt.report import write
from schedopt.report.drawings import BUDGET, MOST, Picture, chosen, drawn, order
from schedopt.report.writing import SCRIPTS, as_script, page
from schedopt.sweep import measure
from schedopt.sweep.plan import Sweep, problem_plans
from schedopt.verbs.bench import bench

DSSP, EPOCH = Path("instances/dssp"), Path("instances/epoch")


def test_the_best_come_first_and_what_does_not_count_last() -> None:
    rows = [
        row(policy="broken", objective=9.0, gap=None, violations=("cap",)),
        row(policy="none", objective=None),
        row(policy="far", objective=4.0, gap=0.6),
        row(policy="near", objective=8.0, gap=0.2),
    ]
    assert [found.policy for found in order(rows)] == ["near", "far", "broken", "none"]
    blank = {"gap": None, "reference": None, "reference_proven": False, "problem": "epoch"}
    rows = [row(policy=p, objective=v, **blank) for p, v in (("a", 4.0), ("b", 2.0))]
    assert [found.policy for found in order(rows)] == ["b", "a"]  # fewer reallocations are better


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


class Found(HTMLParser):
    """The tags of a page, and all attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


def test_every_name_is_escaped_wherever_it_stands() -> None:
    rows = [row(instance=n, policy=n, file=n, message=n, violations=(n,)) for n in EVIL]
    text = page(rows, {}, failures=EVIL)
    body = text[text.index("<body>") :]
    found = Found(body)
    assert not found.tags & {"img", "b", "a", "i", "iframe", "object"}
    assert not [name for name in found.attributes if name.startswith("on")]
    assert body.count("<script") == body.count("</script>") == 4


def test_the_policy_names_the_pages_own_scripts_and_nothing_else() -> None:
    text = page([row()], {})
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert "default-src 'none'" in policy[1]
    assert "script-src 'sha256-" in policy[1]
    (own,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert base64.b64encode(hashlib.sha256(own.encode()).digest()).decode() in policy[1]
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", text)
    assert not re.search(r"@import|url\(", text[: text.index("</style>")])


def pictures_of(text: str) -> list[str]:
    """Return the drawings that a page carries."""
    packed = text.split('id="pictures">')[1].split("</script>", maxsplit=1)[0]
    found: list[str] = json.loads(gzip.decompress(base64.b64decode(packed)))
    return found


def data_of(text: str) -> Any:
    return json.loads(text.split('id="data">')[1].split("</script>", maxsplit=1)[0])


def test_a_bench_becomes_a_page_with_pictures_and_certificates(tmp_path: Path) -> None:
    files = [DSSP / "greedy-trap.json", EPOCH / "fig8.json"]
    sweep = Sweep(policies={"dssp": ("greedy", "core"), "epoch": ("equi-epoch",)})
    rows = bench(files, policies=sweep.policies)
    target = tmp_path / "report.html"
    write(rows, target, sweep=sweep)
    text = target.read_text(encoding="utf-8")
    svgs = pictures_of(text)
    assert len(svgs) == 3 + 2
    assert all(svg.startswith("<svg role=") for svg in svgs)
    assert not any("<style" in svg or "<script" in svg for svg in svgs)
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
    write(rows, again, sweep=sweep)
    assert again.read_bytes() == target.read_bytes()
    write(rows, again)
    assert pictures_of(again.read_text(encoding="utf-8")) == []


def test_every_policy_has_its_picture_and_equal_solutions_share_one() -> None:
    policies = ["greedy", "core", "fptas", "lcpf", "random"]
    sweep = Sweep(policies=tuple(policies), seeds=(1, 2))
    rows = bench(DSSP / "greedy-trap.json", policies=policies, seeds=[1, 2])
    of = problem_plans(sweep, ["dssp"])
    reference, *own = drawn(rows, sweep, of, MOST)
    assert reference.caption == "The optimum"
    assert all(picture.svg for picture in own)
    assert sorted(key for picture in own for key in picture.keys) == sorted(r.key for r in rows)
    captions = [picture.caption for picture in own]
    assert "core, fptas" in captions
    assert "greedy" in captions
    _, first, *rest = drawn(rows, sweep, of, 2)
    assert first.svg
    assert all(picture.note == f"not drawn: a report has {MOST} pictures" for picture in rest)


def test_a_policy_that_raises_costs_its_own_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    sweep = Sweep(policies=("greedy", "core"))
    rows = bench(DSSP / "greedy-trap.json", policies=["greedy", "core"])
    real = measure.evaluate

    def broken(instance: Any, policy: str, **words: Any) -> Any:
        if policy == "core":
            raise ZeroDivisionError("now")
        return real(instance, policy, **words)

    monkeypatch.setattr(measure, "evaluate", broken)
    reference, *own = drawn(rows, sweep, problem_plans(sweep, ["dssp"]), MOST)
    assert reference.svg
    told = {picture.caption: (bool(picture.svg), picture.note) for picture in own}
    assert told["greedy"] == (True, "")
    assert told["core"] == (False, "no solution: error: ZeroDivisionError: now")


def test_it_begins_with_words_and_defines_its_columns() -> None:
    rows = [
        row(instance=f"n{i}", policy=p, gap=g, objective=10 * (1 - g))
        for i in range(3)
        for p, g in (("a", 0.0), ("b", 0.5))
    ]
    text = page(rows, {})
    words = text.split('class="words"')[1].split("</section>")[0]
    assert "<strong>a is optimal in all 3 runs.</strong>" in words
    assert "50.00%" in words
    heads = re.findall(r'<th[^>]* title="([^"]*)">([^<]*)</th>', text)
    told = {name for meaning, name in heads if meaning}
    assert {"mean gap", "95% interval", "wins", "optimal", "no gap"} <= told
    assert "a beside each other policy" in text


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
        assert pictures_of(text) == []
        (told,) = data_of(text)["instances"][0]["pictures"]
        assert says in told["note"]


def test_the_verb_writes_it_beside_what_failed(tmp_path: Path) -> None:
    bad, target = tmp_path / "bad.json", tmp_path / "report.html"
    bad.write_text('{"problem": "dssp", "name": "<b>"')
    words = ["--policy", "greedy,core", "--report", target, "--json", "--pictures", "0"]
    done = run("bench", DSSP / "greedy-trap.json", bad, *words, status=2)
    assert len(done.stdout.splitlines()) == 2
    assert f"wrote {target}" in done.stderr
    text = target.read_text(encoding="utf-8")
    assert "bad.json" in text.split('class="failures"')[1].split("</section>")[0]
    assert pictures_of(text) == []


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
    files = [DSSP / name for name in ("greedy-trap.json", "two-shots.json")]
    done = run("bench", *files, "--policy", "core", "--report", target, status=130)
    assert "lacks pictures" in done.stderr
    assert pictures_of(target.read_text(encoding="utf-8")) == ["<svg></svg>"]


def test_what_cannot_be_drawn_costs_one_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    monkeypatch.setattr("schedopt.verbs.plot.plot", raising(ZeroDivisionError("<b>")))
    rows = bench(DSSP / "greedy-trap.json", policies=["core"])
    write(rows, tmp_path / "report.html", sweep=Sweep(policies=("core",)))
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    notes = [picture["note"] for picture in data_of(text)["instances"][0]["pictures"]]
    assert notes == ["not drawn: ZeroDivisionError: <b>"] * 2


@pytest.mark.parametrize("name", ["report.txt", "nowhere/report.html"])
def test_a_report_that_cannot_be_written_is_refused_before_the_work(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    monkeypatch.setattr("schedopt.verbs.bench.bench", raising(AssertionError("work was done")))
    assert refused("bench", DSSP, "--report", tmp_path / name)


def test_no_rows_still_make_a_page(tmp_path: Path) -> None:
    write([], tmp_path / "report.html", failures=["night.json: nothing in it"])
    assert "nothing in it" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_the_wheel_carries_page_style_and_script(installed: Path) -> None:
    for name in ("page.html", "page.css", *SCRIPTS):
        assert (installed / "schedopt" / "report" / name).is_file()


def test_settings_of_a_policy_stand_apart(tmp_path: Path) -> None:
    settings = {"fill": [0.5, 1.0]}
    rows = bench("instances/dssp/greedy-trap.json", policies=["greedy"], options=settings)
    target = tmp_path / "report.html"
    write(rows, target, sweep=Sweep(policies=("greedy",), options=settings))
    text = target.read_text(encoding="utf-8")
    assert "greedy fill=0.5" in text
    assert "greedy fill=1.0" in text
    assert all(not picture["note"] for picture in data_of(text)["instances"][0]["pictures"])
