"""Ids for messages of a source that has none: made of what a message is, the same at every reading.

Channel, time, author and text are what a longer export of the same chat says in the same way; of messages
that share all four, such as two "ok" within a minute, each has its number. So importing again finds every
message again. It cannot know an edit: another text is another message.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import replace

from tmem_integrations.messages import Message

NO_ID = "without id"
"""The id of a message until one is made."""


class IdMaker:
    """Makes the ids of one file, read in its order.

    Args:
        source: What the ids begin with.
        workspace: Of the file, where one is given: channels of two workspaces may have one name.
    """

    def __init__(self, source: str, workspace: str | None) -> None:
        self._source = source
        self._workspace = workspace
        self._seen: Counter[bytes] = Counter()

    def __call__(self, message: Message) -> Message:
        """The message with an id of its own."""
        said = (
            self._workspace, message.channel, message.sent_at.isoformat(),
            message.author_id or message.author, message.text,
        )  # fmt: skip
        content = hashlib.blake2b(json.dumps(said).encode(), digest_size=10)
        number = self._seen[content.digest()]
        self._seen[content.digest()] += 1
        name = f"{self._source}/{content.hexdigest()}"
        return replace(message, id=f"{name}-{number + 1}" if number else name)
