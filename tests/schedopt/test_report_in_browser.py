"""The pages in a real browser: sorting, downloads, dark theme, a phone, names that would act."""

from pathlib import Path
from typing import Any

import pytest
from builders.browser import PHONE, Browser, click, downloaded, in_theme, opened, ready
from builders.reports import EVIL, ROWS
from selenium.webdriver.common.by import By

from schedopt.instances.constraints import Forbid
from schedopt.instances.dssp import Instance, Job
from schedopt.report import bench_page, result_page
from schedopt.verbs.plan_table import carried_out
from schedopt.verbs.solve import solve


def write_bench(target: Path) -> None:
    bench_page.write(ROWS, target, failures=EVIL)


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
    result_page.write(night, result, target, carried_out(night, result))


@pytest.mark.parametrize(
    ("write", "title", "head", "file"),
    [(write_bench, "Not used", "gap", "runs.csv"), (write_night, "All jobs", "reward", "plan.csv")],
)
def test_a_page(
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
