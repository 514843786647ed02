"""Embeddings that need no key: a static table that ships in a wheel, and Chroma's own MiniLM."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file
from scipy.sparse import csr_matrix

from tmem_integrations.errors import ModelError
from tmem_integrations.messages import clean_text
from tmem_integrations.protocols import Vectors

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# Texts tokenized at a time: bounds memory, since an encoding is far larger than its ids.
_CHUNK = 2_000


def unit_rows(rows: ArrayLike) -> Vectors:
    """Scale each row to length 1, as float32; a zero row stays zero.

    Args:
        rows: (n, d) numbers.

    Raises:
        ValueError: If the rows differ in length or hold something that is no finite number.

    Examples:
        >>> unit_rows([[3.0, 4.0], [0.0, 0.0]]).tolist()
        [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    matrix = np.asarray(rows, dtype=np.float64)
    if matrix.ndim != 2 or not np.isfinite(matrix).all():
        raise ValueError(f"expected one row of finite numbers per text, got shape {matrix.shape}")
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    return cast(Vectors, (matrix / np.where(lengths > 0, lengths, 1.0)).astype(np.float32))


def has_content(text: str) -> bool:
    """Whether a text can be embedded at all; services refuse a blank one."""
    return bool(text.strip())


class StaticEmbedder:
    """Mean of static token vectors, 256 d, English (wordllama's `l2_supercat` table).

    Offline: the table and its tokenizer are read from the installed `wordllama` wheel, once per
    process. The package itself is not imported, because its import configures the root logger and
    its loader looks for the tokenizer in places that differ between versions, then on the network.
    """

    @property
    def name(self) -> str:
        """Stored with the vectors."""
        return "wordllama-256"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """(n, 256) unit vectors; a blank text gives zeros.

        Raises:
            ModelError: If the table is not installed.
        """
        table = _static_table()
        chunks = [texts[i : i + _CHUNK] for i in range(0, len(texts), _CHUNK)]
        empty = np.zeros((0, table.dimension), dtype=np.float32)
        return np.concatenate([empty, *map(table.pool, chunks)])

    async def aembed(self, texts: Sequence[str]) -> Vectors:
        """`embed` in a thread."""
        return await asyncio.to_thread(self.embed, texts)


class _StaticTable:
    """One row per token of the tokenizer."""

    def __init__(self, rows: NDArray[np.float32], tokenizer: Tokenizer) -> None:
        self._rows = rows
        self._tokenizer = tokenizer

    @property
    def dimension(self) -> int:
        return int(self._rows.shape[1])

    def pool(self, texts: Sequence[str]) -> Vectors:
        """Sum of each text's token rows, scaled to length 1: the direction of their mean."""
        filled = [clean_text(text) if has_content(text) else "" for text in texts]
        encodings = self._tokenizer.encode_batch_fast(filled, add_special_tokens=False)
        tokens = [encoding.ids for encoding in encodings]
        ends = np.cumsum([0, *map(len, tokens)])
        ids = np.fromiter((i for row in tokens for i in row), dtype=np.int32, count=int(ends[-1]))
        counts = csr_matrix(
            (np.ones(len(ids), dtype=np.float32), ids, ends),
            shape=(len(texts), len(self._rows)),
        )
        return unit_rows(counts @ self._rows)


_table: _StaticTable | None = None
_loading = threading.Lock()


def _static_table() -> _StaticTable:
    global _table
    with _loading:
        if _table is None:
            _table = _load_static_table()
    return _table


def _load_static_table() -> _StaticTable:
    from tokenizers import Tokenizer

    spec = find_spec("wordllama")
    if spec is None or not spec.submodule_search_locations:
        raise ModelError(
            "Static embeddings need wordllama, which is not installed: pip install wordllama"
        )
    folder = Path(spec.submodule_search_locations[0])
    try:
        weights = load_file(folder / "weights" / "l2_supercat_256.safetensors")
        rows = weights["embedding.weight"].astype(np.float32)
        settings = folder / "tokenizers" / "l2_supercat_tokenizer_config.json"
        tokenizer = Tokenizer.from_str(settings.read_text(encoding="utf-8"))
    except (OSError, KeyError, SafetensorError) as error:
        raise ModelError(
            f"The wordllama wheel in {folder} lacks its 256-d table ({error}); "
            "reinstall it: pip install --force-reinstall wordllama"
        ) from error
    return _StaticTable(rows, tokenizer)


class MiniLM:
    """all-MiniLM-L6-v2, 384 d, as Chroma ships it (ONNX).

    Chroma downloads the model (about 80 MB) once, at the first use, into its own cache folder.
    """

    @property
    def name(self) -> str:
        """Stored with the vectors."""
        return "all-MiniLM-L6-v2"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """(n, 384) unit vectors; a blank text gives zeros.

        Raises:
            ModelError: If the model is not there and cannot be downloaded.
        """
        filled = [i for i, text in enumerate(texts) if has_content(text)]
        vectors = np.zeros((len(texts), 384), dtype=np.float32)
        if filled:
            vectors[filled] = unit_rows(self._run([clean_text(texts[i]) for i in filled]))
        return vectors

    async def aembed(self, texts: Sequence[str]) -> Vectors:
        """`embed` in a thread."""
        return await asyncio.to_thread(self.embed, texts)

    def _run(self, texts: list[str]) -> ArrayLike:
        import httpx

        try:
            return self._model(texts)
        # ValueError: what Chroma raises for a missing onnxruntime and for a damaged download.
        except (httpx.HTTPError, OSError, ValueError) as error:
            reason = f"{type(error).__name__}: {error}"
        # Outside the handler: the trace of Chroma's attempts says nothing that the reason does not.
        raise ModelError(
            f"Chroma could not load all-MiniLM-L6-v2 ({reason}). It is downloaded once, so the first "
            'use needs the network; embeddings="static" needs none.'
        )

    @cached_property
    def _model(self) -> Callable[[list[str]], ArrayLike]:
        from chromadb.utils.embedding_functions.onnx_mini_lm_l6_v2 import ONNXMiniLM_L6_V2

        return cast("Callable[[list[str]], ArrayLike]", ONNXMiniLM_L6_V2())
