"""The version that a remedy advises is one that the cloud still has in the stack's channel."""

from __future__ import annotations

from datetime import date

import pytest

from components.settings import load
from components.settings.limits.common import oldest_version
from tests.components.settings.test_clouds import account, own_keys


@pytest.mark.parametrize(
    ("channel", "day", "expected"),
    [
        ("regular", "2026-09-30", "1.34"),
        ("regular", "2026-10-01", "1.35"),
        ("regular", "2027-04-11", "1.36"),
        ("extended", "2026-11-29", "1.34"),
        # The last day of all support is one with support, as for a version that is written.
        ("extended", "2027-09-30", "1.34"),
        ("extended", "2027-10-01", "1.35"),
    ],
)
def test_the_oldest_version_is_not_in_another_channel(channel: str, day: str, expected: str) -> None:
    keys = own_keys("gke", kubernetes={"channel": channel})
    settings = load(keys, stack="one", project=account("gke"), day=date.fromisoformat(day))
    assert oldest_version(settings, 34) == expected
