"""The few words a model may answer with, in the languages it may fall into.

A model that reads a Korean chat tends to answer in Korean, whatever the schema says. Words are compared
casefolded and without punctuation.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Literal

from tmem_integrations.models.json_text import find_value, without_thinking
from tmem_integrations.prompts.gate import GateKind
from tmem_integrations.prompts.relations import RelationKind

_YES = """yes y true yeah yep ja oui si sí sim так tak да 是 是的 对 對 はい 예 네 evet igen ano kyllä jo نعم हाँ हां
có ya ναι כן ใช่ keep selected relevant include"""
_NO = """no n false nope nein non não nao ні nie нет nee nej ingen 否 不 不是 不对 いいえ 아니요 아니오 hayır hayir nem ne ei
لا नहीं không tidak όχι לא ไม่ drop skip exclude excluded reject rejected irrelevant unrelated none null
keine keiner ninguno ninguna aucun aucune nessuno nessuna nenhum nenhuma geen ingen inga żaden 无 無 没有 なし 없음
нету yok"""
_KEY = """key primary core essential direct answer evidence schlüssel schluessel kern clave clé cle chave chiave ключ
ключевое ключевой 关键 關鍵 核心 重要 キー 鍵 핵심 키 anahtar kilit sleutel klucz klíč nyckel avain مفتاح رئيسي कुंजी khóa kunci"""
_SUPPORT = """support supporting supports supportive secondary context contextual condition background qualifier
unterstützung unterstuetzung unterstützend stütze stützend beleg apoyo soporte soutien appui apoio suporte
supporto поддержка поддерживающее вспомогательное 支持 支撑 支撐 辅助 輔助 補助 サポート 補足 지원 보조 뒷받침 destek
steun ondersteuning wsparcie podpora stöd støtte tuki دعم داعم समर्थन hỗ_trợ dukungan"""
_UPDATE = """update updates updated updating change changes supersede supersedes replace replaces aktualisierung
aktualisiert änderung actualización actualizacion actualiza mise_à_jour maj atualização atualizacao aggiornamento
обновление обновляет 更新 変更 变更 變更 アップデート 업데이트 갱신 변경 güncelleme bijwerking aktualizacja aktualizace
uppdatering opdatering päivitys تحديث अद्यतन cập_nhật pembaruan"""
_EXPAND = """expand expands expanded expansion extend extends elaborate elaborates support supports answer answers
explain explains erweiterung erweitert ergänzung ergänzt ampliación ampliacion expansión amplía extension développe
expansão expansao ampliação espansione estensione расширение дополнение 扩展 擴展 扩充 補充 补充 拡張 展開 확장 보충
genişletme uitbreiding rozszerzenie rozšíření utvidgning udvidelse laajennus توسيع विस्तार mở_rộng perluasan"""
_ROOT = "root new independent unrelated"

_EDGES = re.compile(r"^[\W_]+|[\W_]+$")


def plain(word: str) -> str:
    """A word as it is looked up.

    Examples:
        >>> plain(" **Schlüssel** ")
        'schlüssel'
    """
    word = unicodedata.normalize("NFKC", word).casefold()
    return re.sub(r"\s+", "_", _EDGES.sub("", word))


def _lookup(**words: str) -> Mapping[str, str]:
    return {plain(word): meaning for meaning, row in words.items() for word in row.split()}


_YES_NO = _lookup(no=_NO, yes=_YES)
_GATE = _lookup(REJECT=_NO, KEY=_KEY, SUPPORT=_SUPPORT)
_RELATIONS = _lookup(NONE=f"{_NO} {_ROOT}", EXPAND=_EXPAND, UPDATE=_UPDATE)


def read_kind(value: object) -> GateKind | Literal["REJECT"] | None:
    """KEY or SUPPORT, REJECT for a word that says no, None for anything else.

    Examples:
        >>> read_kind("Clave"), read_kind("nein"), read_kind("perhaps")
        ('KEY', 'REJECT', None)
    """
    match _meaning(value, _GATE):
        case "KEY":
            return "KEY"
        case "SUPPORT":
            return "SUPPORT"
        case "REJECT":
            return "REJECT"
        case _:
            return None


def read_relation(value: object) -> RelationKind | None:
    """UPDATE, EXPAND or NONE; None for anything else.

    Examples:
        >>> read_relation("扩展"), read_relation("Aktualisierung"), read_relation("so what")
        ('EXPAND', 'UPDATE', None)
    """
    match _meaning(value, _RELATIONS):
        case "UPDATE":
            return "UPDATE"
        case "EXPAND":
            return "EXPAND"
        case "NONE":
            return "NONE"
        case _:
            return None


def read_yes_no(value: object) -> bool | None:
    """What a model answered to a question of yes or no; None when neither can be read.

    Args:
        value: A bool, a word, a sentence that begins with one, or JSON around it.

    Examples:
        >>> read_yes_no("Ja, denn das Thema wechselt."), read_yes_no('{"answer": "no"}')
        (True, False)
        >>> read_yes_no("It depends.") is None
        True
    """
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return {0: False, 1: True}.get(int(value)) if value in (0, 1) else None
    if not isinstance(value, str):
        return None
    text = without_thinking(value).strip()
    found = find_value(text)
    if isinstance(found, dict):
        answers = [answer for item in found.values() if (answer := read_yes_no(item)) is not None]
        return answers[0] if answers else None
    if isinstance(found, bool):
        return found
    meaning = _meaning(text, _YES_NO)
    if meaning is None:
        first = re.split(r"[\s,.;:!?、。，！]", text.lstrip("*_\"'“「 "), maxsplit=1)[0]
        meaning = _meaning(first, _YES_NO)
    return None if meaning is None else meaning == "yes"


def _meaning(value: object, words: Mapping[str, str]) -> str | None:
    return words.get(plain(value)) if isinstance(value, str) else None
