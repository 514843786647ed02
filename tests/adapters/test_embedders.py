import pickle
import threading

import numpy as np
import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.embeddings.mock_embed_model import MockEmbedding

from tmem_integrations.bridges.embedders import as_embedder
from tmem_integrations.errors import ConfigError, ModelError
from tmem_integrations.models.embeddings import MiniLM, StaticEmbedder
from tmem_integrations.protocols import Embedder


class Lengths(Embeddings):
    """(length, 1) of each text; refuses blank texts as services do."""

    model = "lengths-2"

    def embed_documents(self, texts):
        if not all(text.strip() for text in texts):
            raise ValueError("input cannot be an empty string")
        return [[len(text), 1.0] for text in texts]

    def embed_query(self, text):
        return self.embed_documents([text])[0]


def lengths_function(texts):
    return Lengths().embed_documents(texts)


UNIT_OF_3 = np.array([3, 1]) / np.sqrt(10)


@pytest.mark.parametrize("nothing", [False, "none"])
def test_no_embeddings_give_no_embedder(nothing):
    assert as_embedder(nothing) is None


@pytest.mark.parametrize(
    ("word", "kind"), [(None, StaticEmbedder), ("static", StaticEmbedder), ("minilm", MiniLM)]
)
def test_a_word_names_an_offline_embedder(word, kind):
    assert isinstance(as_embedder(word), kind)


def test_an_embedder_of_ours_goes_through():
    own = StaticEmbedder()
    assert as_embedder(own) is own


@pytest.mark.parametrize("wrong", ["openai", 3, Lengths, object()])
def test_what_is_no_embedding_model_is_refused_with_the_choices(wrong):
    with pytest.raises(ConfigError, match='"static", "minilm", "none"'):
        as_embedder(wrong)


@pytest.mark.parametrize("model", [Lengths(), lengths_function])
def test_vectors_of_a_framework_are_scaled_to_length_one(model):
    np.testing.assert_allclose(as_embedder(model).embed(["abc"]), [UNIT_OF_3], atol=1e-6)


@pytest.mark.parametrize("model", [Lengths(), lengths_function])
async def test_async_vectors_equal_the_sync_ones(model):
    np.testing.assert_allclose(await as_embedder(model).aembed(["abc"]), [UNIT_OF_3], atol=1e-6)


def test_blank_texts_are_zero_vectors_and_never_reach_the_model():
    vectors = as_embedder(Lengths()).embed(["", "abc", " "])
    np.testing.assert_allclose(vectors, [[0, 0], UNIT_OF_3, [0, 0]], atol=1e-6)


def test_only_blank_texts_still_have_the_width_of_the_model():
    np.testing.assert_array_equal(as_embedder(Lengths()).embed(["", " "]), np.zeros((2, 2)))


def test_a_lone_surrogate_reaches_no_service():
    seen = []
    as_embedder(lambda texts: seen.extend(texts) or [[1.0]] * len(texts)).embed(["a\ud83d"])
    assert seen == ["a\ufffd"]


def test_llama_index_embeddings_are_read():
    np.testing.assert_allclose(
        as_embedder(MockEmbedding(embed_dim=4)).embed(["a"]), [[0.5] * 4], atol=1e-6
    )  # a constant vector c of 4 d has length 2c


async def test_a_sync_llama_index_model_does_not_block_the_event_loop():
    threads = []

    class Where(MockEmbedding):
        def _get_text_embedding(self, text):
            threads.append(threading.current_thread())
            return [1.0]

    class Plain(Where):
        _aget_text_embedding = BaseEmbedding._aget_text_embedding

    await as_embedder(Plain(embed_dim=1)).aembed(["a"])
    assert threads != [threading.main_thread()]


async def test_an_async_llama_index_model_is_awaited():
    awaited = []

    class Native(MockEmbedding):
        async def _aget_text_embedding(self, text):
            awaited.append(text)
            return [1.0]

    await as_embedder(Native(embed_dim=1)).aembed(["a"])
    assert awaited == ["a"]


class ChromaFunction:
    def __call__(self, input):
        return [np.array([1.0, 0.0]) for _ in input]

    @staticmethod
    def name():
        return "my-service"


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (Lengths(), "lengths-2"),
        (DeterministicFakeEmbedding(size=4), "DeterministicFakeEmbedding"),
        (MockEmbedding(embed_dim=4), "MockEmbedding"),
        (MockEmbedding(embed_dim=4, model_name="m3"), "m3"),
        (ChromaFunction(), "my-service"),
        (lengths_function, "lengths_function"),
    ],
)
def test_the_stored_name_is_the_models_own(model, name):
    assert as_embedder(model).name == name


def test_chosen_dimensions_are_part_of_the_name():
    model = Lengths()
    model.dimensions = 256
    assert as_embedder(model).name == "lengths-2-256"


def test_chromas_default_function_is_minilm():
    from chromadb.utils.embedding_functions import DefaultEmbeddingFunction

    assert as_embedder(DefaultEmbeddingFunction()).name == MiniLM().name


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ([[1.0]], "1 vectors for 2 texts"),
        ([[1.0], [1.0, 2.0]], "no matrix"),
        ([[float("nan")], [1.0]], "no matrix"),
        (None, "no matrix"),
    ],
)
def test_an_odd_answer_of_an_embedding_model_names_the_model(answer, problem):
    odd = type("Odd", (ChromaFunction,), {"__call__": lambda self, texts: answer})()
    with pytest.raises(ModelError, match=f"my-service.*{problem}"):
        as_embedder(odd).embed(["a", "b"])


class Failing(Lengths):
    def embed_documents(self, texts):
        raise ConnectionError("no route")


def test_a_failing_embedding_model_is_a_model_error_with_its_cause():
    with pytest.raises(
        ModelError, match="lengths-2 could not embed 1 texts: ConnectionError: no r"
    ):
        as_embedder(Failing()).embed(["a"])


async def test_a_failing_embedding_model_is_a_model_error_in_async_too():
    with pytest.raises(
        ModelError, match="lengths-2 could not embed 1 texts: ConnectionError: no r"
    ):
        await as_embedder(Failing()).aembed(["a"])


def test_a_bridged_embedder_can_be_pickled():
    embedder = pickle.loads(pickle.dumps(as_embedder(lengths_function)))
    np.testing.assert_allclose(embedder.embed(["abc"]), [UNIT_OF_3], atol=1e-6)


@pytest.mark.parametrize("model", [Lengths(), MockEmbedding(embed_dim=2), ChromaFunction()])
def test_a_bridged_embedder_fulfils_the_protocol(model):
    assert isinstance(as_embedder(model), Embedder)
