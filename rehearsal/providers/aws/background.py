"""What runs beside the engine's calls: the governor, which decides what cluster-autoscaler would scale."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from rehearsal.providers.aws.account import Account
from rehearsal.providers.aws.autoscaling.governor import Governor
from rehearsal.providers.aws.groups import NODE_GROUP, Groups
from rehearsal.providers.aws.network import CLUSTER

_QUIET_SECONDS: Final = 0.5
_log = logging.getLogger(__name__)

_DECIDES: Final = (NODE_GROUP, "aws:autoscaling/", "aws:eks/", "aws:iam/")
"""Types whose changes may change what an autoscaler sees or may do."""


class Background:
    """Starts the governor with the first cluster; ``stop`` ends it for good."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self._groups = Groups(account)
        self._governor: Governor | None = None
        self._lock = threading.Lock()
        self._stopped = False
        self._timer: threading.Timer | None = None

    @contextmanager
    def around(self, type: str) -> Iterator[None]:
        """A change of a resource of that type: the governor looks as soon as it is over."""
        try:
            yield
        finally:
            self.start()
            if self._governor is not None and type.startswith(_DECIDES):
                if type == NODE_GROUP:
                    self._groups.changed()
                    self._settle(self._governor)
                else:
                    self._wake_soon()

    def start(self) -> None:
        """Start the governor if there is something to govern."""
        with self._lock:
            if self._governor is not None or self._stopped or self._account.fleet is None:
                return
            clusters = self._account.store.all(CLUSTER)
            if clusters:
                account = replace(self._account, region=clusters[0].outputs["region"])
                self._governor = Governor(account, self._groups)
                self._governor.start()

    def stop(self) -> None:
        """End the governor's thread."""
        with self._lock:
            self._stopped = True
            if self._timer is not None:
                self._timer.cancel()
            if self._governor is not None:
                self._governor.stop()

    def _wake_soon(self) -> None:
        """Wake the governor when a moment has passed without a further change: a program declares many tags at once."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            if not self._stopped:
                self._timer = threading.Timer(_QUIET_SECONDS, self._groups.changed)
                self._timer.daemon = True
                self._timer.start()

    def _settle(self, governor: Governor) -> None:
        try:
            governor.refresh()
        except Exception as error:
            # Its thread looks again; a group's own failure has been reported by the call that made it.
            _log.info("the autoscaler's view of the node groups: %s", error)
