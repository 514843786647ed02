"""The report of an evaluation in a real browser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sample_chat import CHAT, QUESTIONS
from visual.test_page import HOSTILE, errors, every, one, requested

from tmem_integrations.evaluation.datasets.jsonl import read_jsonl
from tmem_integrations.evaluation.html_report import html_report
from tmem_integrations.evaluation.methods import make_method
from tmem_integrations.evaluation.runs.contract import contract_of
from tmem_integrations.evaluation.runs.results import read_results
from tmem_integrations.evaluation.runs.runner import run

if TYPE_CHECKING:
    from selenium.webdriver import Chrome
    from visual.conftest import PageOpener

NAMES = ("recent", "bm25+metadata", "forest")


@pytest.fixture
def page(tmp_path: Path) -> str:
    """Three runs over a chat that would like to be markup."""
    evil = "".join(HOSTILE) + "x" * 300
    for name, records in (
        ("messages", [{**CHAT[0], "text": f"{CHAT[0]['text']} {evil}"}, *CHAT[1:]]),
        ("questions", [{**QUESTIONS[0], "question": f"When is the release? {evil}"}]),
    ):
        lines = "".join(f"{json.dumps(record)}\n" for record in records)
        (tmp_path / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    dataset = read_jsonl(tmp_path)
    runs = []
    for name in NAMES:
        method, into = make_method(name), tmp_path / name
        sizes = {"max_messages": 3, "max_tokens": 900, "structure": "forest"}
        contract = contract_of(dataset, method, model=None, judge=None, **sizes)
        run(dataset, method, into, contract)
        runs.append(read_results(into, dataset))
    return html_report(dataset, runs, {})


def test_it_asks_for_nothing_and_runs_nothing(open_page: PageOpener, page: str) -> None:
    browser = open_page(page)
    one(browser, "summary").click()
    assert "onerror=" in one(browser, "details").text
    assert browser.title != "owned"
    assert every(browser, "script, img, svg[onload]") == []
    # A browser that has just begun loads its own first page too, from itself.
    assert [a for a in requested(browser) if a.startswith(("http", "ws", "ftp"))] == []
    assert errors(browser) == []


def test_a_script_in_it_would_not_run(open_page: PageOpener, page: str) -> None:
    browser = open_page(page.replace("<main>", "<script>document.title = 'owned'</script><main>"))
    assert browser.title != "owned"


def test_it_is_light_or_dark_as_the_system_is(
    open_page: PageOpener, browser: Chrome, page: str
) -> None:
    ink = "return getComputedStyle(document.body).color"
    seen = []
    try:
        for scheme in ("light", "dark"):
            wanted = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", wanted)
            seen.append(open_page(page).execute_script(ink))
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert seen == ["rgb(0, 0, 0)", "rgb(255, 255, 255)"]


@pytest.mark.parametrize("width", [1400, 390])
def test_only_tables_and_plots_scroll_sideways(
    open_page: PageOpener, browser: Chrome, page: str, width: int
) -> None:
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        open_page(page)
        one(browser, "summary").click()
        wide = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert browser.execute_script("return innerWidth") == width
        assert browser.execute_script(wide) == 0
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_what_scrolls_can_be_reached_with_the_keys(open_page: PageOpener, page: str) -> None:
    regions = every(open_page(page), "[role=region]")
    assert len(regions) >= 5  # four tables, and plots
    assert all(r.get_attribute("tabindex") == "0" and r.accessible_name for r in regions)


def test_each_question_opens_to_text_and_list_side_by_side(
    open_page: PageOpener, page: str
) -> None:
    browser = open_page(page)
    assert not one(browser, "pre").is_displayed()
    one(browser, "summary").click()
    pairs = zip(every(browser, "pre"), every(browser, "ol"), strict=True)
    tops = [(text.location["y"], ranked.location["y"]) for text, ranked in pairs]
    assert len(tops) == len(NAMES)
    assert all(abs(text - ranked) < 5 for text, ranked in tops)
