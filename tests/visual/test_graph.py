"""The graph: what every drawing shows, settled once."""

import json
from dataclasses import replace
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st
from visual.trees import EXPAND, ROOT, UPDATE, answer_of, forest_of

from tmem_integrations.stages.forest import Forest
from tmem_integrations.visual.graph import draw_graph, split_text
from tmem_integrations.visual.states import State


def test_numbers_are_those_of_the_text() -> None:
    answer = answer_of(forest_of((None, ROOT), (0, UPDATE), (1, EXPAND)))
    graph = draw_graph(answer)
    assert [(node.number, node.parent) for node in graph.nodes] == [(1, None), (2, 1), (3, 2)]
    assert [part.number for part in graph.text] == [None, 1, 2, 3]


@given(st.lists(st.text(), min_size=1, max_size=4))
def test_the_parts_of_the_text_are_its_lines_whatever_people_write(texts: list[str]) -> None:
    forest = forest_of(*[(None, ROOT)] * len(texts), texts=tuple(texts))
    numbers = [part.number for part in split_text(answer_of(forest).text)]
    assert numbers == [None, *range(1, len(texts) + 1)]


def test_a_match_says_its_rank() -> None:
    graph = draw_graph(answer_of(forest_of((None, ROOT), (None, ROOT)), anchors=(1, 0)))
    assert [node.rank for node in graph.nodes] == [2, 1]
    assert "Shares words with the question: match 2 of 2." in graph.nodes[0].why


def test_what_surroundings_brought_says_which_match_it_stands_by() -> None:
    graph = draw_graph(answer_of(forest_of((None, ROOT), (0, EXPAND)), anchors=(0,)))
    assert "Found by what was said around it: 1 h after [1]." in graph.nodes[1].why


def test_the_reason_that_a_model_gave_is_told() -> None:
    forest = forest_of((None, ROOT))
    told = Forest((replace(forest.nodes[0], reason="names the date"),))
    assert draw_graph(answer_of(told)).nodes[0].why[0] == "Kept by the model: names the date"


def test_what_an_associative_memory_reached_says_through_what() -> None:
    answer = replace(answer_of(forest_of((None, ROOT)), anchors=()), associated={"m0": "bridge"})
    (node,) = draw_graph(answer).nodes
    assert node.why[0] == "Filed under what the question is about: reached by its bridge."


def test_what_is_superseded_says_by_what_and_what_holds_says_so() -> None:
    first, second = draw_graph(answer_of(forest_of((None, ROOT), (0, UPDATE)))).nodes
    assert first.updated_by == (2,)
    assert "Superseded by [2]." in first.why
    assert second.state is State.CURRENT
    assert any("this holds" in sentence for sentence in second.why)


def test_a_message_lies_on_the_lane_of_its_partition() -> None:
    answer = answer_of(forest_of((None, ROOT)))
    elsewhere = answer_of(forest_of((None, ROOT), channel="dev"))
    assert draw_graph(answer).nodes[0].saying.lane == 0
    assert draw_graph(elsewhere).nodes[0].saying.lane is None


def test_times_are_in_the_zone_of_the_answer() -> None:
    graph = draw_graph(answer_of(forest_of((None, ROOT)), zone=ZoneInfo("Europe/Berlin")))
    assert graph.zone == "Europe/Berlin"
    assert graph.nodes[0].saying.time == "Mon 02 Mar 2026 09:00"


def test_only_links_to_the_web_are_links() -> None:
    hostile = forest_of((None, ROOT), permalink="javascript:alert(1)")
    web = forest_of((None, ROOT), permalink="https://chat.example.com/m1")
    assert draw_graph(answer_of(hostile)).nodes[0].saying.link is None
    assert draw_graph(answer_of(web)).nodes[0].saying.link == "https://chat.example.com/m1"


def test_an_anchor_that_is_not_in_the_forest_has_no_number() -> None:
    whole = answer_of(forest_of((None, ROOT), (None, ROOT)), anchors=(0, 1))
    less = replace(whole, forest=forest_of((None, ROOT)))
    assert [hit.number for hit in draw_graph(less).flat] == [1, None]


def test_an_empty_answer_tells_why() -> None:
    graph = draw_graph(answer_of(Forest(), explanation="The question is empty."))
    assert (graph.nodes, graph.flat, graph.text) == ((), (), ())
    assert graph.notes == ("The question is empty.",)


@given(st.text(), st.text(min_size=1))
def test_a_graph_is_json(text: str, question: str) -> None:
    answer = answer_of(forest_of((None, ROOT), texts=(text,)), question=question)
    drawn = draw_graph(answer)
    read = json.loads(json.dumps(drawn.to_dict(), allow_nan=False))
    assert read["question"] == drawn.question
    assert len(read["nodes"]) == 1
