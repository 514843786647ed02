"""Vectors of two models must not meet in one store: they have no common meaning."""

from __future__ import annotations

import numpy as np

from tmem_integrations.errors import InputError, StoreMismatchError
from tmem_integrations.protocols import Vectors
from tmem_integrations.stores.table import Manifest


def check_vectors(vectors: Vectors, n_messages: int) -> Vectors:
    """Vectors as a table takes them.

    Returns:
        (n, d) float32.

    Raises:
        InputError: If there is not one finite vector per message.
    """
    checked = np.asarray(vectors, dtype=np.float32)
    if checked.ndim != 2 or len(checked) != n_messages or checked.shape[1] == 0:
        raise InputError(
            f"vectors must have shape ({n_messages}, d), one row per message, got {checked.shape}."
        )
    if not np.isfinite(checked).all():
        raise InputError("vectors must be finite; a text without content has a zero vector.")
    return checked


def is_same_space(kept: Manifest, model: str | None, dimension: int | None) -> bool:
    """Whether a caller's model and dimension are those of the store; None claims nothing."""
    return model in (None, kept.model) and dimension in (None, kept.dimension)


def require_same_space(name: str, kept: Manifest, model: str | None, dimension: int | None) -> None:
    """Refuse a model or dimension that is not the store's. Vectors of a store that has no name for their
    model are taken to be the caller's when their dimension is.

    Raises:
        StoreMismatchError: Naming both and the way out.
    """
    if kept.dimension is not None and kept.model is None:
        model = None
    if not is_same_space(kept, model, dimension):
        raise StoreMismatchError(
            f"Store {name} was built {_describe(kept.model, kept.dimension)}, but these embeddings are "
            f"{_describe(model, dimension)}; rebuild it or pass the same model."
        )


def require_same_length(n_stored: int, n_asked: int) -> None:
    """Refuse to compare the vector of a question with those of a store when they have not one length:
    when a store is opened the name of a model is known, and how long its vectors are may not be.

    Raises:
        StoreMismatchError: Naming both and the way out.
    """
    if n_stored != n_asked:
        raise StoreMismatchError(
            f"The stored vectors have {n_stored} d, but that of the question has {n_asked} d; rebuild the "
            "store or pass the embeddings it was built with."
        )


def _describe(model: str | None, dimension: int | None) -> str:
    if model is None and dimension is None:
        return "without embeddings"
    size = "" if dimension is None else f"{dimension} d"
    if model is None:
        return f"with embeddings of {size}"
    return f"with {model} ({size})" if size else f"with {model}"
