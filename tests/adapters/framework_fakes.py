"""Models of both frameworks that answer in capitals, and a handler that notes who called them."""

import asyncio

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from llama_index.core.base.llms.types import CompletionResponse, LLMMetadata
from llama_index.core.llms import CustomLLM
from llama_index.core.llms.callbacks import llm_completion_callback


class Chat(BaseChatModel):
    """Answers in capitals; fails on "fail", says nothing on "mute"; counts calls at once."""

    running: int = 0
    most: int = 0
    refusal: str | None = None
    model_name: str = "capitals-1"

    @property
    def _llm_type(self):
        return "capitals"

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        return self._answer(messages[-1].text)

    async def _agenerate(self, messages, stop=None, run_manager=None, **kwargs):
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(0)
        self.running -= 1
        return self._answer(messages[-1].text)

    def _answer(self, prompt):
        if prompt == "fail":
            raise RuntimeError("content filter")
        message = AIMessage(
            "" if prompt == "mute" else prompt.upper(),
            usage_metadata={"input_tokens": 7, "output_tokens": 2, "total_tokens": 9},
            additional_kwargs={"refusal": self.refusal} if self.refusal else {},
            response_metadata={"finish_reason": "length"},
        )
        return ChatResult(generations=[ChatGeneration(message=message)])


class Completion(CustomLLM):
    """The same of LlamaIndex."""

    @property
    def metadata(self):
        return LLMMetadata(model_name="capitals-2")

    @llm_completion_callback()
    def complete(self, prompt, formatted=False, **kwargs):
        if prompt == "fail":
            raise RuntimeError("content filter")
        usage = {"prompt_tokens": 7, "completion_tokens": 2}
        return CompletionResponse(text=prompt.upper(), raw={"usage": usage})

    @llm_completion_callback()
    def stream_complete(self, prompt, formatted=False, **kwargs):
        yield self.complete(prompt)


class Runs(BaseCallbackHandler):
    """Records (kind, parent's kind, tags) of each run."""

    def __init__(self):
        self.kinds = {}
        self.calls = []

    def on_chain_start(self, serialized, inputs, *, run_id, **kwargs):
        self.kinds[run_id] = "chain"

    def on_chat_model_start(self, serialized, messages, *, run_id, parent_run_id, tags, **kwargs):
        self.calls.append((self.kinds.get(parent_run_id), tags))
