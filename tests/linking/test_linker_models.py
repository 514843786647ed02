"""The tables: how they score, how they are written, and that the shipped ones fit."""

import numpy as np
import pytest

from tmem_integrations.linking.context import build_context
from tmem_integrations.linking.features import pair_features
from tmem_integrations.linking.links import MIN_CHANCE, link_utterances
from tmem_integrations.linking.listing import candidate_features, opening_features
from tmem_integrations.linking.models import (
    Models,
    ParentModel,
    RelationModel,
    Standard,
    load_models,
    parse_models,
    save_models,
    softmax,
)
from tmem_integrations.linking.utterance import Utterance


def standard(*names: str) -> Standard:
    """Features as they are: nothing taken off, divided by one."""
    return Standard(names, np.zeros(len(names)), np.ones(len(names)))


def models(*, near: float = 0.0, alone: float = 0.0, update: float = 0.0) -> Models:
    """Parents by nearness alone, against `alone` for none; UPDATE by `update`, EXPAND by 0."""
    return Models(
        RelationModel(standard("near"), np.zeros((1, 3)), np.array([update, 0.0, 0.0])),
        ParentModel(standard("near"), np.array([near]), standard("asks"), np.zeros(1), alone),
    )


CHAT = [
    Utterance(text=f"it is {word}", position=i) for i, word in enumerate(["late", "later", "bad"])
]
CONTEXT = build_context(CHAT)


def test_probabilities_are_odds_over_their_sum():
    assert softmax(np.log([1.0, 3.0])).tolist() == pytest.approx([1 / 4, 3 / 4])


def test_what_is_excluded_gets_no_probability():
    assert softmax(np.array([-np.inf, 0.0])).tolist() == [0, 1]


def test_a_constant_feature_is_not_divided_by_zero():
    measured = Standard.of(["a", "b"], np.array([[1.0, 5.0], [3.0, 5.0]]))
    assert measured.apply(np.array([3.0, 6.0])).tolist() == [1.0, 1.0]


def test_the_best_candidate_is_the_parent():
    links = link_utterances(CHAT, CONTEXT, models=models(near=9.0, alone=-9.0))
    assert [link.parent for link in links] == [None, 0, 1]


def test_none_of_them_wins_against_all():
    links = link_utterances(CHAT, CONTEXT, models=models(alone=9.0))
    assert [link.parent for link in links] == [None, None, None]


def test_a_candidate_among_too_many_equals_is_no_parent():
    many = [Utterance(text="so", position=i) for i in range(9)]
    links = link_utterances(many, build_context(many), models=models(near=0.1, alone=0.0))
    assert links[1].parent == 0
    assert links[8].parent is None  # About one in nine, less than MIN_CHANCE.
    assert 1 / 9 < MIN_CHANCE < 1 / 2


def test_what_is_not_allowed_is_no_parent():
    allowed = np.ones((3, 3), dtype=np.bool_)
    allowed[1, 2] = False
    links = link_utterances(CHAT, CONTEXT, models=models(near=9.0, alone=-9.0), allowed=allowed)
    assert links[2].parent == 0


def test_a_known_parent_stands_and_the_relation_is_still_judged():
    links = link_utterances(
        CHAT, CONTEXT, models=models(near=9.0, alone=9.0, update=np.log(3)), known={2: 0}
    )
    assert links[2].parent == 0
    assert links[2].updates
    assert links[2].confidence == pytest.approx(3 / (3 + 1))  # UPDATE against EXPAND.


def test_the_confidence_is_that_of_parent_and_relation():
    links = link_utterances(CHAT[:2], CONTEXT, models=models(alone=-np.log(3), update=np.log(4)))
    assert links[1].confidence == pytest.approx(3 / (3 + 1) * 4 / (4 + 1))


def test_nothing_links_to_nothing():
    assert link_utterances([], CONTEXT) == ()


def test_the_shipped_tables_name_features_that_exist():
    relation, parent = load_models()
    pairs = pair_features(CHAT, CONTEXT)
    candidates = pairs | candidate_features(CHAT, pairs)
    assert set(relation.standard.names) <= pairs.keys()
    assert set(parent.candidate.names) <= candidates.keys()
    assert set(parent.opening.names) == opening_features(pairs).keys()


def test_what_is_saved_is_read_again(tmp_path):
    path = tmp_path / "tables.json"
    save_models(path, load_models())
    text = path.read_text(encoding="utf-8")
    assert parse_models(text).relation.weights.tolist() == load_models().relation.weights.tolist()
    save_models(path, parse_models(text))
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    "text",
    [
        "hmm",
        "Please do.",
        "Because of the fair.",
        "anyone else got trouble with it?",
        "so Thursday instead?",
        "Support keeps asking about the new date. What do I tell them?",
    ],
)
def test_a_sound_or_a_bare_question_updates_nothing(text: str):
    chat = [Utterance(text="we ship on Tuesday"), Utterance(text=text, position=1)]
    links = link_utterances(
        chat, build_context(chat), models=models(near=9.0, alone=-9.0, update=9.0)
    )
    assert links[1].parent == 0
    assert not links[1].updates


@pytest.mark.parametrize(
    "text",
    [
        "8.10",
        "Cancelled.",
        "*gconf-editor",
        "取消",
        "ok? Then Bo does it.",
        "We will not.",
        "I don't.",
        "Because of the fair we move to May.",
        "Then the 16th it is. All fine with that?",
    ],
)
def test_a_short_message_that_states_something_can_update(text: str):
    chat = [Utterance(text="we ship on Tuesday"), Utterance(text=text, position=1)]
    links = link_utterances(
        chat, build_context(chat), models=models(near=9.0, alone=-9.0, update=9.0)
    )
    assert links[1].updates


def test_the_same_words_again_update_nothing():
    chat = [
        Utterance(text=t, position=i)
        for i, t in enumerate(["Ship on Tuesday.", "ship on Tuesday!"])
    ]
    tables = models(near=9.0, alone=-9.0, update=9.0)
    assert link_utterances(chat, build_context(chat), models=tables)[1][:2] == (0, False)


def test_an_update_that_is_likelier_no_relation_at_all_is_an_expansion():
    table = RelationModel(standard("near"), np.zeros((1, 3)), np.array([0.0, -9.0, np.log(5.0)]))
    links = link_utterances(
        CHAT, CONTEXT, models=Models(table, models(near=9.0, alone=-9.0).parent)
    )
    assert [link.updates for link in links] == [False, False, False]


def test_where_people_linked_no_relation_at_all_is_out_of_the_question():
    table = RelationModel(standard("near"), np.zeros((1, 3)), np.array([0.0, -9.0, np.log(5.0)]))
    tables = Models(table, models(near=9.0, alone=-9.0).parent)
    assert link_utterances(CHAT, CONTEXT, models=tables, known={2: 0})[2].updates
