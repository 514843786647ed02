"""What WhatsApp itself writes into the text of a message, in the languages of its phones."""

from __future__ import annotations

import re

from tmem_integrations.importers.whatsapp_lines import DIRECTIONS

_MARK = re.compile(f"[{DIRECTIONS}]")
_ENDS = re.compile(rf"^[{DIRECTIONS}\s]+|[{DIRECTIONS}\s]+$")
_DELETED = re.compile(
    r"(?:This message was deleted|You deleted this message|Diese Nachricht wurde gelöscht"
    r"|Du hast diese Nachricht gelöscht|Se eliminó este mensaje|Eliminaste este mensaje"
    r"|Ce message a été supprimé|Vous avez supprimé ce message|Mensagem apagada|Essa mensagem foi apagada"
    r"|Questo messaggio è stato eliminato|Dit bericht is verwijderd|Это сообщение было удалено"
    r"|Bu mesaj silindi|このメッセージは削除されました|此訊息已刪除|此消息已删除|삭제된 메시지입니다"
    r"|تم حذف هذه الرسالة|यह संदेश हटा दिया गया)[.。]?"
)
_ATTACHED = re.compile(
    r"<(?:attached|Anhang|adjunto|pièce jointe|anexado|allegato|附件|첨부됨|添付ファイル): ?(?P<name>[^>]+)>"
)
_ATTACHED_ANDROID = re.compile(
    r"^(?P<name>\S[^\n]*\.\w{2,5}) \((?:file attached|Datei angehängt|archivo adjunto|fichier joint"
    r"|arquivo anexado|file allegato|附件檔案|文件附件|ファイルが添付されています|파일 첨부됨)\)",
    re.MULTILINE,
)
_LEFT_OUT = re.compile(
    r"^(?:<[^<>\n]*(?:omitted|omitido|ausgeschlossen|weggelassen|weggelaten|omis|omesso|omessi|omitida"
    r"|atlanmış|dahil edilmedi|медиафайлов|пропущен|disertakan|Bỏ qua|省略|忽略|略去|含まれていません|メディアなし"
    r"|생략한 대화내용|미디어 파일 제외됨|الوسائط|לא נכללה|הושמטה|मीडिया के बिना)[^<>\n]*>"
    r"|(?:image|video|audio|sticker|GIF|document|Contact card) omitted)$",
    re.IGNORECASE | re.MULTILINE,
)
_EDITED = re.compile(
    r"\s*<(?:This message was edited|Diese Nachricht wurde bearbeitet|Se editó este mensaje)>$"
)


def is_deleted(raw: str) -> bool:
    """Whether WhatsApp says that a message was deleted, and nothing else.

    Examples:
        >>> is_deleted("\\u200eThis message was deleted."), is_deleted("This message was deleted by Bo?")
        (True, False)
    """
    return bool(_DELETED.fullmatch(_MARK.sub("", raw).strip()))


def shown_text(raw: str) -> str | None:
    """The text with files named; None where WhatsApp itself speaks, which iOS marks with U+200E.

    Examples:
        >>> shown_text("\\u200e<attached: plan.pdf>"), shown_text("\\u200eAnn created this group")
        ('[file: plan.pdf]', None)
    """
    text = _EDITED.sub("", raw)
    text = _ATTACHED.sub(lambda m: f"[file: {m['name']}]", text)
    text = _ATTACHED_ANDROID.sub(lambda m: f"[file: {m['name']}]", text)
    is_marked = text.startswith("\u200e")
    bare = _ENDS.sub("", _MARK.sub("", text) if is_marked else text)
    named = _LEFT_OUT.sub("[file left out]", bare)
    if is_marked and text == raw and named == bare:
        return None
    return named
