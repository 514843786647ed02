"""Failures of a model's service: will it pass, is it the content, or will it stay?

Read from what the clients of all services share (status, code, headers, the exception's name), so that
no client is imported. The error's own text is never repeated: it may quote the prompt or a key.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from tmem_integrations.protocols import Failure, Reply

_MAX_CHAIN = 8
_PERMANENT_CODES = frozenset(
    {"insufficient_quota", "billing_hard_limit_reached", "invalid_api_key", "model_not_found"}
)
_PASSING_STATUS = frozenset({408, 409, 425, 429})
_FORM_STATUS = frozenset({400, 404, 405, 415, 422, 501})
_CONTENT_NAMES = re.compile(
    r"content_?(?:filter|polic)|responsibleai|safety|blocked|refusal|moderation"
    r"|context_?(?:length|window|size)|length_?(?:exceeded|finish)|too_?(?:large|long)|string_above_max",
    re.IGNORECASE,
)
_CONTENT_TEXTS = re.compile(
    r"context (?:length|window|size)|too many (?:input )?tokens|prompt is too long"
    r"|content (?:filter|management|polic)|safety (?:system|setting)",
    re.IGNORECASE,
)
_PASSING_NAMES = re.compile(
    r"timeout|connect|network|protocolerror|readerror|writeerror|closed|overloaded|unavailable|throttl"
    r"|ratelimit|resourceexhausted|internalserver|jsondecode|responsevalidation|incompleteread",
    re.IGNORECASE,
)
_WAIT_TEXT = re.compile(
    r"(?:try again|retry) (?:in|after)\s+(?:(\d{1,4})m)?(\d{1,6}(?:\.\d{1,9})?)\s*(ms|s\b|sec|$)"
    r"|retry_?delay\W{1,5}()(\d{1,6}(?:\.\d{1,9})?)(s)",
    re.IGNORECASE,
)


def classify_error(error: BaseException) -> Failure:
    """What can be done about an exception of a model's client.

    Returns:
        "transient" for time-outs, rate limits, faults of the service and of the connection; "content"
        when the service refuses this very prompt (a filter, its length), so that a part of it may
        pass; "permanent" for all else, such as a wrong key or an exhausted quota.

    Examples:
        >>> classify_error(TimeoutError()), classify_error(KeyError("model"))
        ('transient', 'permanent')
    """
    chain = list(_chain(error))
    codes = {code.casefold() for link in chain for code in _codes(link)}
    if codes & _PERMANENT_CODES:
        return "permanent"
    status = next((found for link in chain if (found := _status(link)) is not None), None)
    if status in (401, 403):
        return "permanent"
    names = codes | {type(link).__name__ for link in chain}
    if status == 413 or any(_CONTENT_NAMES.search(name) for name in names):
        return "content"
    if status is not None:
        if status in _PASSING_STATUS or status >= 500:
            return "transient"
        refused = status in (400, 422) and any(_CONTENT_TEXTS.search(str(link)) for link in chain)
        return "content" if refused else "permanent"
    bases = {base.__name__ for link in chain for base in type(link).__mro__}
    passing = any(_PASSING_NAMES.search(name) for name in bases | codes)
    return "transient" if passing else "permanent"


def is_refused_request(error: BaseException) -> bool:
    """Whether the service, or its client, does not take a call of this form, whatever it is about.

    Examples:
        >>> is_refused_request(NotImplementedError()), is_refused_request(ConnectionError())
        (True, False)
    """
    chain = list(_chain(error))
    status = next((found for link in chain if (found := _status(link)) is not None), None)
    if status is None:
        return isinstance(error, NotImplementedError | TypeError | ValueError)
    return status in _FORM_STATUS and classify_error(error) != "content"


def classify_blank(finish_reason: str | None, refusal: object = None) -> Failure:
    """What can be done about an answer without text.

    Examples:
        >>> classify_blank("content_filter"), classify_blank("stop", "I cannot"), classify_blank("stop")
        ('content', 'content', 'transient')
    """
    blocked = refusal or (finish_reason or "").casefold() in ("content_filter", "length", "safety")
    return "content" if blocked else "transient"


def retry_after_seconds(error: BaseException, *, now: float | None = None) -> float | None:
    """How long the service asks to wait, from its headers, else from its message.

    Args:
        error: An exception of a model's client; the exceptions that caused it are read too.
        now: POSIX seconds, for a Retry-After that names a date; the clock's when None.

    Returns:
        Seconds, at least 0; None when the service says nothing.

    Examples:
        >>> retry_after_seconds(RuntimeError("Rate limit reached. Please try again in 1m2.5s."))
        62.5
    """
    for link in _chain(error):
        headers = getattr(getattr(link, "response", None), "headers", None)
        if isinstance(headers, Mapping):
            wait = _wait_of_headers(headers, time.time() if now is None else now)
            if wait is not None:
                return wait
    for link in _chain(error):
        if found := _WAIT_TEXT.search(str(link)[:2_000]):
            minutes, number, unit = found.groups()[:3] if found[2] else found.groups()[3:]
            return int(minutes or 0) * 60 + float(number) / (1000 if unit == "ms" else 1)
    return None


def reply_from_error(error: BaseException) -> Reply:
    """A failed call as a reply, with nothing of the prompt or the key in it."""
    return Reply(
        "",
        error=describe_error(error),
        failure=classify_error(error),
        retry_after=retry_after_seconds(error),
    )


def describe_error(error: BaseException) -> str:
    """An exception by its name, status and code alone.

    Examples:
        >>> describe_error(ConnectionResetError("secret"))
        'ConnectionResetError'
    """
    status = next((found for link in _chain(error) if (found := _status(link)) is not None), None)
    codes = [code for link in _chain(error) for code in _codes(link) if code != str(status)]
    code = codes[0] if codes and re.fullmatch(r"[\w.-]{1,40}", codes[0]) else None
    details = " ".join(str(part) for part in (status, code) if part is not None)
    return f"{type(error).__name__} ({details})" if details else type(error).__name__


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and what caused it."""
    link: BaseException | None = error
    for _ in range(_MAX_CHAIN):
        if link is None:
            return
        yield link
        link = link.__cause__ or link.__context__


def _status(error: BaseException) -> int | None:
    response = getattr(error, "response", None)
    for value in (
        getattr(error, "status_code", None),
        getattr(response, "status_code", None),
        getattr(error, "status", None),
        getattr(error, "code", None),
        _details(error).get("code"),
    ):
        if isinstance(value, int) and not isinstance(value, bool) and 400 <= value <= 599:
            return int(value)
    return None


def _codes(error: BaseException) -> Iterator[str]:
    details = _details(error)
    inner = details.get("innererror")
    values = [getattr(error, "code", None), details.get("code")]
    values += [getattr(error, "type", None), details.get("type"), details.get("status")]
    values += [inner.get("code")] if isinstance(inner, Mapping) else []
    yield from (value for value in values if isinstance(value, str))


def _details(error: BaseException) -> Mapping[str, Any]:
    """The error object that the service sent."""
    body = getattr(error, "body", None)
    if not isinstance(body, Mapping) and error.args:
        body = error.args[0]
    if isinstance(body, Mapping) and isinstance(body.get("error"), Mapping):
        body = body["error"]
    return body if isinstance(body, Mapping) else {}


def _wait_of_headers(headers: Mapping[str, str], now: float) -> float | None:
    known = {str(name).casefold(): value for name, value in headers.items()}
    for name, per_second in (("retry-after-ms", 1000), ("retry-after", 1)):
        try:
            wait = float(known[name]) / per_second
        except (KeyError, TypeError, ValueError):
            continue
        if math.isfinite(wait):
            return max(0.0, wait)
    try:
        return max(0.0, parsedate_to_datetime(known["retry-after"]).timestamp() - now)
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
