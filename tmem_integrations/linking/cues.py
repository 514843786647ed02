"""Cue words: what a message does to the state it talks about.

Each cue is a small closed class of words that speakers use whatever the subject, so the lists stay
short and carry over to unseen channels. English is covered best; Spanish, German, French and
Chinese hold the few words that matter most. Cue words are also kept out of the content terms: two
messages that both say "current ... replaces the earlier" share a template, not an object.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final

import regex

_CHANGE = r"""
updat(?:e|es|ed|ing)|now|new|changed?|changing|switch(?:ed|ing)?|mov(?:es?|ed|ing)
shift(?:s|ed|ing)?|revis(?:e|ed|ion)|replac(?:es?|ed|ing)|supersed(?:es?|ed|ing)|rather than|instead
rotat(?:e|ed|ing|ion)|adjust(?:ed|ment)|extend(?:ed)?|tighten
(?:tak(?:es?|ing)|took|hand(?:s|ed|ing)?) over|übernimmt|übernehme
jetzt|neu|neuer|statt|ge[äa]ndert|verschoben|verschieb(?:t|en)|ahora|nuevo|nueva|cambi(?:a|o|ado|amos)
en vez de|aplaza(?:do|mos)?|mueve|maintenant|nouveau|nouvelle|chang[ée]|plut[ôo]t|report[ée]e?|d[ée]cal[ée]e?
改为|改成|改到|推迟到|提前到|现在|更新|新的|换成
"""
_RETRACT = r"""
delet(?:e|ed|es|ion)|remov(?:e|ed|es|ing)|cancel(?:s|led|ed|ling)?|retired?|revok(?:e|ed)|drop(?:ped)?
forget|no longer|not anymore|never ?mind|nm|nvm|withdrawn?|discard(?:ed)?|without|unavailable
revert(?:s|ed|ing)?|roll(?:s|ed|ing)?[ -]?back|undo|undone|undid|back(?:s|ed|ing)? out
(?:go(?:es|ing)?|went) back to
l[öo]sch(?:en|t|e)|gestrichen|abgesagt|vergiss|zur[üu]ck(?:genommen|gerollt|gesetzt)
elimina(?:r|do)?|borra(?:r|do)?|cancelad[oa]|olvida|revertid[oa]|deshacer|deshecho
supprim(?:er|é|ez)|annul(?:er|é|ée)|oublie|删除|取消|作废|忘掉|回滚|撤回|撤销
"""
_PERSIST = r"""
remains?|still|unchanged|stays?|same|continues?|stable|no (?:newer|later|change)|(?:not|n't) change
reminder|as of now|recap|summary|noch immer|weiterhin|unver[äa]ndert|bleibt|sigue|igual|todav[íi]a
reste|toujours|inchang[ée]|仍然|不变|还是
"""
_DONE = r"""
completed?|done|fixed|solved|works|working now|worked|resolved|approved?|finished|closed|selected
selecting|found|figured|got it|get it working|signed off|confirmed|installed|erledigt|fertig|behoben
gel[öo]st|genehmigt|hecho|listo|resuelto|aprobad[oa]|fait|termin[ée]|r[ée]solu|approuv[ée]
完成|解决|批准|搞定|确定
"""
_CORRECT = r"""
oo?ps{1,9}|typo|er{2,9}|sorry|i mean|i meant|correction|actually|mistake|my bad|scratch that
entschuldigung|korrektur|ich meine|perd[óo]n|correcci[óo]n|quiero decir|pardon|erreur|je veux dire
抱歉|更正|我是说|不对
"""
_TENTATIVE = r"""
request(?:ing|ed|s)?|propos(?:ed?|al|ing)|may|might|could|maybe|if|tentativ(?:e|ely)|pending|scheduled
initial(?:ly)?|provisional|draft|penciled|would|possib(?:le|ility)|expect(?:ed)?|comparing|leads
not yet|temporary|vorschlag|vielleicht|vorl[äa]ufig|k[öo]nnten|quiz[áa]s|tal vez|propuesta
peut-[êe]tre|proposition|provisoire|可能|也许|建议|打算|暂定
"""
_TROUBLE = r"""
problem|issue|error|fail(?:s|ed|ing)?|can ?'?t|cannot|doesn ?'?t|does not|won ?'?t|not working|broken
crash(?:es|ed)?|help|incomplete|open|blockers?|incident|fehler|kaputt|geht nicht|no funciona|erreur
marche pas|问题|错误|不能|失败
"""
_APART = r"""
unrelated|separate(?:ly)?|distinct|different|not (?:to )?be confused|noise|do not mix|another|own track
by the way|btw|hello|hi|hey|anyone|anybody|everyone|someone|unabh[äa]ngig|aparte|por separado
s[ée]par[ée]|无关|另外|顺便
"""


def _pattern(words: str) -> re.Pattern[str]:
    """Whole words; Chinese ones stand anywhere, since nothing parts them."""
    rows = _in_one_row(words)
    chinese = "|".join(re.findall("[一-鿿]+", rows))
    return re.compile(rf"(?<![\w'-])(?:{rows})(?![\w-])|(?:{chinese})")


def _in_one_row(words: str) -> str:
    return words.strip().replace("\n", "|")


def _words(rows: str) -> frozenset[str]:
    return frozenset(rows.split())


_ROWS: Final = {
    "change": _CHANGE,
    "retract": _RETRACT,
    "persist": _PERSIST,
    "done": _DONE,
    "correct": _CORRECT,
    "tentative": _TENTATIVE,
    "trouble": _TROUBLE,
    "apart": _APART,
}
CUES: Final[Mapping[str, re.Pattern[str]]] = MappingProxyType(
    {name: _pattern(words) for name, words in _ROWS.items()}
)
"""Class of cue to its pattern over lower-cased text."""

_BEGINNINGS: Final = {
    name: regex.compile(rf"(?:{_in_one_row(words)})(?![\w-])") for name, words in _ROWS.items()
}
_WORD: Final = re.compile(r"\w+", re.ASCII)


def find_cues(lowered: str) -> frozenset[str]:
    """Names of the classes of cue that occur in a lower-cased text.

    Examples:
        >>> sorted(find_cues("fixed, we no longer need the old one"))
        ['done', 'retract']
    """
    names: Iterable[str] = CUES
    if lowered.isascii():
        names = {name for word in _WORD.findall(lowered) for name in _begun_by(word)}
    return frozenset(name for name in names if CUES[name].search(lowered))


@lru_cache(maxsize=1 << 16)
def _begun_by(word: str) -> tuple[str, ...]:
    """Classes of which a cue may begin with a word. Few do, and a look at each word that is known costs
    less than eight patterns tried at each letter."""
    return tuple(name for name, rows in _BEGINNINGS.items() if rows.match(word, partial=True))


OPENERS: Final = re.compile(
    r"^\W*(?:(?:um+|uh+|well|so|oh|ah+|hmm+)\W+)*"
    r"(?:yes|yeah|yep|yup|no|nope|nah|ok(?:ay)?|right|correct|confirmed|sure|thanks?|thx|ty|true"
    r"|exactly|great|good|got it|understood|noted|agreed|not necessarily|i did|did that"
    r"|ja|nein|genau|danke|s[íi]|claro|gracias|oui|non|merci|d'accord"
    r"|是|对|好|不|谢谢|收到|没有)(?![\w-])|^\W*[是对好不嗯]"
)
"""Words that answer or acknowledge when they open a lower-cased message."""

QUESTION: Final = re.compile(
    r"[?？]|^\W*(?:how|what|where|why|which|who|is there|can (?:i|any|you)|does|did)\b"
)
"""Signs of a question in a lower-cased message."""

STOP_WORDS: Final = _words(
    """
    a about after again all also am an and any are as at back be been before being but by can did do
    does doing down for from get gets getting go going good got had has have having he her here him
    his how i im in into is it its ive just know let like ll look make me more most much my need
    needs no not of off oh ok okay on one only or other our out over own please put re s say see she
    so some sure t than thank thanks that thats the their them then there these they thing think
    this those through to too try um uh up us use using ve very want was way we well were what when
    where which while who why with yes yeah you your d m don hmm mm kind sort mean really would
    could should will may might must
    der die das dem den des und ist sind nicht ein eine einen zu mit auf für im am von wir
    el la los las de del que y en un una es se por con para al
    le les et est pas du une dans pour au nous
    的 了 是 我 你 在 吗
    """
)

CUE_WORDS: Final = _words(
    """
    now new current currently update updating updated approved approve change changed replace
    replaces replaced supersede supersedes earlier old older previous prior latest final newer
    remain remains still unchanged confirmed confirm delete deleted deletion remove removed treat
    treated note notes reminder recap summary going forward memory active rather instead retired
    retire record recording complete completed pending initial provisional tentative request
    requesting revised moved move moves shift shifts date value exact explicit answer answers
    question questions
    """
)
"""Template words of state changes: never an object of their own."""
