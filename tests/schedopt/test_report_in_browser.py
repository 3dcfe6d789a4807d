"""The report in a real browser: sorting, filtering, charts, both themes, a phone, evil names."""

import json
from pathlib import Path

import numpy as np
import pytest
from builders.browser import (
    PHONE,
    Browser,
    click,
    column,
    downloaded,
    drawn,
    in_theme,
    opened,
    percents,
    press,
    ready,
)
from builders.reports import EVIL, ROWS, row
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

from schedopt.analysis.profiles import profiles
from schedopt.analysis.summary import summary
from schedopt.formats import duration, number, percent
from schedopt.report import write


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
        if line.find_element(By.TAG_NAME, "td").get_attribute("data-value") == EVIL[1]
    )
    click(line.find_element(By.TAG_NAME, "button"))
    assert column(page, "policy") == [EVIL[1]]
    assert line.get_attribute("aria-selected") == "true"
    click(line.find_element(By.TAG_NAME, "button"))
    assert len(column(page, "policy")) == 100


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


def test_the_profiles_that_are_drawn_are_those_of_the_terminal(page: Browser) -> None:
    lines = {trace["meta"]: trace for trace in drawn(page, "profile")}
    assert len(lines) == len(EVIL) + 3
    for profile in profiles(ROWS):
        shares = lines[profile.contender]["y"]
        best = sum(ratio <= 1 + 1e-9 for ratio in profile.ratios)
        finite = sum(map(np.isfinite, profile.ratios))
        assert shares[0] == pytest.approx(best / profile.instances)
        assert shares[-1] == pytest.approx(finite / profile.instances)


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
    assert [share * known for share in line["y"]][-1] == pytest.approx(
        len(whole.ratios) / whole.instances
    )
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
