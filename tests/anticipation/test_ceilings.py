"""What one write may cost, and that the next one goes on where a ceiling or a failure stopped it."""

from dataclasses import replace

import pytest
from support.writing_model import HISTORY, WritingModel

from tmem_integrations import AnticipatoryMemory, AnticipatoryRetriever
from tmem_integrations.config import ModelConfig
from tmem_integrations.errors import ConfigError, ModelError


def filed(model, **bounds):
    return AnticipatoryMemory.from_messages(HISTORY, llm=model, models=ModelConfig(**bounds))


def content(memory):
    ledger = memory.ledger
    kinds = (ledger.scenes, ledger.topics, ledger.items, ledger.scene_triggers, ledger.persona)
    return [dict(kind) for kind in kinds]


def n_calls():
    model = WritingModel()
    filed(model)
    return len(model.prompts)


@pytest.mark.parametrize("most", [0, 1, 3, 7])
def test_a_write_makes_no_more_calls_than_it_may(most):
    model = WritingModel()
    memory = filed(model, max_llm_calls=most)
    assert len(model.prompts) == most
    assert memory.stats()["model"]["stopped_by"] == f"max_llm_calls={most} reached"


def test_a_write_takes_no_more_tokens_than_it_may():
    model = WritingModel()
    spent = filed(model, max_llm_tokens=2_000).stats()["model"]
    assert 0 < spent["input_tokens"] + spent["output_tokens"] <= 2_000


def test_a_ceiling_never_raises():
    assert filed(WritingModel(), max_llm_calls=2, on_failure="raise").stats()["undescribed"] > 0


def test_further_writes_do_what_a_ceiling_left():
    model = WritingModel()
    memory = filed(model, max_llm_calls=3)
    for _ in range(n_calls()):
        memory.add([])
    assert content(memory) == content(filed(WritingModel()))
    assert memory.stats()["model"]["calls"] == len(model.prompts) == n_calls()


def test_what_was_filed_under_a_ceiling_is_found():
    memory = filed(WritingModel(), max_llm_calls=1)
    assert memory.reach("Who carried the piano?", *asked(memory, "Who carried the piano?"), most=3)


def asked(memory, question):
    scope = memory.history.scope(memory.query(question))
    return scope, memory.embedder.embed([question])[0]


def test_a_failure_is_an_error_where_it_is_to_be_one_and_the_rest_is_saved():
    model = WritingModel(fails="Mira knocked")
    memory = AnticipatoryMemory.from_messages((), llm=model, models=ModelConfig(on_failure="raise"))
    with pytest.raises(ModelError, match="the same call again asks for the rest"):
        memory.add(HISTORY)
    assert memory.stats()["undescribed"] == 1
    model.fails = None
    memory.add(HISTORY)
    assert content(memory) == content(filed(WritingModel()))


def test_a_deletion_is_under_the_ceiling_of_a_write():
    model = WritingModel()
    memory = filed(model)
    memory.writer._config = replace(memory.writer._config, max_llm_calls=1)
    model.prompts.clear()
    memory.delete(["vase0"])
    assert len(model.prompts) == 1


@pytest.mark.parametrize(
    "setting", [{"max_llm_calls": -1}, {"deadline": 0}, {"on_model_failure": "ignore"}]
)
def test_a_setting_out_of_its_range_is_an_error(setting):
    with pytest.raises(ConfigError):
        AnticipatoryRetriever.from_messages([], **setting)
