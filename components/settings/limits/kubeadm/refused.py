"""What a stack file with cloud: kubeadm does not support: one row each."""

from __future__ import annotations

from typing import Final

from components.settings.fields.answers import Refused
from components.settings.limits.own import MADE_BY_CLOUDS

REFUSED: Final[tuple[Refused, ...]] = (
    *MADE_BY_CLOUDS,
    Refused(
        keys=("pools.mig",),
        message="own machines have no MIG yet, whose partitions are lost at each reboot and would have to be made "
        "again",
        remedy="Leave it out, or write timeSharing: {clientsPerGpu: 2}, which does not isolate pods",
    ),
)
