"""A reranker behind the gate bounds the evidence (TEF App. E.2)."""

import numpy as np
import pytest
from support.judging import Hand, candidates_of, message

from tmem_integrations.config import EvidenceConfig
from tmem_integrations.errors import ModelError
from tmem_integrations.judges.panel import gate_by_rules
from tmem_integrations.judges.reranking import RerankedGate
from tmem_integrations.messages import Query
from tmem_integrations.protocols import Ranking


def rerank(ranking, *, n=2, pool=48, may_fail=True):
    gate = RerankedGate(gate_by_rules, pool, may_fail)
    candidates = candidates_of([message(i) for i in range(4)], anchors=range(4))
    flow = gate(
        Query(text="When?"), candidates, np.array([4.0, 3, 2, 1]), EvidenceConfig(max_messages=n)
    )
    judgement = Hand(lambda _: "", ranking=ranking).run(flow)
    return [own.message.id for own in judgement.verdict], judgement


def test_the_best_by_the_reranker_are_kept_in_order_of_time():
    assert rerank(Ranking((3, 1, 0, 2)))[0] == ["m1", "m3"]


def test_what_the_reranker_leaves_out_is_dropped():
    assert rerank(Ranking((2,)))[0] == ["m2"]


def test_it_chooses_from_no_more_than_the_pool():
    assert rerank(Ranking((0, 1, 2, 3)), n=1, pool=2)[1].notes[-1] == ("reranked", 2)


def test_positions_that_do_not_exist_and_doubles_are_passed_over():
    assert rerank(Ranking((9, -1, 3, 3, 0)))[0] == ["m0", "m3"]


@pytest.mark.parametrize(("ranking", "why"), [(Ranking(error="APIError"), "APIError"), (None, "there is none")])  # fmt: skip
def test_without_a_ranking_the_gates_own_order_decides_and_it_is_told(ranking, why):
    kept, judgement = rerank(ranking)
    assert kept == ["m0", "m1"]
    assert judgement.degraded == (f"The reranker was left out: {why}.",)


def test_a_failure_raises_where_that_is_the_policy():
    with pytest.raises(ModelError, match="did not order 4 messages: APIError"):
        rerank(Ranking(error="APIError"), may_fail=False)


def test_no_evidence_is_not_reranked():
    gate = RerankedGate(gate_by_rules, 48)
    flow = gate(Query(text="?"), candidates_of([]), np.array([]), EvidenceConfig())
    assert Hand(lambda _: "").run(flow).verdict == ()
