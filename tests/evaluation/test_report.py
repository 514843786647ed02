"""Runs side by side."""

from dataclasses import replace
from html.parser import HTMLParser

import pytest

from tmem_integrations.errors import ImportFormatError, StoreMismatchError
from tmem_integrations.evaluation.datasets.jsonl import read_jsonl
from tmem_integrations.evaluation.html_report import html_report
from tmem_integrations.evaluation.measures import Share
from tmem_integrations.evaluation.methods import make_method
from tmem_integrations.evaluation.methods.base import Usage
from tmem_integrations.evaluation.prompts import prompt_hashes
from tmem_integrations.evaluation.questions import Gold, Question
from tmem_integrations.evaluation.report import (
    _chance,
    cost_of,
    difference_records,
    markdown_report,
    read_prices,
    total_cost,
)
from tmem_integrations.evaluation.runs.contract import RunContract, hash_dataset
from tmem_integrations.evaluation.runs.results import always_abstain, read_results
from tmem_integrations.evaluation.runs.runner import run
from tmem_integrations.protocols import Reply


class Model:
    """Answers and judges: the release is on Monday."""

    name = "model"

    def ask(self, prompts):
        return tuple(
            Reply("Monday. Final: Correct", input_tokens=100, output_tokens=10) for _ in prompts
        )

    async def aask(self, prompts):
        return self.ask(prompts)


@pytest.fixture
def dataset(folder):
    return read_jsonl(folder)


@pytest.fixture
def run_of(dataset, tmp_path):
    """Make a run and read it."""

    def make(name, method="recent", *, llm=None, max_tokens=500, max_messages=3, memory=None):
        contract = RunContract(
            data=dataset.name,
            data_hash=hash_dataset(dataset),
            questions=2,
            method=method,
            structure="forest",
            max_messages=max_messages,
            max_tokens=max_tokens,
            model="openai:small" if llm else None,
            judge="openai:small" if llm else None,
            prompts=prompt_hashes(),
        )
        made = make_method(method, llm=memory)
        run(dataset, made, tmp_path / name, contract, llm=llm, judge=llm)
        return read_results(tmp_path / name, dataset)

    return make


def test_results_tell_what_is_shown_right_and_spent(run_of):
    first, second = run_of("a", llm=Model()).results
    assert (first.share, second.share) == (Share(2, 2), Share(1, 1))
    assert (first.correct, second.correct) == (True, None)
    assert first.answering == Usage(200, 20, 2)  # one answer, one verdict
    assert second.answering == Usage(100, 10, 1)  # no reference, no verdict


def test_what_the_memorys_own_model_took_is_counted_apart(run_of):
    class Memory(Model):
        def ask(self, prompts, *, timeout=None, schema=None):
            return tuple(
                Reply('{"selected": []}', input_tokens=100, output_tokens=10) for _ in prompts
            )

    found = run_of("a", "forest", memory=Memory()).results
    for result in found:
        assert result.memory.calls > 0
        assert result.memory.input_tokens == 100 * result.memory.calls
        assert result.answering == Usage()


def test_what_the_budget_leaves_out_is_not_found(run_of):
    found = run_of("a", max_tokens=40).results[0].share
    assert found is not None
    assert found.found < found.wanted


def test_a_run_of_other_data_is_refused(run_of, dataset, tmp_path):
    run_of("a")
    other = replace(dataset, messages=dataset.messages[:-1])
    with pytest.raises(StoreMismatchError, match="made with another state of chat"):
        read_results(tmp_path / "a", other)


def test_cost_is_tokens_times_price(run_of):
    prices = {"openai:small": {"input": 2.0, "output": 10.0}}
    spent = (300 * 2.0 + 30 * 10.0) / 1_000_000
    assert total_cost(run_of("a", llm=Model()), prices) == pytest.approx(spent)


def test_an_unknown_price_is_not_guessed(run_of):
    assert total_cost(run_of("a", llm=Model()), {}) is None
    assert cost_of(Usage(), None, {}) == 0.0


def test_prices_out_of_form_are_told(tmp_path):
    path = tmp_path / "prices.json"
    path.write_text('{"openai:small": {"input": 1}}')
    with pytest.raises(ImportFormatError, match="USD a million tokens"):
        read_prices(path)


def test_who_always_abstains_is_right_where_nothing_may_be_said(dataset):
    questions = [Question(id=str(i), text="?") for i in range(4)]
    gold = [
        Gold(answer="Monday"),
        Gold(expected_action="abstain"),
        Gold(leak_targets=("1234",), expected_action="refuse"),
        Gold(evidence=(frozenset({"r1"}),)),  # cannot be judged
    ]
    held = replace(dataset, gold={q.id: g for q, g in zip(questions, gold, strict=True)})
    assert always_abstain(held, questions) == [0.0, 1.0, 1.0]


def test_a_report_has_a_row_for_each_run_and_pair(run_of, dataset):
    runs = [run_of("a"), run_of("b", "bm25")]
    report = markdown_report(dataset, runs, {})
    starts = [line.split("|")[1].strip() for line in report.splitlines() if line.startswith("| ")]
    assert starts.count("a") == starts.count("b") == 3
    assert "always abstain" in starts
    assert "a − b" in starts


class Reader(HTMLParser):
    """Collects tags and text."""

    def __init__(self):
        super().__init__()
        self.tags, self.words = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words.append(data)


@pytest.fixture
def page(run_of, dataset):
    def read(**options):
        runs = [run_of("a", llm=Model()), run_of("b", "bm25", llm=Model())]
        reader = Reader()
        reader.feed(html_report(dataset, runs, {}, **options))
        return reader

    return read


def test_a_page_needs_nothing_else(page):
    tags = page().tags
    assert not {tag for tag, _ in tags} & {"script", "link", "img", "iframe"}
    assert not [attrs for _, attrs in tags if {"src", "href"} & attrs.keys()]


def test_a_page_shows_each_question_with_text_and_list(page):
    reader = page()
    kinds = [tag for tag, _ in reader.tags]
    assert kinds.count("details") == 2
    assert kinds.count("pre") == kinds.count("ol") == 4
    assert any("moves to Monday" in words for words in reader.words)


def test_a_page_marks_the_evidence(page):
    marked = [
        attrs for tag, attrs in page().tags if tag == "li" and attrs.get("class") == "evidence"
    ]
    assert len(marked) == 6  # r1, r2 and l1 in both runs


def test_evidence_is_told_by_a_word_and_not_by_weight_alone(page):
    assert sum(words.startswith("evidence: ") for words in page().words) == 6


def test_a_verdict_stands_beside_each_question_so_that_none_need_be_opened(page):
    words = page().words
    marks = [
        (word, words[i - 1].split("· ")[-1]) for i, word in enumerate(words) if word == "right"
    ]
    assert marks == [("right", "a "), ("right", "b ")]  # q1; q2 cannot be judged


def test_a_page_can_be_read_aloud_and_on_a_phone(page):
    tags = page().tags
    assert ("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}) in tags
    assert {attrs.get("scope") for tag, attrs in tags if tag == "th"} == {"col", "row"}
    assert all(
        attrs["role"] == "img" and attrs["aria-label"] for tag, attrs in tags if tag == "svg"
    )


def test_a_page_allows_itself_nothing(page):
    policies = [a["content"] for tag, a in page().tags if "http-equiv" in a]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'"]


def test_a_chance_is_never_nothing():
    assert [_chance(p) for p in (1 / 2001, 0.001, 0.5)] == ["<.001", ".001", ".500"]


def test_precision_is_of_the_messages_in_the_text(run_of):
    first, second = run_of("a").results
    assert (first.precision, second.precision) == (2 / 3, 1 / 1)


def test_types_of_question_have_intervals(run_of, dataset):
    report = markdown_report(dataset, [run_of("a", llm=Model())], {})
    table = report.split("## By type of question\n\n")[1].splitlines()
    assert [c.strip() for c in table[0].split("|")[2:6]] == [
        "what recall", "what 95 %", "what accuracy", "what 95 %",
    ]  # fmt: skip
    assert [c.strip() for c in table[2].split("|")[2:6]] == ["1.000", "1.000–1.000", "–", "–"]


def test_differences_are_told_to_programs_too(run_of):
    (pair,) = difference_records([run_of("a"), run_of("b", max_messages=1)])
    # recent shows r3 alone for q1, and l1 for q2: none of two, and one of one.
    assert pair["runs"] == ["a", "b"]
    assert pair["recall"] == (1.0 + 1.0) / 2 - (0.0 + 1.0) / 2
    assert (pair["accuracy"], pair["accuracy_p"]) == (None, None)


def test_a_part_of_the_questions_is_told_as_such(run_of, dataset):
    run_of_two = run_of("a")
    few = replace(run_of_two, contract=replace(run_of_two.contract, questions=1))
    assert markdown_report(dataset, [few], {}).startswith("# chat: 1 of 2 questions, ")
    assert markdown_report(dataset, [run_of_two], {}).startswith("# chat: 2 questions, ")


def test_a_page_says_how_many_questions_are_not_shown(page):
    assert "1 more are not shown." in page(max_questions=1).words


def test_chat_text_cannot_become_markup(run_of, dataset, folder):
    (folder / "messages.jsonl").write_text(
        (folder / "messages.jsonl")
        .read_text()
        .replace("Fine with me.", "<script>alert(1)</script>")
    )
    evil = read_jsonl(folder)
    contract = RunContract(
        data="chat", data_hash=hash_dataset(evil), questions=2, method="recent", structure="forest",
        max_messages=3, max_tokens=500, model=None, judge=None, prompts=prompt_hashes(),
    )  # fmt: skip
    run(evil, make_method("recent"), folder / "run", contract)
    reader = Reader()
    reader.feed(html_report(evil, [read_results(folder / "run", evil)], {}))
    assert "script" not in {tag for tag, _ in reader.tags}
    assert any("<script>alert(1)" in words for words in reader.words)
