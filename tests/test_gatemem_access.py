"""GateMem's questions with one membership per episode: no content of another episode comes out."""

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tmem_integrations.memory import TemporalMemory

DATA = Path(__file__).parents[2] / "shared" / "data" / "gatemem"
# Of 1,099 questions; all of them take some minutes.
STEP = 12


def load(name: str) -> list[dict[str, Any]]:
    with (DATA / name).open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@pytest.mark.skipif(not DATA.is_dir(), reason="needs the GateMem data beside the project")
def test_no_episode_leaks_into_the_answers_of_another() -> None:
    messages, questions = load("messages.jsonl"), load("questions.jsonl")[::STEP]
    members: defaultdict[str, set[str]] = defaultdict(set)
    for message in messages:
        members[message["channel"]].add(message["author_id"])
    channel_of = {message["id"]: message["channel"] for message in messages}
    memory = TemporalMemory.from_messages(messages, timezone="UTC", access=members)
    n_shown = 0
    for question in questions:
        asker = question["asking_user"]
        answer = memory.retrieve(question["question"], asking_user=asker, as_of=question["as_of"])
        told = json.dumps([answer.metadata(), answer.trace.to_dict()]) + answer.text
        episodes = {channel_of[one] for one in answer.message_ids}
        assert all(asker in members[episode] for episode in episodes), question["id"]
        named = {one for one in re.findall(r"\w*episode\w*", told) if one in members}
        assert all(asker in members[episode] for episode in named), question["id"]
        n_shown += len(answer.message_ids)
    assert n_shown > len(questions)
