"""Wall times of a log to moments: zones, the hour that comes twice, the hour that never was."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo

from tmem_integrations.errors import ImportFormatError
from tmem_integrations.importers.report import ImportReport


class WallClock:
    """Reads the wall times of one log, in the order of its lines.

    When clocks are set back an hour comes twice. Lines follow each other, so the second pass begins
    where the clock falls back; until then the first is meant. A time that clocks skipped is read as
    if they had not been set yet.

    Args:
        zone: Where the log was written; None asks for it at the first time without an offset.
        report: Gets a warning for each such time.
    """

    def __init__(self, zone: tzinfo | None, report: ImportReport) -> None:
        self.zone = zone
        self._report = report
        self._last: datetime | None = None

    def moment(self, wall: datetime) -> datetime:
        """The moment of a wall time, in UTC.

        Raises:
            ImportFormatError: If the zone is not known, or the time is outside the years 1 to 9999.
        """
        if self.zone is None:
            raise ImportFormatError(
                f"expected a timezone for {wall}, found none; say where the log was written: "
                'timezone="Europe/Berlin".'
            )
        try:
            first = wall.replace(tzinfo=self.zone, fold=0).astimezone(UTC)
            second = wall.replace(tzinfo=self.zone, fold=1).astimezone(UTC)
        except OverflowError as error:
            raise ImportFormatError(
                f"expected a time in the years 1 to 9999, found {wall}."
            ) from error
        moment = first
        if first < second:
            self._report.warn("time that came twice when clocks were set back", str(wall))
            moment = second if self._last is not None and first < self._last else first
        elif first > second:
            self._report.warn("time that clocks skipped", str(wall))
        self._last = moment
        return moment
