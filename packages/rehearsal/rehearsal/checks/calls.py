"""Calls of programs in the cluster to cloud APIs."""

from __future__ import annotations

from collections.abc import Iterator

from rehearsal.scenario.check import Check
from rehearsal.scenario.cloud_calls import Calls


def calls_allowed(calls: Calls) -> Iterator[Check]:
    """Programs in the cluster were permitted all their calls to the cloud; no check if there was no call.

    A denied call may have no other visible effect: a queue that cannot be read looks like an empty one.
    """
    if calls.made:
        detail = "; ".join(calls.denied) or f"{calls.made} calls, none denied"
        yield Check(
            "cloud-calls-allowed",
            "Programs in the cluster are permitted all their cloud API calls",
            not calls.denied,
            detail,
        )
