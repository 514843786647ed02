"""Counting tokens without a network, from the vocabulary files that llama-index-core ships.

`tiktoken.get_encoding` downloads what it does not find, deletes a cached file whose hash differs and
is steered by an environment variable of the whole process. So the file is found and read here, and
only the encoder itself is tiktoken's.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from tmem_integrations.errors import ConfigError
from tmem_integrations.messages import clean_text

if TYPE_CHECKING:
    from tiktoken import Encoding

# How each encoding cuts a text into pieces before merging bytes, as in tiktoken_ext.openai_public,
# which gives the pattern away only together with a download.
_O200K_TAIL = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_PATTERNS = {
    "cl100k_base": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
        r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
    ),
    "o200k_base": "|".join(
        (
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
            + _O200K_TAIL,
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
            + _O200K_TAIL,
            r"\p{N}{1,3}",
            r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
            r"\s*[\r\n]+",
            r"\s+(?!\S)",
            r"\s+",
        )
    ),
}
_ADDRESS = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"
# tiktoken panics on a run of a million blanks; half a million letters in one piece take half a second.
_CHUNK = 50_000


class TiktokenCounter:
    """Counts tokens as OpenAI's models do; a close estimate for others.

    Special tokens such as `<|endoftext|>` are plain text, lone surrogates count as U+FFFD, and a
    text of more than 50,000 characters is counted in parts, cut at line ends where there are any
    (a cut elsewhere can add a token).

    Attributes:
        encoding: "o200k_base" or "cl100k_base".

    Raises:
        ConfigError: If the encoding is not one of these, or its file is nowhere on this machine.

    Examples:
        >>> TiktokenCounter().count("We ship on Friday.")
        5
    """

    def __init__(self, encoding: str = "o200k_base") -> None:
        self.encoding = encoding
        self._encoder = _load_encoding(encoding)

    def __reduce__(self) -> tuple[type[TiktokenCounter], tuple[str]]:
        """Copy and pickle by name: the vocabulary is shared, not copied."""
        return TiktokenCounter, (self.encoding,)

    def count(self, text: str) -> int:
        """Tokens of `text`; never raises on odd text."""
        return sum(len(self._encoder.encode_ordinary(part)) for part in _parts(clean_text(text)))


@cache
def default_counter() -> TiktokenCounter:
    """The counter used where none is given: o200k_base, loaded once per process (about 0.4 s)."""
    return TiktokenCounter()


def _parts(text: str) -> Iterator[str]:
    start = 0
    while len(text) - start > _CHUNK:
        line_end = text.rfind("\n", start, start + _CHUNK)
        end = line_end + 1 if line_end > start else start + _CHUNK
        yield text[start:end]
        start = end
    yield text[start:]


@cache
def _load_encoding(name: str) -> Encoding:
    """Build the encoder; one per process, as a vocabulary takes some 30 MB."""
    from tiktoken import Encoding

    if name not in _PATTERNS:
        raise ConfigError(
            f"TiktokenCounter.encoding must be one of {', '.join(_PATTERNS)}, got {name!r}."
        )
    lines = _find_vocabulary(name).read_bytes().splitlines()
    ranks = {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, lines)}
    return Encoding(name, pat_str=_PATTERNS[name], mergeable_ranks=ranks, special_tokens={})


def _find_vocabulary(name: str) -> Path:
    """The vocabulary file, in tiktoken's own cache folders or inside llama-index-core."""
    file_name = hashlib.sha1(_ADDRESS.format(name).encode(), usedforsecurity=False).hexdigest()
    folders = [
        Path(os.environ[variable])
        for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR")
        if os.environ.get(variable)
    ]
    # The namespace package alone: importing llama_index.core takes seconds.
    namespace = find_spec("llama_index")
    folders += [
        Path(place, "core", "_static", "tiktoken_cache")
        for place in (namespace.submodule_search_locations or () if namespace else ())
    ]
    for folder in folders:
        if (folder / file_name).is_file():
            return folder / file_name
    searched = ", ".join(map(str, folders)) or "no folder"
    raise ConfigError(
        f"No vocabulary {file_name} for {name} in {searched}; reinstall llama-index-core, which "
        "ships it, or set TIKTOKEN_CACHE_DIR to a folder that holds it."
    )
