"""Chat models of LangChain and language models of LlamaIndex as a `LanguageModel`.

Every call runs as a LangChain runnable: it inherits the callbacks of the run it is made in, so it
shows up under the retriever in a trace, and both frameworks' instrumentation sees it whichever of
them the model comes from.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.runnables.config import (
    RunnableConfig,
    ensure_config,
    merge_configs,
)
from llama_index.core.llms.llm import LLM

from tmem_integrations.bridges.llama_index_llm import DispatchedEvents, LlamaIndexChatModel
from tmem_integrations.bridges.structured_output import Asked, bind_schema, text_of
from tmem_integrations.errors import ConfigError
from tmem_integrations.models.failures import (
    classify_blank,
    is_refused_request,
    reply_from_error,
)
from tmem_integrations.protocols import LanguageModel, Reply

LanguageModelLike = BaseChatModel | LLM | LanguageModel | None

# What LangGraph looks for: the verdicts of the gate are no part of the answer it streams to a user.
_NO_STREAM = "nostream"


@dataclass(slots=True)
class _Learned:
    """What calls have shown about a service.

    Attributes:
        takes_no_schema: It refused a schema; the model is asked in plain text since.
    """

    takes_no_schema: bool = False


@dataclass(frozen=True, slots=True)
class BridgedLanguageModel:
    """A framework's model as a `LanguageModel`.

    Attributes:
        chat: The model, as LangChain's chat model.
        name: The model's own name.
        max_concurrency: At most this many calls at once.
        retries_itself: Whether its client makes failed calls again on its own, uncounted; they are
            not made once more then. A model with `max_retries=0` leaves that to the budget.
    """

    chat: BaseChatModel
    name: str
    max_concurrency: int = 8
    retries_itself: bool = False
    _learned: _Learned = field(default_factory=_Learned, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.max_concurrency < 1:
            raise ConfigError(f"max_concurrency must be at least 1, got {self.max_concurrency!r}.")

    def ask(
        self,
        prompts: Sequence[str],
        *,
        timeout: float | None = None,
        schema: Mapping[str, Any] | None = None,
    ) -> tuple[Reply, ...]:
        """One reply per prompt, in order; a failed call is a reply with an error.

        Args:
            prompts: What to ask.
            timeout: Seconds after which a call is given up; it has a reply with an error then.
            schema: JSON schema of the answers, for a model that has structured output.
        """
        if not prompts:
            return ()
        config, asked = self._config(), self._asked(schema)
        calls = [partial(self._call, asked, prompt, config) for prompt in prompts]
        replies = _start(calls, self.max_concurrency)
        try:
            done, _ = wait(replies, timeout)
            return tuple(reply.result() if reply in done else _late() for reply in replies)
        finally:
            for reply in replies:
                reply.cancel()  # those not begun are not made

    async def aask(
        self,
        prompts: Sequence[str],
        *,
        timeout: float | None = None,
        schema: Mapping[str, Any] | None = None,
    ) -> tuple[Reply, ...]:
        """`ask` with the model's own async path."""
        if not prompts:
            return ()
        config, asked = self._config(), self._asked(schema)
        seats = asyncio.Semaphore(self.max_concurrency)
        calls = [
            asyncio.create_task(self._acall(asked, prompt, config, seats)) for prompt in prompts
        ]
        try:
            done, _ = await asyncio.wait(calls, timeout=timeout)
            return tuple(call.result() if call in done else _late() for call in calls)
        finally:
            for call in calls:
                call.cancel()

    def _asked(self, schema: Mapping[str, Any] | None) -> Asked:
        if schema is None or self._learned.takes_no_schema:
            return self.chat
        return bind_schema(self.chat, schema) or self.chat

    def _call(self, asked: Asked, prompt: str, config: RunnableConfig) -> Reply:
        try:
            return _reply(asked.invoke(prompt, config))
        except Exception as error:  # whatever the client of some service raises
            return self._failed(asked, error)

    async def _acall(
        self, asked: Asked, prompt: str, config: RunnableConfig, seats: asyncio.Semaphore
    ) -> Reply:
        async with seats:
            try:
                return _reply(await asked.ainvoke(prompt, config))
            except Exception as error:  # whatever the client of some service raises
                return self._failed(asked, error)

    def _failed(self, asked: Asked, error: Exception) -> Reply:
        reply = reply_from_error(error)
        if asked is not self.chat and is_refused_request(error):
            # It may be the schema: the next call goes without, and is counted like any other.
            self._learned.takes_no_schema = True
            return replace(reply, failure="transient")
        if self.retries_itself and reply.failure == "transient":
            return replace(reply, failure="retried")
        return reply

    def _config(self) -> RunnableConfig:
        own: RunnableConfig = {"tags": [_NO_STREAM]}
        if not isinstance(self.chat, LlamaIndexChatModel):  # that one reports its own events
            own["callbacks"] = [DispatchedEvents(self.name)]
        return merge_configs(ensure_config(), own)


def as_language_model(
    llm: LanguageModelLike, *, max_concurrency: int = 8
) -> LanguageModel | None:  # fmt: skip
    """Read a language model as a caller gives it.

    Args:
        llm: A chat model of LangChain, an LLM of LlamaIndex, a `LanguageModel`, or None.
        max_concurrency: At most this many calls at once.

    Raises:
        ConfigError: If it is none of these.
    """
    if llm is None:
        return None
    if isinstance(llm, BaseChatModel):
        name = getattr(llm, "model_name", None) or getattr(llm, "model", None)
        name = name if isinstance(name, str) else type(llm).__name__
        return BridgedLanguageModel(llm, name, max_concurrency, _retries_itself(llm))
    if isinstance(llm, LLM):
        known = llm.metadata.model_name
        name = llm.class_name() if known in ("", "unknown") else known
        chat = LlamaIndexChatModel(llm=llm)
        return BridgedLanguageModel(chat, name, max_concurrency, _retries_itself(llm))
    if not isinstance(llm, type) and hasattr(llm, "ask") and hasattr(llm, "aask"):
        return llm
    raise ConfigError(
        "llm must be a LangChain chat model, a LlamaIndex LLM, a LanguageModel or None, "
        f"got {llm!r:.200}."
    )


def _retries_itself(llm: BaseChatModel | LLM) -> bool:
    """By the name that the frameworks' models share; None leaves it to the client, which retries."""
    return getattr(llm, "max_retries", 0) != 0


def _start(calls: Sequence[Callable[[], Reply]], max_concurrency: int) -> list[Future[Reply]]:
    """Make calls in threads that inherit the context and end with the process.

    A pool's threads would be waited for at exit: a call that is late by minutes would hold up a
    program that has long had its answer.
    """
    replies: list[Future[Reply]] = [Future() for _ in calls]
    queue = deque(zip(replies, calls, strict=True))

    def work() -> None:
        while queue:
            try:
                reply, call = queue.popleft()
            except IndexError:  # another thread was faster
                return
            if reply.set_running_or_notify_cancel():
                reply.set_result(call())

    for _ in range(min(len(calls), max_concurrency)):
        threading.Thread(target=copy_context().run, args=(work,), daemon=True).start()
    return replies


def _late() -> Reply:
    return reply_from_error(TimeoutError())


def _reply(answer: BaseMessage) -> Reply:
    usage = getattr(answer, "usage_metadata", None) or {}
    reply = Reply(
        text_of(answer),
        input_tokens=usage.get("input_tokens"),
        output_tokens=usage.get("output_tokens"),
    )
    return reply if reply.text.strip() else _blank(reply, answer)


def _blank(reply: Reply, answer: BaseMessage) -> Reply:
    """The reply with why there is no text; a refusal's own words may quote the prompt."""
    refusal = answer.additional_kwargs.get("refusal")
    details = answer.response_metadata
    reason = details.get("finish_reason") or details.get("stop_reason")
    known = "refused" if refusal else f"finish reason {reason!r}" if reason else "no reason given"
    return replace(
        reply, text="", error=f"no text, {known}", failure=classify_blank(reason, refusal)
    )
