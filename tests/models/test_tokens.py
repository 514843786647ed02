"""Token counts need no network and survive any text."""

import copy
import os
import pickle
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st

from tmem_integrations.errors import ConfigError
from tmem_integrations.models import tokens
from tmem_integrations.models.tokens import TiktokenCounter, default_counter


def shipped_folder() -> str:
    namespace = find_spec("llama_index")
    assert namespace is not None
    assert namespace.submodule_search_locations
    return str(Path(namespace.submodule_search_locations[0], "core", "_static", "tiktoken_cache"))


@pytest.fixture
def reference(monkeypatch):
    """tiktoken's own way to an encoding, pointed at the same files."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", shipped_folder())
    return tiktoken.get_encoding


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
def test_counts_equal_those_of_tiktoken(reference, name):
    texts = [
        "We ship on Friday 2026-03-06.",
        "周五晚上上线",
        "it's\r\n\n  v1.2.3 👩‍💻",
        "don't I'LL ",
        "a\x85b",
    ]
    encode = reference(name).encode_ordinary
    assert [TiktokenCounter(name).count(t) for t in texts] == [len(encode(t)) for t in texts]


@given(st.text())
def test_any_text_is_counted_as_tiktoken_counts_it(text):
    encoder = default_counter()._encoder
    assert default_counter().count(text) == len(encoder.encode_ordinary(text))


def test_nothing_has_no_tokens():
    assert default_counter().count("") == 0


def test_a_special_token_is_plain_text():
    assert default_counter().count("<|endoftext|>") > 1


def test_a_lone_surrogate_and_nul_are_counted():
    assert default_counter().count("\ud83d\x00") == default_counter().count("\ufffd\ufffd")


@pytest.mark.parametrize("character", ["a", " ", "\t", "\n", "-", "\u0301", "漢", "\x85"])
def test_a_million_of_one_character_is_counted(character):
    assert default_counter().count(character * 1_000_000) > 0


def test_a_long_text_is_cut_at_line_ends_without_changing_its_count():
    line = "The rollback is on Friday.\n"
    n_lines = 3 * tokens._CHUNK // len(line)
    assert default_counter().count(line * n_lines) == n_lines * default_counter().count(line)


def test_the_default_counter_is_loaded_once():
    assert default_counter() is default_counter()


def test_copies_share_the_vocabulary():
    counter = default_counter()
    copies = [copy.deepcopy(counter), pickle.loads(pickle.dumps(counter))]
    assert all(c._encoder is counter._encoder for c in copies)


def test_an_unknown_encoding_is_refused_with_the_known_ones():
    with pytest.raises(ConfigError, match=r"o200k_base, got 'o300k'"):
        TiktokenCounter("o300k")


def test_a_missing_file_says_where_it_was_looked_for_and_the_way_out(monkeypatch, tmp_path):
    monkeypatch.setattr(tokens, "find_spec", lambda name: None)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("DATA_GYM_CACHE_DIR", raising=False)
    with pytest.raises(ConfigError, match=f"{tmp_path.name}; reinstall llama-index-core"):
        tokens._find_vocabulary("o200k_base")


def test_counting_leaves_the_environment_alone_and_does_not_load_llama_index():
    program = (
        "import os, sys\n"
        "before = dict(os.environ)\n"
        "from tmem_integrations.models.tokens import default_counter\n"
        "default_counter().count('x')\n"
        "print(dict(os.environ) == before, 'llama_index.core' in sys.modules)"
    )
    environment = {k: v for k, v in os.environ.items() if k != "TIKTOKEN_CACHE_DIR"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["True", "False"]
