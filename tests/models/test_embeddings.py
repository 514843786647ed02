import importlib
import importlib.util
import logging
import socket
import subprocess
import sys
import threading
from pathlib import Path

import httpx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from tmem_integrations.errors import ModelError
from tmem_integrations.models import embeddings
from tmem_integrations.models.embeddings import MiniLM, StaticEmbedder, unit_rows
from tmem_integrations.protocols import Embedder

STATIC = StaticEmbedder()


@pytest.fixture
def no_network(monkeypatch):
    def refuse(*args, **kwargs):
        raise OSError("the network is off")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.mark.parametrize("embedder", [StaticEmbedder(), MiniLM()])
def test_an_embedder_fulfils_the_protocol(embedder):
    assert isinstance(embedder, Embedder)


def test_static_vectors_have_256_dimensions_in_float32():
    vectors = STATIC.embed(["The release moves to Friday.", "ok"])
    assert (vectors.shape, vectors.dtype) == ((2, 256), np.float32)


def test_static_vectors_need_no_network(no_network, monkeypatch):
    monkeypatch.setattr(embeddings, "_table", None)
    assert STATIC.embed(["ship it"]).any()


def test_static_vectors_are_those_of_wordllama(no_network, monkeypatch):
    # Its import calls logging.basicConfig, which does nothing while a handler is there.
    monkeypatch.setattr(logging.getLogger(), "handlers", [logging.NullHandler()])
    inference = importlib.import_module("wordllama.inference")
    folder = Path(inference.__file__).parent
    (table,) = load_file(folder / "weights" / "l2_supercat_256.safetensors").values()
    tokenizer = folder / "tokenizers" / "l2_supercat_tokenizer_config.json"
    # By its own arithmetic: its loader looks for these files on the network.
    config = importlib.import_module("wordllama.config").Config.l2_supercat
    reference = inference.WordLlamaInference(table, config, Tokenizer.from_file(str(tokenizer)))
    texts = ["The rollback is on Friday", "周五晚上上线新版本", "v1.2.3 👍 ERR_42", "no no no"]
    np.testing.assert_allclose(STATIC.embed(texts), reference.embed(texts, norm=True), atol=1e-6)


def test_the_static_table_leaves_the_root_logger_alone():
    code = (
        "import logging, warnings; warnings.simplefilter('error')\n"
        "from tmem_integrations.models.embeddings import StaticEmbedder\n"
        "StaticEmbedder().embed(['hi'])\n"
        "assert not logging.getLogger().handlers"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_static_table_is_loaded_once_by_many_threads(monkeypatch):
    loads = []
    load = embeddings._load_static_table
    monkeypatch.setattr(embeddings, "_table", None)
    monkeypatch.setattr(embeddings, "_load_static_table", lambda: loads.append(1) or load())
    threads = [threading.Thread(target=STATIC.embed, args=(["hi"],)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert loads == [1]


@pytest.mark.parametrize("text", ["", " ", "\n\t"])
def test_a_blank_text_is_a_zero_vector(text):
    vectors = STATIC.embed([text, "hi"])
    assert [bool(v.any()) for v in vectors] == [False, True]


def test_no_texts_give_no_rows():
    assert STATIC.embed([]).shape == (0, 256)


@given(st.lists(st.text(max_size=40), max_size=4))
def test_a_static_vector_has_length_one_or_zero(texts):
    lengths = np.linalg.norm(STATIC.embed(texts), axis=1)
    expected = [1.0 if text.strip() else 0.0 for text in texts]
    np.testing.assert_allclose(lengths, expected, atol=1e-5)


@given(st.lists(st.text(max_size=40), min_size=1, max_size=4))
def test_a_vector_does_not_depend_on_its_neighbours(texts):
    alone = np.concatenate([STATIC.embed([text]) for text in texts])
    np.testing.assert_allclose(STATIC.embed(texts), alone, atol=1e-6)


def test_a_history_longer_than_a_chunk_keeps_its_order(monkeypatch):
    monkeypatch.setattr(embeddings, "_CHUNK", 2)
    texts = ["one", "two", "three", "four", "five"]
    alone = np.concatenate([STATIC.embed([text]) for text in texts])
    np.testing.assert_allclose(STATIC.embed(texts), alone, atol=1e-6)


def test_a_lone_surrogate_is_embedded_as_the_replacement_character():
    np.testing.assert_array_equal(STATIC.embed(["cut \ud83d"]), STATIC.embed(["cut \ufffd"]))


def test_near_meanings_lie_nearer_than_far_ones():
    question, near, far = STATIC.embed(
        ["When is the meeting?", "The call is at noon", "I like tea"]
    )
    assert question @ near > question @ far


async def test_async_gives_the_same_vectors():
    np.testing.assert_array_equal(await STATIC.aembed(["hi"]), STATIC.embed(["hi"]))


def test_a_missing_wordllama_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr(embeddings, "_table", None)
    monkeypatch.setattr(embeddings, "find_spec", lambda name: None)
    with pytest.raises(ModelError, match="pip install wordllama"):
        STATIC.embed(["hi"])


def test_a_wheel_without_the_table_names_its_folder(monkeypatch, tmp_path):
    spec = importlib.util.find_spec("json")
    spec.submodule_search_locations = [str(tmp_path)]
    monkeypatch.setattr(embeddings, "_table", None)
    monkeypatch.setattr(embeddings, "find_spec", lambda name: spec)
    with pytest.raises(ModelError, match=tmp_path.name):
        STATIC.embed(["hi"])


@pytest.mark.parametrize("rows", [[[1.0], [1.0, 2.0]], [1.0, 2.0], [[float("nan")]], [["a"]]])
def test_rows_that_are_no_matrix_of_numbers_are_refused(rows):
    with pytest.raises(ValueError, match=r"finite numbers|inhomogeneous|convert"):
        unit_rows(rows)


@pytest.fixture
def no_cached_model(monkeypatch, tmp_path):
    from chromadb.utils.embedding_functions.onnx_mini_lm_l6_v2 import ONNXMiniLM_L6_V2

    monkeypatch.setattr(ONNXMiniLM_L6_V2, "DOWNLOAD_PATH", tmp_path)


def test_minilm_without_network_names_the_way_out(no_network, no_cached_model):
    with pytest.raises(ModelError, match='embeddings="static"'):
        MiniLM().embed(["hi"])


def test_the_failure_of_minilm_hides_the_attempts_of_chroma(no_network, no_cached_model):
    with pytest.raises(ModelError) as caught:
        MiniLM().embed(["hi"])
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)


def test_a_damaged_download_of_minilm_is_a_model_error(no_cached_model, monkeypatch):
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    page = httpx.Response(200, content=b"log in to the network first")
    monkeypatch.setattr(httpx, "stream", lambda *args: _Opened(page))
    with pytest.raises(ModelError, match="SHA256"):
        MiniLM().embed(["hi"])


class _Opened:
    def __init__(self, response):
        self.response = response

    def __enter__(self):
        return self.response

    def __exit__(self, *exc):
        return None


def test_minilm_gives_a_blank_text_a_zero_vector_without_the_model(no_network, no_cached_model):
    assert not MiniLM().embed(["", " "]).any()


def test_minilm_keeps_the_places_of_blank_texts():
    minilm = MiniLM()
    minilm.__dict__["_model"] = lambda texts: [[2.0] + [0.0] * 383 for _ in texts]
    assert minilm.embed(["a", "", "b"])[:, 0].tolist() == [1.0, 0.0, 1.0]
