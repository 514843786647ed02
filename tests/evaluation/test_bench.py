"""The benchmark: the same history for the same seed, every number there, no number judged."""

import json
import sys
from collections import Counter

import pytest

from tmem_integrations.cli import main
from tmem_integrations.evaluation.bench import Cost, Measured, Spread, measure_memory, spread_of
from tmem_integrations.evaluation.bench_history import N_CHANNELS, ask_about, write_history
from tmem_integrations.evaluation.bench_report import bench_plot, bench_ratios
from tmem_integrations.evaluation.bench_rivals import build_rank_bm25, measure_rivals
from tmem_integrations.models.embeddings import StaticEmbedder


@pytest.fixture(scope="module")
def history():
    return list(write_history(3_000))


def test_one_seed_is_one_history_and_a_longer_one_begins_alike(history):
    assert list(write_history(500)) == history[:500]
    assert list(write_history(500, seed=1)) != history[:500]


def test_a_history_is_in_order_of_time_with_distinct_ids(history):
    assert [m.sent_at for m in history] == sorted(m.sent_at for m in history)
    assert len({m.id for m in history}) == len(history)


def test_a_reply_answers_an_earlier_message_of_its_channel(history):
    at = {m.id: m for m in history}
    replies = [m for m in history if m.reply_to is not None]
    assert replies
    assert all(
        at[m.reply_to].channel == m.channel and at[m.reply_to].sent_at <= m.sent_at for m in replies
    )


def test_a_history_has_busy_channels_and_rare_words_like_a_chat(history):
    per_channel = Counter(m.channel for m in history)
    assert N_CHANNELS / 2 < len(per_channel) <= N_CHANNELS
    assert per_channel.most_common(1)[0][1] > 2 * len(history) / N_CHANNELS
    words = Counter(word for m in history for word in m.text.lower().rstrip(".?").split())
    assert sum(n == 1 for n in words.values()) > len(words) / 3


def test_questions_use_words_of_the_history(history):
    questions = ask_about(history, 5)
    assert questions == ask_about(history, 5)
    spoken = {word for m in history for word in m.text.rstrip(".?").split()}
    assert all(set(q.rstrip("?").split()[5:]) <= spoken for q in questions)


def test_everything_is_measured(history, tmp_path):
    measured = measure_memory(history[:300], tmp_path, StaticEmbedder(), 2)
    assert set(measured.stages) == {"anchors", "episodes", "evidence", "forest", "compression"}
    assert None not in (measured.open, measured.live, measured.delete, measured.plain)
    assert measured.disk > 0


def test_a_rival_finds_the_message_asked_about(history):
    ask = build_rank_bm25(history, None, None)
    assert ask(history[7].text)[0] == history[7].id


def test_a_rival_that_is_not_installed_is_one_sentence(history, monkeypatch):
    monkeypatch.setitem(sys.modules, "langchain_chroma", None)
    monkeypatch.setitem(sys.modules, "llama_index.retrievers.bm25", None)
    words, *others = measure_rivals(history[:200], StaticEmbedder(), 1)
    assert words.name == "rank_bm25"
    assert len(others) == 2
    assert all("is left out" in one and "[bench]" in one for one in others)


def alike(name, n_messages, seconds, **more):
    cost = Cost(seconds, seconds)
    return Measured(name, n_messages, cost, spread_of([cost]), **more)


def test_ratios_compare_rivals_of_the_same_size_and_our_own_growth():
    lines = bench_ratios(
        [
            alike("tmem", 100, 0.5, stages={"anchors": 0.1}),
            alike("rank_bm25", 100, 1.5),
            alike("tmem", 1000, 1.0, stages={"anchors": 0.1}),
        ]
    )
    assert "100 messages: rank_bm25 takes 3.00 × of the time of a question." in lines
    assert "A question at 1,000 messages takes 2.00 × of one at 100." in lines
    assert not any(line.startswith("1,000 messages: rank_bm25") for line in lines)


def test_a_spread_is_median_and_95th_percentile():
    costs = [Cost(float(n), 10.0 * n) for n in range(101)]
    assert spread_of(costs) == Spread(50.0, 95.0, 500.0, 950.0)


def test_each_size_is_compared_with_the_one_before():
    sizes = [alike("tmem", 10**n, float(2**n), stages={"anchors": 0.1}) for n in range(2, 5)]
    assert [line for line in bench_ratios(sizes) if line.startswith("A question at")] == [
        "A question at 1,000 messages takes 2.00 × of one at 100.",
        "A question at 10,000 messages takes 2.00 × of one at 1,000.",
    ]


def test_what_people_use_is_not_measured_beyond_a_size_and_that_is_said(capsys):
    with pytest.raises(SystemExit):
        main(["bench", "--messages=200", "--questions=1", "--rivals-up-to=100", "--json"])
    printed = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in printed["measured"]] == ["tmem"]
    assert printed["notes"] == ["What people use is not measured beyond 100 messages."]


def test_a_plot_has_a_line_for_each_way():
    plot = bench_plot([alike("tmem", 100, 0.5), alike("tmem", 1000, 1.0), alike("bm25s", 100, 2.0)])
    assert plot.count("<polyline") == 1
    assert all(name in plot for name in ("tmem", "bm25s"))


def test_the_command_prints_json_for_programs(capsys, tmp_path):
    plot = tmp_path / "cost.svg"
    with pytest.raises(SystemExit) as ended:
        main(
            ["bench", "--messages=200", "--questions=2", "--no-rivals", "--json", f"--plot={plot}"]
        )
    printed = json.loads(capsys.readouterr().out)
    assert (ended.value.code or 0, [m["n_messages"] for m in printed["measured"]]) == (0, [200])
    assert any("of its median" in line for line in printed["ratios"])
    assert plot.read_text().startswith("<svg")
