"""``maintenance``: when the cloud may upgrade the cluster by itself."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, StrictInt, StrictStr, ValidationInfo, field_validator

from components.settings.fields.types import PoolName, Section, once, wrong

Day = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
DAYS: Final[tuple[Day, ...]] = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def _hour(text: str) -> str:
    hour, colon, minute = text.partition(":")
    if not (colon and len(hour) == len(minute) == 2 and hour.isdecimal() and minute == "00" and int(hour) < 24):
        raise wrong(f"'{text}' is not a full hour of the day", "Write for example '02:00', in UTC and in quotes")
    return text


def _day(text: str) -> str:
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        # As the engine reads a date without quotes.
        day = text.removesuffix(" 00:00:00 +0000 UTC")
        remedy = "Write for example 2027-03-01" if day == text else f"Write '{day}', in quotes"
        raise wrong(f"'{text}' is not a date", remedy) from None


Date = Annotated[StrictStr, AfterValidator(_day)]


class Exclusion(Section):
    """Days without upgrades, such as those before a deadline."""

    name: PoolName = Field(description="a name, such as the deadline")
    first: Date = Field(description="first day, UTC, such as `'2027-03-01'`")
    last: Date = Field(description="last day, UTC")

    @field_validator("last")
    @classmethod
    def _last(cls, value: str, info: ValidationInfo) -> str:
        first = info.data.get("first")
        if first is not None and value < first:
            raise wrong(f"{value} is before {first}", "Write the first day first")
        return value

    @property
    def days(self) -> int:
        """How many."""
        return (date.fromisoformat(self.last) - date.fromisoformat(self.first)).days + 1

    @property
    def end(self) -> str:
        """The day after the last one."""
        return (date.fromisoformat(self.last) + timedelta(days=1)).isoformat()


class Maintenance(Section):
    """The weekly window in which the cloud may upgrade. GPU jobs keep their nodes (docs/operations.md)."""

    day: Day = Field(default="sunday", description="weekday on which the window opens, UTC")
    start: Annotated[StrictStr, AfterValidator(_hour)] = Field(
        default="02:00", description="hour at which the window opens, UTC"
    )
    hours: Annotated[StrictInt, Field(ge=4, le=24)] = Field(
        default=12, description="length of the window in hours, 4 to 24"
    )
    exclusions: Annotated[
        tuple[Exclusion, ...],
        once("two exclusions have the same name", "Give each a unique name", lambda each: each.name),
    ] = Field(default=(), description="days without upgrades")

    @property
    def window(self) -> str:
        """The window in words: ``sunday 02:00 12 h``."""
        return f"{self.day} {self.start} {self.hours} h"

    @property
    def weekday(self) -> int:
        """The day it opens on, 0 for Monday."""
        return DAYS.index(self.day)

    @property
    def opens(self) -> int:
        """The hour it opens."""
        return int(self.start[:2])
