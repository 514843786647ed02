"""A memory that anticipates over time: what is added, edited, forgotten, hidden and interrupted."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter
from support.writing_model import HISTORY, SCRIPT, START, WritingModel

from tmem_integrations import AnticipatoryMemory, Message, TemporalForestRetriever
from tmem_integrations.anticipation.memory import AnticipatoryMemory as Memory
from tmem_integrations.anticipation.recipes import ABLATIONS, PAPER
from tmem_integrations.cli import main
from tmem_integrations.errors import AccessError, ConfigError
from tmem_integrations.memory import TemporalMemory
from tmem_integrations.stores.chroma import ChromaStore
from tmem_integrations.stores.derived import FILE


def filed(messages=HISTORY, **settings):
    return AnticipatoryMemory.from_messages(messages, **{"llm": WritingModel(), **settings})


def derived(memory):
    """Everything derived, as text."""
    ledger = memory.ledger
    kinds = (ledger.scenes, ledger.topics, ledger.items, ledger.scene_triggers, ledger.persona)
    return [
        TypeAdapter(type(record)).dump_json(record).decode()
        for kind in kinds
        for record in kind.values()
    ]


def test_every_scene_has_all_that_is_written_about_it():
    stats = filed().stats()
    assert (stats["scenes"], stats["topics"], stats["horizons"], stats["persona"]) == (4, 4, 4, 4)


def test_every_derived_record_names_messages_that_exist():
    ledger = filed().ledger
    ids = {m.id for m in HISTORY}
    for kind in (ledger.scenes, ledger.items, ledger.scene_triggers, ledger.persona):
        assert all(
            record.message_ids and ids.issuperset(record.message_ids) for record in kind.values()
        )


def test_the_same_messages_again_ask_nothing():
    model = WritingModel()
    memory = filed(llm=model)
    before = len(model.prompts)
    memory.add(HISTORY)
    assert len(model.prompts) == before


def test_a_new_day_continues_the_open_scene_and_leaves_the_others_alone():
    model = WritingModel()
    memory = filed(HISTORY[:-1], llm=model)
    before = dict(memory.ledger.scenes)
    model.prompts.clear()
    memory.add(HISTORY[-1:])
    (changed,) = [s for s in memory.ledger.scenes.values() if s not in before.values()]
    assert changed.id in before
    assert len(model.asked("Write down one")) == 1


def test_a_label_keeps_its_title_when_a_scene_joins_it():
    memory = filed(HISTORY[:3])
    (topic,) = memory.ledger.topics.values()
    later = [
        Message(id="late", text="Mira broke the other vase.", author="Ann", channel="home",
                sent_at=START + timedelta(days=9))
    ]  # fmt: skip
    memory.add(later)
    assert memory.ledger.topics[topic.id].title == topic.title


def test_a_title_weighs_double_in_a_summary():
    (topic,) = filed(HISTORY[:3]).ledger.topics.values()
    assert topic.summary().split() == [*topic.title.split() * 2, "Mira", "and", "the", "vase"]


def test_nothing_derived_survives_its_sources():
    memory = filed()
    memory.delete([m.id for m in HISTORY if m.id.startswith("vase")])
    assert not any("vase" in text or "Mira" in text for text in derived(memory))


def test_an_edit_takes_back_what_the_old_text_gave():
    memory = filed()
    old = HISTORY[0]
    memory.add(
        [Message(id=old.id, text="Mira slept.", author="Ann", channel="home", sent_at=old.sent_at)]
    )
    assert not any(SCRIPT["vase"]["fact"] in text for text in derived(memory))
    assert all(turn in memory.ledger.turns for turn in ("vase0", "vase1", "vase2"))


def test_what_is_forgotten_is_in_no_file(tmp_path):
    memory = filed(store=ChromaStore.open(tmp_path, model="wordllama-256"))
    memory.delete([m.id for m in HISTORY if m.id.startswith("vase")])
    memory.close()
    assert b"vase" not in (tmp_path / FILE).read_bytes()


def test_another_process_finds_what_was_filed(tmp_path):
    filed(store=ChromaStore.open(tmp_path, model="wordllama-256")).close()
    again = filed((), store=ChromaStore.open(tmp_path, model="wordllama-256"), llm=None)
    assert again.stats()["horizons"] == 4
    again.close()


@pytest.mark.parametrize("step", range(7))
def test_filing_goes_on_after_a_kill(tmp_path, step):
    whole = filed()
    steps = iter(range(99))

    def kill(*_):
        if next(steps) == step:
            raise KeyboardInterrupt

    store = ChromaStore.open(tmp_path, model="wordllama-256")
    with pytest.raises(KeyboardInterrupt):
        filed(store=store, on_step=kill)
    store.close()
    again = filed((), store=ChromaStore.open(tmp_path, model="wordllama-256"))
    assert sorted(derived(again)) == sorted(derived(whole))
    again.close()


def test_what_the_model_did_not_answer_is_asked_again_at_the_next_write():
    model = WritingModel(fails="Mira knocked")
    memory = filed(llm=model)
    assert memory.stats()["undescribed"] == 1
    model.fails = None
    memory.add(HISTORY)
    assert memory.stats()["undescribed"] == 0


def test_a_failing_model_still_finds_what_was_said():
    memory = filed(llm=WritingModel(fails="chat"))
    retriever = TemporalForestRetriever.from_messages([], associative=memory)
    assert "vase0" in retriever.retrieve_forest("vase").message_ids


def test_a_deletion_behind_its_back_hides_what_was_derived():
    memory = filed()
    memory.history.store.delete(["vase0"])
    found = memory.retrieve("Does anyone keep pets, cats perhaps?")
    assert not any(s.scene.title == SCRIPT["vase"]["title"] for s in found.scenes)
    memory.sync()
    assert "vase0" not in memory.ledger.turns


def private():
    """The same history, of which the first scene is in a channel of Ann's own."""
    messages = [
        Message(id=m.id, text=m.text, author=m.author, sent_at=m.sent_at,
                channel="diary" if m.id.startswith("vase") else "home")
        for m in HISTORY
    ]  # fmt: skip
    return filed(messages, access={"diary": ["ann"], "home": ["ann", "bo"]})


def test_a_private_scene_is_shown_to_its_reader_alone():
    memory = private()
    question = "Does anyone keep pets, cats perhaps?"
    assert "vase" in memory.retrieve(question, asking_user="ann").text
    assert "vase" not in memory.retrieve(question, asking_user="bo").text


def test_a_private_scene_changes_nothing_for_an_outsider():
    outsider = private().retrieve("pets", asking_user="bo")
    without = filed([m for m in HISTORY if not m.id.startswith("vase")]).retrieve("pets")
    assert outsider.text == without.text


def test_with_access_control_nobody_is_an_error():
    with pytest.raises(AccessError):
        private().retrieve("pets")


def test_a_scene_with_one_turn_beyond_as_of_is_not_shown():
    found = filed().retrieve("piano", as_of=START + timedelta(days=2, minutes=1))
    assert "Boxes" not in found.text


def test_persona_is_outside_the_budget():
    config = PAPER.__class__(max_tokens=40)
    found = filed().retrieve("Where are the boxes?", config=config)
    assert found.n_tokens > 0
    assert not found.scenes or "Speakers:" in found.text


def test_an_empty_question_is_explained():
    assert filed().retrieve(" ").explanation == "The question is empty."


def test_an_empty_memory_is_explained():
    found = filed(()).retrieve("pets")
    assert found.explanation == "Nothing that was filed is in the scope of the question."


def test_without_a_model_the_stats_say_that_the_associative_half_is_weak():
    assert filed(llm=None).stats()["associative"].startswith("weak")


def test_stats_are_json():
    assert json.loads(json.dumps(filed().stats()))["writer"] == "script-1"


def test_a_history_without_embedder_is_refused():
    with pytest.raises(ConfigError, match="needs an embedder"):
        Memory(TemporalMemory.from_messages(HISTORY))


def test_an_estimate_asks_nothing_and_is_of_the_right_size():
    model = WritingModel()
    memory = filed((), llm=model)
    estimate = memory.estimate(HISTORY)
    assert model.prompts == []
    memory.add(HISTORY)
    assert estimate.n_calls / 2 <= len(model.prompts) <= estimate.n_calls * 2
    assert estimate.input_tokens > 0 < estimate.output_tokens


async def test_filing_and_recalling_do_not_block_the_loop():
    memory = filed(())
    await memory.aadd(HISTORY)
    found = await memory.aretrieve("Does anyone keep pets, cats perhaps?")
    assert found.text == memory.retrieve("Does anyone keep pets, cats perhaps?").text


async def test_an_asynchronous_write_that_is_cancelled_while_it_waits_leaves_the_next_one_free():
    memory = filed(HISTORY[:1])
    memory._writing.acquire()
    waiting = asyncio.create_task(memory.aadd(HISTORY))
    await asyncio.sleep(0.1)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    memory._writing.release()
    await asyncio.sleep(0.1)
    assert not memory._writing.locked()


@pytest.mark.parametrize("name", ABLATIONS)
def test_every_ablation_answers(name):
    assert filed().retrieve("Where did the piano go?", config=ABLATIONS[name]).text


def test_an_ablation_takes_away_what_it_names():
    memory = filed()
    ask = "Where did the piano go?"
    assert memory.retrieve(ask, config=ABLATIONS["SL"]).scenes == ()
    assert "Speakers" not in memory.retrieve(ask, config=ABLATIONS["PS"]).text


def test_a_question_whose_words_are_found_gets_the_forest_it_would_get_alone():
    memory = filed()
    joined = TemporalForestRetriever.from_messages([], associative=memory)
    alone = TemporalForestRetriever.from_messages(HISTORY)
    question = "Who carried the piano?"
    assert joined.retrieve_forest(question).text == alone.retrieve_forest(question).text


def test_writes_through_a_joined_retriever_are_filed():
    memory = filed(())
    retriever = TemporalForestRetriever.from_messages(HISTORY, associative=memory)
    assert memory.stats()["scenes"] == 4
    retriever.delete_messages([m.id for m in HISTORY if m.id.startswith("vase")])
    assert memory.stats()["scenes"] == 3


def test_questions_may_be_asked_while_messages_are_filed():
    memory = filed(HISTORY[:3], llm=None)
    with ThreadPoolExecutor() as pool:
        writing = [pool.submit(memory.add, [message]) for message in HISTORY[3:]]
        asking = [pool.submit(memory.retrieve, "piano vase choir") for _ in range(24)]
        assert all(one.result() for one in [*writing, *asking])
    assert memory.stats()["messages"] == len(HISTORY)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["add", "delete"]), st.sampled_from(range(12))), max_size=10)
)
def test_after_any_history_of_writes_every_turn_is_in_one_scene(writes):
    memory = filed((), llm=None)
    present = set()
    for kind, number in writes:
        message = HISTORY[number]
        if kind == "add":
            memory.add([message])
            present.add(message.id)
        else:
            memory.delete([message.id])
            present.discard(message.id)
    turns = [one for scene in memory.ledger.scenes.values() for one in scene.message_ids]
    assert sorted(turns) == sorted(present) == sorted(memory.ledger.turns)


def test_forgetting_on_the_command_line_takes_back_what_was_derived(tmp_path):
    filed(store=ChromaStore.open(tmp_path, model="wordllama-256")).close()
    with pytest.raises(SystemExit):
        main(["forget", "--in", str(tmp_path), "--id", "vase0", "--yes"])
    assert b"Mira and the vase" not in (tmp_path / FILE).read_bytes()


def test_deletions_by_others_are_taken_back_when_it_is_opened(tmp_path):
    filed(store=ChromaStore.open(tmp_path, model="wordllama-256")).close()
    with ChromaStore.open(tmp_path, model="wordllama-256") as store:
        store.delete(["vase0", "vase1", "vase2"])
    again = filed((), store=ChromaStore.open(tmp_path, model="wordllama-256"), llm=None)
    assert again.stats()["scenes"] == 3
    again.close()
