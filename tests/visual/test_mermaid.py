"""The Mermaid flowchart: its lines, and that no text can be one of them."""

import re

from hypothesis import given
from hypothesis import strategies as st
from visual.trees import EXPAND, ROOT, UPDATE, answer_of, forest_of

from tmem_integrations.stages.forest import Forest
from tmem_integrations.visual.graph import draw_graph
from tmem_integrations.visual.mermaid import mermaid_text

NODE = re.compile(r'    n\d+\["[^"\[\]<>|{}()`]*<br/>[^"\[\]<>|{}()`]*"\](:::\w+)?')


def test_thick_arrows_update_and_dotted_ones_expand() -> None:
    text = answer_of(forest_of((None, ROOT), (0, UPDATE), (0, EXPAND))).to_mermaid()
    assert text.startswith("flowchart TD\n")
    assert "    n1 ==>|UPDATE| n2\n" in text
    assert "    n1 -.->|EXPAND| n3\n" in text


def test_what_is_superseded_and_what_holds_have_their_classes() -> None:
    text = answer_of(forest_of((None, ROOT), (0, UPDATE))).to_mermaid()
    assert '"]:::superseded\n' in text.split("n2[")[0]
    assert '"]:::current\n' in text.split("n2[")[1]


def test_a_long_text_is_cut() -> None:
    graph = draw_graph(answer_of(forest_of((None, ROOT), texts=("x" * 12,))))
    assert f'<br/>{"x" * 10}#8230;"' in mermaid_text(graph, max_characters=10)


def test_an_empty_forest_says_so() -> None:
    assert "no evidence" in answer_of(Forest()).to_mermaid()


@given(st.text(), st.text(min_size=1).filter(lambda name: name.strip() != ""))
def test_a_text_is_one_label_whatever_people_write(text: str, author: str) -> None:
    lines = answer_of(forest_of((None, ROOT), texts=(text,), author=author)).to_mermaid()
    assert NODE.fullmatch(lines.split("\n")[1])
    assert len(lines.split("\n")) == 5  # flowchart, the node, two classes, the end
