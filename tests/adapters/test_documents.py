from datetime import UTC, datetime

import pytest
from langchain_core.documents import Document
from llama_index.core.schema import NodeWithScore, TextNode

from tmem_integrations import TemporalForestRetriever
from tmem_integrations.bridges.documents import messages_from_documents, pieces_of_forest
from tmem_integrations.errors import MessageError
from tmem_integrations.messages import Message, Query
from tmem_integrations.retrieval import Retrieval
from tmem_integrations.stages.evidence import Label
from tmem_integrations.stages.forest import Forest, Node, Relation
from tmem_integrations.trace import Trace

NINE = datetime(2026, 3, 2, 9, tzinfo=UTC)
KNOWN = {"author": "Ann", "channel": "ops", "timestamp": "2026-03-02T09:00:00Z"}


@pytest.mark.parametrize(
    "document",
    [
        Document("We ship on Friday.", id="m1", metadata=KNOWN),
        TextNode(text="We ship on Friday.", id_="m1", metadata=KNOWN),
        NodeWithScore(node=TextNode(text="We ship on Friday.", id_="m1", metadata=KNOWN), score=1),
    ],
)
def test_a_document_or_node_becomes_one_message(document):
    (message,) = messages_from_documents([document])
    assert message.to_dict() == {
        "id": "m1",
        "text": "We ship on Friday.",
        "timestamp": "2026-03-02T09:00:00+00:00",
        "author": "Ann",
        "channel": "ops",
    }


@pytest.mark.parametrize(
    "document",
    [
        Document("hi", metadata=KNOWN),
        TextNode(text="hi", metadata=KNOWN),
        NodeWithScore(node=TextNode(text="hi", metadata=KNOWN)),
    ],
)
def test_where_messages_are_wanted_a_document_is_told_its_way(document):
    with pytest.raises(MessageError, match=r"got \w+\. .*TemporalForestRetriever\.from_documents"):
        TemporalForestRetriever.from_messages([document])
    (message,) = (
        TemporalForestRetriever.from_documents([document])
        .memory.store.get([id_of(document)])
        .values()
    )
    assert message.text == "hi"


def id_of(document):
    return messages_from_documents([document])[0].id


def test_metadata_under_other_names_is_mapped():
    document = Document("hi", id="m1", metadata={"user": "Bo", "posted": NINE})
    (message,) = messages_from_documents(
        [document], metadata_map={"author": "user", "sent_at": "posted"}
    )
    assert (message.author, message.sent_at) == ("Bo", NINE)


def test_foreign_metadata_is_left_out():
    document = Document("hi", id="m1", metadata=KNOWN | {"authors": 3, "source": "dump.zip"})
    assert messages_from_documents([document])[0].author == "Ann"


@pytest.mark.parametrize("key", ["id", "message_id"])
def test_an_id_in_the_metadata_comes_before_the_documents_own(key):
    document = Document("hi", id="row-7", metadata=KNOWN | {key: "m7"})
    assert messages_from_documents([document])[0].id == "m7"


def test_a_document_without_id_has_the_same_one_at_every_reading():
    first, again = (messages_from_documents([Document("hi", metadata=dict(KNOWN))]) for _ in "ab")
    assert first == again


def test_the_same_text_by_two_authors_is_two_messages():
    documents = [Document("+1", metadata=KNOWN | {"author": name}) for name in ("Ann", "Bo")]
    assert len({message.id for message in messages_from_documents(documents)}) == 2


@pytest.mark.parametrize("seconds", ["1772442000", "1772442000.0", 1772442000])
def test_seconds_as_text_are_read_as_slack_writes_them(seconds):
    document = Document("hi", metadata={"timestamp": seconds})
    assert messages_from_documents([document])[0].sent_at == NINE


def test_a_time_without_zone_takes_the_given_one():
    document = Document("hi", metadata={"timestamp": "2026-03-02T10:00:00"})
    assert messages_from_documents([document], timezone="Europe/Berlin")[0].sent_at == NINE


def test_a_document_without_time_is_named_with_the_keys_it_has():
    documents = [
        Document("a", id="m1", metadata=KNOWN),
        Document("b", id="m2", metadata={"when": 1}),
    ]
    with pytest.raises(MessageError, match=r"Document 1 \('m2'\) has no time.*\['when'\]"):
        messages_from_documents(documents)


def test_a_time_that_cannot_be_read_names_the_document():
    with pytest.raises(MessageError, match="'m1': sent_at must be ISO 8601, got 'soon'"):
        messages_from_documents([Document("a", id="m1", metadata={"timestamp": "soon"})])


def test_a_misspelt_field_in_the_map_is_refused():
    with pytest.raises(MessageError, match=r"'autor', which is no field.*did you mean 'author'"):
        messages_from_documents([], metadata_map={"autor": "user"})


def test_a_mapped_key_that_no_document_has_is_refused():
    with pytest.raises(MessageError, match="'author' is under 'usr', but no document has that key"):
        messages_from_documents([Document("a", metadata=KNOWN)], metadata_map={"author": "usr"})


def test_a_mapped_key_that_some_documents_lack_is_unknown_there():
    documents = [
        Document("a", metadata=KNOWN | {"thread": "m0"}),
        Document("b", metadata=KNOWN),
    ]
    messages = messages_from_documents(documents, metadata_map={"reply_to": "thread"})
    assert [message.reply_to for message in messages] == ["m0", None]


def test_what_is_no_document_is_refused():
    with pytest.raises(MessageError, match="LangChain Document or a LlamaIndex node, got dict"):
        messages_from_documents([{"text": "hi"}])


def forest_of(*scores):
    """One tree per score, each a root alone."""
    nodes = tuple(
        Node(
            Message(id=f"m{i}", text="hi", sent_at=NINE), Label.KEY, s, None, Relation.ROOT, 1.0, 0
        )
        for i, s in enumerate(scores)
    )
    texts = tuple(f"tree {i}" for i in range(len(scores)))
    return Retrieval(Query(text="q"), Forest(nodes), "whole", texts, 3, (), (), Trace())


class Words:
    def count(self, text):
        return len(text.split())


def test_a_tree_scores_its_share_of_the_best_message():
    pieces = pieces_of_forest(
        forest_of(2.0, 8.0, -1.0), per_tree=True, counter=Words(), max_tokens=100
    )
    assert [piece.score for piece in pieces] == [2 / 8, 8 / 8, 0.0]


@pytest.mark.parametrize("best", [0.0, -3.0])
def test_trees_score_one_where_no_message_has_a_positive_score(best):
    pieces = pieces_of_forest(
        forest_of(best, best - 1), per_tree=True, counter=Words(), max_tokens=100
    )
    assert [piece.score for piece in pieces] == [1.0, 1.0]


def test_a_tree_has_its_own_messages_and_tokens():
    _, second = pieces_of_forest(
        forest_of(1.0, 1.0), per_tree=True, counter=Words(), max_tokens=100
    )
    assert second.text == "tree 1"
    assert second.metadata["message_ids"] == ["m1"]
    assert [node["number"] for node in second.metadata["nodes"]] == [2]
    assert (second.metadata["n_tokens"], second.metadata["trees"]) == (2, 1)


def test_as_a_whole_a_forest_is_one_piece():
    (piece,) = pieces_of_forest(
        forest_of(1.0, 2.0), per_tree=False, counter=Words(), max_tokens=100
    )
    assert (piece.text, piece.score, piece.metadata["trees"]) == ("whole", 1.0, 2)
