"""Chat models of LangChain and language models of LlamaIndex as a `LanguageModel`.

Every call runs as a LangChain runnable: it inherits the callbacks of the run it is made in, so it
shows up under the retriever in a trace, and both frameworks' instrumentation sees it whichever of
them the model comes from.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from langchain_core.callbacks import (
    AsyncCallbackManagerForLLMRun,
    BaseCallbackHandler,
    CallbackManagerForLLMRun,
)
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult, LLMResult
from langchain_core.runnables.config import RunnableConfig, ensure_config, merge_configs
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, CompletionResponse
from llama_index.core.callbacks.token_counting import get_tokens_from_response
from llama_index.core.instrumentation.events.exception import ExceptionEvent
from llama_index.core.instrumentation.events.llm import LLMChatEndEvent, LLMChatStartEvent
from llama_index.core.llms.custom import CustomLLM
from llama_index.core.llms.llm import LLM
from llama_index_instrumentation import get_dispatcher

from tmem_integrations.errors import ConfigError
from tmem_integrations.models.failures import classify_blank, reply_from_error
from tmem_integrations.protocols import LanguageModel, Reply

LanguageModelLike = BaseChatModel | LLM | LanguageModel | None

_dispatcher = get_dispatcher(__name__)
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

    def ask(self, prompts: Sequence[str]) -> tuple[Reply, ...]:
        """One reply per prompt, in order; a failed call is a reply with an error."""
        answers = self.chat.batch(list(prompts), self._config(), return_exceptions=True)
        return tuple(map(_reply, answers))

    async def aask(self, prompts: Sequence[str]) -> tuple[Reply, ...]:
        """`ask` with the model's own async path."""
        answers = await self.chat.abatch(list(prompts), self._config(), return_exceptions=True)
        return tuple(map(_reply, answers))

    def _config(self) -> RunnableConfig:
        own: RunnableConfig = {"max_concurrency": self.max_concurrency, "tags": [_NO_STREAM]}
        if not isinstance(self.chat, _LlamaIndexChatModel):  # that one reports its own events
            own["callbacks"] = [_DispatchedEvents(self.name)]
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
        return BridgedLanguageModel(_LlamaIndexChatModel(llm=llm), name, max_concurrency)
    if not isinstance(llm, type) and hasattr(llm, "ask") and hasattr(llm, "aask"):
        return llm
    raise ConfigError(
        "llm must be a LangChain chat model, a LlamaIndex LLM, a LanguageModel or None, "
        f"got {llm!r:.200}."
    )


def _reply(answer: BaseMessage | BaseException) -> Reply:
    if isinstance(answer, BaseException):
        return reply_from_error(answer)
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


class _LlamaIndexChatModel(BaseChatModel):
    """A LlamaIndex LLM as LangChain's chat model, for one user message at a time."""

    llm: Any

    @property
    def _llm_type(self) -> str:
        return "llama-index"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return dict(self.llm.to_payload())

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        prompt = str(messages[-1].text)
        if self.llm.metadata.is_chat_model:
            return _chat_result(self.llm.chat([ChatMessage(prompt)]))
        return _chat_result(self.llm.complete(prompt))

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        prompt = str(messages[-1].text)
        is_chat = self.llm.metadata.is_chat_model
        if _owner(type(self.llm), "achat" if is_chat else "acomplete") is CustomLLM:
            # CustomLLM calls the sync method here, which would block the event loop.
            return await asyncio.to_thread(self._generate, messages)
        if is_chat:
            return _chat_result(await self.llm.achat([ChatMessage(prompt)]))
        return _chat_result(await self.llm.acomplete(prompt))


def _owner(kind: type, method: str) -> type:
    return next(base for base in kind.__mro__ if method in base.__dict__)


def _chat_result(response: ChatResponse | CompletionResponse) -> ChatResult:
    text = response.message.content if isinstance(response, ChatResponse) else response.text
    message = AIMessage(content=text or "", usage_metadata=_usage(response))
    return ChatResult(generations=[ChatGeneration(message=message)])


def _usage(response: ChatResponse | CompletionResponse) -> UsageMetadata | None:
    try:
        n_input, n_output = get_tokens_from_response(response)
    except (AttributeError, TypeError, ValueError):  # `raw` is whatever the service answered
        return None
    if not n_input and not n_output:
        return None
    return UsageMetadata(
        input_tokens=n_input, output_tokens=n_output, total_tokens=n_input + n_output
    )


class _DispatchedEvents(BaseCallbackHandler):
    """Tells LlamaIndex's dispatcher of the calls of a LangChain model."""

    run_inline = True  # in the caller's context, where the active span is known

    def __init__(self, name: str) -> None:
        self._name = name
        self._asked: dict[UUID, list[ChatMessage]] = {}

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        **kwargs: Any,
    ) -> None:
        asked = [ChatMessage(str(message.text)) for message in messages[0]]
        self._asked[run_id] = asked
        model = {"class_name": "LangChain", "model_name": self._name}
        _dispatcher.event(
            LLMChatStartEvent(messages=asked, additional_kwargs={}, model_dict=model)
        )  # fmt: skip

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        answer = ChatMessage(response.generations[0][0].text, role="assistant")
        _dispatcher.event(
            LLMChatEndEvent(
                messages=self._asked.pop(run_id, []), response=ChatResponse(message=answer)
            )
        )

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        self._asked.pop(run_id, None)
        _dispatcher.event(ExceptionEvent(exception=error))
