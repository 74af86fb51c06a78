"""What Google answered to requests for clusters and node pools, against what the simulated GKE answers to the same.

``recorded/answers.json``: calls of the tests of https://github.com/GoogleCloudPlatform/k8s-config-connector at
cdb85ecf1708 (Apache-2.0), in 2026. An update's request is the part of the object that it changes. Both are cut to what
Google's provider reads (``answers.py``). Of ``real`` recordings, Google's own version numbers are known; the others are
``golden``: that repository keeps its own mock equal with them.

``recorded/states.json``: what Pulumi's own provider had in its state of the resources of its tests
(https://github.com/pulumi/pulumi-gcp at ed6078aacc64, ``provider/testdata/recorded/TestProviderUpgrade``, Apache-2.0),
cut to what is not empty. Resources come after those that they need.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from packages.rehearsal.tests.providers.gke import account as gke
from packages.rehearsal.tests.providers.gke.account import Google
from packages.rehearsal.tests.providers.gke.answers import read
from rehearsal.providers.base import Created, Properties, at, merged
from rehearsal.providers.differences import same_resource
from rehearsal.providers.gke.cloud import project_number, region_of

FOLDER: Final = Path(__file__).parent / "recorded"
RECORDED: Final[list[dict[str, Any]]] = json.loads((FOLDER / "answers.json").read_text("utf-8"))
STATES: Final[list[dict[str, Any]]] = json.loads((FOLDER / "states.json").read_text("utf-8"))
_EMPTY: Final = (None, "", [], {}, False, 0)
_LINKS: Final = ("natIps", "network", "networkConfig.subnetwork", "subnetwork", "subnetworks.name")
_OWN: Final = (
    "address",
    "clusterIpv4Cidr",
    "controlPlaneEndpointsConfig.dnsEndpointConfig.endpoint",
    "creationTimestamp",
    "endpoint",
    "etag",
    "ipAllocationPolicy.clusterIpv4CidrBlock",
    "ipAllocationPolicy.clusterSecondaryRangeName",
    "masterAuth.clusterCaCertificate",
    "masterVersion",
    "networkConfig.podIpv4CidrBlock",
    "networkConfig.podRange",
    "nodeVersion",
    "privateClusterConfig.privateEndpoint",
    "privateClusterConfig.publicEndpoint",
    "uniqueId",
    "version",
)
"""Of the day or each cluster's own: that they are answered is compared."""
DIFFERENCES: Final[dict[tuple[str, str], str]] = {
    ("anonymousAuthenticationConfig.mode", "LIMITED"): "from 1.35 on; the simulated version is 1.34",
    ("nodeCreationConfig.nodeCreationMode", "VIA_KUBELET"): "from 1.35 on",
    ("nodeConfig.kubeletConfig.maxParallelImagePulls", "3"): "by machine and disks, in a way that is not known",
    ("releaseChannel.channel", "STABLE"): "the channel that had the requested version on that day",
}
"""Path and Google's value → why the simulated GKE answers another."""
OF_THE_MOCK: Final = (
    "addonsConfig.cloudrunConfig.loadBalancerType",
    "addonsConfig.gcePersistentDiskCsiDriverConfig.enabled",
    "clusterAutoscaling.autoProvisioningDefaults",
    "initialNodeCount",
    "ipAllocationPolicy.servicesIpv4CidrBlock",
    "maintenancePolicy.dailyMaintenanceWindow.duration",
    "nodeLocations",
    "upgradeSettings",
)
"""Where a golden recording has what was not seen of Google."""
NO_REQUEST: Final = {
    "containercluster-autoscaling-basic": ("clusterAutoscaling.resourceLimits.maximum",),
    "containercluster-dataplanev2": ("enableCiliumClusterwideNetworkPolicy", "loggingService", "monitoringService"),
    "containercluster-dnsendpoint-ipendpoint": (
        "masterAuthorizedNetworksConfig.gcpPublicCidrsAccessEnabled",
        "privateClusterConfig.enablePrivateEndpoint",
    ),
    "containernodepool": ("autoscaling.maxNodeCount",),
}
"""Changed by a request that is not in the recording."""


@dataclass(frozen=True)
class Field:
    """A field of an answer: its path, Google's and the simulated value."""

    path: str
    real: Any
    simulated: Any

    def exception(self, recorded: dict[str, Any]) -> str:
        """What lists this difference; empty if nothing does."""
        if self.path in NO_REQUEST.get(recorded["name"], ()):
            return f"{recorded['name']} {self.path}"
        if (self.path, str(self.real)) in DIFFERENCES:
            return self.path
        golden = recorded["origin"] == "golden"
        return next((each for each in OF_THE_MOCK if golden and self.path.startswith(each)), "")


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda each: each["name"])
def test_the_answers_are_those_of_google(recorded: dict[str, Any], google: Google) -> None:
    assert recorded["licence"] == "Apache-2.0"
    different = [each for each in compared(recorded, google) if each.real != each.simulated]
    assert [each for each in different if not each.exception(recorded)] == []


def test_no_exception_is_superfluous(tmp_path: Path) -> None:
    needed = {
        field.exception(recorded)
        for recorded in RECORDED
        for field in compared(recorded, Google(tmp_path / recorded["name"]))
        if field.real != field.simulated
    }
    listed = {*OF_THE_MOCK, *(path for path, _ in DIFFERENCES)}
    assert needed == listed | {f"{name} {path}" for name, paths in NO_REQUEST.items() for path in paths}


@pytest.mark.parametrize("name", sorted({each["name"] for each in STATES}))
def test_states_are_those_of_the_real_provider(name: str, google: Google) -> None:
    for recorded in (each for each in STATES if each["name"] == name):
        assert recorded["licence"] == "Apache-2.0"
        made = google.create(recorded["type"], recorded["inputs"])
        fields = _fields(recorded["outputs"], {**made.state, "id": made.id}, "")
        assert [each for each in fields if each.real != each.simulated] == []


def compared(recorded: dict[str, Any], google: Google) -> Iterator[Field]:
    """Each field that Google's provider reads of a recording, with what the simulated GKE answers."""
    replay = Replay(google)
    for call in recorded["calls"]:
        token, state = replay.play(call)
        answer = read(token, call.get("answer", {}))[0]
        answers = [(answer, state)]
        if token == gke.CLUSTER:
            answers += [(pool, replay.own_pool(pool["name"])) for pool in answer.pop("nodePools", ())]
            # The provider leaves a zonal cluster's own zone out.
            answer["nodeLocations"] = [each for each in answer.get("nodeLocations", ()) if each != call["location"]]
        for real, simulated in answers if "answer" in call else ():
            yield from _fields(real, simulated, "")


class Replay:
    """The calls of a recording, in a simulated account."""

    def __init__(self, google: Google) -> None:
        self._google = google
        self._made: dict[str, Created] = {}

    def play(self, call: dict[str, Any]) -> tuple[str, Properties]:
        """The type and the state after the call."""
        ((kind, body),) = call["request"].items()
        token = gke.CLUSTER if kind == "cluster" else gke.POOL
        inputs = read(token, body)[0]
        if "initialClusterVersion" in body:
            inputs["minMasterVersion"] = body["initialClusterVersion"]
        if call.get("update"):
            before = self._made[token]
            inputs = merged(before.inputs or {}, _without_empty(inputs))
            state = self._google.update(token, before, inputs)
        else:
            inputs = _without_empty({**inputs, "location": call["location"]})
            self._google.create(token, self._placed(token, inputs))
            before = self._google.made[-1][1]
            inputs, state = before.inputs, before.state
        self._made[token] = Created(before.id, state, inputs)
        return token, state

    def own_pool(self, name: str) -> Properties:
        """The state of a pool that came with the cluster."""
        record = self._google.store().get(gke.POOL, f"{self._made[gke.CLUSTER].id}/nodePools/{name}")
        return record.state if record else {}

    def _placed(self, token: str, inputs: Properties) -> Properties:
        """The inputs, after what they refer to was made."""
        if token == gke.POOL:
            return {**inputs, "cluster": self._made[gke.CLUSTER].state["name"]}
        network = inputs.get("network", "default").rpartition("/")[2]
        if not self._made and network != "default":  # which a project has
            self._google.create(gke.NETWORK, {"name": network, "autoCreateSubnetworks": False})
        if "subnetwork" in inputs:
            region = region_of(inputs["location"])
            keys = ("clusterSecondaryRangeName", "servicesSecondaryRangeName")
            names = [at(inputs, f"ipAllocationPolicy.{key}") for key in keys]
            ranges = [
                {"rangeName": name, "ipCidrRange": f"10.{16 + 16 * index}.0.0/16"}
                for index, name in enumerate(filter(None, names))
            ]
            named = {"name": inputs["subnetwork"].rpartition("/")[2], "network": network, "region": region}
            self._google.create(gke.SUBNETWORK, gke.subnetwork(**named, secondaryIpRanges=ranges))
        if key := at(inputs, "databaseEncryption.keyName"):
            agent = f"service-{project_number(gke.PROJECT)}@container-engine-robot.iam.gserviceaccount.com"
            role = "roles/cloudkms.cryptoKeyEncrypterDecrypter"
            grant = {"cryptoKeyId": key, "role": role, "member": f"serviceAccount:{agent}"}
            self._google.create(gke.KEY_MEMBER, grant)
        return {"deletionProtection": False, "network": network, **inputs}


def _without_empty(value: Any) -> Any:
    """Without the blocks that are sent empty where nothing is declared."""
    if not isinstance(value, dict):
        return value
    parts = {key: _without_empty(each) for key, each in value.items()}
    return {key: each for key, each in parts.items() if each not in ({}, "")}


def _fields(real: Any, simulated: Any, path: str) -> Iterator[Field]:
    if isinstance(real, dict) and real and isinstance(simulated, (dict, type(None))):
        for key, value in real.items():
            yield from _fields(value, (simulated or {}).get(key), f"{path}.{key}".lstrip("."))
    elif isinstance(real, list) and isinstance(simulated, list) and len(real) == len(simulated) and real:
        for one, other in zip(*map(_ordered, (real, simulated)), strict=True):
            yield from _fields(one, other, path)
    elif path in _OWN and real and simulated:
        yield Field(path, "some", "some")
    elif path in _LINKS and isinstance(real, str) and isinstance(simulated, str) and same_resource(real, simulated):
        yield Field(path, real, real)
    elif _is_empty(real) and _is_empty(simulated):
        yield Field(path, None, None)
    else:
        yield Field(path, real, simulated)


def _is_empty(value: Any) -> bool:
    return all(map(_is_empty, value.values())) if isinstance(value, dict) else value in _EMPTY


def _ordered(values: list[Any]) -> list[Any]:
    """Lists of names are sets."""
    return sorted(values) if all(isinstance(each, str) for each in values) else values
