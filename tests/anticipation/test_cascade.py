"""Topics, scenes, items: what bypasses the topic filter, and what a missing view counts."""

from dataclasses import fields, replace
from datetime import timedelta

import numpy as np
import pytest
from support.writing_model import START

from tmem_integrations.anticipation.cascade import Cascade, _likeness, fuse
from tmem_integrations.anticipation.index import Index, Tables
from tmem_integrations.anticipation.items import Item
from tmem_integrations.anticipation.ledger import Ledger, Turn
from tmem_integrations.anticipation.recipes import ABLATIONS, PAPER, RecallConfig
from tmem_integrations.anticipation.scenes import scene_of
from tmem_integrations.anticipation.topics import Topic
from tmem_integrations.anticipation.triggers import ItemTrigger, SceneTrigger
from tmem_integrations.errors import ConfigError
from tmem_integrations.messages import Message, Scope
from tmem_integrations.stores.chroma import ChromaStore

AXES = ("north", "east", "south", "west")


class Compass:
    """(4,) one axis a word; the mean of those in a text."""

    name = "compass"

    def embed(self, texts):
        rows = np.array([[text.split().count(axis) for axis in AXES] for text in texts], np.float32)
        norms = np.linalg.norm(rows.reshape(-1, 4), axis=1, keepdims=True)
        return rows.reshape(-1, 4) / np.where(norms > 0, norms, 1)

    async def aembed(self, texts):
        return self.embed(texts)


def ledger_of(scenes):
    """Scenes given as (text, topic, trigger of the item, trigger of the scene)."""
    ledger, store = Ledger(), ChromaStore.in_memory(model="compass")
    embedder = Compass()
    with ledger.saving():
        for number, (text, title, concept, bridge, view, horizons) in enumerate(scenes):
            message = Message(
                id=f"m{number}", text=text, channel="c", sent_at=START + timedelta(days=number)
            )
            store.upsert([message], embedder.embed([text]))
            scene = replace(scene_of([message]), title=text)
            topic = Topic(f"t{number}", "c", title, scene.id, {scene.id: ()})
            trigger = ItemTrigger(concept, bridge)
            item = Item(
                f"i{number}", topic.id, "c", text, "atomic", (scene.id,), (message.id,), (), trigger
            )
            ledger.put(
                scene, topic, item, Turn(message.id, "", scene.id),
                SceneTrigger(
                    scene.id, (message.id,), *((view,) if isinstance(view, str) else view),
                    horizons=horizons,
                ),
            )  # fmt: skip
    return Index(store, embedder, ledger)


def recall(scenes, question, config):
    index = ledger_of(scenes)
    tables = index.tables()
    visible = index.visible(tables, Scope())
    (vector,) = Compass().embed([question])
    return Cascade(tables, visible, question.split(), vector, config).recall()


# Text, label, concept, bridge, scene view, horizons. Only its triggers tell the second from nothing.
NEAR = ("north", "north", "", "", "", ())
NARROW = replace(PAPER, top_topics=1, top_scenes=1, top_items=1, scene_triggers=False)
# What triggers reach comes in beside the others.
BESIDE = replace(NARROW, admits_only=False, item_scenes=None)


def test_ranks_of_two_lists_add_up():
    assert fuse([["a", "b"], ["b"]], 60) == {"a": 1 / 61, "b": 1 / 62 + 1 / 61}


@pytest.mark.parametrize("n", [1, 2, 9_000])
def test_a_likeness_is_the_centred_cosine_of_all_rows(n):
    rng = np.random.default_rng(0)
    table, vector = rng.standard_normal((n, 8)).astype(np.float16), rng.standard_normal(8)
    allowed = np.arange(n) % 3 != 1
    own = table[allowed].astype(np.float64)
    mean = own.mean(axis=0) if len(own) > 1 else np.zeros(8)
    expected = (own - mean) @ (vector - mean)
    expected /= np.linalg.norm(own - mean, axis=1) * np.linalg.norm(vector - mean)
    found = _likeness(table, vector.astype(np.float32), allowed, centred=True)
    assert found[allowed] == pytest.approx(expected, abs=1e-4)
    assert np.isnan(found[~allowed]).all()


def test_the_topic_filter_keeps_other_topics_out():
    found = recall([NEAR, ("north", "west", "", "", "", ())], "north", NARROW)
    assert [hit.index for hit in found.items] == [0]


def test_without_the_filter_every_item_is_looked_at():
    config = replace(NARROW, topic_filter=False, top_items=2)
    found = recall([NEAR, ("north", "west", "", "", "", ())], "north", config)
    assert sorted(hit.index for hit in found.items) == [0, 1]


@pytest.mark.parametrize(
    ("concept", "bridge", "via"), [("north", "", "entity"), ("", "north", "bridge")]
)
def test_an_item_with_one_view_is_judged_by_that_view(concept, bridge, via):
    found = recall([NEAR, ("west", "west", concept, bridge, "", ())], "north", BESIDE)
    assert [(hit.index, hit.via) for hit in found.items] == [(0, "topic"), (1, via)]


def test_the_best_of_three_views_counts():
    found = recall([NEAR, ("west", "west", "north", "south", "", ())], "north", BESIDE)
    assert found.items[1].score == pytest.approx(1.0)


def test_a_trigger_below_the_gate_reaches_nothing():
    # The cosine of "north east" with "north" is 1 / sqrt 2 = .71 < .85.
    found = recall([NEAR, ("west", "west", "north east", "", "", ())], "north", BESIDE)
    assert [hit.index for hit in found.items] == [0]


def test_an_item_without_views_is_not_like_anything():
    low = replace(BESIDE, trigger_gate=-1.0)
    found = recall([NEAR, ("west", "west", "", "", "", ())], "north", low)
    assert [hit.index for hit in found.items] == [0]


def test_no_more_items_than_allowed_come_in_by_triggers():
    triggered = [("west", f"west {n}", "north", "", "", ()) for n in range(4)]
    found = recall([NEAR, *triggered], "north", replace(BESIDE, top_triggered=2))
    assert len(found.items) == 1 + 2


def test_in_the_paper_a_triggered_item_is_ranked_among_the_others():
    scenes = [NEAR, ("west", "west", "north", "", "", ())]
    found = recall(scenes, "north", replace(NARROW, top_items=2))
    assert [(hit.index, hit.via) for hit in found.items] == [(0, "topic"), (1, "entity")]
    assert [hit.index for hit in recall(scenes, "north", NARROW).items] == [0]


def test_in_the_paper_a_cued_scene_is_ranked_by_its_own_words():
    scenes = [("east", "north", "", "", "", ()), ("north", "west", "", "", "north", ())]
    found = recall(scenes, "north", replace(NARROW, scene_triggers=True))
    assert [hit.index for hit in found.scenes] == [1]


def test_no_more_scenes_than_allowed_come_in_by_cues():
    cued = [("north", f"west {n}", "", "", "north", ()) for n in range(4)]
    config = replace(NARROW, scene_triggers=True, top_scenes=9, top_cued=2)
    assert len(recall([NEAR, *cued], "north", config).scenes) == 1 + 2


def test_only_items_of_the_best_scenes_are_looked_at():
    same = [("north", "north", "", "", "", ()), ("north east", "north", "", "", "", ())]
    config = replace(NARROW, top_topics=2, top_items=9, item_scenes=1)
    assert [hit.index for hit in recall(same, "north", config).items] == [0]
    config = replace(config, item_scenes=None)
    assert [hit.index for hit in recall(same, "north", config).items] == [0, 1]


def test_the_best_sentence_about_a_scene_counts():
    config = replace(BESIDE, top_scenes=2, scene_triggers=True)
    scenes = [("east", "north", "", "", "", ()), ("west", "west", "", "", ("south", "north"), ())]
    assert (1, "scene") in [(hit.index, hit.via) for hit in recall(scenes, "north", config).scenes]


def test_a_horizon_reaches_its_scene_past_the_topic_filter():
    config = replace(NARROW, top_scenes=2)
    found = recall([NEAR, ("west", "west", "", "", "", ("south", "north"))], "north", config)
    assert (1, "horizon") in [(hit.index, hit.via) for hit in found.scenes]


def test_without_horizons_it_does_not():
    config = replace(NARROW, top_scenes=2, horizon_triggers=False)
    found = recall([NEAR, ("west", "west", "", "", "", ("south", "north"))], "north", config)
    assert [hit.index for hit in found.scenes] == [0]


def test_a_scene_view_reaches_its_scene():
    config = replace(NARROW, top_scenes=2, scene_triggers=True)
    scenes = [("east", "north", "", "", "", ()), ("west", "west", "", "", "north", ())]
    found = recall(scenes, "north", config)
    assert (1, "scene") in [(hit.index, hit.via) for hit in found.scenes]


def test_without_a_vector_words_decide():
    index = ledger_of([NEAR, ("west", "west", "north", "", "", ())])
    tables = index.tables()
    cascade = Cascade(tables, index.visible(tables, Scope()), ["north"], None, PAPER)
    assert [hit.index for hit in cascade.recall().items] == [0]
    assert cascade.reach(5) == ()


def test_an_empty_ledger_recalls_nothing():
    found = recall([], "north", PAPER)
    assert (found.topics, found.scenes, found.items) == ((), (), ())


def test_a_record_with_one_hidden_source_is_not_found():
    index = ledger_of([NEAR, ("north", "north", "", "", "", ())])
    tables = index.tables()
    scope = Scope(readable=frozenset())
    visible = index.visible(tables, scope)
    (vector,) = Compass().embed(["north"])
    found = Cascade(tables, visible, ["north"], vector, PAPER).recall()
    assert (found.topics, found.scenes, found.items) == ((), (), ())


def test_the_paper_recipe_has_the_values_of_the_paper():
    assert (PAPER.rrf_k, PAPER.top_topics, PAPER.top_scenes, PAPER.top_items) == (60, 15, 5, 15)
    assert (PAPER.trigger_gate, PAPER.top_triggered, PAPER.centred) == (0.85, 10, False)


def test_each_ablation_takes_one_part_away():
    for config in ABLATIONS.values():
        changed = [
            f.name
            for f in fields(RecallConfig)
            if getattr(config, f.name) != getattr(PAPER, f.name)
        ]
        assert len(changed) == 1


def test_a_gate_beyond_a_cosine_is_an_error():
    with pytest.raises(ConfigError, match="trigger_gate must be from -1 to 1"):
        RecallConfig(trigger_gate=1.5)


def test_tables_are_made_once_for_one_version():
    index = ledger_of([NEAR])
    assert isinstance(index.tables(), Tables)
    assert index.tables() is index.tables()
