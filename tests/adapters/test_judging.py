"""A model in the loop of the retriever: fakes of both frameworks, from settings to metadata."""

import asyncio
import copy
import json
import logging
import pickle
from datetime import timedelta

import pytest
from framework_fakes import Chat, Completion
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.prompts import ChatPromptTemplate, PromptTemplate
from llama_index.core import PromptTemplate as LlamaIndexPrompt
from llama_index.core.base.llms.types import CompletionResponse
from llama_index.core.llms.callbacks import llm_completion_callback
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from pydantic import Field
from support.judging import label_of

from tmem_integrations import TemporalForestRetriever
from tmem_integrations.bridges.rerankers import as_reranker
from tmem_integrations.bridges.stage_events import STAGE_EVENT
from tmem_integrations.config import ForestConfig, ModelConfig
from tmem_integrations.demo import load_history
from tmem_integrations.errors import ConfigError, ModelError
from tmem_integrations.prompts.gate import GATE_TEMPLATE, GatePrompt
from tmem_integrations.prompts.relations import RELATIONS_TEMPLATE

HISTORY = [
    {"id": "a", "timestamp": "2026-03-02T09:00:00Z", "author": "Ann", "text": "We launch on Friday."},
    {"id": "b", "timestamp": "2026-03-02T09:01:00Z", "author": "Bo", "text": "Soup for lunch?"},
    {"id": "c", "timestamp": "2026-03-02T09:02:00Z", "author": "Ann", "text": "No: Monday it is."},
]  # fmt: skip
QUESTION = "When do we launch?"
STAGES = ["anchors", "episodes", "evidence", "forest", "compression"]


def judge(prompt):
    """The gate takes the launch and the Monday, the linker has the one update the other."""
    launch, monday = (label_of(prompt, HISTORY[i]["text"]) for i in (0, 2))
    if "Children and their eligible parents" in prompt:
        link = {"child": monday, "parent": launch, "relation": "UPDATE", "confidence": 0.9}
        return json.dumps({"links": [link | {"relevance": 1}]})
    picked = [(launch, "KEY"), (monday, "KEY")]
    return json.dumps({"selected": [{"id": i, "label": k, "reason": "date"} for i, k in picked]})


class Judge(Chat):
    """A chat model that judges; it keeps what it was asked."""

    asked: list = Field(default_factory=list)
    error: str | None = None

    def _answer(self, prompt):
        self.asked.append(prompt)
        if self.error:
            raise RuntimeError(self.error)
        result = super()._answer("x")
        result.generations[0].message.content = judge(prompt)
        return result


class LlamaJudge(Completion):
    """The same of LlamaIndex."""

    @llm_completion_callback()
    def complete(self, prompt, formatted=False, **kwargs):
        return CompletionResponse(
            text=judge(prompt), raw={"usage": {"prompt_tokens": 7, "completion_tokens": 2}}
        )


def retriever_of(llm=None, history=HISTORY, **settings):
    settings = {"embeddings": False} | settings
    return TemporalForestRetriever.from_messages(history, llm=llm, **settings)


# what comes out


@pytest.mark.parametrize("llm", [Judge(), LlamaJudge()], ids=["langchain", "llama_index"])
@pytest.mark.parametrize("way", ["invoke", "ainvoke", "retrieve", "aretrieve"])
async def test_the_model_decides_what_is_shown_and_how_it_hangs(llm, way):
    answered = getattr(retriever_of(llm), way)(QUESTION)
    (piece,) = await answered if way.startswith("a") else answered
    nodes = [(n["message_id"], n["relation"], n["label"]) for n in piece.metadata["nodes"]]
    assert nodes == [("a", "ROOT", "KEY"), ("c", "UPDATE", "KEY")]


@pytest.mark.parametrize("llm", [Judge(), LlamaJudge()], ids=["langchain", "llama_index"])
def test_calls_and_tokens_are_in_the_metadata(llm):
    (document,) = retriever_of(llm).invoke(QUESTION)
    assert document.metadata["llm_calls"] == 2
    assert document.metadata["llm_tokens"] == {"input": 2 * 7, "output": 2 * 2}
    assert document.metadata["degraded"] == []


def test_the_trace_tells_what_each_call_took():
    trace = retriever_of(Judge()).retrieve_forest(QUESTION).trace
    calls = {stage.stage: stage.notes["calls"] for stage in trace.stages if "calls" in stage.notes}
    assert calls == {"evidence": [{"input": 7, "output": 2}], "forest": [{"input": 7, "output": 2}]}
    assert json.dumps(trace.to_dict())


def test_a_failed_call_is_in_the_trace_with_its_error():
    trace = retriever_of(Judge(error="secret")).retrieve_forest(QUESTION).trace
    calls = trace.stages[STAGES.index("evidence")].notes["calls"]
    assert calls == [{"input": 0, "output": 0, "error": "RuntimeError"}]


def test_without_a_model_nothing_is_spent():
    (document,) = retriever_of().invoke(QUESTION)
    assert (document.metadata["llm_calls"], document.metadata["llm_tokens"]) == (0, {})


# policies and ceilings


def test_a_failing_model_leaves_the_rules_and_it_is_told():
    (document,) = retriever_of(Judge(error="no")).invoke(QUESTION)
    assert "a" in document.metadata["message_ids"]
    assert (
        "candidate messages were judged by rule: RuntimeError." in document.metadata["degraded"][0]
    )


async def test_a_failing_model_raises_where_that_is_the_policy():
    retriever = retriever_of(Judge(error="secret"), on_model_failure="raise")
    with pytest.raises(ModelError, match="capitals-1 did not judge 3 messages: RuntimeError"):
        retriever.invoke(QUESTION)
    with pytest.raises(ModelError):
        await retriever.aretrieve(QUESTION)


def test_a_model_that_answers_nonsense_is_told_as_such_and_not_as_a_ceiling():
    nonsense = FakeListChatModel(responses=["As an assistant I am happy to help!"])
    retriever = TemporalForestRetriever.from_messages(
        load_history(), llm=nonsense, max_llm_calls=6, embeddings=False
    )
    answer = retriever.retrieve_forest(QUESTION)
    assert answer.trace.llm_calls <= 6
    assert len(answer.degraded) == 2
    assert all("judged by rule: the reply could not be read" in one for one in answer.degraded)
    strict = TemporalForestRetriever.from_messages(
        load_history(), llm=nonsense, max_llm_calls=1, embeddings=False, on_model_failure="raise"
    )
    with pytest.raises(ModelError, match="the reply could not be read"):
        strict.invoke(QUESTION)


def test_a_ceiling_of_calls_gives_what_there_is_and_says_so():
    (document,) = retriever_of(Judge(), max_llm_calls=1).invoke(QUESTION)
    assert document.metadata["llm_calls"] == 1
    assert document.metadata["degraded"] == ["1 relation was judged by rule: max_llm_calls=1 reached."]  # fmt: skip


def test_a_ceiling_of_tokens_refuses_what_would_break_it():
    (document,) = retriever_of(Judge(), max_llm_tokens=10).invoke(QUESTION)
    assert document.metadata["llm_calls"] == 0
    assert "max_llm_tokens=10 reached" in document.metadata["degraded"][0]


class Stuck(Judge):
    """Never answers of its own accord."""

    async def _agenerate(self, messages, **kwargs):
        await asyncio.Event().wait()


async def test_after_the_deadline_the_question_returns_what_it_has():
    retriever = retriever_of(Stuck(), deadline=0.05)
    (document,) = await retriever.ainvoke(QUESTION)
    assert "a" in document.metadata["message_ids"]
    assert "deadline of 0:00:00.050000 reached" in document.metadata["degraded"][0]


def test_settings_are_said_in_the_config_or_as_keywords():
    own = ForestConfig(models=ModelConfig(gate_candidates=7, max_llm_calls=9))
    retriever = retriever_of(config=own, max_llm_calls=3, deadline=2, on_model_failure="raise")
    assert retriever.memory.config.models == ModelConfig(
        gate_candidates=7, max_llm_calls=3, deadline=timedelta(seconds=2), on_failure="raise"
    )


def test_concurrency_reaches_the_model():
    assert retriever_of(Judge(), max_concurrency=3).memory.llm.max_concurrency == 3


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"config": {}}, "config must be a ForestConfig or None, got {}"),
        ({"config": "chat"}, "config must be a ForestConfig or None, got 'chat'"),
        ({"max_llm_call": 3}, "'max_llm_call' is no setting of a retriever; did you mean 'max_llm_calls'"),
        ({"max_llm_calls": -1}, "ModelConfig.max_llm_calls must be None or 0 or more, got -1"),
        ({"max_concurrency": 0}, "ModelConfig.max_concurrency must be at least 1, got 0"),
        ({"on_model_failure": "ignore"}, 'must be "degrade" or "raise", got \'ignore\''),
        ({"deadline": 0}, "ModelConfig.deadline must be None or positive"),
        ({"gate_prompt": 7}, "gate_prompt must be a GatePrompt, a text or a prompt template, got 7"),
        ({"gate_prompt": "{question}"}, "missing: {chat}"),
        ({"reranker": "cohere"}, "reranker must be a LangChain document compressor"),
    ],
)  # fmt: skip
def test_a_wrong_setting_is_an_error_that_names_it(wrong, told):
    with pytest.raises(ConfigError) as caught:
        retriever_of(Judge(), **wrong)
    assert told in str(caught.value)


# estimate


def test_an_estimate_tells_calls_and_tokens_and_asks_nothing():
    model = Judge()
    retriever = retriever_of(model)
    estimate = retriever.estimate(QUESTION)
    assert model.asked == []
    assert estimate.n_calls == 2
    count = retriever.memory.counter.count
    retriever.invoke(QUESTION)
    # The linker is asked about what the gate kept, the estimate about what rules keep.
    assert estimate.input_tokens >= count(model.asked[0])
    assert estimate.n_tokens == estimate.input_tokens + estimate.output_tokens


def test_what_is_known_costs_nothing():
    retriever = retriever_of(Judge())
    before = retriever.estimate(QUESTION)
    retriever.invoke(QUESTION)
    assert retriever.estimate(QUESTION).n_calls < before.n_calls


def test_an_estimate_stays_below_the_ceilings():
    assert retriever_of(Judge(), max_llm_calls=1).estimate(QUESTION).n_calls == 1


def test_without_a_model_the_estimate_is_nothing():
    assert retriever_of().estimate(QUESTION).n_tokens == 0


# verdicts


def asked_after(change, folder=None):
    model = Judge()
    retriever = retriever_of(model, store=folder)
    retriever.invoke(QUESTION)
    before = len(model.asked)
    change(retriever)
    retriever.invoke(QUESTION)
    retriever.close()
    return len(model.asked) - before


def test_the_same_question_is_asked_once():
    assert asked_after(lambda retriever: None) == 0


def test_after_an_edit_or_a_deletion_it_is_asked_again():
    edited = HISTORY[1] | {"text": "Soup for lunch!"}
    assert asked_after(lambda retriever: retriever.add_messages([edited])) > 0
    assert asked_after(lambda retriever: retriever.delete_messages(["b"])) > 0


def test_beside_a_folder_verdicts_serve_whoever_opens_it_next(tmp_path):
    first = retriever_of(Judge(), store=tmp_path / "s")
    first.invoke(QUESTION)
    first.close()
    model = Judge()
    settings = {"embeddings": False, "read_only": True, "llm": model}
    reader = TemporalForestRetriever.open(tmp_path / "s", **settings)
    assert reader.invoke(QUESTION)[0].metadata["message_ids"] == ["a", "c"]
    assert model.asked == []
    reader.close()


def test_in_a_file_that_cannot_be_written_no_verdicts_are_kept(tmp_path, monkeypatch):
    retriever_of(store=tmp_path / "s").close()
    verdicts = tmp_path / "s" / "verdicts.sqlite"
    verdicts.touch()
    monkeypatch.setattr("os.access", lambda path, mode: path != verdicts)
    settings = {"embeddings": False, "read_only": True, "llm": Judge()}
    reader = TemporalForestRetriever.open(tmp_path / "s", **settings)
    assert reader.memory.verdicts is None
    assert reader.invoke(QUESTION)[0].metadata["message_ids"] == ["a", "c"]
    reader.close()


def test_a_deletion_leaves_nothing_of_a_message_in_the_verdicts(tmp_path):
    retriever = retriever_of(Judge(), store=tmp_path / "s")
    retriever.invoke(QUESTION)
    assert b"date" in (tmp_path / "s" / "verdicts.sqlite").read_bytes()
    retriever.delete_messages(["b"])
    assert b"date" not in (tmp_path / "s" / "verdicts.sqlite").read_bytes()
    retriever.close()


def test_without_a_model_no_file_of_verdicts_is_made(tmp_path):
    retriever = retriever_of(store=tmp_path / "s")
    retriever.invoke(QUESTION)
    retriever.close()
    assert not (tmp_path / "s" / "verdicts.sqlite").exists()


def test_a_damaged_file_of_verdicts_costs_calls_and_not_the_answer(tmp_path, caplog):
    retriever = retriever_of(Judge(), store=tmp_path / "s")
    (tmp_path / "s" / "verdicts.sqlite").write_bytes(b"no database" * 100)
    (document,) = retriever.invoke(QUESTION)
    retriever.close()
    assert document.metadata["message_ids"] == ["a", "c"]
    assert "verdict cache" in caplog.text


def test_a_question_of_somebody_else_is_another_question():
    model = Judge()
    retriever = retriever_of(model)
    retriever.invoke(QUESTION, asking_user="ann")
    before = len(model.asked)
    retriever.invoke(QUESTION, asking_user="bo")
    assert len(model.asked) > before


# prompts


def with_mark(template):
    return f"MARK {template}"


@pytest.mark.parametrize(
    "prompt",
    [
        with_mark(GATE_TEMPLATE),
        GatePrompt(with_mark(GATE_TEMPLATE)),
        PromptTemplate.from_template(with_mark(GATE_TEMPLATE)),
        LlamaIndexPrompt(with_mark(GATE_TEMPLATE)),
    ],
    ids=["text", "own", "langchain", "llama_index"],
)
def test_a_prompt_can_be_replaced(prompt):
    model = Judge()
    retriever_of(model, gate_prompt=prompt).invoke(QUESTION)
    assert [asked.startswith("MARK ") for asked in model.asked] == [True, False]


def test_a_template_of_several_messages_is_no_prompt():
    with pytest.raises(ConfigError, match="gate_prompt must be"):
        retriever_of(gate_prompt=ChatPromptTemplate.from_template("x"))


def test_llama_index_shows_and_updates_the_prompts():
    model = Judge()
    retriever = retriever_of(model)
    shown = retriever.get_prompts()
    assert shown["gate_prompt"].get_template() == GATE_TEMPLATE
    assert shown["relations_prompt"].get_template() == RELATIONS_TEMPLATE
    retriever.update_prompts({"relations_prompt": LlamaIndexPrompt(with_mark(RELATIONS_TEMPLATE))})
    retriever.invoke(QUESTION)
    assert [asked.startswith("MARK ") for asked in model.asked] == [False, True]


def test_an_unknown_prompt_is_an_error():
    with pytest.raises(ConfigError, match="'gate_promt' is no prompt of a retriever; did you mean"):
        retriever_of().update_prompts({"gate_promt": LlamaIndexPrompt("x")})


def test_a_new_prompt_is_a_new_question():
    model = Judge()
    retriever = retriever_of(model)
    retriever.invoke(QUESTION)
    retriever.update_prompts({"gate_prompt": LlamaIndexPrompt(with_mark(GATE_TEMPLATE))})
    before = len(model.asked)
    retriever.invoke(QUESTION)
    assert model.asked[before].startswith("MARK ")


# reranker


class LastFirst(BaseDocumentCompressor):
    """Keeps the latest, whatever was asked."""

    def compress_documents(self, documents, query, callbacks=None):
        return [Document(page_content="changed", metadata=d.metadata) for d in documents[::-1]]


class LastFirstNodes(BaseNodePostprocessor):
    def _postprocess_nodes(self, nodes, query_bundle=None):
        return nodes[::-1]


class Failing(BaseDocumentCompressor):
    def compress_documents(self, documents, query, callbacks=None):
        raise RuntimeError("secret")


@pytest.mark.parametrize("reranker", [LastFirst(), LastFirstNodes()])
@pytest.mark.parametrize("llm", [None, Judge()], ids=["rules", "model"])
async def test_a_reranker_of_either_framework_bounds_the_evidence(reranker, llm):
    retriever = retriever_of(llm, reranker=reranker, max_messages=1)
    assert retriever.invoke(QUESTION)[0].metadata["message_ids"] == ["c"]
    (document,) = await retriever.ainvoke(QUESTION)
    assert document.metadata["message_ids"] == ["c"]
    assert "Monday it is" in document.page_content


async def test_a_failing_reranker_is_left_out_and_told_without_its_words():
    retriever = retriever_of(reranker=Failing())
    for (document,) in (retriever.invoke(QUESTION), await retriever.ainvoke(QUESTION)):
        assert document.metadata["degraded"] == ["The reranker was left out: RuntimeError."]
    with pytest.raises(ModelError, match="RuntimeError"):
        retriever_of(reranker=Failing(), on_model_failure="raise").invoke(QUESTION)


def test_a_reranker_of_ours_goes_through():
    own = type("Own", (), {"rerank": None, "arerank": None})()
    assert as_reranker(own) is own


# seen from outside


class StageEvents(BaseCallbackHandler):
    def __init__(self):
        self.seen = []
        self.runs = {}

    def on_retriever_start(self, serialized, query, *, run_id, **kwargs):
        self.runs[run_id] = "retriever"

    def on_custom_event(self, name, data, *, run_id, **kwargs):
        self.seen.append((name, data, self.runs.get(run_id)))


async def test_each_stage_is_a_custom_event_of_the_retrievers_run():
    for way in ("invoke", "ainvoke"):
        events = StageEvents()
        result = getattr(retriever_of(Judge()), way)(QUESTION, {"callbacks": [events]})
        if way == "ainvoke":
            await result
        assert [data["stage"] for _, data, _ in events.seen] == STAGES
        assert {(name, run) for name, _, run in events.seen} == {(STAGE_EVENT, "retriever")}
        assert json.dumps([data for _, data, _ in events.seen])


async def test_stages_are_streamed_as_events():
    names = [
        event["data"]["stage"]
        async for event in retriever_of().astream_events(QUESTION, version="v2")
        if event["event"] == "on_custom_event"
    ]
    assert names == STAGES


def test_one_line_per_stage_is_logged_without_text_of_a_message(caplog):
    caplog.set_level(logging.DEBUG, logger="tmem_integrations")
    retriever_of(Judge()).invoke(QUESTION)
    lines = [r.getMessage() for r in caplog.records if r.name == "tmem_integrations.trace"]
    assert [line.split(":")[0] for line in lines] == STAGES
    assert not any(word in caplog.text for word in ("launch", "Monday", "Ann"))


def test_stages_outside_of_a_run_disturb_nothing():
    assert len(retriever_of().retrieve_forest(QUESTION).forest) > 0


# copies


def test_a_pickled_retriever_keeps_prompts_and_settings(tmp_path):
    retriever = retriever_of(
        store=tmp_path / "s", max_llm_calls=4, gate_prompt=with_mark(GATE_TEMPLATE)
    )
    read = pickle.loads(pickle.dumps(retriever))
    assert read.memory.prompts == retriever.memory.prompts
    assert read.memory.config.models.max_llm_calls == 4
    assert copy.deepcopy(retriever).memory is retriever.memory
    retriever.close()
