"""Chat models of LangChain and language models of LlamaIndex as a `LanguageModel`.

Every call runs as a LangChain runnable: it inherits the callbacks of the run it is made in, so it
shows up under the retriever in a trace, and both frameworks' instrumentation sees it whichever of
them the model comes from.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.runnables.config import (
    ContextThreadPoolExecutor,
    RunnableConfig,
    ensure_config,
    merge_configs,
)
from llama_index.core.llms.llm import LLM

from tmem_integrations.bridges.llama_index_llm import DispatchedEvents, LlamaIndexChatModel
from tmem_integrations.errors import ConfigError
from tmem_integrations.models.failures import classify_blank, reply_from_error
from tmem_integrations.protocols import LanguageModel, Reply

LanguageModelLike = BaseChatModel | LLM | LanguageModel | None

# What LangGraph looks for: the verdicts of the gate are no part of the answer it streams to a user.
_NO_STREAM = "nostream"


@dataclass(frozen=True, slots=True)
class BridgedLanguageModel:
    """A framework's model as a `LanguageModel`.

    Attributes:
        chat: The model, as LangChain's chat model.
        name: The model's own name.
        max_concurrency: At most this many calls at once.
    """

    chat: BaseChatModel
    name: str
    max_concurrency: int = 8

    def __post_init__(self) -> None:
        if self.max_concurrency < 1:
            raise ConfigError(f"max_concurrency must be at least 1, got {self.max_concurrency!r}.")

    def ask(self, prompts: Sequence[str], *, timeout: float | None = None) -> tuple[Reply, ...]:
        """One reply per prompt, in order; a failed call is a reply with an error.

        Args:
            prompts: What to ask.
            timeout: Seconds after which a call is given up; it has a reply with an error then.
        """
        if not prompts:
            return ()
        config = self._config()
        with _abandoned(ContextThreadPoolExecutor(self.max_concurrency)) as executor:
            calls = [executor.submit(self._call, prompt, config) for prompt in prompts]
            done, _ = wait(calls, timeout)
            return tuple(call.result() if call in done else _late() for call in calls)

    async def aask(
        self, prompts: Sequence[str], *, timeout: float | None = None
    ) -> tuple[Reply, ...]:
        """`ask` with the model's own async path."""
        if not prompts:
            return ()
        config, seats = self._config(), asyncio.Semaphore(self.max_concurrency)
        calls = [asyncio.create_task(self._acall(prompt, config, seats)) for prompt in prompts]
        try:
            done, _ = await asyncio.wait(calls, timeout=timeout)
            return tuple(call.result() if call in done else _late() for call in calls)
        finally:
            for call in calls:
                call.cancel()

    def _call(self, prompt: str, config: RunnableConfig) -> Reply:
        try:
            return _reply(self.chat.invoke(prompt, config))
        except Exception as error:  # whatever the client of some service raises
            return reply_from_error(error)

    async def _acall(self, prompt: str, config: RunnableConfig, seats: asyncio.Semaphore) -> Reply:
        async with seats:
            try:
                return _reply(await self.chat.ainvoke(prompt, config))
            except Exception as error:  # whatever the client of some service raises
                return reply_from_error(error)

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
        return BridgedLanguageModel(llm, name, max_concurrency)
    if isinstance(llm, LLM):
        known = llm.metadata.model_name
        name = llm.class_name() if known in ("", "unknown") else known
        return BridgedLanguageModel(LlamaIndexChatModel(llm=llm), name, max_concurrency)
    if not isinstance(llm, type) and hasattr(llm, "ask") and hasattr(llm, "aask"):
        return llm
    raise ConfigError(
        "llm must be a LangChain chat model, a LlamaIndex LLM, a LanguageModel or None, "
        f"got {llm!r:.200}."
    )


@contextmanager
def _abandoned(executor: ThreadPoolExecutor) -> Iterator[ThreadPoolExecutor]:
    """Leave without waiting for calls that are late; those not begun are not made."""
    try:
        yield executor
    finally:
        executor.shutdown(wait=False, cancel_futures=True)


def _late() -> Reply:
    return reply_from_error(TimeoutError())


def _reply(answer: BaseMessage) -> Reply:
    usage = getattr(answer, "usage_metadata", None) or {}
    reply = Reply(
        str(answer.text),
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
