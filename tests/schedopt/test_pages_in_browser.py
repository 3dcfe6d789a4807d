"""Pages of logs, of one instance and of one night in a real browser."""

from pathlib import Path

import pytest
from builders.browser import PHONE, Browser, click, downloaded, opened, ready
from builders.msfq import queue_of, random_jobs
from builders.reports import EVIL
from selenium.webdriver.common.by import By

from schedopt.instances.constraints import Forbid, Require
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.files import dump, load
from schedopt.report import result_page, write
from schedopt.verbs.bench import bench
from schedopt.verbs.plan_table import carried_out
from schedopt.verbs.solve import solve


def test_a_page_of_a_log_says_what_is_measured(chromium: Browser, tmp_path: Path) -> None:
    jobs, servers = random_jobs(4, 60, servers=4)
    dump(queue_of(jobs, servers), tmp_path / "log.json")
    names = ["fcfs", "easy", "conservative", "first-fit", "adaptive-quickswap"]
    rows = bench([tmp_path / "log.json"], policies=names)
    write(rows, tmp_path / "page.html")
    for page in opened(chromium, tmp_path / "page.html"):
        page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
        page.refresh()
        ready(page)
        measured = page.find_element(By.CSS_SELECTOR, ".measured table")
        told = measured.find_element(By.CSS_SELECTOR, "caption span").rect
        assert told["x"] >= 0  # a caption stays in sight, however wide the table
        assert told["x"] + told["width"] <= PHONE["width"]
        assert "no schedule is below" in measured.text
        cut = "return [...document.querySelectorAll('.measured td:not(:first-child) .name')]"
        assert page.execute_script(f"{cut}.filter(e => e.scrollWidth > e.clientWidth).length") == 0
        head = measured.find_element(By.XPATH, ".//th[2]/button")
        means = [row.objective for row in rows if row.objective is not None]
        click(head)
        first = measured.find_element(By.CSS_SELECTOR, "tbody tr td:nth-child(2)").text
        assert float(first.replace(",", "")) in (
            pytest.approx(min(means), rel=1e-4),
            pytest.approx(max(means), rel=1e-4),
        )
        assert page.execute_script("return document.documentElement.scrollWidth") <= PHONE["width"]


def test_one_instance_has_a_certificate(chromium: Browser, tmp_path: Path) -> None:
    rows = bench(
        "instances/epoch/fig8.json", policies=["equi-epoch", "heuristic-epoch", "paper-search"]
    )
    write(rows, tmp_path / "report.html")
    for browser in opened(chromium, tmp_path / "report.html"):
        certificate = browser.find_element(By.ID, "certificate").text
        for words in ("fig8", "32", "proven optimal", "partition", "epochs"):
            assert words in certificate
        assert "heuristic-epoch" in browser.find_element(By.ID, "standing").text
        assert not browser.find_element(By.ID, "pick").is_displayed()
        browser.get((tmp_path / "report.html").as_uri() + "#instance=0")
        browser.refresh()
        ready(browser)
        assert browser.find_element(By.ID, "case").is_displayed()


def evil_night() -> Instance:
    """Return a night whose names would do harm, of which some jobs are left out."""
    jobs = tuple(
        Job(name=name, reward=10 - i, stages=((2.0,),), groups={EVIL[0]: name})
        for i, name in enumerate(["plain", "=cmd()", *EVIL])
    )
    forbid = Forbid(name=EVIL[1], jobs=(EVIL[2],))
    about = {"processors": 1, "deadline": 6, "description": EVIL[3]}
    return Instance(name=EVIL[0], jobs=jobs, constraints=(forbid,), **about)


def test_the_page_of_one_night(chromium: Browser, tmp_path: Path) -> None:
    night, target = evil_night(), tmp_path / "night.html"
    result = solve(night)
    result_page.write(night, result, target, carried_out(night, result))
    for _ in opened(chromium, target):
        titles = [head.text for head in chromium.find_elements(By.TAG_NAME, "h2")]
        assert titles == [
            "In short",
            "When it runs",
            "Who gets what",
            "Who loses what to which rule",
            "What is left out, and why",
            "All jobs",
        ]
        assert chromium.title == EVIL[0]
        table = chromium.find_elements(By.CSS_SELECTOR, "table.sortable")[-1]
        cells = "return [...arguments[0].tBodies[0].rows].map(row => row.cells[0].textContent)"
        names = [job.name for job in night.jobs]
        assert chromium.execute_script(cells, table) == names
        reward = [
            head for head in table.find_elements(By.TAG_NAME, "button") if "reward" in head.text
        ]
        click(reward[0])
        assert chromium.execute_script(cells, table) == names[::-1]
        where = {"behavior": "allow", "downloadPath": str(tmp_path)}
        chromium.execute_cdp_cmd("Browser.setDownloadBehavior", where)
        click(chromium.find_elements(By.CSS_SELECTOR, ".download")[-1])
        lines = downloaded(chromium, tmp_path, "plan.csv")
        assert [line["job"] for line in lines] == ["plain", "'=cmd()", *EVIL]
        assert [line["reason"] for line in lines].count(f"rule:{EVIL[1]}") == 1
        chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
        wide = "return document.documentElement.scrollWidth"
        assert chromium.execute_script(wide) <= PHONE["width"]
        held = "[...document.querySelectorAll('.sheet, .scroll')].filter(part => part.offsetWidth)"
        over = f"return {held}.map(part => part.scrollWidth - part.clientWidth)"
        assert set(chromium.execute_script(over)) == {0}  # pictures and tables fit


def test_pages_of_every_problem_and_of_no_solution(chromium: Browser, tmp_path: Path) -> None:
    impossible = Forbid(name="none", jobs=("plain",)), Require(name="all", jobs=("plain",))
    cases = [(evil_night(), impossible), *((load(name), ()) for name in ("example:twins",))]
    for instance, rules in cases:
        result = solve(instance, constraints=rules)
        result_page.write(instance, result, tmp_path / "one.html", carried_out(instance, result))
        for _ in opened(chromium, tmp_path / "one.html"):
            shown = chromium.find_element(By.TAG_NAME, "main").text
            assert ("rules that cannot hold together" if rules else "The result") in shown
