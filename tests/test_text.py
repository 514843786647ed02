"""Words: what of a text can be searched."""

import threading
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmem_integrations.errors import ConfigError
from tmem_integrations.messages import Message
from tmem_integrations.text import index_text, normalize, split_terms


def finds(question: str, text: str) -> bool:
    """Whether the question shares a term with the indexed text."""
    return not set(split_terms(question)).isdisjoint(split_terms(text, single_characters=True))


def test_case_and_punctuation_do_not_matter():
    assert finds("ROLLBACK friday?", "The rollback is Friday")


def test_empty_and_blank_texts_have_no_terms():
    assert split_terms("") == split_terms(" \n\t") == split_terms("?! …") == []


def test_full_width_and_half_width_letters_are_the_same():
    assert split_terms("Ｄｅｐｌｏｙ") == split_terms("deploy")
    assert split_terms("ﾃｽﾄ") == split_terms("テスト")


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("上线", "周五晚上上线新版本"),
        ("リリース", "明日リリースします"),
        ("배포", "내일 배포를 합니다"),
        ("ภาษา", "ผมชอบภาษาไทย"),
    ],
)
def test_a_word_is_found_where_no_spaces_are_written(question, text):
    assert finds(question, text)


def test_a_run_becomes_overlapping_pairs():
    assert split_terms("上线新") == ["上线", "线新"]


def test_a_question_of_one_character_finds_longer_words():
    assert finds("猫", "小猫睡了")


def test_a_longer_question_does_not_match_on_one_shared_character():
    assert not finds("量子", "上线了一个子系统")


def test_a_run_ends_where_another_script_begins():
    assert split_terms("Q3上线") == ["q3", "上线"]


def test_vowel_signs_stay_with_their_word():
    assert split_terms("हिन्दी भाषा") == ["हिन्दी", "भाषा"]


@pytest.mark.parametrize(
    ("name", "terms"),
    [
        ("@ann", ["@ann", "ann"]),
        ("#releases", ["#releases", "releas"]),
        ("@王伟", ["@王伟", "王伟"]),
        ("v1.2.3", ["v1.2.3", "1.2.3"]),
        ("v1.2.3-rc1", ["v1.2.3-rc1", "v1.2.3", "1.2.3", "rc1"]),
        ("ERR_42", ["err_42", "err", "42"]),
        ("PROJ-123", ["proj-123", "proj", "123"]),
        ("sprint_7", ["sprint_7", "sprint", "7"]),
        ("src/app.py", ["src/app.py", "src", "app", "py"]),
        ("std::sync", ["std::sync", "std", "sync"]),
        ("2026-03-04", ["2026-03-04", "2026", "03", "04"]),
        ("c++", ["c++"]),
    ],
)
def test_a_name_is_a_term_as_a_whole_and_in_parts(name, terms):
    assert split_terms(name) == terms
    assert split_terms(f"({name}), so") == [*terms, "so"]


def test_an_address_is_found_by_itself_and_by_its_words():
    link = "https://wiki.example.org/runbooks/rollback?page=2"
    assert finds(link, f"see {link}.")
    assert finds("runbooks", f"see <{link}|the wiki>")


def test_a_hyphen_between_plain_words_adds_no_term():
    assert split_terms("well-known") == split_terms("well known")


def test_a_possessive_is_the_name_itself():
    assert split_terms("Ann's") == split_terms("Ann’s") == split_terms("Ann")


def test_an_emoji_is_found_with_and_without_skin_tone():
    assert split_terms("👍🏽") == ["👍🏽", "👍"]
    assert split_terms("👍") == ["👍"]


def test_joined_emoji_are_one_term_and_their_parts():
    assert split_terms("👩‍💻") == ["👩‍💻", "👩", "💻"]
    assert split_terms("🇩🇪") == ["🇩🇪"]


def test_an_emoji_is_the_same_with_and_without_presentation_selector():
    assert split_terms("❤️") == split_terms("❤")


def test_invisible_characters_do_not_split_a_word():
    assert split_terms("roll\u00adback \u200bnow") == split_terms("rollback now")


def test_english_forms_of_a_word_are_one_term():
    assert split_terms("release releases released") == ["releas"] * 3


def test_words_with_other_letters_are_left_as_they_are_in_neutral_mode():
    assert split_terms("läufer naïves выпуски") == ["läufer", "naïves", "выпуски"]


def test_a_named_language_uses_its_stemmer_and_drops_its_stop_words():
    assert split_terms("die Häuser", language="german") == split_terms("haus", language="german")
    assert split_terms("the cats", language="english") == ["cat"]


def test_no_stop_word_is_dropped_when_no_language_is_named():
    assert split_terms("the who") == ["the", "who"]


def test_an_unknown_language_is_an_error_that_lists_the_known_ones():
    with pytest.raises(ConfigError, match=r"german.*got 'klingon'"):
        split_terms("x", language="klingon")


def test_the_index_text_holds_the_metadata_that_is_known():
    message = Message(
        id="m1", text="shipped", sent_at=datetime(2026, 3, 2, tzinfo=UTC), author="Ann",
        role="lead", channel="ops", topic="launch", phase="beta",
    )  # fmt: skip
    assert split_terms(index_text(message)) == split_terms("shipped ops beta launch Ann lead")
    bare = Message(id="m2", text="", sent_at=datetime(2026, 3, 2, tzinfo=UTC))
    assert index_text(bare) == ""


def test_threads_do_not_disturb_each_other_s_stems():
    words = [f"{stem}ing" for stem in ("deploy", "ship", "test", "merg", "rollback", "plan")] * 50
    alone = [split_terms(f"{word}{n}z {word}") for n, word in enumerate(words)]
    results = []

    def work() -> None:
        results.append([split_terms(f"{word}{n}z {word}") for n, word in enumerate(words)])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [alone] * 4


@given(st.text())
def test_any_text_splits_into_non_empty_terms_without_spaces(text):
    for term in split_terms(text, single_characters=True):
        assert term
        assert not any(character.isspace() for character in term)


@given(st.text())
def test_every_text_with_terms_finds_itself(text):
    assert finds(text, text) == bool(split_terms(text))


@given(st.text())
def test_normalizing_twice_changes_nothing(text):
    assert split_terms(normalize(text)) == split_terms(text)


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_ascii_texts_split_alike_on_the_fast_and_on_the_general_path(text):
    *general, last = split_terms(text + " 猫")
    assert (general, last) == (split_terms(text), "猫")
