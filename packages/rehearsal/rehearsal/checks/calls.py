"""Calls of programs in the cluster to cloud APIs."""

from __future__ import annotations

from collections.abc import Iterator

from rehearsal.scenario.check import Check
from rehearsal.scenario.cloud_calls import Calls


def calls_allowed(calls: Calls) -> Iterator[Check]:
    """Programs in the cluster had the right to every call that they made to the cloud; no check where none made any.

    What such a call was for may be missing without a trace: a queue that nobody reads looks like a quiet one.
    """
    if calls.made:
        detail = "; ".join(calls.denied) or f"{calls.made} calls, none denied"
        yield Check(
            "cloud-calls-allowed",
            "Programs in the cluster are permitted all their cloud API calls",
            not calls.denied,
            detail,
        )
