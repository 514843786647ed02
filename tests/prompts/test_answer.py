"""The answering prompt fits both frameworks' templates and speaks of the forest as it is written."""

from datetime import UTC, datetime, timedelta
from string import Formatter

from langchain_core.prompts import ChatPromptTemplate
from llama_index.core import PromptTemplate

from tmem_integrations.messages import Message
from tmem_integrations.prompts.answer import ANSWER_PROMPT
from tmem_integrations.stages.evidence import Evidence, Label
from tmem_integrations.stages.forest import ParentChoice, Relation, grow_forest
from tmem_integrations.stages.linearization import linearize, parse


def test_it_asks_for_context_and_question_only():
    assert [f for _, f, _, _ in Formatter().parse(ANSWER_PROMPT) if f] == ["context", "question"]


def test_braces_in_a_message_stay_as_they_are():
    prompt = ANSWER_PROMPT.format(context="> {question}", question="Who?")
    assert "\n> {question}\n" in prompt


def test_both_frameworks_fill_it_alike():
    langchain = ChatPromptTemplate.from_template(ANSWER_PROMPT)
    names = {"context_str": "context", "query_str": "question"}
    llama_index = PromptTemplate(ANSWER_PROMPT, template_var_mappings=names)
    plain = ANSWER_PROMPT.format(context="> {x}", question="Who?")
    assert langchain.invoke({"context": "> {x}", "question": "Who?"}).messages[0].content == plain
    assert llama_index.format(context_str="> {x}", query_str="Who?") == plain


def test_its_example_is_a_header_as_the_forest_writes_it():
    lines = ANSWER_PROMPT.split("\n")
    example = next(line for line in lines if line.startswith("[7] KEY"))
    as_root = example.replace("updates [4]", "root")
    assert parse(f"{as_root}\n> what Ann wrote").nodes[0].author == "Ann"


def test_it_explains_every_label_and_every_link_that_a_forest_shows():
    start = datetime(2026, 3, 2, tzinfo=UTC)
    evidence = [
        Evidence(Message(id=label, text="x", sent_at=start + timedelta(hours=i)), label, 1.0)
        for i, label in enumerate(Label)
    ]
    choices = [
        ParentChoice(),
        ParentChoice(0, Relation.UPDATE),
        ParentChoice(0, Relation.EXPAND),
    ]
    shown = linearize(grow_forest(evidence, choices), legend=False)
    words = ["KEY", "SUPPORT", "ANCHOR", "root", "updates", "expands", "updated by", "unknown"]
    assert [word for word in words if word not in shown] == []
    assert [word for word in words if word not in ANSWER_PROMPT] == []
