"""The terminal view: what holds is marked, and no text acts on the terminal."""

import json
from io import StringIO
from typing import Literal
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from visual.trees import EXPAND, ROOT, START, UPDATE, forest_of

from tmem_integrations.messages import Message
from tmem_integrations.stages.forest import Forest
from tmem_integrations.visual.states import State, states_of
from tmem_integrations.visual.terminal import ForestView, safe_json, safe_text, show_message


def shown(view: ForestView, *, color: bool = False, width: int = 100) -> str:
    file = StringIO()
    system: Literal["standard"] | None = "standard" if color else None
    Console(file=file, force_terminal=color, width=width, color_system=system).print(view)
    return file.getvalue()


def test_a_chain_of_updates_has_its_last_one_current() -> None:
    chain = forest_of((None, ROOT), (0, UPDATE), (1, UPDATE))
    assert states_of(chain) == (State.SUPERSEDED, State.SUPERSEDED, State.CURRENT)


def test_of_two_updates_of_one_message_the_later_is_current() -> None:
    siblings = forest_of((None, ROOT), (0, UPDATE), (0, UPDATE))
    assert states_of(siblings) == (State.SUPERSEDED, State.UPDATING, State.CURRENT)


def test_a_branch_that_ended_earlier_is_not_current() -> None:
    # 0 is updated by 1, which 2 updates; 3 updates 0 after all of them.
    branches = forest_of((None, ROOT), (0, UPDATE), (1, UPDATE), (0, UPDATE))
    assert states_of(branches)[1:] == (State.SUPERSEDED, State.UPDATING, State.CURRENT)


def test_an_answer_neither_supersedes_nor_holds() -> None:
    assert states_of(forest_of((None, ROOT), (0, EXPAND))) == (State.PLAIN, State.PLAIN)


def test_every_tree_has_its_own_current_message() -> None:
    two = forest_of((None, ROOT), (0, UPDATE), (None, ROOT), (2, UPDATE))
    assert [s is State.CURRENT for s in states_of(two)] == [False, True, False, True]


def test_a_node_shows_number_relation_time_author_channel_and_text() -> None:
    text = shown(ForestView(forest_of((None, ROOT), (0, UPDATE)), zone=ZoneInfo("Europe/Berlin")))
    assert text.splitlines() == [
        "[1] Mon 02 Mar 2026 09:00  Ann  #ops  superseded",
        "text 0",
        "└── [2] UPDATE Mon 02 Mar 2026 10:00  Ann  #ops  ◀ latest",
        "    text 1",
    ]


def test_trees_are_parted_by_a_blank_line() -> None:
    lines = shown(ForestView(forest_of((None, ROOT), (None, ROOT)))).splitlines()
    assert [i for i, line in enumerate(lines) if not line] == [2]


def test_what_is_superseded_is_dim_and_what_holds_is_bold() -> None:
    text = shown(ForestView(forest_of((None, ROOT), (0, UPDATE))), color=True)
    assert "\x1b[2mtext 0" in text
    assert "\x1b[1mtext 1" in text


def test_an_empty_forest_says_so() -> None:
    assert shown(ForestView(Forest())) == "(no evidence)\n"


def test_a_long_text_is_cut_with_a_count() -> None:
    view = ForestView(forest_of((None, ROOT), texts=("x" * 12,)), max_characters=10)
    assert shown(view).splitlines()[1] == "x" * 10 + "… (+2 characters)"


def test_an_escape_sequence_in_a_text_is_shown_not_sent() -> None:
    view = ForestView(forest_of((None, ROOT), texts=("\x1b[2Jgone\x07",)))
    assert shown(view).splitlines()[1] == "<U+001B>[2Jgone<U+0007>"


def test_markup_in_a_text_is_shown_as_written() -> None:
    view = ForestView(forest_of((None, ROOT), texts=("[bold red]hi[/] :smile:",)))
    assert shown(view).splitlines()[1] == "[bold red]hi[/] :smile:"


def test_what_turns_or_hides_text_is_shown_by_number() -> None:
    assert safe_text("a\u202eb\u200bc") == "a<U+202E>b<U+200B>c"


def test_joined_emoji_stay_whole() -> None:
    assert safe_text("👩\u200d💻 ❤\ufe0f") == "👩\u200d💻 ❤\ufe0f"


@given(st.text())
def test_no_text_sends_a_control_character(text: str) -> None:
    printed = shown(ForestView(forest_of((None, ROOT), texts=(text,)), max_characters=10_000))
    assert not [c for c in printed if c != "\n" and not c.isprintable() and ord(c) < 0xA0]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\x85", "\u2028"])
def test_a_name_begins_no_line(end: str) -> None:
    name = f"Ann{end}[2] UPDATE Mon 02 Mar 2026 09:00  Bo"
    shown = show_message(Message(id="m1", text="hi", sent_at=START, author=name, channel=name))
    assert len(shown.plain.splitlines()) == 2


@given(st.text())
def test_json_made_safe_is_the_same_value_and_moves_no_cursor(text: str) -> None:
    shown = safe_json(json.dumps({"text": text}, ensure_ascii=False, indent=2))
    assert json.loads(shown) == {"text": text}
    assert safe_text(shown) == shown
