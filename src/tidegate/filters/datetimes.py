"""Which instant does a string name?

A string constant compared with a date or a timestamp is cast once, when the filter is read, the
way Spark's ANSI cast does it with the session in UTC; typed literals (``DATE '...'``,
``TIMESTAMP '...'``) go through the same functions.

Invariant: a value is returned only if Spark gives the same value today and on any other day. What
Spark would answer from its clock ('now', 'today', a time without a date) is refused, and so are
years outside 0001..9999, which Python's dates cannot hold, and zones written without a region
('PST', 'Japan'), whose meaning depends on a table inside the JVM.

Regions are read from the package tzdata, of one edition, and never from the files of the machine,
which differ from each other, and before 1970 from Java's: so a text means one thing everywhere.
"""

import re
from datetime import date, datetime, timedelta
from functools import lru_cache
from importlib.resources import files
from zoneinfo import ZoneInfo

__all__ = ["BLANKS", "to_date", "to_timestamp", "to_timestamp_ntz"]

BLANKS = "".join(map(chr, range(0x21))) + "\x7f"
"""What Spark trims from both ends of a string before it casts it: spaces and ASCII controls."""

_DAY = r"([+-]?)([0-9]{{4,{years}}})(?:-([0-9]{{1,2}})(?:-([0-9]{{1,2}})(?:{rest})?)?)?"
_CLOCK = r"[ T]([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]*))?(.*))?)?"
_DATE = re.compile(_DAY.format(years=7, rest="[ T].*"), re.DOTALL)
_TIMESTAMP = re.compile(_DAY.format(years=6, rest=_CLOCK), re.DOTALL)

_SPECIAL = re.compile(r"(?:now|today|tomorrow|yesterday|epoch)\b", re.IGNORECASE)
_TIME_ONLY = re.compile(r"T[0-9]|[0-9]{1,2}:")
_OFFSET = re.compile(
    r"(?:UTC|GMT|UT)?([+-])(?:([0-9]{1,2})(?::([0-9]{1,2}))?"
    r"|([0-9]{1,2}):([0-9]{2}):([0-9]{2})|([0-9]{2})([0-9]{2})([0-9]{2})?)"
)
_REGION = re.compile(r"(?!posix/|right/)[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+)+")


def to_date(text: str) -> date:
    """The date of ``CAST(text AS DATE)``; what follows the day after a space or a T is ignored.

    >>> to_date(" 2020-1-31 12:00:00")
    datetime.date(2020, 1, 31)
    >>> to_date("2020")
    datetime.date(2020, 1, 1)
    """
    trimmed = text.strip(BLANKS)
    found = _DATE.fullmatch(trimmed)
    if found is None:
        _refuse_moving(trimmed)
        raise ValueError(f"{_show(text)} is not a date: write it as '2020-01-31'")
    sign, year, month, day = found.groups()
    _check_year(sign, year)
    try:
        return date(int(year), int(month or 1), int(day or 1))
    except ValueError as problem:
        raise ValueError(f"{_show(text)} is not a date: {problem}") from None


def to_timestamp(text: str) -> datetime:
    """The instant of ``CAST(text AS TIMESTAMP)``, in UTC and naive; beyond microseconds is cut.

    >>> to_timestamp("2020-01-31 1:02:03.5")
    datetime.datetime(2020, 1, 31, 1, 2, 3, 500000)
    >>> to_timestamp("2020-07-01T12:00:00 Europe/Paris")
    datetime.datetime(2020, 7, 1, 10, 0)
    """
    local, ahead = _local(text)
    try:
        return local - ahead
    except OverflowError:
        raise ValueError(
            f"{_show(text)} falls outside the years 0001..9999 in UTC: write an instant inside them"
        ) from None


def to_timestamp_ntz(text: str) -> datetime:
    """The local time of ``CAST(text AS TIMESTAMP_NTZ)``: a zone must be valid, and is ignored.

    >>> to_timestamp_ntz("2020-07-01T12:00:00 Europe/Paris")
    datetime.datetime(2020, 7, 1, 12, 0)
    """
    return _local(text)[0]


def _local(text: str) -> tuple[datetime, timedelta]:
    """The local time that is written, and how far its zone is ahead of UTC."""
    trimmed = text.strip(BLANKS)
    found = _TIMESTAMP.fullmatch(trimmed)
    if found is None:
        _refuse_moving(trimmed)
        raise ValueError(
            f"{_show(text)} is not a timestamp: write it as '2020-01-31 12:34:56.5', "
            "or '2020-01-31 12:34:56+02:00' with a zone (which needs the seconds)"
        )
    sign, year, month, day, hour, minute, second, fraction, zone = found.groups()
    _check_year(sign, year)
    try:
        local = datetime(
            int(year),
            int(month or 1),
            int(day or 1),
            int(hour or 0),
            int(minute or 0),
            int(second or 0),
            int((fraction or "")[:6].ljust(6, "0")),
        )
    except ValueError as problem:
        raise ValueError(f"{_show(text)} is not a timestamp: {problem}") from None
    return local, _offset(zone.strip(BLANKS[:-1]), local) if zone else timedelta()


def _offset(zone: str, local: datetime) -> timedelta:
    """How far ``zone`` is ahead of UTC at that local time.

    Where the clocks go back the first of the two instants is meant, where they go forward the
    offset before the change holds: ``fold=0``, and what java.time does.
    """
    if zone in ("Z", "UTC", "GMT", "UT", "GMT0"):
        return timedelta()
    fixed = _OFFSET.fullmatch(zone)
    if fixed is not None:
        sign, *parts = (part for part in fixed.groups() if part is not None)
        hours, minutes, seconds = ([*map(int, parts), 0, 0])[:3]
        offset = timedelta(hours=hours, minutes=minutes, seconds=seconds)
        if minutes > 59 or seconds > 59 or offset > timedelta(hours=18):
            raise ValueError(f"zone {_show(zone)} is not within -18:00..+18:00")
        return -offset if sign == "-" else offset
    if _REGION.fullmatch(zone):
        offset_or_none = _region(zone).utcoffset(local)
        assert offset_or_none is not None  # only a tzinfo without a zone answers None
        return offset_or_none
    raise ValueError(
        f"zone {_show(zone)} is not understood: write Z, an offset such as +02:00, "
        "or a region such as Europe/Paris"
    )


@lru_cache(maxsize=1024)
def _region(name: str) -> ZoneInfo:
    try:
        with files("tzdata.zoneinfo").joinpath(*name.split("/")).open("rb") as file:
            return ZoneInfo.from_file(file, key=name)
    except (OSError, ValueError):
        raise ValueError(
            f"there is no time zone {_show(name)}: write a region such as Europe/Paris "
            "or an offset such as +02:00"
        ) from None


def _check_year(sign: str, year: str) -> None:
    if sign == "-" or not 1 <= int(year) <= 9999:
        raise ValueError(f"year {sign}{year} is outside 0001..9999: write a year inside them")


def _refuse_moving(trimmed: str) -> None:
    """Refuse what Spark would answer from its clock, saying so."""
    if _SPECIAL.match(trimmed):
        raise ValueError(
            f"{_show(trimmed)} would change with the day it is read: write the date itself"
            if trimmed[:1] not in "eE"
            else f"{_show(trimmed)} is not read as a date: write '1970-01-01'"
        )
    if _TIME_ONLY.match(trimmed):
        raise ValueError(
            f"{_show(trimmed)} has no date, so it would mean another instant each day: "
            "write the date before the time"
        )


def _show(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")
