"""Volumes for claims: where they are made, when, and what a volume in a zone means for its pods."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from typing_extensions import override

from packages.rehearsal.tests.fleet.facts import TOLERATIONS, Running, running_fleet
from packages.rehearsal.tests.simulated_cluster import PODS, ZONES, events, eventually, gpu_group, pod
from rehearsal.cluster.api import Api, Object
from rehearsal.cluster.kubeconfig import Kubeconfig
from rehearsal.fleet.volumes import Volumes, zone_labels
from rehearsal.providers.aks import system as aks
from rehearsal.providers.eks import system
from rehearsal.providers.gke import system as gke

DISK = "pd.csi.storage.gke.io"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"
DRIVER = {
    "kind": "CSIDriver",
    "metadata": {
        "name": DISK,
        "annotations": {
            "rehearsal.gpucluster.dev/zone-label": "topology.gke.io/zone",
            "rehearsal.gpucluster.dev/regional": "regional-pd",
        },
    },
}


def claim(name: str, storage_class: str | None = None, **annotations: str) -> Object:
    spec: Object = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Gi"}}}
    if storage_class is not None:
        spec["storageClassName"] = storage_class
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-of-{name}", "annotations": annotations},
        "spec": spec,
    }


def asked(name: str, node: str | None, driver: str = DISK) -> Object:
    """A claim for which the API server's controller wants a volume now."""
    annotations = {"volume.kubernetes.io/storage-provisioner": driver}
    if node is not None:
        annotations["volume.kubernetes.io/selected-node"] = node
    return claim(name, "disks", **annotations)


class Stored(Api):
    """An API server with one class and one driver, and a node in each of two zones."""

    def __init__(self, *claims: Object, storage_class: Object | None = None, driver: Object | None = None) -> None:
        super().__init__(Kubeconfig({"server": "https://nowhere"}, {"token": "t"}))
        self.claims = [*claims]
        self.volumes: list[Object] = []
        self.deployment: Object | None = None
        self.dropped: list[str] = []
        self._class = {"metadata": {"name": "disks"}, **(storage_class or {})}
        self._driver = driver or DRIVER
        self._nodes = [node(f"node-{zone[-1]}", zone) for zone in ZONES]

    @override
    def list(self, path: str, **query: str) -> list[Object]:
        answers = {"persistentvolumeclaims": self.claims, "persistentvolumes": self.volumes, "nodes": self._nodes}
        return [*answers.get(path.rpartition("/")[2], [self._driver])]

    @override
    def find(self, path: str, **query: str) -> Object | None:
        if "/deployments/" in path:
            return self.deployment
        if "/storageclasses/" in path:
            return self._class
        return next((each for each in self._nodes if path.endswith(each["metadata"]["name"])), None)

    @override
    def create(self, path: str, body: Object, **query: Any) -> Object:
        self.volumes.append(body)
        return body

    @override
    def merge(self, path: str, body: Object) -> Object:
        self.dropped += [key for key, value in body["metadata"]["annotations"].items() if value is None]
        return body

    @override
    def delete(self, path: str, **query: str) -> None:
        self.volumes = [each for each in self.volumes if not path.endswith(each["metadata"]["name"])]

    def zones(self) -> list[list[str]]:
        """Of each volume the zones that it can be attached in; none: all."""
        required = (each["spec"].get("nodeAffinity", {}).get("required") for each in self.volumes)
        terms = [each["nodeSelectorTerms"][0]["matchExpressions"][0] if each else None for each in required]
        return [each["values"] if each else [] for each in terms]


def node(name: str, zone: str) -> Object:
    return {"metadata": {"name": name, "labels": {"topology.kubernetes.io/zone": zone}}}


REGIONAL = {"parameters": {"replication-type": "regional-pd"}}
IN_B = {"allowedTopologies": [{"matchLabelExpressions": [{"key": "topology.gke.io/zone", "values": [ZONES[1]]}]}]}
SHARED = {**DRIVER, "metadata": {"name": DISK, "annotations": {"rehearsal.gpucluster.dev/zone-label": ""}}}
NOBODYS = {**DRIVER, "metadata": {"name": DISK}}


@pytest.mark.parametrize(
    ("claimed", "storage_class", "driver", "zones"),
    [
        pytest.param(asked("c", "node-b"), {}, DRIVER, [[ZONES[1]]], id="in the zone of the node that was chosen"),
        pytest.param(asked("c", "node-b"), REGIONAL, DRIVER, [[]], id="regional"),
        pytest.param(asked("c", "node-b"), {}, SHARED, [[]], id="of a driver without zones"),
        pytest.param(asked("c", None), IN_B, DRIVER, [[ZONES[1]]], id="at once, in a zone that the class allows"),
        pytest.param(asked("c", "gone"), {}, DRIVER, [], id="the node is gone"),
        pytest.param(asked("c", "node-b", "example.com/nfs"), {}, DRIVER, [], id="of a driver that is not there"),
        pytest.param(asked("c", "node-b"), {}, NOBODYS, [], id="of a driver that somebody else brought"),
        pytest.param(claim("c", "disks"), {}, DRIVER, [], id="nobody asks yet"),
    ],
)
def test_where_a_volume_is_made(claimed: Object, storage_class: Object, driver: Object, zones: list[list[str]]) -> None:
    api = Stored(claimed, storage_class=storage_class, driver=driver)
    Volumes(api).look()
    assert api.zones() == zones


def test_a_claim_whose_node_is_gone_is_placed_again() -> None:
    api = Stored(asked("c", "gone"))
    Volumes(api).look()
    assert api.dropped == ["volume.kubernetes.io/selected-node"]


def test_volumes_of_class_immediate_are_in_several_zones() -> None:
    """As a cloud spreads them, with no regard to where a GPU pool is."""
    api = Stored(*(asked(f"home-{number}", None) for number in range(20)))
    Volumes(api).look()
    assert {zone for zones in api.zones() for zone in zones} == {*ZONES}


def test_a_driver_provisions_while_its_controller_is_ready() -> None:
    driver: Any = copy.deepcopy(DRIVER)
    driver["metadata"]["annotations"]["rehearsal.gpucluster.dev/controller"] = "controller"
    api = Stored(asked("c", "node-a"), driver=driver)
    volumes = Volumes(api)
    for deployment, count in ((None, 0), ({"status": {}}, 0), ({"status": {"readyReplicas": 1}}, 1)):
        api.deployment = deployment
        volumes.look()
        assert len(api.volumes) == count


@pytest.mark.parametrize(
    ("phase", "policy", "count"), [("Released", "Delete", 0), ("Released", "Retain", 1), ("Bound", "Delete", 1)]
)
def test_a_released_volume_goes_unless_it_is_retained(phase: str, policy: str, count: int) -> None:
    api = Stored(asked("c", "node-a"), storage_class={"reclaimPolicy": policy})
    volumes = Volumes(api)
    volumes.look()
    (made,) = api.volumes
    made["status"], api.claims = {"phase": phase}, []
    volumes.look()
    assert len(api.volumes) == count


def classes(objects: list[Object]) -> dict[str, tuple[str, str]]:
    """Name → provisioner and binding mode; the default class has a star."""
    return {
        each["metadata"]["name"] + ("*" if each["metadata"].get("annotations") else ""): (
            each["provisioner"],
            each["volumeBindingMode"],
        )
        for each in objects
        if each["kind"] == "StorageClass"
    }


GKE_CLASSES = {
    "standard": ("kubernetes.io/gce-pd", "Immediate"),
    "standard-rwo*": (DISK, "WaitForFirstConsumer"),
    "premium-rwo": (DISK, "WaitForFirstConsumer"),
}
AKS_DISKS = ["default*", "managed", "managed-csi", "managed-csi-premium", "managed-premium"]
AKS_SHARES = ["azurefile", "azurefile-csi", "azurefile-csi-premium", "azurefile-premium"]
AKS_CLASSES = {
    **dict.fromkeys(AKS_DISKS, ("disk.csi.azure.com", "WaitForFirstConsumer")),
    **dict.fromkeys(AKS_SHARES, ("file.csi.azure.com", "Immediate")),
}
NO_DISKS = {"addonsConfig": {"gcePersistentDiskCsiDriverConfig": {"enabled": False}}}


@pytest.mark.parametrize(
    ("objects", "expected", "labels"),
    [
        pytest.param(gke.system_objects({}), GKE_CLASSES, ("topology.gke.io/zone",), id="GKE"),
        pytest.param(
            gke.system_objects({}, "1.35.3-gke.1290000"),
            {**GKE_CLASSES, "dynamic-rwo": (DISK, "WaitForFirstConsumer")},
            ("topology.gke.io/zone",),
            id="GKE since 1.35.3",
        ),
        pytest.param(
            gke.system_objects({}, "1.35.3-gke.1289999"), GKE_CLASSES, ("topology.gke.io/zone",), id="GKE before"
        ),
        pytest.param(gke.system_objects(NO_DISKS, "1.36.0-gke.1000000"), {}, (), id="GKE without the driver"),
        pytest.param(aks.system_objects({}), AKS_CLASSES, ("topology.disk.csi.azure.com/zone",), id="AKS"),
        pytest.param(
            system.cluster_storage(), {"gp2": ("kubernetes.io/aws-ebs", "WaitForFirstConsumer")}, (), id="EKS"
        ),
    ],
)
def test_what_a_new_cluster_brings(
    objects: list[Object], expected: dict[str, tuple[str, str]], labels: tuple[str, ...]
) -> None:
    assert classes(objects) == expected
    assert zone_labels(objects) == labels


@pytest.mark.parametrize(
    ("zones", "sku"), [(["1"], "StandardSSD_LRS"), (["1", "2"], "StandardSSD_ZRS"), ([], "StandardSSD_LRS")]
)
def test_disks_of_an_aks_cluster_in_several_zones_are_zone_redundant(zones: list[str], sku: str) -> None:
    objects = aks.system_objects({"agentPoolProfiles": [{"availabilityZones": zones}]})
    parameters = {each["metadata"]["name"]: each["parameters"] for each in objects if "parameters" in each}
    assert parameters["managed-csi"] == {"skuname": sku}
    assert parameters["azurefile"] == {"skuname": "Standard_LRS"}


def test_an_aks_cluster_without_a_driver_has_none_of_its_classes() -> None:
    objects = aks.system_objects({"storageProfile": {"fileCSIDriver": {"enabled": False}}})
    assert {name for name in classes(objects) if "file" in name} == set()
    assert len(classes(objects)) == len(AKS_DISKS)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    storage = [each for each in gke.system_objects({}) if each["apiVersion"] == "storage.k8s.io/v1"]
    with running_fleet(tmp_path_factory.mktemp("volumes"), "1.34.4", *storage) as running:
        running.fleet.apply_group(gpu_group("both", zones=ZONES))
        running.fleet.apply_group(gpu_group("second", zones=ZONES[1:]))
        yield running


def user_of(name: str, claimed: str, group: str | None, zone: str | None = None) -> Object:
    """A pod with the claim's volume, on a node of the group."""
    selector = {"topology.gke.io/zone": zone} if zone else {}
    if group is not None:
        selector["gpucluster.dev/pool"] = group
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": claimed}}]
    gpus = 0 if group in (None, "admin") else 1
    return pod(name, gpus, 1, volumes=volumes, nodeSelector=selector, tolerations=TOLERATIONS)


def ended(api: Api, name: str) -> bool:
    return bool(api.get(f"{PODS}/{name}")["status"].get("phase") == "Succeeded")


def zone_of(api: Api, claimed: str) -> str:
    name = api.get(f"{CLAIMS}/{claimed}")["spec"]["volumeName"]
    terms = api.get(f"{VOLUMES}/{name}")["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    expression = terms[0]["matchExpressions"][0]
    assert expression["key"] == "topology.gke.io/zone"
    (zone,) = expression["values"]
    return str(zone)


@pytest.mark.rehearsal
def test_a_volume_is_made_in_the_zone_of_its_first_pod_and_brings_the_next_one_there(running: Running) -> None:
    api = running.api
    for zone in ZONES:
        name = f"data-{zone[-1]}"
        api.create(CLAIMS, claim(name))
        api.create(PODS, user_of(f"first-{zone[-1]}", name, "both", zone))
        eventually(f"the first pod in {zone} ends", lambda zone=zone: ended(api, f"first-{zone[-1]}"))
        assert zone_of(api, name) == zone
    eventually(
        "all GPU nodes are gone", lambda: not api.list("/api/v1/nodes", labelSelector="gpucluster.dev/pool=both")
    )
    for zone in ZONES:
        api.create(PODS, user_of(f"second-{zone[-1]}", f"data-{zone[-1]}", "both"))
    for zone in ZONES:
        name = f"second-{zone[-1]}"
        eventually(f"{name} ends", lambda name=name: ended(api, name))


@pytest.mark.rehearsal
def test_a_pod_whose_volume_is_in_a_zone_without_its_pool_waits_and_says_why(running: Running) -> None:
    """The scheduler says it in these words since Kubernetes 1.34; before: "node(s) had volume node affinity conflict"
    (https://github.com/kubernetes/autoscaler/issues/4923)."""
    api = running.api
    api.create(CLAIMS, claim("home"))
    api.create(PODS, user_of("on-the-admin-pool", "home", "admin"))
    eventually("its first pod ends", lambda: ended(api, "on-the-admin-pool"))
    assert zone_of(api, "home") == ZONES[0]
    api.create(PODS, pod("warm", 0, 3600, nodeSelector={"gpucluster.dev/pool": "second"}, tolerations=TOLERATIONS))
    eventually("a node in the other zone", lambda: api.get(f"{PODS}/warm")["spec"].get("nodeName"))
    api.create(PODS, user_of("trapped", "home", "second"))

    def reasons() -> set[str]:
        return {e["message"] for e in events(api, "FailedScheduling") if e["involvedObject"]["name"] == "trapped"}

    eventually("the reason", lambda: any("didn't match PersistentVolume's node affinity" in each for each in reasons()))
    assert api.get(f"{PODS}/trapped")["status"]["phase"] == "Pending"
    api.delete(f"{PODS}/warm", gracePeriodSeconds=0)


@pytest.mark.rehearsal
def test_a_deleted_claim_takes_its_volume_along(running: Running) -> None:
    api = running.api
    api.create(CLAIMS, claim("short"))
    api.create(PODS, user_of("only", "short", "admin"))
    eventually("its pod ends", lambda: ended(api, "only"))
    name = api.get(f"{CLAIMS}/short")["spec"]["volumeName"]
    api.delete(f"{PODS}/only", gracePeriodSeconds=0)
    api.delete(f"{CLAIMS}/short")
    eventually("the volume is gone", lambda: api.find(f"{VOLUMES}/{name}") is None)
