"""One operation at a time: AKS refuses what comes while another changes the same cluster or one of its pools.

The refusal as users quote it: https://github.com/cilium/cilium/issues/25944. Azure waits for some of what comes
together and not for the rest (https://github.com/Azure/AKS/issues/2720, https://github.com/Azure/AKS/issues/4522), so
the Terraform provider takes a lock on the subnet
(https://github.com/hashicorp/terraform-provider-azurerm/issues/32682). Here it refuses all.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus

from rehearsal.providers.aks.errors import api_error


class Operations:
    """Running operations by cluster id. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[str, str] = {}

    @contextmanager
    def only(self, cluster: str, what: str) -> Iterator[None]:
        """Run an operation on a cluster; 409 while another one runs."""
        key = cluster.lower()
        with self._lock:
            other = self._running.get(key)
            if other is not None:
                raise api_error(
                    HTTPStatus.CONFLICT,
                    "OperationNotAllowed",
                    f"Operation is not allowed: Another agentpool operation ({other}) is in progress, please wait for "
                    "it to finish before starting a new operation. See https://aka.ms/aks-pending-operation for more "
                    "details",
                )
            self._running[key] = what
        try:
            yield
        finally:
            with self._lock:
                del self._running[key]
