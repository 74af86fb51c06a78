"""Which keys have encrypted data of a simulated account. Data stays under its key when its holder gets another one, so
the user of the key needs both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from rehearsal.providers.base import Properties
from rehearsal.providers.cloud import Record, SimulatedCloud

ENCRYPTED: Final = "encrypted"
"""The type of these records. Their ids begin with the holder's, so that they are deleted with it."""


def record_key(cloud: SimulatedCloud, holder: str, key: str, user: str) -> None:
    """``user`` encrypts what the resource ``holder`` (an id) holds with ``key`` from now on."""
    record = Record(f"{holder}/keys/{user}/{key}", ENCRYPTED, {"holder": holder, "key": key, "user": user})
    cloud.store.put(record)


def forget_keys(cloud: SimulatedCloud, holder: str, user: str) -> None:
    """``user`` has written all that ``holder`` holds again, so that no key of before is in use."""
    for each in cloud.store.all(ENCRYPTED):
        if (each.inputs["holder"], each.inputs["user"]) == (holder, user):
            cloud.store.remove(ENCRYPTED, each.id)


def unreadable(cloud: SimulatedCloud, may_use: Callable[[str, str, str], bool]) -> list[str] | None:
    """What cannot be read any more, as sentences; ``None`` in an account without customers' keys.

    ``may_use`` answers whether a user (the third argument) of a holder's (the first) may use a key (the second).
    """
    there = {each.id for each in cloud.store.everything()}
    used = [each.inputs for each in cloud.store.all(ENCRYPTED) if each.inputs["holder"] in there]
    sentence = "{holder} has data under {key}, which {problem}"
    wrong = [
        sentence.format_map({**one, "problem": problem})
        for one in used
        if (problem := _problem(cloud, one, may_use(one["holder"], one["key"], one["user"])))
    ]
    return wrong if used else None


def _problem(cloud: SimulatedCloud, used: Properties, may: bool) -> str:
    """Why data is unreadable: its key was deleted or disabled, or its user lost the right to use it.

    https://cloud.google.com/kms/docs/key-states, https://learn.microsoft.com/azure/aks/use-kms-etcd-encryption
    """
    if not cloud.account_limits.has_key(used["key"]):
        return "is not among the account's keys any more"
    return "" if may else f"{used['user']} may not use any more"
