"""The report: what it counts, what it draws, and that no name can break out of it."""

import base64
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
from schedopt.report.bench_page import SCRIPTS, as_script, page
from schedopt.verbs.bench import bench

DSSP, EPOCH = Path("instances/dssp"), Path("instances/epoch")


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
    text = page(rows, EVIL)
    body = text[text.index("<body>") :]
    found = Found(body)
    assert not found.tags & {"img", "b", "a", "i", "iframe", "object"}
    assert not [name for name in found.attributes if name.startswith("on")]
    assert body.count("<script") == body.count("</script>") == 3


def test_the_policy_names_the_pages_own_scripts_and_nothing_else() -> None:
    text = page([row()])
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert "default-src 'none'" in policy[1]
    assert "script-src 'sha256-" in policy[1]
    (own,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert base64.b64encode(hashlib.sha256(own.encode()).digest()).decode() in policy[1]
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", text)
    assert not re.search(r"@import|url\(", text[: text.index("</style>")])


def data_of(text: str) -> Any:
    return json.loads(text.split('id="data">')[1].split("</script>", maxsplit=1)[0])


def test_a_bench_becomes_a_page_with_certificates(tmp_path: Path) -> None:
    files = [DSSP / "greedy-trap.json", EPOCH / "fig8.json"]
    rows = bench(files, policies=["greedy", "core", "equi-epoch"])
    target = tmp_path / "report.html"
    write(rows, target)
    data = data_of(target.read_text(encoding="utf-8"))
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
    write(rows, again)
    assert again.read_bytes() == target.read_bytes()


def test_it_begins_with_words_and_defines_its_columns() -> None:
    rows = [
        row(instance=f"n{i}", policy=p, gap=g, objective=10 * (1 - g))
        for i in range(3)
        for p, g in (("a", 0.0), ("b", 0.5))
    ]
    text = page(rows)
    words = text.split('class="words"')[1].split("</section>")[0]
    assert "a: 0.00% from the optimum on average." in words
    heads = re.findall(r'<th[^>]* title="([^"]*)">([^<]*)</th>', text)
    told = {name for meaning, name in heads if meaning}
    assert {"mean gap", "95% interval", "wins", "optimal", "no gap"} <= told
    assert "a beside each other policy" in text


def test_the_verb_writes_it_beside_what_failed(tmp_path: Path) -> None:
    bad, target = tmp_path / "bad.json", tmp_path / "report.html"
    bad.write_text('{"problem": "dssp", "name": "<b>"')
    words = ["--policy", "greedy,core", "--report", target, "--json"]
    done = run("bench", DSSP / "greedy-trap.json", bad, *words, status=2)
    assert len(done.stdout.splitlines()) == 2
    assert f"wrote {target}" in done.stderr
    text = target.read_text(encoding="utf-8")
    assert "bad.json" in text.split('class="failures"')[1].split("</section>")[0]


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
    for name in ("bench.html", "result.html", "page.css", *SCRIPTS):
        assert (installed / "schedopt" / "report" / name).is_file()


def test_settings_of_a_policy_stand_apart(tmp_path: Path) -> None:
    rows = [
        row
        for fill in (0.5, 1.0)
        for row in bench("example:greedy-trap", policies=["greedy"], options={"fill": fill})
    ]
    target = tmp_path / "report.html"
    write(rows, target)
    text = target.read_text(encoding="utf-8")
    assert "greedy fill=0.5" in text
    assert "greedy fill=1.0" in text
