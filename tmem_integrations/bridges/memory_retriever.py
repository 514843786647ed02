"""What a retriever is by having a memory: opened from its folder, written to, closed, pickled."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping
from os import PathLike
from typing import Any, Protocol, Self, TypeVar, runtime_checkable

from pydantic import Field

from tmem_integrations.bridges.dual import OF_THIS_PROCESS, DualRetriever
from tmem_integrations.bridges.embedders import EmbedderLike, as_embedder
from tmem_integrations.bridges.stores import closed_on_error, open_folder
from tmem_integrations.messages import Message
from tmem_integrations.protocols import IngestReport

R = TypeVar("R", bound="MemoryRetriever")


@runtime_checkable
class Memory(Protocol):
    """A memory, as far as its retriever writes to it."""

    def add(self, messages: Iterable[Message | Mapping[str, Any]]) -> IngestReport:
        """Add messages; one whose id is there already replaces it."""
        ...

    def delete(self, ids: Collection[str | int]) -> int:
        """Remove messages and what was derived from them; returns how many were there."""
        ...

    def close(self) -> None:
        """Release the store. Closing twice is fine."""
        ...

    def describe(self) -> dict[str, Any]:
        """How much there is, where, and with which models, for people."""
        ...


class MemoryRetriever(DualRetriever):
    """A retriever over a memory, which its copies and views share.

    Attributes:
        memory: What is asked, and written to.
    """

    memory: Memory = Field(exclude=True, repr=False)

    @classmethod
    @abstractmethod
    def from_messages(
        cls, messages: Iterable[Message | Mapping[str, Any]], *args: Any, **settings: Any
    ) -> Self:
        """Build a retriever over messages; `store` and `embeddings` are among its settings."""

    @classmethod
    def open(
        cls,
        folder: str | PathLike[str],
        *,
        embeddings: EmbedderLike = None,
        read_only: bool = False,
        **settings: Any,
    ) -> Self:
        """Open what is kept in an existing folder.

        Args:
            folder: What was given as `store` when it was built.
            embeddings: The model it was built with.
            read_only: Refuse to write, and leave writing to another process.
            **settings: As for `from_messages`.

        Raises:
            StoreError: If there is no store in the folder.
            StoreLockedError: If it is open for writing already.
            StoreMismatchError: If it was built with another embedding model.
        """
        store = open_folder(folder, as_embedder(embeddings), read_only=read_only)
        with closed_on_error(store):
            return cls.from_messages([], store=store, embeddings=embeddings, **settings)

    def add_messages(self, messages: Iterable[Message | Mapping[str, Any]]) -> IngestReport:
        """Add messages; one whose id is there already replaces it."""
        return self.memory.add(messages)

    def delete_messages(self, ids: Collection[str | int]) -> int:
        """Remove messages and what was derived from them for good; returns how many were there."""
        return self.memory.delete(ids)

    def close(self) -> None:
        """Release the store, for all copies and views. Closing twice is fine."""
        self.memory.close()

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """What `repr` shows: the memory in a few words, and the settings that are not as ever."""
        yield from self.memory.describe().items()
        for name, value in super().__repr_args__():
            if name is None or value != type(self).model_fields[name].default:
                yield name, value

    def _arguments(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in type(self).model_fields}

    def __reduce__(self) -> tuple[Any, ...]:
        """With its memory, which is pickled by its folder: see `TemporalMemory.__reduce__`."""
        kept = {k: v for k, v in self._arguments().items() if k not in OF_THIS_PROCESS}
        return _rebuild, (type(self), kept)


def _rebuild(kind: type[R], fields: dict[str, Any]) -> R:
    """A pickled retriever, of its fields."""
    return kind(**fields)
