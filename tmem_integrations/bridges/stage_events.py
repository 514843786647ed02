"""Each stage of a question, told to whoever watches: LangChain's callbacks and LlamaIndex's dispatcher."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import dispatch_custom_event
from langchain_core.runnables.config import ensure_config, get_callback_manager_for_config
from llama_index.core.instrumentation.events import BaseEvent
from llama_index_instrumentation import get_dispatcher

from tmem_integrations.trace import StageRecord

STAGE_EVENT = "tmem_stage"
"""Name of the custom event in LangChain: `on_custom_event` of a handler, "on_custom_event" of
`astream_events`. Its data are those of `StageRecord`."""

_dispatcher = get_dispatcher(__name__)


class ForestStageEvent(BaseEvent):
    """A stage of a question has ended, in LlamaIndex's dispatcher.

    Attributes:
        stage: Module name of the stage.
        taken: How many things came in.
        kept: How many went out.
        seconds: Wall time.
        notes: Counts and settings; never text of a message.
    """

    stage: str
    taken: int
    kept: int
    seconds: float
    notes: dict[str, Any]

    @classmethod
    def class_name(cls) -> str:
        """Name of the event in logs."""
        return "ForestStageEvent"


def tell_stage(record: StageRecord) -> None:
    """Tell both frameworks; LangChain only within a run, as it has no place for it elsewhere."""
    data = record.to_dict()
    _dispatcher.event(ForestStageEvent(**data))
    if get_callback_manager_for_config(ensure_config()).parent_run_id is not None:
        dispatch_custom_event(STAGE_EVENT, data)
