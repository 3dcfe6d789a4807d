"""A real browser: pages are opened in it, pointed at, and asked what they show."""

import csv
import os
import shutil
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--window-size=1280,900",
)
PHONE = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
Browser = Any


def started(profile: Path) -> Iterator[Browser]:
    """Start a browser that keeps all it has in a folder, and end it afterwards."""
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if browser is None or driver is None:
        missing = "no chromium and chromedriver: apt-get install chromium chromium-driver"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    found = webdriver.Chrome(options=options, service=Service(driver))
    yield found
    found.quit()


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


def click(element: Any) -> None:
    """Click on an element where the filters, which stay on top, do not lie over it."""
    element.parent.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
    element.click()


def downloaded(browser: Browser, folder: Path, name: str) -> list[dict[str, str]]:
    """Return the table that a press on a download button leaves in a folder."""
    WebDriverWait(browser, 10).until(lambda _: (folder / name).is_file())
    return list(csv.DictReader(StringIO((folder / name).read_text(encoding="utf-8"))))
