"""A headless Chromium from the distribution; tests that need it are skipped where there is none."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1400,1000",
)


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    webdriver = pytest.importorskip("selenium.webdriver")
    service = pytest.importorskip("selenium.webdriver.chrome.service")
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("needs chromium and chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    chrome = webdriver.Chrome(options=options, service=service.Service(driver))
    yield chrome
    chrome.quit()


@pytest.fixture
def open_page(browser: Chrome, tmp_path: Path) -> Iterator[PageOpener]:
    """Opens a page as a file."""
    for log in ("browser", "performance"):
        browser.get_log(log)
    yield PageOpener(browser, tmp_path / "page.html")
    browser.set_window_size(1400, 1000)


class PageOpener:
    """Write a page to a file and open it."""

    def __init__(self, browser: Chrome, path: Path) -> None:
        self._browser = browser
        self._path = path

    def __call__(self, page: str) -> Chrome:
        self._path.write_text(page, encoding="utf-8")
        self._browser.get(self._path.as_uri())
        return self._browser
