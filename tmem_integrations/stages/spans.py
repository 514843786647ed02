"""Spans: the sentence-like pieces of a text that compression may leave out, and which it leaves for last.

Rules for any language rather than a model of one: a span that is too long costs some precision, a
model would cost a download.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import regex

from tmem_integrations.text import split_terms

MAX_SPAN_CHARS = 300

_CLOSERS = r"[\"'”’»›)\]」』）】》]"
# Possessive, and never tried again inside a run, so that a megabyte of dots takes linear time.
_BREAK = regex.compile(
    r"(?P<line>(?:\r\n|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029])++)"
    rf"|(?<![.!?…])[.!?…]++{_CLOSERS}*+[ \t\u00a0\u202f\u3000]++"
    rf"|(?<![。！？｡؟۔।॥።፧։])[。！？｡؟۔।॥።፧։]++{_CLOSERS}*+[ \t\u00a0\u202f\u3000]*+"
)
# A full stop after these ends no sentence: numbers of a list and of a German day, initials, common
# abbreviations.
_NO_END = regex.compile(
    r"(?:(?:^|\n)[ \t]*[0-9]{1,2}|\b(?:am|dem|den|der|vom|zum|bis)\s[0-9]{1,2}"
    r"|(?:^|[\s(\"'“„«])(?:\p{L}|Mrs?|Ms|Dr|Prof|St|Sr|Jr|vs|approx|incl|cf|e\.g|i\.e|a\.m|p\.m"
    r"|Nr|ca|bzw|z\.B|d\.h|u\.a|Sra?|Mme|ej))\.$",
    regex.IGNORECASE,
)
_GRAPHEME = regex.compile(r"\X")

_TIME_WORDS = regex.compile(
    r"\p{N}|[一二三四五六七八九十百千万两][月日号號年点點时時分个個週周]"
    r"|(?:周|週|星期|礼拜)[一二三四五六日天]|[月火水木金土日]曜|[월화수목금토일]요일"
    r"|今[天日晚]|明[天日]|昨[天日]|[后後]天|[本下上来先今][周週月]|오늘|내일|어제|다음\s?주"
    r"|\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|mon|tue|wed|thu|fri"
    r"|january|february|march|april|june|july|august|september|october|november|december"
    r"|today|tonight|tomorrow|yesterday|noon|midnight|weekend|weekly|daily|monthly"
    r"|(?:next|last|this|every)\s(?:week|month|quarter|sprint|year)|deadline|eod|eow|asap"
    r"|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|hundred|thousand|million|dozen|half"
    r"|(?:mon|diens|donners|frei|sams|sonn)tags?|mittwochs?|heute|morgen|gestern|übermorgen"
    r"|januar|februar|märz|juni|juli|oktober|dezember|woche|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn"
    r"|lunes|martes|miércoles|jueves|viernes|sábado|domingo|hoy|mañana|ayer|semana"
    r"|enero|febrero|marzo|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre"
    r"|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|aujourd['’]hui|demain|hier|semaine"
    r"|janvier|février|avril|juin|juillet|août|septembre|octobre|novembre|décembre)\b",
    regex.IGNORECASE,
)
_STATE_WORDS = regex.compile(
    r"\b(?:cancel\w*|postpon\w*|delay\w*|reschedul\w*|mov(?:e|ed|es|ing)|push(?:ed|ing)|chang(?:e|ed|es|ing)"
    r"|switch\w*|replac\w*|supersed\w*|revert\w*|roll(?:ed|ing)?[\s-]?back|undo\w*|undid|instead|no longer"
    r"|any ?more|now|decid\w*|decision|agreed?|approv\w*|reject\w*|confirm\w*|final(?:ly|i[sz]\w+)?|done"
    r"|finish\w*|complet\w*|shipp?(?:ed|ing)?|merged|clos(?:ed|ing)|reopen\w*|resolv\w*|fixed|start(?:ed|ing)"
    r"|stop(?:ped|ping)?|paus\w+|resum\w+|dropp\w+|withdr[ae]w\w*|reassign\w*|tak(?:es|ing) over"
    r"|abgesagt|verschoben|geändert|stattdessen|zurück\w*|beschlossen|entschieden|genehmigt|abgelehnt|erledigt"
    r"|fertig|ersetzt|nicht mehr|ab sofort|aplaz\w*|pospuest\w*|cambi\w+|en lugar de|ya no|aprobad\w*"
    r"|rechazad\w*|decidi\w*|annul\w*|reporté\w*|au lieu|approuv\w*|rejet\w*|décid\w*|validé\w*|terminé\w*)\b"
    r"|取消|推迟|延期|改[为為到成用]|回滚|撤回|决定|決定|批准|拒绝|完成|不再|暂停|恢复|替换|中止|変更|代わりに"
    r"|承認|却下|完了|취소|연기|변경|대신|결정|승인|거절|완료|롤백",
    regex.IGNORECASE,
)
_QUOTED = regex.compile(r"[\"“„«`「『]([^\"“”„«»`「」『』]{1,60})[\"”“»`」』]")
_SPECIAL = regex.compile(r"^[@#]\w|[\p{N}_]|\w[./\\:]\w")
_CAPITALS = regex.compile(r"(?<=\w[,;:]?\s[\"'“(]{0,2})\p{Lu}[\w'’-]+|\b\p{Lu}[\p{Lu}\p{N}]+\b")


def split_spans(text: str) -> tuple[str, ...]:
    """Cut a text into sentence-like spans; joined they are the text.

    A span ends after a sentence or a line, its white space included. One of more than 300 characters
    is cut, at white space where there is some, and never inside what a reader sees as one character,
    unless that alone is longer.

    Examples:
        >>> split_spans("We ship at 5 p.m. today. Bo, ok?\\n- Ann tests")
        ('We ship at 5 p.m. today. ', 'Bo, ok?\\n', '- Ann tests')
    """
    spans: list[str] = []
    start = seen = 0
    for end in _ends(text):
        # Only what is new: a megabyte of blank lines takes linear time.
        if not text[seen:end].isspace():
            spans.extend(_cut(text[start:end]))
            start = end
        seen = end
    rest = text[start:]
    if spans and rest.isspace() and len(spans[-1]) + len(rest) <= MAX_SPAN_CHARS:
        spans[-1] += rest
    else:
        spans.extend(_cut(rest))
    return tuple(spans)


def grapheme_ends(text: str) -> list[int]:
    """Where a reader sees a character end; the last is the length of the text."""
    return [match.end() for match in _GRAPHEME.finditer(text)]


def question_entities(question: str, names: Iterable[str] = ()) -> frozenset[str]:
    """Terms of the people and things a question names.

    These are: what stands in quotes; `@ann`, `#ops`, and words with digits or inner punctuation; words
    with a capital that do not open a sentence, and words in capitals; and those of `names`, such as
    authors, all of whose terms the question holds. Scripts without case have the first two and the
    last. In German all nouns count: more is protected than need be, which only changes the order.
    """
    found = [match[1] for match in _QUOTED.finditer(question)]
    found += [word for word in question.split() if _SPECIAL.search(word)]
    found += _CAPITALS.findall(question)
    asked = set(split_terms(question))
    terms = {term for entity in found for term in split_terms(entity)}
    for name in names:
        own = set(split_terms(name))
        if own <= asked:
            terms |= own
    return frozenset(terms)


def names_a_time_or_number(span: str) -> bool:
    """Whether a span holds a digit, or a word for a day, month or number (English, German, Spanish,
    French, Chinese, Japanese, Korean).

    Examples:
        >>> names_a_time_or_number("See you on Friday."), names_a_time_or_number("Bo may go.")
        (True, False)
    """
    return _TIME_WORDS.search(span) is not None


def names_a_change(span: str) -> bool:
    """Whether a span holds a word that changes a state, such as "cancelled" (the same languages)."""
    return _STATE_WORDS.search(span) is not None


def _ends(text: str) -> Iterator[int]:
    for match in _BREAK.finditer(text):
        end = match.end()
        stop = match.group().rstrip()
        if stop == "." and _NO_END.search(text, max(0, match.start() - 12), match.start() + 1):
            continue
        # A combining mark may follow the white space and belongs to it.
        if not _GRAPHEME.fullmatch(text, end - 1, end + 1) or end == len(text):
            yield end


def _cut(span: str) -> Iterator[str]:
    start = 0
    while len(span) - start > MAX_SPAN_CHARS:
        # Longer than a span, so that a character at its end is seen whole.
        window = span[start : start + 2 * MAX_SPAN_CHARS]
        ends = [end for end in grapheme_ends(window) if end <= MAX_SPAN_CHARS]
        spaces = [e for e in ends if e > MAX_SPAN_CHARS // 2 and window[e - 1].isspace()]
        length = (spaces or ends or [MAX_SPAN_CHARS])[-1]
        yield window[:length]
        start += length
    if start < len(span):
        yield span[start:]
