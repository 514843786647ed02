"""An answer from a forest, with the messages it cites: what `tmem ask --answer` prints."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tmem_integrations.errors import ModelError

if TYPE_CHECKING:
    from tmem_integrations.messages import Message
    from tmem_integrations.protocols import LanguageModel, Reply
    from tmem_integrations.retrieval import Retrieval


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model answers from a forest.

    Attributes:
        text: The answer, without the model's thinking.
        cited: Number and message of each citation, in the order first cited.
        unknown: Numbers cited that no message has.
        n_tokens: Of the call, prompt and answer; None when the service does not tell.
    """

    text: str
    cited: tuple[tuple[int, Message], ...]
    unknown: tuple[int, ...]
    n_tokens: int | None

    def to_dict(self) -> dict[str, Any]:
        """JSON values only."""
        citations = [
            {"number": number, "message_id": m.id, "permalink": m.permalink}
            for number, m in self.cited
        ]
        return {"answer": self.text, "citations": citations, "unknown_citations": [*self.unknown]}


def answer_from(retrieval: Retrieval, llm: LanguageModel) -> Answer:
    """Have a model answer from the messages of a forest, and resolve what it cites.

    Raises:
        ModelError: If there is no answer.
    """
    from tmem_integrations.models.citations import read_citations
    from tmem_integrations.models.json_text import without_thinking
    from tmem_integrations.prompts.answer import ANSWER_PROMPT

    prompt = ANSWER_PROMPT.format(context=retrieval.text, question=retrieval.query.text)
    reply = _ask(llm, prompt)
    if reply.error is not None:
        raise ModelError(f"{llm.name} did not answer: {reply.error}.")
    text = without_thinking(reply.text).strip()
    found = read_citations(text, len(retrieval.forest))
    nodes = retrieval.forest.nodes
    counted = [n for n in (reply.input_tokens, reply.output_tokens) if n is not None]
    return Answer(
        text=text,
        cited=tuple((number, nodes[number - 1].message) for number in found.numbers),
        unknown=found.unknown,
        n_tokens=sum(counted) if counted else None,
    )


def _ask(llm: LanguageModel, prompt: str) -> Reply:
    """One call, made again where the failure may pass."""
    from tmem_integrations.models.judging import RetryPolicy, retry_delay

    for attempt in itertools.count(1):
        (reply,) = llm.ask([prompt])
        wait = None
        if reply.failure == "transient":
            wait = retry_delay(attempt, reply.retry_after, RetryPolicy())
        if wait is None:
            break
        time.sleep(wait)
    return reply
