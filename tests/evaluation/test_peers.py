"""Peers as methods: what holds of each of them, shown on the thinnest memory that reads and shows."""

import importlib.util
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import ClassVar

import pytest

from tmem_integrations.errors import ConfigError, MissingExtraError, ModelError
from tmem_integrations.evaluation.datasets.jsonl import read_jsonl
from tmem_integrations.evaluation.measures import Share
from tmem_integrations.evaluation.methods import PEERS, make_method
from tmem_integrations.evaluation.methods.base import Passage, Usage
from tmem_integrations.evaluation.methods.peers import UNAVAILABLE
from tmem_integrations.evaluation.methods.peers.growing import PeerError, PeerMethod, spoken
from tmem_integrations.evaluation.methods.peers.model import PeerModel, required_model
from tmem_integrations.evaluation.prompts import prompt_hashes
from tmem_integrations.evaluation.questions import Gold
from tmem_integrations.evaluation.recall import measure_recall
from tmem_integrations.evaluation.runs.contract import RunContract, hash_dataset
from tmem_integrations.evaluation.runs.results import read_results
from tmem_integrations.evaluation.runs.runner import run
from tmem_integrations.messages import Message, Query
from tmem_integrations.models.tokens import default_counter
from tmem_integrations.protocols import Reply

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
CHAT = [
    Message(id=f"m{i}", text=text, author="Ann", sent_at=START + timedelta(hours=i))
    for i, text in enumerate(["Friday it is.", "No, Monday.", "Lunch is soup."])
]


class Notebook:
    """Notes each message down in its own words and shows the latest notes first."""

    made: ClassVar[list["Notebook"]] = []

    def __init__(self):
        self.read: list[Message] = []
        self.closed = False
        self.taken = 0
        Notebook.made.append(self)

    def add(self, message):
        self.read.append(message)
        self.taken += 1

    def search(self, question, max_passages, max_tokens):
        return [Passage(f"noted: {m.text.upper()}", (m.id,)) for m in reversed(self.read)]

    def take_usage(self):
        taken, self.taken = self.taken, 0
        return Usage(10 * taken, taken, taken)

    def close(self):
        self.closed = True


@pytest.fixture(autouse=True)
def made():
    Notebook.made = []
    return Notebook.made


def peer(open_memory=Notebook, **values):
    return PeerMethod("notebook", open_memory, **values)


def asked_at(hours):
    return Query(text="When?", as_of=START + timedelta(hours=hours))


def test_a_peer_reads_up_to_the_question_and_each_message_once(made):
    searcher = peer().index(CHAT[::-1])
    searcher.select(asked_at(0.5), 9, 1000)
    searcher.select(asked_at(1.5), 9, 1000)
    assert [[m.id for m in memory.read] for memory in made] == [["m0", "m1"]]


def test_a_question_that_looks_back_is_answered_by_a_memory_read_anew(made):
    searcher = peer().index(CHAT)
    searcher.select(Query(text="When?"), 9, 1000)
    assert searcher.select(asked_at(0.5), 9, 1000).ids == ("m0",)
    assert [memory.closed for memory in made] == [True, False]


def test_a_question_with_another_filter_gets_nothing_of_what_the_last_one_could_know(made):
    other = replace(CHAT[2], id="m3", author="Bo")
    searcher = peer().index([*CHAT[:1], other])
    searcher.select(Query(text="?", authors=frozenset(["Ann"])), 9, 1000)
    searcher.select(Query(text="?", authors=frozenset(["Bo"])), 9, 1000)
    assert [[m.id for m in memory.read] for memory in made] == [["m0"], ["m3"]]


def test_what_nobody_may_know_yet_is_not_read(made):
    assert peer().index(CHAT).select(asked_at(-1), 9, 1000).ids == ()
    assert made == []


def test_the_bound_is_on_passages_and_on_their_messages():
    selection = peer().index(CHAT).select(Query(text="?"), 2, 1000)
    assert [p.text for p in selection.passages or ()] == [
        "noted: LUNCH IS SOUP.",
        "noted: NO, MONDAY.",
    ]
    assert selection.ids == ("m2", "m1")


def test_a_source_counts_once_and_only_if_it_is_a_message():
    class Recap(Notebook):
        def search(self, question, max_passages, max_tokens):
            return [Passage("all", ("m1", "m0")), Passage("more", ("m0", "m9"))]

    assert peer(Recap).index(CHAT).select(Query(text="?"), 9, 1000).ids == ("m1", "m0")


def test_what_the_code_of_a_peer_raises_is_told_by_its_name():
    class Broken(Notebook):
        def search(self, question, max_passages, max_tokens):
            raise KeyError("facts")

    with pytest.raises(PeerError, match="notebook: KeyError: 'facts'"):
        peer(Broken).index(CHAT).select(Query(text="?"), 9, 1000)


def test_a_message_that_failed_is_read_again_with_the_next_question(made):
    class Late(Notebook):
        def add(self, message):
            if message.id == "m1" and not self.closed:
                self.closed = True
                raise ModelError("no answer")
            super().add(message)

    searcher = peer(Late).index(CHAT)
    with pytest.raises(ModelError, match="no answer"):
        searcher.select(Query(text="?"), 9, 1000)
    searcher.select(Query(text="?"), 9, 1000)
    assert [m.id for m in made[0].read] == ["m0", "m1", "m2"]


def test_questions_are_asked_in_the_order_of_their_moment(folder, made):
    dataset = read_jsonl(folder)
    moments = [datetime(2026, 3, 2, hour, 30, tzinfo=UTC) for hour in (10, 9)]
    questions = tuple(
        replace(dataset.questions[0], id=f"q{i}", as_of=moment) for i, moment in enumerate(moments)
    )
    gold = {q.id: Gold(evidence=(frozenset({"r1"}),)) for q in questions}
    measure_recall(replace(dataset, questions=questions, gold=gold), peer(), [5])
    assert len(made) == 1


def test_a_memory_is_closed_when_its_questions_are_asked(folder, made):
    measure_recall(read_jsonl(folder), peer(), [5])
    assert [memory.closed for memory in made] == [True, True]  # one a channel


def test_required_values_are_sought_in_what_the_peer_wrote(folder):
    dataset = read_jsonl(folder)
    (question, _) = dataset.questions
    gold = {question.id: Gold(must_include=("noted: RELEASE", "no such note"))}
    one = replace(dataset, questions=(replace(question, kind=None),), gold=gold)
    (cell,) = measure_recall(one, peer(), [5])
    assert cell.outcomes[0].share == Share(1, 2)
    (shown,) = measure_recall(one, peer(shows_messages=True), [5])
    assert shown.outcomes[0].share == Share(0, 2)


@pytest.fixture
def results_of(folder, tmp_path):
    def make(max_tokens):
        dataset = read_jsonl(folder)
        contract = RunContract(
            data=dataset.name,
            data_hash=hash_dataset(dataset),
            questions=2,
            method="notebook",
            structure="forest",
            max_messages=5,
            max_tokens=max_tokens,
            model=None,
            judge=None,
            prompts=prompt_hashes(),
        )
        run(dataset, peer(), tmp_path / "run", contract)
        return read_results(tmp_path / "run", dataset).results

    return make


def test_a_run_shows_what_the_peer_wrote_and_counts_what_its_model_took(results_of):
    first, second = results_of(500)
    assert "> noted: FINE WITH ME.\n> noted: TESTS ARE RED" in first.text
    assert (first.share, first.ranked) == (Share(2, 2), ("r3", "r2", "r1"))
    assert (first.memory, second.memory) == (Usage(30, 3, 3), Usage(10, 1, 1))


def test_passages_beyond_the_budget_are_left_out_with_their_messages(results_of):
    first, _ = results_of(40)
    assert "FINE WITH ME" in first.text
    assert "RELEASE IS PLANNED" not in first.text
    assert first.share == Share(0, 2)
    assert default_counter().count(first.text) == first.n_tokens <= 40


def test_a_dated_line_says_when_who_and_what():
    assert spoken(CHAT[0]) == "[2026-03-02 09:00 UTC] Ann: Friday it is."
    assert spoken(CHAT[0], dated=False) == "Ann: Friday it is."


class Script:
    """Answers in turn."""

    name = "script"

    def __init__(self, *replies):
        self.replies = [r if isinstance(r, Reply) else Reply(r, None, 7, 2) for r in replies]

    def ask(self, prompts, **options):
        return tuple(self.replies.pop(0) for _ in prompts)

    async def aask(self, prompts, **options):
        return self.ask(prompts)


def test_an_object_is_read_out_of_a_reply_and_counted():
    model = PeerModel(Script('<think>hm</think>```json\n{"a": 1}\n```'))
    assert model.record(["be brief", "what?"]) == {"a": 1}
    assert (model.take_usage(), model.take_usage()) == (Usage(7, 2, 1), Usage())


async def test_a_reply_without_an_object_is_asked_for_once_more():
    model = PeerModel(Script("sorry", '{"a": 1}', "sorry", "sorry"))
    assert await model.arecord(["?"]) == {"a": 1}
    with pytest.raises(ModelError, match="expected a JSON object, 2 replies held none"):
        await model.arecord(["?"])
    assert model.take_usage().calls == 4


def test_a_model_that_fails_is_no_empty_memory():
    with pytest.raises(ModelError, match="script: quota"):
        PeerModel(Script(Reply("", "quota"))).record(["?"])


def test_a_peer_that_writes_needs_a_model():
    with pytest.raises(ConfigError, match="give one with --memory-model openai:NAME"):
        required_model(None, "mem0")


_MODULES = {"mem0": "mem0", "graphiti": "graphiti_core", "hindsight": "hindsight_client"}


@pytest.mark.parametrize("name", PEERS)
def test_an_absent_peer_is_one_sentence_with_the_pip_line(name):
    if importlib.util.find_spec(_MODULES[name]) is not None:
        pytest.skip(f"{name} is installed")
    with pytest.raises(MissingExtraError, match=rf'pip install "tmem-integrations\[{name}\]"'):
        make_method(name)


@pytest.mark.parametrize("name", UNAVAILABLE)
def test_a_peer_that_cannot_be_measured_says_why(name):
    with pytest.raises(ConfigError, match=f"^{name} cannot be measured: .{{20,}}"):
        make_method(name)
