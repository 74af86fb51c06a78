"""Reads Kubernetes service accounts whose pods get a role of a cloud."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from policies.readers.eks.roles import read_service_account, roles_among
from policies.readers.resource import Reader, Referrer

_ACCOUNTS: Final = ("kubernetes:core/v1:ServiceAccount", "kubernetes:core/v1:ServiceAccountPatch")

READERS: Final[Mapping[str, Reader]] = dict.fromkeys(_ACCOUNTS, read_service_account)

REFERRERS: Final[Mapping[str, Referrer]] = dict.fromkeys(
    _ACCOUNTS,
    Referrer(refers=lambda _: False, finds=lambda declared, everything: roles_among(declared, "metadata", everything)),
)
