"""The guide and the papers beside it say what is so: code runs, commands work, tables are those of the code.

After a change that is meant, write the tables anew: `python tests/test_guide.py`.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import tmem_integrations
from tmem_integrations import config
from tmem_integrations.cli import main
from tmem_integrations.config import ForestConfig

ROOT = Path(__file__).parent.parent
GUIDE = ROOT / "cookbook" / "guide"
PARAMETERS = GUIDE / "parameters.md"
PAGES = sorted(
    [*GUIDE.glob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "cookbook/README.md"]
)
PRESETS = ("PAPER", "CHAT", "LIVE", "MEETING", "MAIL", "AUTO")
# By name of the field; times say their unit themselves.
UNITS = {
    "top_k": "messages",
    "min_anchors": "anchors",
    "density": "anchors per hour",
    "reach": "messages to each side",
    "decay": "exponent",
    "channel": "exponent",
    "onward": "factor",
    "link": "share",
    "own": "weight",
    "named_author": "share of the best score",
    "asker": "share of the best score",
    "asker_words": "weight",
    "late": "share of the score",
    "past": "places",
    "similarity": "weight",
    "similarity_floor": "standard deviations",
    "max_messages": "messages",
    "words_suffice": "share",
    "words_fail": "share",
    "share": "share",
    "max_tokens": "tokens",
    "gate_candidates": "messages",
    "batch_size": "messages per call",
    "max_concurrency": "calls at once",
    "max_llm_calls": "calls per question",
    "max_llm_tokens": "tokens per question",
}
CHOICES = frozenset({"on_infeasible", "on_failure", "scale", "periods"})


def parts() -> Iterator[tuple[str, type[Any]]]:
    """Field of `ForestConfig` and config class of each part, then the whole."""
    for field in dataclasses.fields(ForestConfig):
        value = getattr(config.PAPER, field.name)
        if dataclasses.is_dataclass(value):
            yield field.name, type(value)
    yield "", ForestConfig


def attributes(kind: type[Any]) -> dict[str, str]:
    """What the docstring says of each attribute."""
    _, _, listed = inspect.getdoc(kind).partition("Attributes:\n")
    entries = re.findall(r"^    (\w+): (.+(?:\n {8}.+)*)", listed, re.MULTILINE)
    return {name: " ".join(text.split()) for name, text in entries}


def own_fields(kind: type[Any]) -> list[str]:
    values = kind()
    fields = [field.name for field in dataclasses.fields(kind)]
    return [name for name in fields if not dataclasses.is_dataclass(getattr(values, name))]


def show(value: object) -> str:
    if isinstance(value, timedelta):
        hours = value / timedelta(hours=1)
        return f"{hours * 60:.3g} min" if hours < 1 else f"{hours:g} h"
    if isinstance(value, float):
        return f"{value:.3g}"
    return "none" if value is None else f'"{value}"' if isinstance(value, str) else str(value)


def source_of(kind: type[Any], text: str) -> str:
    """Where a default is from: what its text cites, else what the class says."""
    summary, _, _ = inspect.getdoc(kind).partition("Attributes:\n")
    cited = re.search(r"TEF §\d+(?:\.\d+)*", text) or re.search(r"TEF §\d+(?:\.\d+)*", summary)
    return cited[0] if cited else "ours"


def unit_of(name: str, value: object) -> str:
    if name in CHOICES:
        return "choice"
    return UNITS.get(name, "time")


def parameters_page() -> str:
    lines = [
        "# Parameters",
        "",
        "Made from the docstrings of `tmem_integrations.config` by `python tests/test_guide.py`. All are",
        "fields of `ForestConfig`: `ForestConfig(episodes=EpisodeConfig(density=0.5))`. TEF is",
        "arXiv 2610.12874; what is ours was set on public conversations.",
    ]
    for part, kind in parts():
        summary = inspect.getdoc(kind).split("\n\n")[0].replace("\n", " ")
        title = f"`{part}`: {kind.__name__}" if part else kind.__name__
        lines += ["", f"## {title}", "", summary, ""]
        lines += ["| parameter | default | unit | source | meaning |", "|---|---|---|---|---|"]
        texts, values = attributes(kind), kind()
        for name in own_fields(kind):
            value, text = getattr(values, name), texts[name]
            row = (f"`{name}`", show(value), unit_of(name, value), source_of(kind, text), text)
            lines.append(f"| {' | '.join(row)} |")
    lines += [
        "",
        "## Presets",
        "",
        "| preset | ε | μ, anchors per hour | δ | padding |",
        "|---|---|---|---|---|",
    ]
    for name in PRESETS:
        own = getattr(config, name)
        pace = own.episodes
        figures = [pace.radius, pace.density, pace.span_floor, pace.padding]
        shown = ["measured"] * 4 if own.scale == "auto" else [show(figure) for figure in figures]
        lines.append(f"| `{name}` | {' | '.join(shown)} |")
    return "\n".join(lines) + "\n"


def blocks(page: Path, language: str) -> list[str]:
    text = page.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def test_every_parameter_is_read_by_something_other_than_its_own_check() -> None:
    package = Path(config.__file__).parent
    sources = [path.read_text(encoding="utf-8") for path in package.rglob("*.py")]
    code = "\n".join(sources)
    # In `config.py` a parameter is checked, by name or as an attribute of self.
    unread = [
        f"{kind.__name__}.{name}"
        for _, kind in parts()
        for name in own_fields(kind)
        if not re.search(rf"(?<!\bself)\.{name}\b", code)
    ]
    assert unread == []


def test_the_table_of_parameters_is_that_of_the_code() -> None:
    assert PARAMETERS.read_text(encoding="utf-8") == parameters_page(), (
        "write it anew: python tests/test_guide.py"
    )


@pytest.mark.parametrize("kind", [kind for _, kind in parts()], ids=lambda kind: kind.__name__)
def test_every_parameter_has_a_meaning_and_a_unit(kind: type[Any]) -> None:
    texts, values = attributes(kind), kind()
    for name in own_fields(kind):
        assert texts.get(name), name
        timed = isinstance(getattr(values, name), timedelta) or name == "deadline"
        assert timed or name in UNITS or name in CHOICES, (
            f"{name} needs a unit in tests/test_guide.py"
        )


def test_every_preset_is_in_the_table() -> None:
    named = {name for name, value in vars(config).items() if isinstance(value, ForestConfig)}
    assert named == set(PRESETS)


CODE = [(page, code) for page in PAGES if page.parent == GUIDE for code in blocks(page, "python")]


@pytest.mark.parametrize(("page", "code"), CODE, ids=[page.stem for page, _ in CODE])
def test_its_code_runs_and_prints(
    page: Path, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(code, str(page), "exec"), {})
    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize(
    "page", [p for p in PAGES if p.parent == GUIDE], ids=lambda page: page.stem
)
def test_its_commands_work_one_after_the_other(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for line in "".join(blocks(page, "console")).splitlines():
        assert line.startswith("$ tmem ")
        with pytest.raises(SystemExit) as ended:
            main(shlex.split(line)[2:])
        assert not ended.value.code, line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}-{page.stem}")
def test_its_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", text)
    targets += re.findall(r'(?:src|srcset)="([^"]+)"', text)
    for target in targets:
        assert (page.parent / target).exists(), target


def test_the_layout_in_contributing_names_every_folder_and_nothing_else() -> None:
    (layout,) = blocks(ROOT / "CONTRIBUTING.md", "text")
    named = set(re.findall(r"^  (\w[\w.]*)/? ", layout, re.MULTILINE))
    there = {path for path in (ROOT / "tmem_integrations").iterdir() if path.name[0] != "_"}
    assert {path.name for path in there if path.is_dir()} <= named <= {path.name for path in there}


def test_the_api_reference_can_be_made(tmp_path: Path) -> None:
    pytest.importorskip("pdoc")
    (command,) = [b for b in blocks(ROOT / "CONTRIBUTING.md", "bash") if b.startswith("pdoc ")]
    program, *arguments = shlex.split(command.replace(" site/", f" {tmp_path}"))
    done = subprocess.run(
        [sys.executable, "-m", program, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    made = (tmp_path / "tmem_integrations.html").read_text(encoding="utf-8")
    assert all(f'id="{name}"' in made for name in tmem_integrations.__all__)


if __name__ == "__main__":
    PARAMETERS.write_text(parameters_page(), encoding="utf-8")
