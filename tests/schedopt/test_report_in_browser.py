"""The report in a real browser: sorting, filtering, hovering, both themes, a phone, evil names."""

from __future__ import annotations

import csv
import json
import os
import shutil
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders.msfq_logs import queue_of, random_jobs
from builders.reports import EVIL, row
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

from instances.constraints import Forbid, Require
from instances.dssp import Instance, Job
from instances.files import dump, load
from schedopt.analysis.profiles import profiles
from schedopt.analysis.summary import summary
from schedopt.formats import duration, number, percent
from schedopt.report import one, write
from schedopt.sweep.plan import Sweep
from schedopt.sweep.rows import Row
from schedopt.verbs.bench import bench
from schedopt.verbs.plan import carried_out
from schedopt.verbs.solve import solve

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-quic", "--window-size=1280,900",
)  # fmt: skip
PHONE = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
Browser = Any


def rows_of_known_gaps() -> list[Row]:
    rows = [
        row(
            instance=f"night-{i}",
            policy=policy,
            gap=(i * step % 50) / 100,
            objective=10 * (1 - (i * step % 50) / 100),
        )
        for i in range(50)
        for policy, step in (("greedy", 7), ("core", 11), ("maxk", 13))
    ]
    rows[0] = row(instance="night-0", policy="greedy", objective=None, message="not here")
    return rows + [row(instance=name, policy=name, message=name, gap=0.6) for name in EVIL]


ROWS = rows_of_known_gaps()


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if browser is None or driver is None:
        missing = "no chromium and chromedriver: apt-get install chromium chromium-driver"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    found = webdriver.Chrome(options=options, service=Service(driver))
    yield found
    found.quit()


@pytest.fixture(scope="module")
def invented(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a report of 150 rows whose gaps are known, and of names that would do harm."""
    target = tmp_path_factory.mktemp("report") / "report.html"
    write(ROWS, target, failures=EVIL)
    return target


@pytest.fixture
def page(chromium: Browser, invented: Path) -> Iterator[Browser]:
    yield from opened(chromium, invented)


def opened(browser: Browser, path: Path) -> Iterator[Browser]:
    """Open a page as if for the first time, and afterwards ask whether it complained."""
    browser.get_log("browser")
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    in_theme(browser, "light")
    browser.get(path.as_uri())
    browser.execute_script("localStorage.clear(); delete document.documentElement.dataset.theme")
    ready(browser)
    yield browser
    assert browser.execute_script("return window.pwned") is None
    assert browser.get_log("browser") == []
    loaded = "return performance.getEntriesByType('resource').map(e => e.name)"
    assert [name for name in browser.execute_script(loaded) if name.startswith("http")] == []


def ready(browser: Browser) -> None:
    script = "return document.documentElement.dataset.ready"
    assert WebDriverWait(browser, 30).until(lambda b: b.execute_script(script)) == "yes"


def in_theme(browser: Browser, theme: str) -> None:
    feature = {"name": "prefers-color-scheme", "value": theme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})


def column(browser: Browser, name: str) -> list[str]:
    script = "return [...document.querySelectorAll(`#rows td[data-label=${arguments[0]}]`)]"
    return list(browser.execute_script(f"{script}.map(cell => cell.textContent)", name))


def shows(browser: Browser, caption: str) -> None:
    """Wait until the picture is the one of this caption."""
    where = (By.CSS_SELECTOR, "#picture figcaption")
    WebDriverWait(browser, 60).until(lambda b: b.find_element(*where).text == caption)


def click(element: Any) -> None:
    """Click on an element where the filters, which stay on top, do not lie over it."""
    element.parent.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
    element.click()


def press(browser: Browser, name: str) -> None:
    head = f"//table[@id='rows']//th[@data-by='{name}']/button"
    click(browser.find_element(By.XPATH, head))


def percents(browser: Browser) -> list[float | None]:
    return [None if "–" in gap else float(gap.strip("%")) for gap in column(browser, "gap")]


def test_sorting_goes_both_ways_and_keeps_what_is_missing_last(page: Browser) -> None:
    assert column(page, "instance")[:4] == ["night-0"] * 3 + ["night-1"]
    press(page, "gap")
    up = percents(page)
    assert len(up) == 100
    assert up[0] == 0
    assert up == sorted(up)
    press(page, "gap")
    down = percents(page)
    assert down[0] == 60
    assert down == sorted(down, reverse=True)
    head = page.find_element(By.CSS_SELECTOR, "#rows th[aria-sort]")
    assert (head.text.split()[0], head.get_attribute("aria-sort")) == ("gap", "descending")
    click(page.find_element(By.ID, "more"))
    assert len(percents(page)) == 155
    assert percents(page)[-1] is None
    press(page, "instance")
    names = [name for name in column(page, "instance") if name.startswith("night")]
    assert names == sorted(names, key=lambda name: int(name[6:]))


def test_filters_work_together_and_count_what_they_leave(page: Browser) -> None:
    find, least = page.find_element(By.ID, "find"), page.find_element(By.ID, "least")
    find.send_keys("NIGHT-1 core")
    found = column(page, "instance")
    assert found == ["night-1", *(f"night-{i}" for i in range(10, 20))]
    assert set(column(page, "policy")) == {"core"}
    assert page.find_element(By.ID, "shown").text == "11 of 155 runs"
    least.send_keys("25")
    shown = percents(page)
    assert shown == [i * 11 % 50 for i in (1, *range(10, 20)) if i * 11 % 50 >= 25]
    for field in (find, least):
        field.send_keys(Keys.CONTROL, "a", Keys.NULL, Keys.BACKSPACE)
    Select(page.find_element(By.ID, "policy")).select_by_visible_text("maxk")
    assert set(column(page, "policy")) == {"maxk"}
    assert len(column(page, "policy")) == 50
    find.send_keys("no such thing")
    assert column(page, "policy") == []
    assert page.find_element(By.ID, "shown").text == "0 of 155 runs"


def point_at(browser: Browser, chart: str, x: float, y: float | str) -> str:
    """Move the mouse to a place of a chart, in its own units, and return what then appears."""
    place = browser.find_element(By.CSS_SELECTOR, f".chart[data-chart={chart}]")
    script = """
        arguments[0].scrollIntoView({block: "center"});
        const { xaxis, yaxis } = arguments[0]._fullLayout;
        const box = arguments[0].getBoundingClientRect();
        const [x, y] = [xaxis.d2p(arguments[1]), yaxis.d2p(arguments[2])];
        return [box.x + xaxis._offset + x, box.y + yaxis._offset + y].map(Math.round);
    """
    at = browser.execute_script(script, place, x, y)
    chain = ActionChains(browser)
    chain.w3c_actions.pointer_action.move_to_location(at[0] - 3, at[1])
    chain.w3c_actions.pointer_action.move_to_location(*at)
    chain.perform()
    labels = WebDriverWait(browser, 10).until(
        lambda b: place.find_elements(By.CSS_SELECTOR, ".hoverlayer .hovertext")
    )
    return " ".join(label.get_attribute("textContent") for label in labels)


def test_hovering_over_a_gap_names_instance_and_value(page: Browser) -> None:
    script = """
        const place = document.querySelector(".chart[data-chart=gaps]");
        const points = place.data.find((it) => it.mode === "markers" && it.meta === arguments[0]);
        return [points.x[0], points.y[0]];
    """
    x, y = page.execute_script(script, EVIL[1])
    assert x == 0.6
    text = point_at(page, "gaps", x, y)
    assert text.count(EVIL[1]) == 2  # the instance and the policy
    assert "gap 60.00%" in text


def test_hovering_over_a_profile_names_policy_and_values(page: Browser) -> None:
    script = """
        const place = document.querySelector(".chart[data-chart=profile]");
        const line = place.data.find((trace) => trace.name === "greedy");
        return [line.x[0], line.y[0]];
    """
    ratio, part = page.execute_script(script)
    text = point_at(page, "profile", ratio, part)
    assert "within a factor of 1 on" in text
    assert "greedy" in text or "core" in text or "maxk" in text
    assert f"{part:.1%}" in text


def drawn(browser: Browser, chart: str) -> list[dict[str, Any]]:
    """Return the traces of a chart."""
    return list(
        browser.execute_script(
            "return document.querySelector(`.chart[data-chart=${arguments[0]}]`).data?.map((it) => "
            "({meta: it.meta, mode: it.mode, x: it.x, y: it.y, "
            "marks: [it.lowerfence, it.q1, it.median, it.q3, it.upperfence].flat()})) ?? []",
            chart,
        )
    )


def test_the_profiles_that_are_drawn_are_those_of_the_terminal(page: Browser) -> None:
    lines = {trace["meta"]: trace for trace in drawn(page, "profile")}
    assert len(lines) == len(EVIL) + 3
    for profile in profiles(ROWS):
        steps, shares = profile.steps()
        assert lines[profile.contender]["x"][:-1] == pytest.approx(steps)
        assert lines[profile.contender]["y"][:-1] == pytest.approx(shares)


def test_the_quartiles_that_are_drawn_are_numpys(page: Browser) -> None:
    boxes = {trace["meta"]: trace["marks"] for trace in drawn(page, "gaps") if not trace["mode"]}
    for policy in ("greedy", "core", "maxk"):
        gaps = [r.gap for r in ROWS if r.policy == policy and r.gap is not None]
        assert boxes[policy] == pytest.approx(list(np.quantile(gaps, [0, 0.25, 0.5, 0.75, 1])))


def test_filters_hold_for_the_charts_too(page: Browser) -> None:
    Select(page.find_element(By.ID, "policy")).select_by_visible_text("core")
    assert {trace["meta"] for trace in drawn(page, "profile")} == {"core"}
    (line,) = drawn(page, "profile")
    (whole,) = [profile for profile in profiles(ROWS) if profile.contender == "core"]
    # Still beside the best of all policies, on the instances that are left.
    known = 50 / whole.instances
    assert [share * known for share in line["y"]][-1] == pytest.approx(whole.at(1e9))
    page.find_element(By.ID, "find").send_keys("night-4")
    names = {f"night-{i}" for i in (4, *range(40, 50))}
    points = [trace for trace in drawn(page, "gaps") if trace["mode"] == "markers"]
    assert [len(trace["x"]) for trace in points] == [len(names)]
    left = profiles([r for r in ROWS if r.instance in names])
    ratios = next(profile.ratios for profile in left if profile.contender == "core")
    (line,) = drawn(page, "profile")
    assert line["y"][0] == pytest.approx(sum(r <= 1 + 1e-9 for r in ratios) / len(names))
    click(page.find_element(By.ID, "clear"))
    assert len(drawn(page, "profile")) == len(EVIL) + 3
    assert not page.find_element(By.ID, "clear").is_enabled()
    page.find_element(By.ID, "find").send_keys("no such thing")
    assert not page.find_element(By.CSS_SELECTOR, "section.problem").is_displayed()


def test_a_policy_of_the_summary_filters_and_its_headings_sort(page: Browser) -> None:
    def names() -> list[str]:
        cells = page.find_elements(By.CSS_SELECTOR, ".summary tbody td:first-child")
        return [cell.text for cell in cells]

    def by(head: str) -> None:
        click(
            page.find_element(
                By.XPATH, f"//table[contains(@class,'summary')]//th[@data-by='{head}']/button"
            )
        )

    def means() -> list[float]:
        cells = page.find_elements(By.CSS_SELECTOR, ".summary tbody td:nth-child(2)")
        return [float(cell.text.strip("%")) for cell in cells]

    by("mean gap")
    assert means() == sorted(means())
    by("mean gap")
    assert means() == sorted(means(), reverse=True)
    by("policy")
    own = [name for name in names() if name not in EVIL]
    assert own == ["core", "greedy", "maxk"]
    line = next(
        line
        for line in page.find_elements(By.CSS_SELECTOR, ".summary tbody tr")
        if line.get_attribute("data-policy") == EVIL[1]
    )
    click(line.find_element(By.TAG_NAME, "button"))
    assert column(page, "policy") == [EVIL[1]]
    assert line.get_attribute("aria-selected") == "true"
    click(line.find_element(By.TAG_NAME, "button"))
    assert len(column(page, "policy")) == 100


def downloaded(browser: Browser, folder: Path, name: str) -> list[dict[str, str]]:
    """Return the table that a press on a download button leaves in a folder."""
    WebDriverWait(browser, 10).until(lambda _: (folder / name).is_file())
    return list(csv.DictReader(StringIO((folder / name).read_text(encoding="utf-8"))))


def test_what_is_shown_can_be_downloaded(page: Browser, tmp_path: Path) -> None:
    where = {"behavior": "allow", "downloadPath": str(tmp_path)}
    page.execute_cdp_cmd("Browser.setDownloadBehavior", where)
    page.find_element(By.ID, "find").send_keys("pwned")
    click(page.find_element(By.ID, "save"))
    lines = downloaded(page, tmp_path, "runs.csv")
    assert [line["policy"] for line in lines] == [name for name in EVIL if "pwned" in name]
    assert {line["gap"] for line in lines} == {"0.6"}
    click(page.find_element(By.CSS_SELECTOR, ".download"))
    lines = downloaded(page, tmp_path, "summary-dssp.csv")
    told = {standing.contender: standing for standing in summary(ROWS)}
    assert {line["contender"] for line in lines} == set(told)
    for line in lines:
        assert float(line["mean"]) == told[line["contender"]].mean
        assert json.loads(line["endings"]) == told[line["contender"]].endings


def test_numbers_are_written_as_at_a_terminal(chromium: Browser, tmp_path: Path) -> None:
    values = [0.0, 6.2e-17, 3e-8, 2.5e-6, 9.94e-5, 0.00125, 0.00375, 0.12345, 1.0, 12.3456]
    amounts = [1e-9, 0.00012345678, 0.3, 7.0, 1234.5678, 123456.7, 1234567.25, 98765.0, 1e17, -2]
    times = [0.0, 2e-6, 0.00123, 0.9994, 1.5, 599.0, 1234.0, 9000.0, 72.34, 1e-4]
    rows = [
        row(instance=str(i), gap=gap, objective=amount, seconds=took)
        for i, (gap, amount, took) in enumerate(zip(values, amounts, times, strict=True))
    ]
    write(rows, tmp_path / "report.html")
    for browser in opened(chromium, tmp_path / "report.html"):
        assert column(browser, "gap") == [percent(value) for value in values]
        assert column(browser, "objective") == [number(value) for value in amounts]
        assert column(browser, "time") == [duration(value) for value in times]


def test_keys_hide_and_show_their_lines(page: Browser) -> None:
    keys = page.find_elements(By.CSS_SELECTOR, ".keys button")
    assert [key.text for key in keys] == ["greedy", "core", "maxk", *EVIL]
    lines = ".chart[data-chart=profile] .scatterlayer .trace"
    before = len(page.find_elements(By.CSS_SELECTOR, lines))
    click(keys[0])
    assert keys[0].get_attribute("aria-pressed") == "false"
    WebDriverWait(page, 10).until(
        lambda b: len(b.find_elements(By.CSS_SELECTOR, lines)) == before - 1
    )
    click(keys[0])
    WebDriverWait(page, 10).until(lambda b: len(b.find_elements(By.CSS_SELECTOR, lines)) == before)


def test_names_are_shown_as_they_are_and_never_run(page: Browser) -> None:
    page.find_element(By.ID, "find").send_keys("pwned")
    harmful = [name for name in EVIL if "pwned" in name]
    assert column(page, "instance") == column(page, "policy") == column(page, "note") == harmful
    for i in range(len(harmful)):
        link = page.find_elements(By.CSS_SELECTOR, "#rows .link")[i]
        name = link.text
        click(link)
        assert page.find_element(By.CSS_SELECTOR, "#certificate dd").text == name
        assert name in page.find_element(By.ID, "standing").text
    shown = page.find_element(By.CSS_SELECTOR, ".failures").text
    assert all(name in shown for name in EVIL)
    axis = page.execute_script(
        "return [...document.querySelectorAll('.ytick text')].map(e => e.textContent)"
    )
    for name in harmful:
        assert (name if len(name) <= 34 else f"{name[:33]}…") in axis


def light(browser: Browser, element: str, what: str) -> float:
    """Return how light a colour of the page is, from 0 to 1."""
    script = f"return getComputedStyle(document.querySelector('{element}'))['{what}']"
    inside = browser.execute_script(script).split("(")[1].split(")")[0]
    return sum(float(part) for part in inside.split(",")[:3]) / 3 / 255


def test_the_system_chooses_the_theme_until_the_button_does(page: Browser) -> None:
    ink = ".chart[data-chart=gaps] .xtick text"
    assert light(page, "body", "backgroundColor") > 0.9
    assert light(page, ink, "fill") < 0.3
    in_theme(page, "dark")
    WebDriverWait(page, 10).until(lambda b: light(b, ink, "fill") > 0.7)
    assert light(page, "body", "backgroundColor") < 0.2
    click(page.find_element(By.ID, "theme"))
    WebDriverWait(page, 10).until(lambda b: light(b, ink, "fill") < 0.3)
    assert light(page, "body", "backgroundColor") > 0.9
    page.refresh()
    ready(page)
    assert light(page, "body", "backgroundColor") > 0.9


def test_on_a_phone_nothing_sticks_out(page: Browser) -> None:
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
    page.refresh()
    ready(page)
    assert page.execute_script("return document.documentElement.scrollWidth") == 390
    for place in page.find_elements(By.CSS_SELECTOR, ".chart .main-svg, #rows tr, .filters label"):
        assert place.rect["x"] + place.rect["width"] <= 390
    Select(page.find_element(By.ID, "sort")).select_by_visible_text("gap ▼")
    shown = percents(page)
    assert len(shown) == 25
    assert shown == sorted(shown, reverse=True)  # type: ignore[type-var]


def test_a_page_of_a_log_says_what_is_measured_on_a_phone_too(
    chromium: Browser, tmp_path: Path
) -> None:
    jobs, servers = random_jobs(4, 60, servers=4)
    dump(queue_of(jobs, servers), tmp_path / "log.json")
    names = ["fcfs", "easy", "conservative", "first-fit", "adaptive-quickswap"]
    rows = bench([tmp_path / "log.json"], policies=names, options={"resamples": 20})
    write(rows, tmp_path / "page.html")
    for page in opened(chromium, tmp_path / "page.html"):
        page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
        page.refresh()
        ready(page)
        measured, beside = page.find_elements(By.CSS_SELECTOR, ".measured table")
        for shown in (measured, beside):  # a caption stays in sight, however wide the table
            told = shown.find_element(By.CSS_SELECTOR, "caption span").rect
            assert told["x"] >= 0
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


def test_where_the_charts_cannot_be_unpacked_the_rest_still_works(page: Browser) -> None:
    words = {"source": "delete window.DecompressionStream"}
    added = page.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", words)
    try:
        page.refresh()
        trouble = page.find_element(By.ID, "trouble")
        WebDriverWait(page, 10).until(lambda b: trouble.is_displayed())
        assert "The charts cannot be shown" in trouble.text
        press(page, "gap")
        assert percents(page)[0] == 0
    finally:
        page.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)


def test_one_instance_has_its_picture_and_its_certificate(
    chromium: Browser, tmp_path: Path
) -> None:
    policies = ["equi-epoch", "heuristic-epoch", "dp"]
    rows = bench("instances/epoch/fig8.json", policies=policies)
    write(rows, tmp_path / "report.html", sweep=Sweep(policies=tuple(policies)))
    for browser in opened(chromium, tmp_path / "report.html"):
        certificate = browser.find_element(By.ID, "certificate").text
        for words in ("fig8", "32", "proven optimal", "partition", "epochs"):
            assert words in certificate
        captions = [c.text for c in browser.find_elements(By.CSS_SELECTOR, "#picture figcaption")]
        assert "equi-epoch" in captions[0]
        assert captions[1:] == ["The optimum"]
        for drawing in browser.find_elements(By.CSS_SELECTOR, "#picture svg"):
            assert drawing.is_displayed()
            assert drawing.rect["width"] > 300
            assert drawing.find_elements(By.CSS_SELECTOR, "path")
        assert not browser.find_element(By.ID, "pick").is_displayed()
        link = browser.find_element(
            By.CSS_SELECTOR, "#rows tr:nth-child(2) td[data-label=policy] a"
        )
        assert link.text == "heuristic-epoch ▣"
        click(link)
        assert "run=1" in browser.current_url
        shows(browser, "heuristic-epoch")
        names = Select(browser.find_element(By.ID, "solution"))
        assert names.first_selected_option.text == "heuristic-epoch"
        names.select_by_index(0)
        shows(browser, captions[0])
        browser.get((tmp_path / "report.html").as_uri() + "#instance=0&run=1")
        browser.refresh()
        ready(browser)
        shows(browser, "heuristic-epoch")


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
    one.write(night, result, target, carried_out(night, result))
    for _ in opened(chromium, target):
        titles = [head.text for head in chromium.find_elements(By.TAG_NAME, "h2")]
        assert titles == [
            "In short", "When it runs", "Who gets what", "Who loses what to which rule",
            "What is left out, and why", "All jobs",
        ]  # fmt: skip
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


def test_pages_of_every_problem_and_of_no_solution(chromium: Browser, tmp_path: Path) -> None:
    impossible = Forbid(name="none", jobs=("plain",)), Require(name="all", jobs=("plain",))
    cases = [(evil_night(), impossible), *((load(name), ()) for name in ("example:twins",))]
    for instance, rules in cases:
        result = solve(instance, constraints=rules)
        one.write(instance, result, tmp_path / "one.html", carried_out(instance, result))
        for _ in opened(chromium, tmp_path / "one.html"):
            shown = chromium.find_element(By.TAG_NAME, "main").text
            assert ("rules that cannot hold together" if rules else "The result") in shown
