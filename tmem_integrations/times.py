"""Times as a caller gives them and as stores keep them: aware and UTC in between."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tmem_integrations.errors import MessageError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
# POSIX seconds beyond this are year 5138: certainly milliseconds or finer.
_LARGEST_SECONDS = 1e11


def to_microseconds(time: datetime) -> int:
    """Microseconds since 1970 UTC: what stores keep, exact where floats would round."""
    return (time - _EPOCH) // _MICROSECOND


def from_microseconds(microseconds: int) -> datetime:
    """Inverse of `to_microseconds`."""
    return _EPOCH + timedelta(microseconds=microseconds)


def zone_of(timezone: str | tzinfo | None) -> tzinfo | None:
    """Read a zone given as IANA name or tzinfo.

    Raises:
        MessageError: If the name is not a known zone.
    """
    if timezone is None or isinstance(timezone, tzinfo):
        return timezone
    if timezone.upper() == "UTC":
        return UTC
    try:
        return ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise MessageError(
            f"timezone must be an IANA name such as 'Europe/Berlin', got {timezone!r}."
        ) from error


def read_time(value: object, timezone: str | tzinfo | None, where: str) -> datetime:
    """Read a time as aware UTC.

    Args:
        value: A datetime, an ISO 8601 text, or POSIX seconds.
        timezone: Zone of times that carry none.
        where: How an error names the place, such as "Message 'm1': sent_at".

    Raises:
        MessageError: If `value` is no time, or has no zone and `timezone` is None.
    """
    if isinstance(value, bool) or value is None:
        raise MessageError(f"{where} must be a datetime, ISO 8601 text or seconds, got {value!r}.")
    if isinstance(value, int | float):
        return _time_from_seconds(as_float(value), where)
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError as error:
            raise MessageError(
                f"{where} must be ISO 8601, got {value!r}; write it as 2026-03-12T12:00 or 2026-03-12."
            ) from error
    if not isinstance(value, datetime):
        raise MessageError(f"{where} must be a datetime, ISO 8601 text or seconds, got {value!r}.")
    if value.tzinfo is None or value.utcoffset() is None:
        zone = zone_of(timezone)
        if zone is None:
            raise MessageError(
                f'{where} {value} has no timezone; pass timezone="Europe/Berlin" (or yours).'
            )
        value = value.replace(tzinfo=zone)
    try:
        return value.astimezone(UTC)
    except OverflowError as error:
        raise MessageError(f"{where} {value} is outside the years 1 to 9999.") from error


def as_float(number: float) -> float:
    """A number as float; infinite where it is too large to be one."""
    try:
        return float(number)
    except OverflowError:
        return math.inf


def _time_from_seconds(seconds: float, where: str) -> datetime:
    if not math.isfinite(seconds) or abs(seconds) >= _LARGEST_SECONDS:
        raise MessageError(
            f"{where} must be POSIX seconds, got {seconds!r}; milliseconds need division by 1000."
        )
    try:
        return _EPOCH + timedelta(seconds=seconds)
    except OverflowError as error:
        raise MessageError(f"{where} {seconds!r} is outside the years 1 to 9999.") from error
