"""Times as people type them: 2026-03-12T12:00, yesterday, 3 days ago, 12 March 17:00."""

from __future__ import annotations

import re
from datetime import UTC, datetime, time

from tmem_integrations.errors import QueryError

_CLOCK = re.compile(r"(?P<day>.*?)\s+(?:at\s+)?(?P<hour>\d{1,2}):(?P<minute>\d\d)", re.IGNORECASE)


def read_moment(
    text: str | None, timezone: str | None, option: str, *, now: datetime | None = None
) -> datetime | None:
    """Read a time given on the command line; a day alone is its beginning.

    Args:
        text: ISO 8601, or a day in English, with a time of day after it or without; None for none.
        timezone: Zone of what carries none; UTC when None.
        option: How an error names it.
        now: From when "yesterday" is counted; the clock's when None.

    Raises:
        QueryError: If it is neither; tells the forms.
    """
    from tmem_integrations.dates import read_day
    from tmem_integrations.times import read_time, zone_of

    if text is None:
        return None
    zone = zone_of(timezone) or UTC
    bare = text.strip()
    try:
        moment = datetime.fromisoformat(bare)
    except ValueError:
        clock = _CLOCK.fullmatch(bare)
        day = read_day(clock["day"] if clock else bare, now=now or datetime.now(UTC), zone=zone)
        try:
            at = time(int(clock["hour"]), int(clock["minute"])) if clock else time.min
        except ValueError:
            day = None
        if day is None:
            raise QueryError(
                f"{option} must be a time such as 2026-03-12T12:00, 2026-03-12, yesterday, '3 days ago' or "
                f"'12 March 2026 17:00', got {text!r}."
            ) from None
        moment = datetime.combine(day, at)
    return read_time(moment, zone, option)
