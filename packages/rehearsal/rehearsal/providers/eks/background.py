"""Background threads: the autoscaler simulation decides what cluster-autoscaler would scale, and the node joiner turns
instances into nodes.
"""

from __future__ import annotations

import logging
import threading
from typing import Final

from rehearsal.providers.eks.autoscaling.autoscaler_simulation import AutoscalerSimulation
from rehearsal.providers.eks.aws_api.server import AUDIENCE, AwsServer
from rehearsal.providers.eks.cloud import Account
from rehearsal.providers.eks.machines.node_joiner import NodeJoiner
from rehearsal.providers.eks.network import CLUSTER
from rehearsal.providers.eks.nodes import NODE_GROUP
from rehearsal.simulation import Injection

_log = logging.getLogger(__name__)

_TOKEN_FILE: Final = "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"


class Background:
    """Starts both with the first cluster; ``stop`` ends them for good. ``server`` is AWS for the cluster's pods."""

    def __init__(self, server: AwsServer | None) -> None:
        self._server = server
        self._autoscaler: AutoscalerSimulation | None = None
        self._node_joiner: NodeJoiner | None = None
        self._lock = threading.Lock()
        self._stopped = False

    def changed(self, account: Account, type: str) -> None:
        """After a resource of that type was made or changed: the autoscaler simulation evaluates a group at once."""
        self.start(account)
        if self._autoscaler is not None and type == NODE_GROUP:
            try:
                self._autoscaler.refresh()
            except Exception as error:
                # Its thread looks again.
                _log.info("the autoscaler's view of the node groups: %s", error)

    def start(self, account: Account) -> None:
        """Start the threads if there is a cluster, in the region of ``account``."""
        with self._lock:
            if self._autoscaler is not None or self._stopped or account.fleet is None:
                return
            if account.store.all(CLUSTER):
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
