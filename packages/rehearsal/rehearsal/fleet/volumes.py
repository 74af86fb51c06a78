"""Disks for PersistentVolumeClaims, as a CSI driver's controller makes them: in the zone of the claim's first pod.

It does what these two programs do for a driver whose ``CSIDriver`` object says so by annotation (``zone_labels``):
https://github.com/kubernetes-csi/external-provisioner#topology-support and its deletion of released volumes. The API
server's controllers, which are real, choose the moment: they ask for a volume by an annotation of the claim
(https://kubernetes.io/docs/concepts/storage/storage-classes/#volume-binding-mode), and bind it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from facts.concepts.rest import resource_path
from rehearsal.cluster.api import Api, ApiError, Object
from rehearsal.cluster.threads import PollingThread
from rehearsal.fleet.nodes import PREFIX, ZONE

ZONE_LABEL: Final = PREFIX + "zone-label"
"""Annotation of a CSIDriver that the rehearsal provisions for: the node label of its zones; empty: of no zone."""
CONTROLLER: Final = PREFIX + "controller"
"""Annotation of a CSIDriver: the Deployment in kube-system that provisions; without one the cloud does."""
REGIONAL: Final = PREFIX + "regional"
"""Annotation of a CSIDriver: values of a class's parameters with which a disk is attached in every zone."""

_STORAGE: Final = "storage.k8s.io/v1"
_CLAIMS: Final = "/api/v1/persistentvolumeclaims"
_VOLUMES: Final = "/api/v1/persistentvolumes"
_NODES: Final = "/api/v1/nodes"
_POLL_SECONDS: Final = 0.4

_PROVISIONER: Final = "volume.kubernetes.io/storage-provisioner"
_SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
_PROVISIONED_BY: Final = "pv.kubernetes.io/provisioned-by"


def zone_labels(objects: Iterable[Object]) -> tuple[str, ...]:
    """The labels for a zone that the disk drivers among a cluster's objects set on its nodes."""
    annotations = (each["metadata"].get("annotations") or {} for each in objects if each["kind"] == "CSIDriver")
    labels = (each.get(ZONE_LABEL, "") for each in annotations)
    return tuple(sorted({label for label in labels if label not in ("", ZONE)}))


@dataclass(frozen=True)
class _Driver:
    name: str
    zone_label: str
    controller: str
    regional: frozenset[str]


class Volumes(PollingThread):
    """Makes the volumes that claims wait for, and deletes released ones."""

    def __init__(self, api: Api) -> None:
        super().__init__("volumes", _POLL_SECONDS)
        self._api = api

    def look(self) -> None:
        """Serve every claim that waits, and delete what nobody claims any more."""
        claims = self._api.list(_CLAIMS, resourceVersion="0")
        waiting = [each for each in claims if _waits(each)]
        if waiting:
            drivers = {each.name: each for each in self._drivers()}
            for claim in waiting:
                driver = drivers.get(claim["metadata"]["annotations"][_PROVISIONER])
                if driver is not None and self._runs(driver):
                    self._serve(claim, driver)
        for volume in self._api.list(_VOLUMES, resourceVersion="0"):
            if _is_garbage(volume):
                self._api.delete(f"{_VOLUMES}/{volume['metadata']['name']}")

    def _drivers(self) -> Iterable[_Driver]:
        for each in self._api.list(resource_path(_STORAGE, "csidrivers")):
            annotations = each["metadata"].get("annotations") or {}
            if ZONE_LABEL in annotations:
                regional = frozenset(annotations.get(REGIONAL, "").split())
                name, controller = each["metadata"]["name"], annotations.get(CONTROLLER, "")
                yield _Driver(name, annotations[ZONE_LABEL], controller, regional)

    def _runs(self, driver: _Driver) -> bool:
        if not driver.controller:
            return True
        deployment = self._api.find(resource_path("apps/v1", "deployments", driver.controller, "kube-system"))
        return deployment is not None and bool(deployment.get("status", {}).get("readyReplicas"))

    def _serve(self, claim: Object, driver: _Driver) -> None:
        path = resource_path(_STORAGE, "storageclasses", claim["spec"]["storageClassName"])
        storage_class = self._api.find(path)
        if storage_class is None:
            return
        zones: Sequence[str] | None = ()
        if driver.zone_label and driver.regional.isdisjoint((storage_class.get("parameters") or {}).values()):
            zones = self._zones(claim, storage_class)
        if zones is not None:
            self._create(volume(claim, storage_class, driver.name, driver.zone_label, zones))

    def _zones(self, claim: Object, storage_class: Object) -> Sequence[str] | None:
        """Where the volume is to be; ``None`` if that cannot be said yet."""
        node_name = claim["metadata"]["annotations"].get(_SELECTED_NODE)
        if node_name is None:
            # Of class Immediate: any zone that has nodes and that the class allows.
            nodes = self._api.list(_NODES, resourceVersion="0")
            zones = sorted({zone for node in nodes if (zone := node["metadata"].get("labels", {}).get(ZONE))})
            allowed = _allowed(storage_class)
            zones = [zone for zone in zones if allowed is None or zone in allowed]
            return (zones[zlib.crc32(claim["metadata"]["name"].encode()) % len(zones)],) if zones else None
        node = self._api.find(f"{_NODES}/{node_name}")
        if node is None:
            # Its pod is placed again: https://github.com/kubernetes-csi/external-provisioner/issues/121
            place = claim["metadata"]
            its_path = resource_path("v1", "persistentvolumeclaims", place["name"], place["namespace"])
            self._api.merge_if_there(its_path, {"metadata": {"annotations": {_SELECTED_NODE: None}}})
            return None
        return (node["metadata"]["labels"][ZONE],)

    def _create(self, manifest: Object) -> None:
        try:
            self._api.create(_VOLUMES, manifest)
        except ApiError as error:
            if error.status != 409:
                raise


def volume(claim: Object, storage_class: Object, driver: str, label: str, zones: Sequence[str]) -> Object:
    """The PersistentVolume for a claim; without ``zones`` every node can use it."""
    place, spec = claim["metadata"], claim["spec"]
    name = f"pvc-{place['uid']}"
    required = {"nodeSelectorTerms": [{"matchExpressions": [{"key": label, "operator": "In", "values": [*zones]}]}]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "annotations": {_PROVISIONED_BY: driver}},
        "spec": {
            "accessModes": spec["accessModes"],
            "capacity": {"storage": spec["resources"]["requests"]["storage"]},
            "claimRef": {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "namespace": place["namespace"],
                "name": place["name"],
                "uid": place["uid"],
            },
            "csi": {"driver": driver, "volumeHandle": name},
            "persistentVolumeReclaimPolicy": storage_class.get("reclaimPolicy", "Delete"),
            "storageClassName": storage_class["metadata"]["name"],
            "volumeMode": spec.get("volumeMode", "Filesystem"),
            **({"nodeAffinity": {"required": required}} if zones else {}),
        },
    }


def _waits(claim: Object) -> bool:
    """Whether a volume is to be made now. The API server's controller asks for one by the annotation: at once, or when
    the scheduler has chosen a node."""
    asked = _PROVISIONER in (claim["metadata"].get("annotations") or {})
    return asked and not claim["spec"].get("volumeName") and not claim["metadata"].get("deletionTimestamp")


def _is_garbage(volume: Object) -> bool:
    """Whether it was made here for a claim that is gone."""
    released = volume.get("status", {}).get("phase") == "Released"
    made = _PROVISIONED_BY in (volume["metadata"].get("annotations") or {})
    leaving = volume["metadata"].get("deletionTimestamp")
    return released and made and not leaving and volume["spec"]["persistentVolumeReclaimPolicy"] == "Delete"


def _allowed(storage_class: Mapping[str, Any]) -> frozenset[str] | None:
    """The zones that a class allows; ``None``: all."""
    terms = storage_class.get("allowedTopologies")
    if not terms:
        return None
    expressions = (each for term in terms for each in term.get("matchLabelExpressions") or ())
    return frozenset(value for each in expressions for value in each["values"])
