"""The page in a real browser: it shows what is there, runs nothing of it and asks for nothing."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from visual.trees import EXPAND, ROOT, UPDATE, Link, answer_of, forest_of

from tmem_integrations.retrieval import Retrieval
from tmem_integrations.stages.forest import Forest

if TYPE_CHECKING:
    from selenium.webdriver import Chrome
    from visual.conftest import PageOpener

HOSTILE = (
    "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>",
    "</script><script>document.title='owned'</script><!--<script>",
    "</noscript><svg onload=\"document.title='owned'\">${graph} $policy {{7*7}}",
    "\u202egnp.exe\u2028\u2029 &lt;b&gt; ']]>",
)
CHAIN = forest_of((None, ROOT), (0, UPDATE), (1, UPDATE), (1, EXPAND))


def errors(browser: Chrome) -> list[str]:
    return [entry["message"] for entry in browser.get_log("browser")]


def requested(browser: Chrome) -> list[str]:
    """Addresses that the page asked for."""
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [e["params"] for e in events if e["method"] == "Network.requestWillBeSent"]
    return [params["request"]["url"] for params in sent]


def one(browser: Chrome, css: str) -> Any:
    return browser.find_element("css selector", css)


def every(browser: Chrome, css: str) -> list[Any]:
    return browser.find_elements("css selector", css)


def press(browser: Chrome, *keys: str) -> None:
    from selenium.webdriver import ActionChains

    ActionChains(browser).send_keys(*keys).perform()


def selected(browser: Chrome) -> str:
    return str(one(browser, ".row.selected").get_attribute("data-n"))


def tab(browser: Chrome, name: str) -> str:
    one(browser, f"[data-tab={name}]").click()
    return str(one(browser, "#side").text)


def test_every_message_is_a_row_a_mark_and_a_part_of_the_text(open_page: PageOpener) -> None:
    browser = open_page(answer_of(CHAIN).to_html())
    tab(browser, "text")
    for css in (".row", "path.mark", "#text span[data-n]"):
        assert sorted(e.get_attribute("data-n") for e in every(browser, css)) == list("1234")
    assert errors(browser) == []


def test_it_asks_for_nothing_but_itself(open_page: PageOpener) -> None:
    browser = open_page(answer_of(forest_of(*[(None, ROOT)] * 4, texts=HOSTILE)).to_html())
    assert {address.partition(":")[0] for address in requested(browser)} == {"file"}
    assert len(requested(browser)) <= 1


@pytest.mark.parametrize("field", ["text", "author", "channel", "role", "topic", "question"])
def test_hostile_chat_is_shown_and_never_run(open_page: PageOpener, field: str) -> None:
    hostile = "".join(HOSTILE)
    if field == "text":
        answer = answer_of(forest_of((None, ROOT), texts=(hostile,)))
    elif field == "question":
        answer = answer_of(forest_of((None, ROOT)), question=hostile)
    else:
        answer = answer_of(forest_of((None, ROOT), **{field: hostile}))
    browser = open_page(answer.to_html())
    assert browser.title != "owned"
    assert "onerror=" in one(browser, "body").get_property("textContent")
    assert every(browser, "body img, svg[onload], #side script") == []
    assert len(every(browser, "script")) == 2
    for name in ("text", "flat", "message"):
        tab(browser, name)
    assert browser.title != "owned"
    assert errors(browser) == []


def test_a_script_in_the_page_would_not_run(open_page: PageOpener) -> None:
    page = answer_of(CHAIN).to_html().replace("<main>", "<script>document.title = 'owned'</script>")
    browser = open_page(page)
    assert browser.title == "When do we ship?"
    assert any("Content Security Policy" in message for message in errors(browser))


def test_update_and_expand_differ_by_more_than_colour(open_page: PageOpener) -> None:
    browser = open_page(answer_of(CHAIN).to_html())
    update, expand = one(browser, "[data-n='2'] .tag"), one(browser, "[data-n='4'] .tag")
    assert (update.text, expand.text) == ("↻ updates [1]", "+ expands [2]")
    style = "return getComputedStyle(arguments[0], '::after').borderTopStyle"
    lines = [one(browser, f"[data-n='{n}'] .guide:last-of-type") for n in (2, 4)]
    assert [browser.execute_script(style, line) for line in lines] == ["solid", "dotted"]


def test_what_is_superseded_says_by_what_and_what_holds_is_marked(open_page: PageOpener) -> None:
    browser = open_page(answer_of(CHAIN).to_html())
    tags = [[t.text for t in every(browser, f".row[data-n='{n}'] .tag")][1:] for n in (1, 2, 3, 4)]
    assert tags == [["superseded by [2]"], ["superseded by [3]"], ["◀ latest"], []]


def test_what_holds_is_chosen_first_with_its_reasons(open_page: PageOpener) -> None:
    browser = open_page(answer_of(CHAIN).to_html())
    assert selected(browser) == "3"
    assert "Changes [2]; the link is 100% sure." in one(browser, "#side").text


def test_a_click_on_the_timeline_chooses_the_row(open_page: PageOpener) -> None:
    browser = open_page(answer_of(CHAIN).to_html())
    one(browser, "path.mark[data-n='1']").click()
    assert selected(browser) == "1"
    assert {e.tag_name for e in every(browser, ".selected")} == {"div", "path"}


def test_the_pointer_on_a_row_marks_the_timeline_and_the_text(open_page: PageOpener) -> None:
    from selenium.webdriver import ActionChains

    browser = open_page(answer_of(CHAIN).to_html())
    tab(browser, "text")
    ActionChains(browser).move_to_element(one(browser, ".row[data-n='4']")).perform()
    marked = every(browser, ".hover")
    assert {e.tag_name for e in marked} == {"div", "path", "span"}
    assert {e.get_attribute("data-n") for e in marked} == {"4"}


def test_the_keys_go_through_the_forest(open_page: PageOpener) -> None:
    from selenium.webdriver.common.keys import Keys

    browser = open_page(answer_of(CHAIN).to_html())
    went = [selected(browser)]
    for key in (Keys.DOWN, Keys.UP, Keys.LEFT, Keys.LEFT, Keys.RIGHT, Keys.END, Keys.HOME):
        press(browser, key)
        went.append(selected(browser))
    assert went == ["3", "4", "3", "2", "1", "2", "4", "1"]
    assert browser.switch_to.active_element.get_attribute("data-n") == "1"


def test_the_keys_change_the_tab_the_theme_and_explain_themselves(open_page: PageOpener) -> None:
    browser = open_page(answer_of(CHAIN).to_html())
    press(browser, "2")
    assert one(browser, "[data-tab=text]").get_attribute("aria-selected") == "true"
    theme = "return document.documentElement.dataset.theme ?? 'light'"
    press(browser, "t")
    assert browser.execute_script(theme) == "dark"
    press(browser, "?")
    assert one(browser, "#keys").is_displayed()


def test_it_begins_as_light_or_dark_as_the_system(open_page: PageOpener, browser: Chrome) -> None:
    paper = "return getComputedStyle(document.body).backgroundColor"
    seen = []
    try:
        for scheme in ("light", "dark"):
            wanted = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", wanted)
            seen.append(open_page(answer_of(CHAIN).to_html()).execute_script(paper))
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert seen == ["rgb(244, 244, 241)", "rgb(18, 18, 22)"]


def test_the_text_is_what_the_model_gets_with_its_tokens(open_page: PageOpener) -> None:
    answer = answer_of(CHAIN)
    shown = tab(open_page(answer.to_html()), "text")
    assert f"{answer.n_tokens} tokens" in shown
    assert [line.split() for line in answer.text.split("\n") if line] == [
        line.split()
        for line in shown.split("\n")[-len(answer.text.replace("\n\n", "\n").split("\n")) :]
    ]


def test_the_flat_list_says_what_it_lacks(open_page: PageOpener) -> None:
    shown = tab(open_page(answer_of(CHAIN, anchors=(0,)).to_html()), "flat")
    assert "1 message by shared words" in shown
    assert "1 of them are in the forest, which adds 3" in shown


def test_an_empty_answer_says_why(open_page: PageOpener) -> None:
    browser = open_page(answer_of(Forest(), explanation="The question is empty.").to_html())
    assert "The question is empty." in one(browser, "#notes").text
    assert "No evidence." in one(browser, "#forest").text
    assert errors(browser) == []


def many(n: int) -> Retrieval:
    """One chain of updates with answers: as deep as it is long."""
    links: list[Link] = [(None, ROOT), *((i - 1, UPDATE if i % 2 else EXPAND) for i in range(1, n))]
    texts = tuple(f"{i}: " + "we move the date once more " * (i % 9) for i in range(n))
    return answer_of(forest_of(*links, texts=texts), anchors=tuple(range(0, n, 6)))


def test_two_hundred_messages_fit_without_a_sideways_scroll(open_page: PageOpener) -> None:
    browser = open_page(many(200).to_html())
    for width in (1400, 500):
        browser.set_window_size(width, 900)
        wide = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert browser.execute_script(wide) == 0
    assert len(every(browser, ".row")) == 200


def test_a_choice_among_two_hundred_takes_less_than_a_frame_or_two(open_page: PageOpener) -> None:
    """Counted in layouts, which do not depend on the machine: choosing must not redraw the page."""
    browser = open_page(many(200).to_html())
    script = """
        const seen = []; const watch = new MutationObserver((found) => seen.push(...found));
        watch.observe(document.querySelector("#forest"), {childList: true, subtree: true});
        document.querySelector(".row[data-n='150']").click();
        const count = watch.takeRecords().length; watch.disconnect(); return count;
    """
    assert browser.execute_script(script) == 0


# without a browser


class Structure(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)


def tags_of(html: str) -> list[str]:
    parser = Structure()
    parser.feed(html)
    parser.close()
    return parser.tags


@given(st.one_of(st.text(), st.sampled_from(HOSTILE)))
def test_no_text_adds_a_tag(text: str) -> None:
    plain = answer_of(forest_of((None, ROOT), texts=("x",)))
    hostile = answer_of(forest_of((None, ROOT), texts=(text,)))
    assert tags_of(hostile.to_html()) == tags_of(plain.to_html())
    assert tags_of(hostile._repr_html_()) == tags_of(plain._repr_html_())


def test_the_page_names_no_other_address() -> None:
    page = answer_of(CHAIN).to_html()
    assert set(re.findall(r"https?://[^\"'\s<)]+", page)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(
        r"@import|url\((?!#)|src=|fetch\(|XMLHttpRequest", page.replace("script-src", "")
    )


def test_a_notebook_shows_relations_states_and_texts() -> None:
    shown = answer_of(CHAIN)._repr_html_()
    assert all(
        part in shown for part in ("↻ updates [1]", "+ expands [2]", "superseded", "◀ latest")
    )
    assert "<script" not in shown
