"""`tmem show --html` and `--mermaid`."""

from pathlib import Path

import pytest

from tmem_integrations.cli import main


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    path = tmp_path / "chat.jsonl"
    path.write_text(
        '{"id": "m1", "text": "we ship on Friday", "timestamp": "2026-03-02T09:00:00Z"}\n'
    )
    return path


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(map(str, arguments)))
    return int(ended.value.code or 0)


def test_the_page_is_written_and_named(chat: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = chat.with_suffix(".html")
    assert run("show", "When do we ship?", "--in", chat, "--html", page) == 0
    assert "we ship on Friday" in page.read_text(encoding="utf-8")
    assert str(page) in capsys.readouterr().err


def test_a_page_for_nothing_found_tells_why(chat: Path) -> None:
    page = chat.with_suffix(".html")
    assert run("show", "kubernetes", "--in", chat, "--html", page) == 1
    assert "shares no word with the question" in page.read_text(encoding="utf-8")


def test_a_page_that_cannot_be_written_is_wrong_usage(
    chat: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("show", "ship", "--in", chat, "--html", chat.parent / "no" / "page.html") == 2
    assert "cannot be written" in capsys.readouterr().err


def test_mermaid_goes_to_stdout(chat: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", "ship", "--in", chat, "--mermaid") == 0
    assert capsys.readouterr().out.startswith("flowchart TD\n")
