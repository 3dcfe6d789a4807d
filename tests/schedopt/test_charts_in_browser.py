"""The charts of the report in a real browser: what is drawn, hovering, keys and filters."""

from __future__ import annotations

import numpy as np
import pytest
from builders.browser import Browser, click, drawn, percents, press
from builders.reports import EVIL, ROWS
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select, WebDriverWait

from schedopt.analysis.profiles import profiles


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
