"""Peers over their real packages, with a scripted model; each is skipped where its package is absent."""

import importlib.util
import json
import re
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest

from tmem_integrations.errors import ConfigError
from tmem_integrations.evaluation.methods import make_method
from tmem_integrations.evaluation.methods.base import Passage, Usage
from tmem_integrations.evaluation.methods.peers.growing import PeerError
from tmem_integrations.messages import Message, Query
from tmem_integrations.protocols import Reply

# Other people's code warns of its own affairs.
pytestmark = pytest.mark.filterwarnings("default")

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
CHAT = [
    Message(id=f"m{i}", text=text, author="Ann", sent_at=START + timedelta(hours=i))
    for i, text in enumerate(
        ["The release is on Friday", "Lunch is soup", "Release moves to Monday"]
    )
]


def needs(*modules: str) -> pytest.MarkDecorator:
    """Skips where one is absent; imports none, since what a peer reports is settled when it is."""
    absent = [name for name in modules if importlib.util.find_spec(name) is None]
    return pytest.mark.skipif(bool(absent), reason=f"needs {', '.join(absent)}")


RELEASE = Query(text="When is the release?")


class Model:
    """Finds one fact in each message: the message."""

    name = "script"

    def __init__(self, answer):
        self.answer = answer

    def ask(self, prompts, **options):
        return tuple(
            Reply(json.dumps(self.answer(prompt)), input_tokens=10, output_tokens=1)
            for prompt in prompts
        )

    async def aask(self, prompts, **options):
        return self.ask(prompts)


def extraction(prompt: str) -> dict[str, Any]:
    """What Mem0 asks: the facts of a new message."""
    (said,) = re.findall(r"Ann: (.*)", prompt[prompt.rindex("## New Messages") :])
    return {"memory": [{"id": "0", "text": said, "attributed_to": "user"}]}


@needs("mem0")
def test_mem0_keeps_the_message_of_each_fact():
    searcher = make_method("mem0", llm=Model(extraction)).index(CHAT)
    early = searcher.select(Query(text="release", as_of=START), 5, 1000)
    assert early.passages == (Passage("[2026-03-02] The release is on Friday", ("m0",)),)
    assert early.usage == Usage(10, 1, 1)
    found = searcher.select(RELEASE, 2, 1000)
    assert set(found.ids) == {"m0", "m2"}
    assert found.usage == Usage(20, 2, 2)
    searcher.close()


@needs("mem0")
def test_mem0_does_not_take_a_broken_reply_for_nothing_to_remember():
    searcher = make_method("mem0", llm=Model(lambda prompt: "no object")).index(CHAT)
    with pytest.raises(PeerError, match="2 replies held none"):
        searcher.select(RELEASE, 2, 1000)


def graph(prompt: str) -> dict[str, Any]:
    """What Graphiti asks, told apart by the schema it writes into the prompt."""
    schema = json.JSONDecoder().raw_decode(
        prompt[prompt.rindex("following format:") + 17 :].lstrip()
    )
    title = schema[0]["title"]
    if title == "ExtractedEntities":
        names = ("Ann", "Release", "Lunch")
        return {"extracted_entities": [{"name": n, "entity_type_id": 0} for n in names]}
    if title == "ExtractedEdges":
        said = re.findall(r"<CURRENT_MESSAGE>\s*Ann: (.*?)\s*</CURRENT_MESSAGE>", prompt, re.DOTALL)
        about = "Lunch" if "Lunch" in said[-1] else "Release"
        edge = {
            "source_entity_name": "Ann", "target_entity_name": about, "fact": said[-1],
            "relation_type": "SAYS",
        }  # fmt: skip
        return {"edges": [edge]}
    properties = schema[0]["properties"]
    return {key: [] for key, value in properties.items() if value.get("type") == "array"}


@needs("graphiti_core", "kuzu")
def test_graphiti_keeps_the_messages_of_each_fact():
    searcher = make_method("graphiti", llm=Model(graph)).index(CHAT)
    early = searcher.select(Query(text="release", as_of=START), 5, 1000)
    assert [(p.text, p.sources) for p in early.passages or ()] == [
        ("The release is on Friday", ("m0",))
    ]
    found = searcher.select(RELEASE, 2, 1000)
    assert set(found.ids) == {"m0", "m2"}
    assert found.usage.calls > 2
    searcher.close()


class Bank(BaseHTTPRequestHandler):
    """A Hindsight server that keeps each message as a fact, and one observation about all."""

    kept: ClassVar[list[dict[str, Any]]] = []

    def _answer(self, value: dict[str, Any]) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path.endswith("/recall"):
            facts = {f"f{i}": item for i, item in enumerate(self.kept)}
            known = {
                key: {"id": key, "text": item["content"], "document_id": item["document_id"]}
                for key, item in facts.items()
            }
            observed = {"id": "o", "text": "Ann decides", "source_fact_ids": [*known, "gone"]}
            self._answer({"results": [*known.values(), observed], "source_facts": known})
        else:
            self.kept.extend(asked["items"])
            usage = {"input_tokens": 10, "output_tokens": 1, "total_tokens": 11}
            self._answer(
                {"success": True, "bank_id": "b", "items_count": 1, "async": False, "usage": usage}
            )

    def do_DELETE(self) -> None:
        self.kept.clear()
        self._answer({"success": True})

    def log_message(self, *args: object) -> None:
        """Quiet."""


@pytest.fixture
def bank(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Bank]]:
    Bank.kept.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Bank)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("HINDSIGHT_API_URL", f"http://127.0.0.1:{server.server_port}")
    yield Bank
    server.shutdown()
    server.server_close()


@needs("hindsight_client")
def test_hindsight_keeps_the_message_of_each_fact(bank):
    searcher = make_method("hindsight").index(CHAT)
    found = searcher.select(RELEASE, 9, 1000)
    assert bank.kept[0]["timestamp"].startswith("2026-03-02T09:00")
    assert [p.sources for p in found.passages or ()] == [
        ("m0",), ("m1",), ("m2",), ("m0", "m1", "m2"),
    ]  # fmt: skip
    assert found.usage == Usage(30, 3, 3)
    searcher.select(Query(text="release", as_of=START), 9, 1000)
    assert [item["document_id"] for item in bank.kept] == ["m0"]  # the first bank is deleted
    searcher.close()
    assert bank.kept == []


@needs("hindsight_client")
def test_hindsight_needs_the_address_of_its_server(monkeypatch):
    monkeypatch.delenv("HINDSIGHT_API_URL", raising=False)
    with pytest.raises(ConfigError, match="HINDSIGHT_API_URL"):
        make_method("hindsight")
