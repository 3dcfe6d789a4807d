"""The pages: what they say, that no name breaks out, and how they are in a real browser."""

import base64
import csv
import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from builders.cli import run
from builders.reports import EVIL, row
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from schedopt.instances.constraints import Forbid
from schedopt.instances.dssp import Instance, Job
from schedopt.report.pages import write_bench, write_result
from schedopt.verbs.plan_table import carried_out
from schedopt.verbs.solve import solve

DSSP, EPOCH = Path("instances/dssp"), Path("instances/epoch")


def test_page_escapes_names_and_allows_only_its_own_script(tmp_path: Path) -> None:
    rows = [row(instance=n, policy=n, file=n, message=n, violations=(n,)) for n in EVIL]
    write_bench(rows, tmp_path / "page.html", failures=EVIL)
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    tags = re.findall(r"<(\w+)((?:[^>\"]|\"[^\"]*\")*)>", text[text.index("<body") :])
    assert not {name for name, _ in tags} & {"img", "b", "i", "iframe", "object"}
    assert not [rest for _, rest in tags if re.search(r"\son\w+=", re.sub(r'"[^"]*"', "", rest))]
    assert [name for name, _ in tags].count("script") == 1
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    (own,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(own.encode()).digest()).decode()
    assert "default-src 'none'" in policy[1]
    assert f"script-src 'sha256-{digest}'" in policy[1]
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", text)
    assert not re.search(r"@import|url\(", text[: text.index("</style>")])


def test_bench_page_lists_files_that_failed(tmp_path: Path) -> None:
    bad, target = tmp_path / "bad.json", tmp_path / "report.html"
    bad.write_text('{"problem": "dssp", "name": "<b>"')
    words = ["--policy", "greedy,core", "--report", target, "--json"]
    done = run("bench", DSSP / "greedy-trap.json", bad, *words, status=2)
    assert len(done.stdout.splitlines()) == 2
    assert f"wrote {target}" in done.stderr
    text = target.read_text(encoding="utf-8")
    assert "bad.json" in text.split("could not be used</h2>")[1].split("</section>")[0]


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


PHONE = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if browser is None or driver is None:
        missing = "no chromium and chromedriver: apt-get install chromium chromium-driver"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(missing)
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    profile = f"--user-data-dir={tmp_path_factory.mktemp('profile')}"
    for flag in ("--headless", "--no-sandbox", "--disable-dev-shm-usage", profile):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    found = webdriver.Chrome(options=options, service=Service(driver))
    yield found
    found.quit()


def test_page_sorts_downloads_and_fits_in_a_browser(chromium: Any, tmp_path: Path) -> None:
    write_night(tmp_path / "page.html")
    chromium.get((tmp_path / "page.html").as_uri())
    assert "All jobs" in [each.text for each in chromium.find_elements(By.TAG_NAME, "h2")]
    table = chromium.find_elements(By.CSS_SELECTOR, "table.sortable")[-1]
    buttons = table.find_elements(By.TAG_NAME, "button")
    at = [button.text for button in buttons].index("reward")
    click = "arguments[0].click()"
    values = (
        "return [...arguments[0].tBodies[0].rows].map(r => r.cells[arguments[1]].dataset.value)"
    )
    for down in (False, True):
        chromium.execute_script(click, buttons[at])
        numbers = [float(value) for value in chromium.execute_script(values, table, at) if value]
        assert len(numbers) > 1 and numbers == sorted(numbers, reverse=down)
    where = {"behavior": "allow", "downloadPath": str(tmp_path)}
    chromium.execute_cdp_cmd("Browser.setDownloadBehavior", where)
    chromium.execute_script(click, chromium.find_elements(By.CSS_SELECTOR, ".download")[-1])
    WebDriverWait(chromium, 10).until(lambda _: (tmp_path / "plan.csv").is_file())
    with (tmp_path / "plan.csv").open(encoding="utf-8", newline="") as lines:
        assert set(EVIL) <= {next(iter(line.values())) for line in csv.DictReader(lines)}
    chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
    wide = "return document.documentElement.scrollWidth"
    assert chromium.execute_script(wide) <= PHONE["width"]
    assert chromium.execute_script("return window.pwned") is None
    assert chromium.get_log("browser") == []
