"""A run is a folder that can be stopped, gone on with, and checked."""

import json
import re
from dataclasses import replace

import pytest
from filelock import FileLock

from tmem_integrations.errors import (
    ConfigError,
    ImportFormatError,
    StoreError,
    StoreLockedError,
    StoreMismatchError,
)
from tmem_integrations.evaluation.datasets.jsonl import read_jsonl
from tmem_integrations.evaluation.methods import Selection, make_method
from tmem_integrations.evaluation.prompts import prompt_hashes
from tmem_integrations.evaluation.runs.checks import problems_of_run
from tmem_integrations.evaluation.runs.contract import (
    RunContract,
    hash_dataset,
    read_run,
    settings_of,
)
from tmem_integrations.evaluation.runs.forests import (
    flat_records,
    forest_records,
    grow,
    restructure,
)
from tmem_integrations.evaluation.runs.journal import Journal
from tmem_integrations.evaluation.runs.runner import STAGES, run
from tmem_integrations.evaluation.runs.stages import truncate_forest
from tmem_integrations.models.tokens import default_counter
from tmem_integrations.protocols import Reply
from tmem_integrations.stages.linearization import linearize


class Model:
    """Answers as `answers` says for the first words it finds in the prompt; else with an error."""

    name = "model"

    def __init__(self, **answers):
        self.answers, self.asked = answers, 0

    def ask(self, prompts):
        self.asked += len(prompts)
        return tuple(self._reply(prompt) for prompt in prompts)

    async def aask(self, prompts):
        return self.ask(prompts)

    def _reply(self, prompt):
        for word, answer in self.answers.items():
            if word in prompt:
                return Reply(answer, input_tokens=7, output_tokens=2)
        return Reply("", error="timed out", failure="transient")


def contract_for(dataset, **change):
    contract = RunContract(
        data=dataset.name,
        data_hash=hash_dataset(dataset),
        questions=len(dataset.questions),
        method="recent",
        structure="forest",
        max_messages=3,
        max_tokens=500,
        model=None,
        judge=None,
        prompts=prompt_hashes(),
    )
    return replace(contract, **change)


@pytest.fixture
def dataset(folder):
    return read_jsonl(folder)


@pytest.fixture
def start(dataset, tmp_path):
    """Begin or go on with the run of these tests."""

    def start(*, llm=None, judge=None, method="recent", **change):
        contract = contract_for(dataset, method=method, **change)
        return run(dataset, make_method(method), tmp_path / "run", contract, llm=llm, judge=judge)

    return start


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_without_a_model_a_run_ends_with_texts(start, tmp_path, dataset):
    results = start()
    assert [r.stage for r in results] == ["retrieve", "structure", "compress"]
    texts = {r["key"]: r["text"] for r in lines(tmp_path / "run" / "compress.jsonl")}
    assert "moves to Monday" in texts["q1"]
    assert "Soup is off" not in texts["q2"]  # said after the question's as_of
    assert problems_of_run(tmp_path / "run", dataset) == ()


def test_what_is_finished_is_not_done_again(start):
    start()
    assert [r.done_now for r in start()] == [0, 0, 0]


def test_a_run_goes_on_where_a_crash_cut_a_line(start, tmp_path):
    start()
    path = tmp_path / "run" / "structure.jsonl"
    path.write_bytes(path.read_bytes()[:-10])
    assert [r.done_now for r in start()] == [0, 1, 0]
    assert [r["key"] for r in lines(path)] == ["q1", "q2"]


def test_what_failed_is_tried_again_and_the_rest_is_not(start, tmp_path):
    half = Model(release="Monday")
    results = start(llm=half, model="model")
    assert [(r.finished, r.failed) for r in results if r.stage == "answer"] == [(1, 1)]
    whole = Model(release="Tuesday", soup="Tomato")
    start(llm=whole, model="model")
    assert whole.asked == 1
    answers = {r["key"]: r for r in lines(tmp_path / "run" / "answer.jsonl")}
    assert (answers["q1"]["answer"], answers["q2"]["answer"]) == ("Monday", "Tomato")


def test_answers_are_judged_by_a_model_where_no_pattern_can(start, tmp_path):
    model = Model(release="It is on Monday.", soup="Tomato")
    judge = Model(release="They agree.\nFinal: Correct")
    start(llm=model, judge=judge, model="model")
    judged = {r["key"]: r for r in lines(tmp_path / "run" / "judge.jsonl")}
    assert judged["q1"]["correct"] is True
    assert judged["q1"]["input_tokens"] == 7


@pytest.mark.parametrize(
    "change", [{"max_messages": 2}, {"structure": "flat"}, {"data_hash": "0"}, {"model": "other"}]
)
def test_another_run_in_the_folder_is_refused(start, change):
    start()
    with pytest.raises(StoreMismatchError, match="holds another run"):
        start(**change)


def test_a_second_process_is_refused(start, tmp_path):
    (tmp_path / "run").mkdir()
    with FileLock(tmp_path / "run" / ".lock"), pytest.raises(StoreLockedError, match="another"):
        start()


def test_the_contract_is_read_back(start, dataset, tmp_path):
    start()
    assert read_run(tmp_path / "run") == contract_for(dataset)


def test_the_data_hash_holds_messages_questions_and_gold(dataset):
    gold = {**dataset.gold, "q1": replace(dataset.gold["q1"], answer="Friday")}
    changed = [
        replace(dataset, messages=dataset.messages[1:]),
        replace(dataset, questions=(replace(dataset.questions[0], text="?"), dataset.questions[1])),
        replace(dataset, gold=gold),
    ]
    hashes = {hash_dataset(one) for one in (dataset, *changed)}
    assert len(hashes) == 4


def test_an_unknown_structure_is_refused(dataset):
    with pytest.raises(ConfigError, match="structure must be forest, untyped or flat"):
        contract_for(dataset, structure="tree")


@pytest.mark.parametrize(
    ("stage", "change", "problem"),
    [
        ("structure", {"nodes": [{"id": "r1", "parent": "r2"}]}, "hangs from a later message"),
        ("structure", {"nodes": [{"id": "r1", "parent": None}] * 2}, "occurs twice"),
        ("structure", {"nodes": [{"id": "r1", "parent": "r9"}]}, "a link to no message"),
        ("compress", {"n_tokens": 501}, "501 tokens exceed 500"),
        ("compress", {"evidence": ["r2"]}, r"holds the gold keys \['evidence'\]"),
        ("retrieve", {"key": "q9"}, "1 keys are no question, such as 'q9'"),
        ("answer", {"prompt": "0"}, "another prompt was asked"),
    ],
)
def test_a_run_that_was_tampered_with_is_found_out(
    start, dataset, tmp_path, stage, change, problem
):
    start(llm=Model(release="Monday", soup="Tomato"), model="model")
    path = tmp_path / "run" / f"{stage}.jsonl"
    last = lines(path)[0] | change
    path.write_text("".join(json.dumps(r) + "\n" for r in [last, *lines(path)[1:]]))
    assert any(re.search(problem, p) for p in problems_of_run(tmp_path / "run", dataset))


def test_an_unfinished_question_is_a_problem(start, dataset, tmp_path):
    start()
    (tmp_path / "run" / "compress.jsonl").unlink()
    (problem,) = problems_of_run(tmp_path / "run", dataset)
    assert problem == "compress: 2 questions are not finished, such as 'q1'."


def test_a_key_finished_twice_is_a_problem(start, dataset, tmp_path):
    start()
    path = tmp_path / "run" / "compress.jsonl"
    path.write_text(path.read_text() + path.read_text().splitlines()[0] + "\n")
    assert "compress: 'q1' was finished 2 times." in problems_of_run(tmp_path / "run", dataset)


def test_of_several_records_the_last_one_holds(tmp_path):
    journal = Journal(tmp_path / "stage.jsonl")
    journal.append([{"key": "a", "status": "failed", "error": "x"}])
    journal.append([{"key": "a", "status": "ok"}])
    again = Journal(tmp_path / "stage.jsonl")
    assert (set(again.finished), set(again.failed)) == ({"a"}, set())


def test_every_stage_has_its_file(start, tmp_path):
    start(llm=Model(release="Monday", soup="Tomato"), judge=Model(), model="model")
    assert {p.stem for p in (tmp_path / "run").glob("*.jsonl")} == set(STAGES)


def test_truncation_keeps_the_beginning_that_fits(dataset):
    forest = grow(
        flat_records([m.id for m in dataset.messages]), {m.id: m for m in dataset.messages}
    )
    counter = default_counter()
    whole = counter.count(linearize(forest))
    cut = truncate_forest(forest, whole - 1, counter)
    assert cut.nodes == forest.nodes[: len(cut)]
    assert len(cut) == len(forest) - 1
    assert truncate_forest(forest, whole, counter) == forest
    assert len(truncate_forest(forest, 1, counter)) == 1


def test_omission_keeps_more_messages_than_truncation(start, tmp_path):
    start(max_tokens=70)
    omitted = lines(tmp_path / "run" / "compress.jsonl")[0]["ids"]
    (tmp_path / "run").rename(tmp_path / "omitted")
    start(max_tokens=70, compression="truncate")
    assert len(lines(tmp_path / "run" / "compress.jsonl")[0]["ids"]) < len(omitted)


class Broken:
    """Finds nothing for one of the questions: its store is gone."""

    name = "recent"

    def __init__(self, *, broken):
        self.broken, self.asked = broken, []

    def index(self, messages):
        return self

    def select(self, query, max_messages, max_tokens):
        self.asked.append(query.text)
        if self.broken and "soup" in query.text:
            raise StoreError("the store is gone")
        return Selection(())


def test_a_question_that_cannot_be_searched_fails_alone(dataset, tmp_path):
    contract = contract_for(dataset)
    first = run(dataset, Broken(broken=True), tmp_path / "run", contract)
    assert [(r.stage, r.finished, r.failed) for r in first] == [
        ("retrieve", 1, 1),
        ("structure", 1, 0),
        ("compress", 1, 0),
    ]
    mended = Broken(broken=False)
    again = run(dataset, mended, tmp_path / "run", contract)
    assert mended.asked == ["Which soup is for lunch?"]
    assert [(r.finished, r.failed) for r in again] == [(2, 0)] * 3


def nodes(*links):
    return [
        {"id": i, "parent": p, "relation": r, "label": "KEY", "score": 1.0, "confidence": 1.0}
        for i, p, r in links
    ]


TREE = nodes(("r1", None, "ROOT"), ("r2", "r1", "UPDATE"), ("r3", "r2", "EXPAND"))


@pytest.mark.parametrize(
    ("structure", "relations"),
    [
        ("forest", ["ROOT", "UPDATE", "EXPAND"]),
        ("untyped", ["ROOT", "EXPAND", "EXPAND"]),
        ("flat", ["ROOT", "ROOT", "ROOT"]),
    ],
)
def test_a_structure_keeps_what_it_has(dataset, structure, relations):
    grown = grow(restructure(TREE, structure), {m.id: m for m in dataset.messages})
    assert [node.relation.value for node in grown] == relations
    assert sum(node.parent is None for node in grown) == relations.count("ROOT")


def test_a_forest_is_recorded_and_grown_again_as_it_was(dataset):
    messages = {m.id: m for m in dataset.messages}
    grown = grow(TREE, messages)
    assert grow(forest_records(grown), messages) == grown


def test_a_run_of_other_data_is_found_out(start, dataset, tmp_path):
    start()
    other = replace(dataset, messages=dataset.messages[:-1])
    (problem,) = problems_of_run(tmp_path / "run", other)
    assert "made with another state of chat" in problem


@pytest.mark.parametrize("line", ["{", "[]", '{"key": "q"}', '{"key": "q", "status": "maybe"}'])
def test_a_broken_record_is_told_with_its_line(tmp_path, line):
    path = tmp_path / "stage.jsonl"
    path.write_text('{"key": "a", "status": "ok"}\n' + line + "\n")
    with pytest.raises(ImportFormatError, match=r"stage.jsonl, line 2"):
        Journal(path)


def test_settings_of_a_method_stand_in_the_contract():
    settings = settings_of(make_method("forest-vectors"))
    assert settings["relevance"]["similarity"] == 0.0
    assert settings_of(make_method("recent")) == {}


def test_a_run_of_another_format_is_refused(start, tmp_path):
    start()
    path = tmp_path / "run" / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 99}))
    with pytest.raises(StoreMismatchError, match="expected a run of format 1"):
        read_run(tmp_path / "run")


def test_a_judge_without_verdict_fails_and_is_asked_again(start, tmp_path):
    model = Model(release="Monday", soup="Tomato")
    results = start(llm=model, judge=Model(Monday="It depends."), model="model")
    assert [(r.finished, r.failed) for r in results if r.stage == "judge"] == [(1, 1)]
    start(llm=model, judge=Model(Monday="Final: Correct"), model="model")
    last = lines(tmp_path / "run" / "judge.jsonl")[-1]
    assert (last["key"], last["correct"]) == ("q1", True)
