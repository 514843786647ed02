"""The README says what is so: its code runs, its commands work, its output is real.

After a change that is meant, write the output anew: `python tests/test_readme.py`.
"""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel
from llama_index.core.llms import MockLLM
from support.openai_server import OpenAIServer, answers

from tmem_integrations import TemporalForestRetriever
from tmem_integrations.bridges.judging_options import JudgingOptions
from tmem_integrations.bridges.language_models import as_language_model
from tmem_integrations.cli import main
from tmem_integrations.demo import load_history, load_questions

README = Path(__file__).parent.parent / "README.md"
TEXT = README.read_text(encoding="utf-8")
OUTPUT = re.compile(
    r"<!-- output of: (?P<command>tmem .+) -->\n```text\n(?P<text>.*?)```\n", re.DOTALL
)


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)


def commands() -> Iterator[list[str]]:
    for block in blocks("console"):
        for line in block.splitlines():
            assert line.startswith("$ tmem ")
            yield shlex.split(line)[2:]


def run(arguments: list[str]) -> int:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return int(ended.value.code or 0)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_it_has_code_for_both_frameworks_in_about_ten_lines() -> None:
    code = {
        name: block
        for block in blocks("python")
        for name in ("langchain", "llama_index")
        if f"from {name}" in block
    }
    assert set(code) == {"langchain", "llama_index"}
    assert all(len(block.splitlines()) <= 12 for block in code.values())


@pytest.mark.parametrize("code", blocks("python"), ids=lambda code: code.split()[1])
@pytest.mark.usefixtures("folder")
def test_the_code_runs_and_prints(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    llm: Any = MockLLM() if "llama_index" in code else FakeListChatModel(responses=["the 24th"])
    names = {"llm": llm}
    exec(compile(code, str(README), "exec"), names)
    names["retriever"].close()
    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize("framework", ["LangChain", "LlamaIndex"])
def test_the_line_that_makes_a_model_makes_one_that_leaves_retries_to_us(
    framework: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (line,) = re.findall(rf"^- {framework}: `(.+?)`", TEXT, re.MULTILINE)
    pytest.importorskip(line.split()[1])
    monkeypatch.setenv("OPENAI_API_KEY", "of a test")
    names: dict[str, Any] = {}
    exec(compile(line, str(README), "exec"), names)
    model: Any = as_language_model(names["llm"])
    assert (model.name, model.retries_itself) == ("gpt-5-mini", False)


@pytest.mark.usefixtures("folder")
def test_the_commands_work_one_after_the_other() -> None:
    assert [(arguments, run(arguments)) for arguments in commands()] == [
        (arguments, 0) for arguments in commands()
    ]


@pytest.mark.parametrize("match", [*OUTPUT.finditer(TEXT)], ids=lambda match: match["command"])
@pytest.mark.usefixtures("folder")
def test_the_output_shown_is_what_comes_out(
    match: re.Match[str], capsys: pytest.CaptureFixture[str]
) -> None:
    run(["demo", "--save", "demo.jsonl"])
    capsys.readouterr()
    assert run(shlex.split(match["command"])[1:]) == 0
    assert capsys.readouterr().out == match["text"]


def test_the_output_shown_has_the_answer() -> None:
    (shown,) = OUTPUT.finditer(TEXT)
    assert load_questions()[0].question in shown["command"]
    assert "Tuesday the 24th" in shown["text"]


@pytest.mark.usefixtures("folder")
def test_the_command_with_a_model_answers(capsys: pytest.CaptureFixture[str]) -> None:
    (command,) = blocks("sh")
    run(["demo", "--save", "demo.jsonl"])
    run(["import", "demo.jsonl", "--into", "team/"])
    capsys.readouterr()
    with OpenAIServer(answers("On the 24th [1].")) as server:
        assert run([*shlex.split(command)[1:], "--base-url", server.base_url]) == 0
    assert capsys.readouterr().out.startswith("On the 24th [1].\n\n[1] ")


def test_every_setting_of_a_model_that_it_names_exists() -> None:
    (section,) = re.findall(r"^## With a model\n(.*?)^## ", TEXT, re.DOTALL | re.MULTILINE)
    named = set(re.findall(r"\b(\w+)=", section)) - {"llm", "model", "max_retries", "reranker"}
    assert named <= JudgingOptions.__annotations__.keys()


def test_questions_of_the_demo_cost_no_more_than_it_says() -> None:
    llm = FakeListChatModel(responses=[""])
    retriever = TemporalForestRetriever.from_messages(load_history(), llm=llm)
    costs = [retriever.estimate(one.question).n_tokens for one in load_questions()]
    assert 0 < max(costs) < 10_000


def test_both_set_up_commands_make_their_own_environment() -> None:
    (run_demo, run_tests) = blocks("bash")
    assert all(block.startswith("python3 -m venv .venv && ") for block in (run_demo, run_tests))
    assert run_demo.rstrip().endswith("tmem demo")
    assert run_tests.rstrip().endswith("pytest")


def _write_outputs() -> None:
    import subprocess
    import sys
    import tempfile

    def write(match: re.Match[str]) -> str:
        with tempfile.TemporaryDirectory() as folder:
            program = [sys.executable, "-c", "from tmem_integrations.cli import main; main()"]
            subprocess.run([*program, "demo", "--save", "demo.jsonl"], cwd=folder, check=True)
            arguments = shlex.split(match["command"])[1:]
            done = subprocess.run(
                [*program, *arguments], cwd=folder, check=True, capture_output=True
            )
        return f"<!-- output of: {match['command']} -->\n```text\n{done.stdout.decode()}```\n"

    README.write_text(OUTPUT.sub(write, TEXT), encoding="utf-8")


if __name__ == "__main__":
    _write_outputs()
