"""A LlamaIndex LLM as LangChain's chat model, and a LangChain model's calls as LlamaIndex's events."""

from __future__ import annotations

import asyncio
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
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, CompletionResponse
from llama_index.core.callbacks.token_counting import get_tokens_from_response
from llama_index.core.instrumentation.events.exception import ExceptionEvent
from llama_index.core.instrumentation.events.llm import LLMChatEndEvent, LLMChatStartEvent
from llama_index.core.llms.custom import CustomLLM
from llama_index_instrumentation import get_dispatcher

_dispatcher = get_dispatcher(__name__)


class LlamaIndexChatModel(BaseChatModel):
    """A LlamaIndex LLM as LangChain's chat model, for one user message at a time."""

    llm: Any

    @property
    def _llm_type(self) -> str:
        return "llama-index"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"class_name": self.llm.class_name(), **self.llm.metadata.model_dump()}

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        prompt = str(messages[-1].text)
        if self.llm.metadata.is_chat_model:
            return _chat_result(self.llm.chat([ChatMessage(prompt)], **kwargs))
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
            return await asyncio.to_thread(self._generate, messages, **kwargs)
        if is_chat:
            return _chat_result(await self.llm.achat([ChatMessage(prompt)], **kwargs))
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


class DispatchedEvents(BaseCallbackHandler):
    """Tells LlamaIndex's dispatcher of the calls of a LangChain model."""

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
