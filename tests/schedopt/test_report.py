"""The pages: what they say, that no name breaks out, and how they are in a real browser."""

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from builders.browser import PHONE, Browser, click, downloaded, in_theme, opened, ready
from builders.cli import refused, run
from builders.refusals import raising
from builders.reports import EVIL, ROWS, row
from selenium.webdriver.common.by import By

from schedopt.instances.constraints import Forbid
from schedopt.instances.dssp import Instance, Job
from schedopt.report.pages import write_bench, write_result
from schedopt.verbs.bench import bench
from schedopt.verbs.plan_table import carried_out
from schedopt.verbs.solve import solve

DSSP, EPOCH = Path("instances/dssp"), Path("instances/epoch")


class Found(HTMLParser):
    """The tags of a page, and all attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}


def test_page_escapes_names_and_allows_only_its_own_script(tmp_path: Path) -> None:
    rows = [row(instance=n, policy=n, file=n, message=n, violations=(n,)) for n in EVIL]
    write_bench(rows, tmp_path / "page.html", failures=EVIL)
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    found = Found(text[text.index("<body") :])
    assert not {*found.tags} & {"img", "b", "i", "iframe", "object"}
    assert not [name for name in found.attributes if name.startswith("on")]
    assert found.tags.count("script") == 1
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    (own,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(own.encode()).digest()).decode()
    assert "default-src 'none'" in policy[1]
    assert f"script-src 'sha256-{digest}'" in policy[1]
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", text)
    assert not re.search(r"@import|url\(", text[: text.index("</style>")])


def test_bench_page_has_the_same_bytes_each_time(tmp_path: Path) -> None:
    files = [DSSP / "greedy-trap.json", DSSP / "two-shots.json", EPOCH / "fig8.json"]
    rows = bench(files, policies=["greedy", "core", "equi-epoch"])
    for name in ("one.html", "two.html"):
        write_bench(rows, tmp_path / name)
    text = (tmp_path / "one.html").read_text(encoding="utf-8")
    assert (tmp_path / "two.html").read_text(encoding="utf-8") == text
    assert "core: 0.00% from the optimum on average." in text
    assert text.count("<svg") == 1, "of one instance there is no profile"
    heads = re.findall(r'<th[^>]* title="([^"]*)">([^<]*)</th>', text)
    told = {name for meaning, name in heads if meaning}
    assert {"mean gap", "wins", "optimal", "no gap", "mean advantage"} <= told
    assert len(re.findall("<tr>", text[text.index("All runs") :])) == 1 + len(rows)


def test_bench_page_lists_files_that_failed(tmp_path: Path) -> None:
    bad, target = tmp_path / "bad.json", tmp_path / "report.html"
    bad.write_text('{"problem": "dssp", "name": "<b>"')
    words = ["--policy", "greedy,core", "--report", target, "--json"]
    done = run("bench", DSSP / "greedy-trap.json", bad, *words, status=2)
    assert len(done.stdout.splitlines()) == 2
    assert f"wrote {target}" in done.stderr
    text = target.read_text(encoding="utf-8")
    assert "bad.json" in text.split("could not be used</h2>")[1].split("</section>")[0]
    write_bench([], target, failures=["night.json: nothing in it"])
    assert "nothing in it" in target.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["report.txt", "nowhere/report.html"])
def test_bench_refuses_an_unwritable_report_before_it_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("schedopt.verbs.bench.bench", raising(AssertionError("work was done")))
    assert refused("bench", DSSP, "--report", tmp_path / name)


def test_wheel_contains_page_style_and_script(installed: Path) -> None:
    for name in ("page.html", "page.css", "page.js"):
        assert (installed / "schedopt" / "report" / name).is_file()


def write_rows(target: Path) -> None:
    write_bench(ROWS, target, failures=EVIL)


def write_night(target: Path) -> None:
    """Write the page of a night whose names would do harm, of which some jobs are left out."""
    jobs = tuple(
        Job(name=name, reward=10 - i, stages=((2.0,),), groups={EVIL[0]: name})
        for i, name in enumerate(["plain", "=cmd()", *EVIL])
    )
    forbid = Forbid(name=EVIL[1], jobs=(EVIL[2],))
    about = {"processors": 1, "deadline": 6, "description": EVIL[3]}
    night = Instance(name=EVIL[0], jobs=jobs, constraints=(forbid,), **about)
    result = solve(night)
    write_result(night, result, target, carried_out(night, result))


@pytest.mark.parametrize(
    ("write", "title", "head", "file"),
    [
        (write_rows, "Instances that could not be used", "gap", "runs.csv"),
        (write_night, "All jobs", "reward", "plan.csv"),
    ],
)
def test_page_sorts_downloads_and_fits_in_a_browser(
    write: Any, title: str, head: str, file: str, *, chromium: Browser, tmp_path: Path
) -> None:
    write(tmp_path / "page.html")
    for page in opened(chromium, tmp_path / "page.html"):
        assert title in [each.text for each in page.find_elements(By.TAG_NAME, "h2")]
        table = page.find_elements(By.CSS_SELECTOR, "table.sortable")[-1]
        buttons = table.find_elements(By.TAG_NAME, "button")
        at = [button.text for button in buttons].index(head)
        values = (
            "return [...arguments[0].tBodies[0].rows].map(r => r.cells[arguments[1]].dataset.value)"
        )
        for down in (False, True):
            click(buttons[at])
            numbers = [float(value) for value in page.execute_script(values, table, at) if value]
            assert numbers == sorted(numbers, reverse=down)
        where = {"behavior": "allow", "downloadPath": str(tmp_path)}
        page.execute_cdp_cmd("Browser.setDownloadBehavior", where)
        click(page.find_elements(By.CSS_SELECTOR, ".download")[-1])
        first = next(iter(downloaded(page, tmp_path, file)[0]))
        names = {line[first] for line in downloaded(page, tmp_path, file)}
        assert set(EVIL) <= names
        page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
        in_theme(page, "dark")
        page.refresh()
        ready(page)
        wide = "return document.documentElement.scrollWidth"
        assert page.execute_script(wide) <= PHONE["width"]
        ground = "return getComputedStyle(document.body).backgroundColor"
        assert page.execute_script(ground) == "rgb(18, 22, 27)"
