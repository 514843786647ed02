"""Many questions at once over one store: the answers are those of one after the other."""

import asyncio

import pytest

from tmem_integrations.evaluation.bench_history import ask_about, write_history
from tmem_integrations.memory import TemporalMemory

N_QUESTIONS = 200


@pytest.fixture(scope="module")
def history():
    return list(write_history(120))


async def test_two_hundred_questions_at_once_are_answered_like_one_by_one(history):
    memory = TemporalMemory.from_messages(history)
    questions = ask_about(history, 20)
    expected = {question: memory.retrieve(question).text for question in questions}
    asked = [questions[n % len(questions)] for n in range(N_QUESTIONS)]
    answers = await asyncio.gather(*map(memory.aretrieve, asked))
    assert [answer.text for answer in answers] == [expected[question] for question in asked]
    memory.close()


async def test_two_hundred_askers_at_once_see_their_own_channels_only(history):
    channels = sorted({message.channel for message in history})
    access = {channel: [f"member of {channel}"] for channel in channels}
    memory = TemporalMemory.from_messages(history, access=access)
    questions = ask_about(history, 20)
    asked = [(questions[n % 20], channels[n % len(channels)]) for n in range(N_QUESTIONS)]
    answers = await asyncio.gather(
        *(memory.aretrieve(text, asking_user=f"member of {channel}") for text, channel in asked)
    )
    channel_of = {message.id: message.channel for message in history}
    for answer, (_, channel) in zip(answers, asked, strict=True):
        assert {channel_of[one] for one in answer.message_ids} <= {channel}
    assert any(len(answer.forest) for answer in answers)
    memory.close()


async def test_the_loop_goes_on_while_questions_are_answered(history):
    memory = TemporalMemory.from_messages(history)
    ticks, done = 0, asyncio.Event()

    async def tick():
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            await asyncio.sleep(0)

    ticking = asyncio.create_task(tick())
    await asyncio.gather(*map(memory.aretrieve, ask_about(history, 10)))
    done.set()
    await ticking
    # A driver that answered in the loop would let it turn once or twice per question and request.
    assert ticks > 100
    memory.close()


async def test_questions_are_answered_while_messages_come_in(history):
    memory = TemporalMemory.from_messages(history[:60])
    (question,) = ask_about(history[:60], 1)

    async def add():
        for message in history[60:]:
            await asyncio.to_thread(memory.add, [message])

    adding = asyncio.create_task(add())
    answers = [await memory.aretrieve(question) for _ in range(20)]
    await adding
    known = {message.id for message in history}
    assert all({node.message.id for node in answer.forest} <= known for answer in answers)
    fresh = TemporalMemory.from_messages(history)
    assert memory.retrieve(question).text == fresh.retrieve(question).text
    fresh.close()
    memory.close()
