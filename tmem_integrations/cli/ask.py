"""`tmem ask`: the text that a language model would get, or with `--answer` what it says."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from tmem_integrations.cli import models, options
from tmem_integrations.cli.output import print_json, print_note
from tmem_integrations.cli.reading import Reading, reads_files
from tmem_integrations.cli.sources import metadata_of, opened
from tmem_integrations.cli.times import read_moment
from tmem_integrations.counting import counted
from tmem_integrations.errors import ConfigError

if TYPE_CHECKING:
    from tmem_integrations.cli.answering import Answer
    from tmem_integrations.retrieval import Retrieval

NOTHING_FOUND = 1


@reads_files
def ask(
    question: options.Question,
    source: options.Source,
    reading: Reading,
    asker: options.Asker = None,
    members: options.Members = None,
    as_of: options.AsOf = None,
    channels: options.Channels = None,
    max_messages: options.MaxMessages = None,
    max_tokens: options.MaxTokens = None,
    model: models.Model = None,
    base_url: models.BaseUrl = None,
    answer: Annotated[
        bool, typer.Option("--answer", help="Have the model answer, citing messages.")
    ] = False,
    timezone: options.Timezone = None,
    as_json: options.AsJson = False,
) -> None:
    """Answer a question with the messages that tell it, and how they changed.

    Prints the text that goes into a prompt: what was first said, what updated it, what explains it.
    With --model a chat model judges which messages these are and how they are linked; its key is read
    from OPENAI_API_KEY. With --answer it also answers, and the messages it cites are listed.

    Examples:

    [cyan]tmem ask "When do we launch?" --in team/ --as sam --as-of 2026-03-12[/cyan]

    [cyan]tmem ask "When do we launch?" --in team/ --model openai:gpt-5-mini --answer[/cyan]

    Exit code 1 when nothing was found; the reason is on stderr.
    """
    if answer and model is None:
        raise ConfigError("--answer needs --model: say who answers.")
    llm = models.read_model(model, base_url)
    with opened(source, asker=asker, members=members, timezone=timezone, reading=reading) as memory:
        retrieval = memory.retrieve(
            question,
            asking_user=asker,
            as_of=read_moment(as_of, timezone, "--as-of"),
            channels=channels or None,
            max_messages=max_messages,
            max_tokens=max_tokens,
            llm=llm,
        )
        metadata = metadata_of(retrieval, memory) if as_json else {}
    answered = None
    if answer and len(retrieval.forest):
        from tmem_integrations.cli.answering import answer_from

        answered = answer_from(retrieval, llm)
    if as_json:
        own = {} if answered is None else answered.to_dict()
        print_json({"question": question, "text": retrieval.text, **metadata, **own})
    elif answered is not None:
        _print_answer(answered)
    elif retrieval.text:
        print(_shown(retrieval.text))
    _print_remarks(retrieval, answered)
    if not len(retrieval.forest):
        raise typer.Exit(NOTHING_FOUND)


def _print_answer(answer: Answer) -> None:
    from tmem_integrations.visual.terminal import safe_name

    lines = [answer.text]
    if answer.cited:
        lines.append("")
    for number, message in answer.cited:
        where = [message.id, f"{message.sent_at:%Y-%m-%d}", message.author, message.permalink]
        lines.append(f"[{number}] {safe_name(' '.join(part for part in where if part))}")
    print(_shown("\n".join(lines)))


def _print_remarks(retrieval: Retrieval, answer: Answer | None) -> None:
    """What is less than asked for, and what it cost."""
    for remark in dict.fromkeys((retrieval.trace.explanation, *retrieval.degraded)):
        if remark is not None:
            print_note(remark)
    if answer is not None and answer.unknown:
        print_note(f"The answer cites messages that were not shown: {list(answer.unknown)}.")
    n_calls, n_tokens = retrieval.trace.llm_calls, sum(retrieval.trace.llm_tokens.values())
    if answer is not None:
        n_calls, n_tokens = n_calls + 1, n_tokens + (answer.n_tokens or 0)
    if n_calls:
        print_note(f"{counted(n_calls, 'call')} of the model, {counted(n_tokens, 'token')}.")


def _shown(text: str) -> str:
    """As it is into a pipe or file; safe to look at on a terminal."""
    if not sys.stdout.isatty():
        return text
    from tmem_integrations.visual.terminal import safe_text

    return safe_text(text)
