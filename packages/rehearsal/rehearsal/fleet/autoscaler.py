"""Karpenter as a child process. It reads its instance types only at start, so new types require a restart."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import yaml

from rehearsal.cluster.api import Api, ApiError
from rehearsal.cluster.control_plane import ControlPlane
from rehearsal.cluster.processes import Child, ProcessError
from rehearsal.fleet.machine_types import InstanceTypes
from rehearsal.fleet.node_pools import NODE_CLASS, apply_node_pools, claim_path, initial_claims
from rehearsal.fleet.nodes import NodeTemplate
from rehearsal.fleet.provisioned_nodes import class_path
from rehearsal.simulation import ManagedKarpenter, SimulatedNodeGroup

_CRDS: Final = ("karpenter.sh_nodepools.yaml", "karpenter.sh_nodeclaims.yaml", "karpenter.sh_nodeoverlays.yaml")
CRDS: Final = (*_CRDS, "karpenter.kwok.sh_kwoknodeclasses.yaml")
"""Files that ``make tools`` installs with the programs."""

_HIDDEN_KINDS: Final = Path(__file__).parent / "hidden_kinds.yaml"

_QUIET_SECONDS: Final = 0.3
"""Several pools are created at once: wait for a pause before a restart."""

_START_SECONDS: Final = 240.0
_STARTED: Final = "Starting workers"
_ENVIRONMENT: Final = {
    "KUBERNETES_MIN_VERSION": "1.19.0-0",
    "SYSTEM_NAMESPACE": "kube-system",
    "DISABLE_LEADER_ELECTION": "true",
    "DISABLE_CLUSTER_STATE_OBSERVABILITY": "true",
    # Time is compressed: collect pending pods for 0.5 s (default 1 s), at most 3 s (default 10 s).
    "BATCH_IDLE_DURATION": "500ms",
    "BATCH_MAX_DURATION": "3s",
    "KUBE_CLIENT_QPS": "500",
    "KUBE_CLIENT_BURST": "1000",
}


_NODE_CLASS_VARIABLES: Final = ("NODE_CLASS_GROUP", "NODE_CLASS_VERSION", "NODE_CLASS_KIND")
_ZONE_LABELS: Final = "ZONE_LABELS"
_AS_CLUSTER_AUTOSCALER: Final = {"AS_CLUSTER_AUTOSCALER": "true"}
"""Of the edited Karpenter: ``rehearsal/tools/karpenter/module.json``."""


class KarpenterSupervisor:
    """Starts Karpenter with the first group and restarts it, in the background, when a group needs a new type.

    ``own`` is the Karpenter that the cloud runs for the stack's NodePools; without it Karpenter stands for the cloud's
    autoscaler.
    """

    def __init__(
        self,
        control_plane: ControlPlane,
        tools: Path,
        folder: Path,
        own: ManagedKarpenter | None = None,
        zone_labels: Sequence[str] = (),
    ) -> None:
        """``zone_labels`` are labels that mean the zone, beside the common one."""
        missing = [name for name in ("karpenter", *CRDS) if not (tools / name).exists()]
        if missing:
            raise ProcessError(f"{tools} lacks {', '.join(missing)}. Run `make tools` to build the autoscaler.")
        folder.mkdir(parents=True, exist_ok=True)
        self.types = InstanceTypes()
        self._control_plane = control_plane
        self._tools = tools
        self._own = own
        self._zone_labels = " ".join(zone_labels)
        self._file = folder / "instance-types.json"
        self._child: Child | None = None
        self._changed = threading.Condition()
        self._required = self._running = 0
        self._closed = False
        self._failure: Exception | None = None
        self._worker: threading.Thread | None = None

    def install(self) -> None:
        """Create the autoscaler's resource types and node class in the cluster.

        If the stack's own Karpenter has installed the types, these are used.
        """
        api, own = self._control_plane.api, self._own
        if own is None and api.find("/apis/karpenter.sh/v1") is None:
            for manifest in yaml.safe_load_all(_HIDDEN_KINDS.read_text()):
                api.apply_manifest(manifest)
        for name in CRDS if own is None else _CRDS:
            api.apply_manifest(yaml.safe_load((self._tools / name).read_text()))
        if own is not None:
            api.apply_manifest(dict(own.definition))
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                if own is None:
                    api.apply_manifest(NODE_CLASS)
                else:
                    api.list(class_path(own))
                api.list("/apis/karpenter.sh/v1/nodepools")
                api.list("/apis/karpenter.sh/v1/nodeclaims")
                return
            except ApiError as error:
                if error.status != 404 or time.monotonic() > deadline:
                    raise
            time.sleep(0.1)

    def add(self, group: SimulatedNodeGroup) -> None:
        """Add the group's machine shape to the instance types; returns at once."""
        with self._changed:
            if not self.types.add(group):
                return
            self._required += 1
            self._changed.notify_all()
            if self._worker is None:
                self._worker = threading.Thread(target=self._work, name="autoscaler", daemon=True)
                self._worker.start()

    def scale(self, template: NodeTemplate, order: Mapping[str, int], *, new: bool) -> int:
        """Have the group scaled, after those with a higher place in ``order``; returns how many nodes above its minimum
        a new group starts with."""
        group, api = template.group, self._control_plane.api
        self.add(group)
        pools = apply_node_pools(api, template, self.types.name(group), order)
        claims = initial_claims(group, pools) if new else []
        if claims:
            # A Karpenter that does not know the type yet would fail on the claim.
            self.wait()
        for claim in claims:
            api.create(claim_path(), claim)
        return len(claims)

    def exhaust(self, offers: Iterable[tuple[str, str, str]]) -> None:
        """Have no machine for exactly these (type, zone, capacity type); returns when Karpenter knows."""
        with self._changed:
            if self.types.exhaust(offers):
                self._required += 1
                self._changed.notify_all()
        self.wait()

    def wait(self) -> None:
        """Return when Karpenter runs with every type added so far.

        Raises ProcessError: it exited, or is not ready in time.
        """
        with self._changed:
            settled = self._changed.wait_for(
                lambda: self._failure is not None or self._running == self._required, _START_SECONDS
            )
        self.check()
        if not settled:
            raise ProcessError(f"the autoscaler is not ready after {_START_SECONDS:.0f} s; see its log")

    def check(self) -> None:
        """Raise the error of the last (re)start, if it failed."""
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        """Stop Karpenter and the background thread."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._worker is not None:
            self._worker.join()
        if self._child is not None:
            self._control_plane.processes.stop(self._child, grace=1.0)
            self._child = None

    def _work(self) -> None:
        try:
            while self._restart_when_needed():
                pass
        except Exception as error:  # raised by check() and wait()
            with self._changed:
                self._failure = error
                self._changed.notify_all()

    def _restart_when_needed(self) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._required != self._running)
            while not self._closed and self._changed.wait(_QUIET_SECONDS):
                pass
            if self._closed:
                return False
            version, document = self._required, self.types.document()
        self._file.write_text(document)
        if self._child is not None:
            self._control_plane.processes.stop(self._child, grace=1.0)
            _delete_unclaimed_nodes(self._control_plane.api)
        self._start()
        with self._changed:
            self._running = version
            self._changed.notify_all()
        return True

    def _start(self) -> None:
        kubeconfig = self._control_plane.kubeconfig_for("autoscaler")
        own = {} if self._own is None else dict(zip(_NODE_CLASS_VARIABLES, self._own.node_class, strict=True))
        self._child = child = self._control_plane.processes.start(
            "karpenter",
            [
                self._tools / "karpenter",
                f"--instance-types-file-path={self._file}",
                # The clouds' autoscalers ignore preferences of pods, Karpenter does not:
                # https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md
                f"--preference-policy={'Respect' if own else 'Ignore'}",
            ],
            env={
                **_ENVIRONMENT,
                **own,
                **({} if own else _AS_CLUSTER_AUTOSCALER),
                _ZONE_LABELS: self._zone_labels,
                "KUBECONFIG": str(kubeconfig),
            },
        )
        deadline = time.monotonic() + _START_SECONDS
        while _STARTED not in child.output():
            child.check()
            if self._closed:
                return
            if time.monotonic() > deadline:
                raise ProcessError(f"karpenter is not ready after {_START_SECONDS:.0f} s:\n{child.tail()}")
            time.sleep(0.05)


def _delete_unclaimed_nodes(api: Api) -> None:
    """Remove nodes that their NodeClaim does not record: Karpenter exited between creating and recording a node.

    The next Karpenter would create another node for the claim and garbage-collect the first only minutes later.
    """
    claimed = {claim.get("status", {}).get("providerID") for claim in api.list(claim_path())}
    for node in api.list("/api/v1/nodes", labelSelector="karpenter.sh/nodepool"):
        if node["spec"].get("providerID") not in claimed:
            api.delete(f"/api/v1/nodes/{node['metadata']['name']}")
