"""No gold comes near a method."""

import pytest

from tmem_integrations.evaluation.datasets.jsonl import read_jsonl
from tmem_integrations.evaluation.methods import Selection
from tmem_integrations.evaluation.questions import Gold, Question
from tmem_integrations.evaluation.recall import measure_recall
from tmem_integrations.evaluation.validation import GoldLeakError, check_blind, leaks_of


def test_a_question_raises_as_itself_and_not_as_a_query(folder):
    dataset = read_jsonl(folder)
    question = dataset.questions[0]
    check_blind([list(dataset.messages), question.query()], "bm25")
    with pytest.raises(GoldLeakError):
        check_blind([list(dataset.messages), question], "bm25")


@pytest.mark.parametrize(
    "value",
    [
        Gold(answer="Monday"),
        [Gold()],
        {"question": "When?", "evidence": ["r1"]},
        {"nested": [{"must_include": ["Monday"]}]},
        Question(id="q", text="When?", kind="adversarial"),
    ],
)
def test_gold_is_found_wherever_it_hides(value):
    with pytest.raises(GoldLeakError):
        check_blind(value, "bm25")


def test_a_method_sees_nothing_of_the_gold(folder):
    seen = []

    class Spy:
        name = "spy"

        def index(self, messages):
            seen.append(messages)
            return self

        def select(self, query, max_messages, max_tokens):
            seen.append(query)
            return Selection(())

    measure_recall(read_jsonl(folder), Spy(), [1])
    words = repr(seen)
    assert "When is the release?" in words
    # "when" and "what" are the kinds, which tell a method what is adversarial.
    assert not any(gold in words for gold in ("kind", "evidence=", "answer", "Gold("))


def test_a_gold_value_in_a_prompt_that_no_message_says_is_a_leak():
    gold = Gold(answer="Monday", must_include=("9 ?%",))
    prompt = "When? Messages: it is Monday. Expected: 9%"
    assert leaks_of(prompt, gold, ["When? Messages:", "it is Monday."]) == ("9 ?%",)
