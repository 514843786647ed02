"""Structured output, where a model of either framework has it natively: the answer as JSON of a schema.

The frameworks' own parsers are left out: what they cannot read they drop, with the usage of the call,
and ours reads more (`models.replies`).
"""

from __future__ import annotations

import inspect
import json
import warnings
from collections.abc import Mapping
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable, RunnableBinding, RunnableSequence

from tmem_integrations.bridges.llama_index_llm import LlamaIndexChatModel

Asked = Runnable[Any, BaseMessage]


def bind_schema(chat: BaseChatModel, schema: Mapping[str, Any]) -> Asked | None:
    """The model with the schema bound to it, still answering with a message.

    Args:
        chat: The model.
        schema: JSON schema with a title.

    Returns:
        None when the model has no structured output of its own; asked in plain text it may do well.
    """
    if isinstance(chat, LlamaIndexChatModel):
        return _bind_llama_index(chat, schema)
    parameter = inspect.signature(type(chat).with_structured_output).parameters.get("method")
    if parameter is None or "json_schema" not in str(parameter.annotation):
        return None
    try:
        with (
            warnings.catch_warnings()
        ):  # of models that take a tool call for it, which we read as well
            warnings.simplefilter("ignore")
            structured = chat.with_structured_output(dict(schema), method="json_schema")
    except (NotImplementedError, TypeError, ValueError):
        return None
    # The model itself comes first, its parser after it.
    first = structured.first if isinstance(structured, RunnableSequence) else None
    bound = first.bound if isinstance(first, RunnableBinding) else None
    return first if isinstance(bound, BaseChatModel) else None


def text_of(answer: BaseMessage) -> str:
    """The text of an answer, or the arguments of the tool call that stands for it."""
    text = str(answer.text)
    if not text.strip() and isinstance(answer, AIMessage) and answer.tool_calls:
        return json.dumps(answer.tool_calls[0]["args"])
    return text


def _bind_llama_index(chat: LlamaIndexChatModel, schema: Mapping[str, Any]) -> Asked | None:
    """OpenAI's client and those made from it take a response format; they know for which models."""
    takes_it = getattr(chat.llm, "_should_use_structure_outputs", None)
    if not chat.llm.metadata.is_chat_model or takes_it is None or not takes_it():
        return None
    wanted = {"name": str(schema["title"]), "schema": dict(schema)}
    return chat.bind(response_format={"type": "json_schema", "json_schema": wanted})
