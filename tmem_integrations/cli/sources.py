"""From what `--in` names to a memory, and from the common options to an answer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tmem_integrations.batches import batches
from tmem_integrations.cli.anticipating import use_what_is_filed
from tmem_integrations.cli.output import progress_bar
from tmem_integrations.errors import AccessError, ConfigError, ImportFormatError

if TYPE_CHECKING:
    from tmem_integrations.cli.reading import Reading
    from tmem_integrations.memory import TemporalMemory
    from tmem_integrations.messages import Message
    from tmem_integrations.retrieval import Retrieval
    from tmem_integrations.stores.chroma import ChromaStore

# Of times typed without a zone, and of the times shown.
_ZONE = "UTC"
_CHUNK = 1_000


@contextmanager
def opened(
    source: Path,
    *,
    asker: str | None,
    members: Path | None,
    timezone: str | None,
    reading: Reading,
) -> Iterator[TemporalMemory]:
    """A source to be asked, closed at the end.

    Args:
        source: A folder with a store, or a chat file.
        asker: Who asks.
        members: JSON file of who may read which channel.
        timezone: Of times that carry none.
        reading: How a chat file is read.
    """
    access = None if members is None else read_members(members)
    if access is not None and asker is None:
        raise AccessError("--members needs --as: say who asks.")
    memory = open_source(source, reading=reading, timezone=timezone, access=access)
    try:
        yield memory
    finally:
        memory.close()


def metadata_of(answer: Retrieval, memory: TemporalMemory) -> dict[str, Any]:
    """The metadata of an answer, each message with when it was stored and when it changed there."""
    metadata = answer.metadata()
    times = memory.store.import_times(answer.message_ids)
    for node in metadata["nodes"]:
        known = times.get(node["message_id"])
        for name in ("stored_at", "changed_at"):
            time = getattr(known, name, None)
            node[name] = None if time is None else time.isoformat()
    return metadata


def open_source(
    source: Path,
    *,
    reading: Reading,
    timezone: str | None = None,
    access: Mapping[str, Any] | None = None,
) -> TemporalMemory:
    """Open a folder for reading, or read a chat file into memory.

    Raises:
        ConfigError: If it is a folder, and is to be read as a file.
        ImportFormatError: If there is nothing at `source`, or it is not in its format.
        StoreError: If the folder holds no store.
    """
    if not source.exists():
        raise ImportFormatError(
            f"{source}: expected a folder made by tmem import, or a chat file; found nothing there."
        )
    if source.is_dir():
        if reading.given:
            raise ConfigError(
                f"{source} is a folder, whose files were read by tmem import; leave out "
                f"{', '.join(reading.given)}."
            )
        memory = open_folder(source, read_only=True, timezone=timezone, access=access)
        use_what_is_filed(memory)
        return memory
    return _read_into_memory(source, reading, timezone, access)


def _read_into_memory(
    file: Path, reading: Reading, timezone: str | None, access: Mapping[str, Any] | None
) -> TemporalMemory:
    from tmem_integrations.importers import ImportReport, read_file
    from tmem_integrations.memory import TemporalMemory
    from tmem_integrations.models.embeddings import StaticEmbedder
    from tmem_integrations.stores.chroma import ChromaStore

    embedder, report = StaticEmbedder(), ImportReport()
    messages = read_file(
        file,
        format=reading.format,
        options=replace(reading.options, timezone=timezone),
        report=report,
    )
    memory = TemporalMemory(
        ChromaStore.in_memory(model=embedder.name),
        embedder=embedder,
        timezone=timezone or _ZONE,
        access=access,
    )
    with progress_bar() as bar:
        task = bar.add_task(f"Reading {file.name}", total=file.stat().st_size)
        for chunk in in_chunks(messages):
            memory.add(chunk)
            bar.update(task, completed=report.bytes_read)
    return memory


def in_chunks(messages: Iterator[Message]) -> Iterator[list[Message]]:
    """Messages some at a time: few enough to show progress, enough to be stored fast."""
    return batches(messages, _CHUNK)


def open_folder(
    folder: Path,
    *,
    read_only: bool,
    timezone: str | None = None,
    access: Mapping[str, Any] | None = None,
) -> TemporalMemory:
    """Open the memory in a folder; one that is written to is made when missing."""
    from tmem_integrations.memory import TemporalMemory
    from tmem_integrations.models.embeddings import StaticEmbedder

    embedder = StaticEmbedder()
    store = open_store(folder, read_only=read_only, model=None if read_only else embedder.name)
    return TemporalMemory(
        store,
        # A folder filled from Python may hold another model's vectors; reading it must not mix them.
        embedder=embedder if store.model in (None, embedder.name) else None,
        timezone=timezone or _ZONE,
        access=access,
    )


def open_store(folder: Path, *, read_only: bool, model: str | None = None) -> ChromaStore:
    """Open the store in a folder.

    Raises:
        StoreError: If it is to be read only and is not there, is damaged, or is open for writing.
    """
    from tmem_integrations.stores.chroma import ChromaStore

    return ChromaStore.open(folder, read_only=read_only, model=model)


def read_members(path: Path) -> dict[str, str | list[str]]:
    """Read who may read which channel.

    Raises:
        ConfigError: If the file is no JSON object from channel to a name, "*" or a list of names.
    """
    try:
        members = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: expected a JSON file, found: {error}.") from error
    if not isinstance(members, dict) or not all(map(_is_names, members.values())):
        raise ConfigError(
            f'{path}: expected {{"channel": ["name", …]}} or "*" for everyone, found {members!r:.120}.'
        )
    return members


def _is_names(value: object) -> bool:
    return isinstance(value, str) or (
        isinstance(value, list) and all(isinstance(name, str) for name in value)
    )
