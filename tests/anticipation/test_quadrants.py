"""Each trigger family reaches its scene with a question that shares no word with it."""

from dataclasses import replace

import pytest
from support.writing_model import HISTORY, SCRIPT, WritingModel

from tmem_integrations import AnticipatoryMemory, TemporalForestRetriever
from tmem_integrations.anticipation.recipes import CENTRED
from tmem_integrations.text import split_terms, without_function_words

# Quadrant → key of the scene, question, the views through which it may come.
QUADRANTS = {
    "entity": ("vase", "Does anyone keep pets, cats perhaps?", {"entity", "joint"}),
    "bridge": ("rehearsals", "Could visitors go bowling with us?", {"bridge", "joint"}),
    "scene": ("boxes", "How was moving to another apartment?", {"scene"}),
    "horizon": ("archive", "Feeling overwhelmed, exhausted, volunteered too often", {"horizon"}),
}


@pytest.fixture(scope="module")
def memory():
    return AnticipatoryMemory.from_messages(HISTORY, llm=WritingModel())


@pytest.mark.parametrize("quadrant", QUADRANTS)
def test_the_question_shares_no_word_with_its_scene(quadrant):
    key, question, _ = QUADRANTS[quadrant]
    said = {t for _, text in SCRIPT[key]["turns"] for t in split_terms(text)}
    assert said.isdisjoint(split_terms(without_function_words(question)))


@pytest.mark.parametrize("quadrant", ["entity", "bridge"])
def test_an_item_is_reached_by_its_trigger(memory, quadrant):
    key, question, views = QUADRANTS[quadrant]
    found = memory.retrieve(question, config=replace(CENTRED, top_topics=1, top_items=1))
    (via,) = [i.via for i in found.items if i.item.text == SCRIPT[key]["fact"] and i.via != "topic"]
    assert via in views


@pytest.mark.parametrize("quadrant", ["entity", "bridge"])
def test_without_item_triggers_it_is_not(memory, quadrant):
    question = QUADRANTS[quadrant][1]
    config = replace(CENTRED, top_topics=1, top_items=1, item_triggers=False)
    found = memory.retrieve(question, config=config)
    assert all(i.via == "topic" for i in found.items)


@pytest.mark.parametrize("quadrant", ["scene", "horizon"])
def test_a_scene_is_reached_by_its_trigger_past_the_topic_filter(memory, quadrant):
    key, question, views = QUADRANTS[quadrant]
    found = memory.retrieve(question, config=replace(CENTRED, top_topics=1, top_scenes=2))
    (scene,) = [s for s in found.scenes if s.scene.title == SCRIPT[key]["title"]]
    assert scene.via in views | {"topic"}


@pytest.mark.parametrize("quadrant", QUADRANTS)
def test_the_forest_gets_anchors_in_that_scene(memory, quadrant):
    key, question, views = QUADRANTS[quadrant]
    retriever = TemporalForestRetriever.from_messages([], associative=memory)
    found = retriever.retrieve_forest(question, max_messages=6)
    reached = {via for one, via in found.associated.items() if one.startswith(key)}
    assert reached & views
