"""Background threads: the autoscaler simulation decides what cluster-autoscaler would scale, and the node joiner turns
instances into nodes.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from rehearsal.providers.eks.autoscaling.autoscaler_simulation import AutoscalerSimulation
from rehearsal.providers.eks.aws_api.pod_identity import AUDIENCE
from rehearsal.providers.eks.aws_api.server import AwsServer
from rehearsal.providers.eks.base.account import Account
from rehearsal.providers.eks.machines.node_joiner import NodeJoiner
from rehearsal.providers.eks.resources.groups import NODE_GROUP
from rehearsal.providers.eks.resources.network import CLUSTER
from rehearsal.simulation import Injection

_log = logging.getLogger(__name__)

_TOKEN_FILE: Final = "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"


class Background:
    """Starts both with the first cluster; ``stop`` ends them for good. ``server`` is AWS for the cluster's pods."""

    def __init__(self, account: Account, server: AwsServer | None) -> None:
        self._account = account
        self._server = server
        self._autoscaler: AutoscalerSimulation | None = None
        self._node_joiner: NodeJoiner | None = None
        self._lock = threading.Lock()
        self._stopped = False

    @contextmanager
    def around(self, type: str) -> Iterator[None]:
        """Wraps a change of a resource of that type: the autoscaler simulation evaluates a group right afterwards."""
        try:
            yield
        finally:
            self.start()
            if self._autoscaler is not None and type == NODE_GROUP:
                try:
                    self._autoscaler.refresh()
                except Exception as error:
                    # Its thread looks again; a group's own failure has been reported by the call that made it.
                    _log.info("the autoscaler's view of the node groups: %s", error)

    def start(self) -> None:
        """Start the threads if there is a cluster."""
        with self._lock:
            if self._autoscaler is not None or self._stopped or self._account.fleet is None:
                return
            clusters = self._account.store.all(CLUSTER)
            if clusters:
                account = replace(self._account, region=clusters[0].outputs["region"])
                self._autoscaler = AutoscalerSimulation(account)
                self._autoscaler.start()
                self._node_joiner = NodeJoiner(account)
                self._node_joiner.start()
                if self._server is not None:
                    account.machines().inject_with(self._injection)

    def stop(self) -> None:
        """End the threads."""
        with self._lock:
            self._stopped = True
            for thread in filter(None, (self._autoscaler, self._node_joiner)):
                thread.close()

    def _injection(self, namespace: str, service_account: str) -> Injection:
        """What EKS's webhook adds to a pod, and the address of the simulated AWS API."""
        assert self._server is not None
        environment = self._server.pod_environment(namespace, service_account)
        # Pods do not reach the metadata service of their node, nor that of the machine on which this is rehearsed.
        environment["AWS_EC2_METADATA_DISABLED"] = "true"
        if environment.pop(_TOKEN_FILE, None) is None:
            return Injection(environment)
        return Injection(environment, AUDIENCE, _TOKEN_FILE)
