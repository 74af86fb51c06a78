"""Watches the account's instances and updates the fleet when they join, stop or terminate."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass, replace
from typing import Final

from rehearsal.providers.eks.base.account import Account
from rehearsal.providers.eks.machines import joining
from rehearsal.providers.eks.machines.images import node_image
from rehearsal.providers.eks.machines.instance import Instance, image_name, instances, user_data
from rehearsal.providers.eks.machines.node import NodeProblem, node
from rehearsal.providers.eks.machines.user_data import Bootstrap, UserDataError, bootstrap
from rehearsal.providers.eks.resources.network import CLUSTER
from rehearsal.providers.store import Record
from rehearsal.providers.values import at
from rehearsal.simulation import Fleet, Node

_PERIOD_SECONDS: Final = 0.3
_BOOT_SECONDS: Final = 1.0
"""From an instance's start until its kubelet registers; in AWS that is about half a minute."""

_RUNS: Final = ("pending", "running")
_STANDS: Final = ("stopping", "stopped")
_PATCH: Final = "0"
"""The kubelet's patch version: the image's name has only the minor one."""

_log = logging.getLogger("rehearsal.aws.machines")


@dataclass
class _Known:
    """A known instance. ``name`` is its node's name, ``cluster`` the one in its user data (``""``: none)."""

    since: float
    name: str
    cluster: str = ""
    joined: bool = False
    stopped: bool = False
    because: str = ""


class NodeJoiner(threading.Thread):
    """One thread per account. It evaluates instances when EC2, IAM or EKS changed, and while an instance boots."""

    def __init__(self, account: Account) -> None:
        super().__init__(name="machines", daemon=True)
        self._account = account
        self._fleet: Fleet = account.machines()
        self._closed = threading.Event()
        self._known: dict[str, _Known] = {}
        self._looked_at = ""
        self._again = 0.0

    def close(self) -> None:
        """End the thread."""
        self._closed.set()
        if self.is_alive() and self is not threading.current_thread():
            self.join()

    def run(self) -> None:
        """The thread's loop."""
        while not self._closed.wait(_PERIOD_SECONDS):
            try:
                self.look()
            except Exception as error:  # the next look decides; a request may have been in the middle of a change
                self._looked_at = ""
                _log.info("the instances: %r", error)

    def look(self) -> None:
        """Look once, unless nothing can have changed since."""
        now = time.monotonic()
        state = self._state()
        if state == self._looked_at and now < self._again:
            return
        self._again = now + (_PERIOD_SECONDS if self._boots() else 5.0)
        running = {each.id: each for each in self._instances()}
        for instance in running.values():
            self._follow(instance, now)
        for id in [id for id in self._known if id not in running]:
            self._deleted(id)
        self._looked_at = state

    def _state(self) -> str:
        return "/".join(str(self._account.writes(service)) for service in ("ec2", "iam", "eks"))

    def _boots(self) -> bool:
        return any(not each.joined for each in self._known.values())

    def _instances(self) -> list[Instance]:
        regions = {str(each.outputs["region"]) for each in self._account.store.all(CLUSTER)}
        return [each for region in sorted(regions) for each in instances(replace(self._account, region=region))]

    def _follow(self, instance: Instance, now: float) -> None:
        if instance.state in _RUNS:
            known = self._known.setdefault(instance.id, _Known(now, instance.private_name))
            if not known.joined and now - known.since >= _BOOT_SECONDS:
                self._boot(instance, known)
            return
        known = self._known.get(instance.id)
        if known is None:
            return
        if instance.state in _STANDS:
            if known.joined and not known.stopped:
                known.stopped = True
                self._fleet.stop_node(known.cluster, known.name)
            return
        self._deleted(instance.id)

    def _boot(self, instance: Instance, known: _Known) -> None:
        clusters = self._account.store.all(CLUSTER)
        region = next((str(each.outputs["region"]) for each in clusters), self._account.region)
        account = replace(self._account, region=region)
        try:
            node = self._node(account, instance)
        except (UserDataError, NodeProblem) as problem:
            self._report(instance, known, str(problem))
            return
        self._fleet.apply_node(node)
        known.cluster, known.joined, known.because = node.cluster, True, ""
        _log.info("instance %s has joined %s as %s", instance.id, node.cluster, node.name)

    def _node(self, account: Account, instance: Instance) -> Node:
        name = image_name(account, instance.image)
        image = None if name is None else node_image(name)
        if image is None:
            called = "does not exist" if name is None else f"is called {name!r}"
            raise NodeProblem(f"its image {instance.image} {called} and is not an EKS node image")
        boot = bootstrap(image.family, user_data(account, instance.id))
        cluster = account.store.get(CLUSTER, boot.cluster)
        if cluster is None:
            raise NodeProblem(f"its user data names the cluster {boot.cluster}, which does not exist")
        _check_address(cluster, boot)
        refused = joining.refusal(account, cluster, instance)
        if refused:
            raise NodeProblem(refused)
        return node(account, instance, image, boot, f"{image.minor}.{_PATCH}")

    def _report(self, instance: Instance, known: _Known, because: str) -> None:
        if because == known.because:
            return
        known.because = because
        _log.warning("instance %s does not become a node: %s", instance.id, because)
        message = f"instance {instance.id} ({instance.type}, {instance.zone}) does not become a node: {because}"
        for cluster in self._account.store.all(CLUSTER):
            self._fleet.report_machine(cluster.id, instance.private_name, message)

    def _deleted(self, id: str) -> None:
        known = self._known.pop(id)
        if known.joined:
            self._fleet.remove_node(known.cluster, known.name)
            _log.info("instance %s has ended", id)


def _check_address(cluster: Record, boot: Bootstrap) -> None:
    endpoint = str(cluster.outputs.get("endpoint") or "")
    if boot.endpoint != endpoint:
        raise NodeProblem(f"its user data says the cluster's endpoint is {boot.endpoint}; it is {endpoint}")
    if boot.ca.strip() != at(cluster.outputs, "certificateAuthority.data"):
        raise NodeProblem(f"its user data has another certificate authority than the cluster {cluster.id}")
