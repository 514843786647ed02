"""Why an answer is empty, in a sentence for people."""

from __future__ import annotations

from collections.abc import Sequence

from tmem_integrations.messages import Query


def why_empty(query: Query, n_messages: int, unknown_channels: Sequence[str]) -> str:
    """Why no message was found for a question."""
    if unknown_channels:
        return no_such_channel(unknown_channels)
    if not query.text.strip():
        return "The question is empty."
    if n_messages == 0:
        return "No message is in the scope of the question: the history is empty or its filters leave nothing."
    if n_messages == 1:
        return "The one message in scope shares no word with the question."
    return f"None of the {n_messages} messages in scope shares a word with the question."


def no_such_channel(channels: Sequence[str]) -> str:
    """Of channels that are not there or may not be read: to the asker it is the same."""
    return f"No channel named {', '.join(map(repr, channels))} can be read here."


def nothing_kept(n_anchors: int) -> str:
    """Why messages were found and none is shown."""
    return (
        f"Messages that share a word with the question: {n_anchors}. "
        "Neither they nor what was said around them was kept as evidence."
    )


def nothing_in_period(n_messages: int, *, is_told: bool) -> str:
    """Why nothing was found for a period, as the end of a sentence.

    Args:
        n_messages: In scope.
        is_told: Whether what tells of the period was read, too.
    """
    if n_messages == 1 and is_told:
        return "the one message in scope that shares a word with the question was not sent then and does not name it"
    if n_messages == 1:
        return "the one message sent then shares no word with the question"
    if is_told:
        return f"none of the {n_messages} messages in scope that share a word with the question was sent then or names it"
    if n_messages:
        return f"none of the {n_messages} messages sent then shares a word with the question"
    return "no message was sent then"
