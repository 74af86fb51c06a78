"""What people ask for is expressed in a stack file, or refused with words about that wish and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from components.settings import SettingsError, load, unsupported
from components.settings.problems import models_in
from components.settings.stack_file import StackFile
from tests import one_stack
from tests.components.settings.test_clouds import account, load_stack, own_keys, t4

EVERY = one_stack.CLOUDS


@dataclass(frozen=True, kw_only=True)
class Intent:
    """``changes`` of the one stack on ``clouds``; ``refused``: key path of each problem → a phrase of its answer."""

    id: str
    clouds: tuple[str, ...]
    changes: Mapping[str, Any]
    refused: Mapping[str, str]


def expressed(id: str, *clouds: str, **changes: Any) -> Intent:
    return Intent(id=id, clouds=clouds or EVERY, changes=changes, refused={})


def refused(id: str, answers: Mapping[str, str], *clouds: str, **changes: Any) -> Intent:
    return Intent(id=id, clouds=clouds or EVERY, changes=changes, refused=answers)


def network(**more: Any) -> dict[str, Any]:
    return {"authorizedNetworks": [{"name": "me", "cidr": "203.0.113.17/32"}], **more}


H100 = {"name": "h100", "gpu": "nvidia-h100-80gb", "gpusPerNode": 8, "maxNodes": 2}
ROLE = "arn:aws:iam::123456789012:role/ops"
GUID = "11111111-2222-3333-4444-555555555555"
BLOCK = {"name": "cr-0123456789abcdef0", "zone": "us-west-2b", "first": "2099-03-01", "last": "2099-03-08"}
L4 = {"name": "l4", "gpu": "nvidia-l4", "maxNodes": 2}
A100 = {"gpu": "nvidia-a100-80gb", "gpusPerNode": 8}

INTENTS = (
    expressed("flex-start", "gke", gpuPools=[{**H100, "capacity": "flex-start", "flexStart": {"maxRunHours": 24}}]),
    refused(
        "flex-start elsewhere",
        {"gpuPools[0].capacity": "Write one of"},
        "eks",
        "aks",
        gpuPools=t4(capacity="flex-start"),
    ),
    refused("flex-start by Google's name", {"gpuPools[0].capacity": "flex-start"}, gpuPools=t4(capacity="dws")),
    refused("node repair", {"nodeRepair": "broken nodes are repaired or replaced"}, nodeRepair=True),
    refused("the monitoring agent", {"nodeMonitoringAgent": "repaired or replaced"}, nodeMonitoringAgent=True),
    refused("DRA", {"gpuPools[0].dra": "pods ask for nvidia.com/gpu"}, gpuPools=t4(dra=True)),
    refused("hybrid nodes", {"hybridNodes": "can be written as raw"}, hybridNodes=True),
    refused("versions of add-ons", {"addonVersions": "default version"}, addonVersions={"coredns": "v1"}),
    refused("a proxy", {"network.proxy": "route to the internet"}, network=network(proxy="http://proxy:3128")),
    refused("TPU pools", {"tpuPools": "NVIDIA GPU"}, tpuPools=t4()),
    refused(
        "KAITO", {"raw.aiToolchainOperatorProfile": "past the pools"}, "aks", raw={"aiToolchainOperatorProfile": {}}
    ),
    refused("KAITO as an addon", {"addons": "install it yourself"}, "aks", addons=["kaito"]),
    *(
        refused(f"Google's {key}", {key: "raw: {"}, "gke", **{key: True})
        for key in ("gatewayApi", "inferenceGateway", "fleet", "binaryAuthorization", "confidentialNodes", "gcsFuse")
    ),
    refused("a queue", {"gpuPools[0].queuedProvisioning": "one by one"}, gpuPools=t4(queuedProvisioning=True)),
    expressed(
        "reserved first, then spot, then on demand",
        "gke",
        gpuPools=t4(
            capacity=["reserved", "spot", "on-demand"],
            reservation=[{"name": "ours", "zone": "us-central1-a"}, {"name": "more", "zone": "us-central1-b"}],
        ),
    ),
    expressed(
        "reserved machines and spot for the rest",
        "gke",
        gpuPools=[
            {**A100, "name": "own", "reservation": "ours", "maxNodes": 1, "zones": ["us-central1-a"]},
            {**A100, "name": "more", "capacity": "spot", "maxNodes": 2},
        ],
    ),
    expressed("shared GPUs", "gke", gpuPools=[{**L4, "timeSharing": {"clientsPerGpu": 4}}]),
    refused("MPS", {"gpuPools[0].mps": "timeSharing"}, gpuPools=t4(mps={"clients": 4})),
    expressed("endpoint by name", "gke", network=network(dnsEndpoint=True)),
    refused(
        "endpoint by name, where there is none",
        {"network.dnsEndpoint": "authorizedNetworks"},
        "eks",
        "aks",
        network=network(dnsEndpoint=True),
    ),
    refused("workload identity", {"workloadIdentity": "Write identities: "}, workloadIdentity=True),
    *(
        refused(
            f"network: {key}",
            {f"network.{key}": "an existing network by this key is"},
            network=network(**{key: "mine"}),
        )
        for key in ("vpc", "vpcId", "subnetId", "subnetwork", "privateSubnets", "vnet", "hostProject", "secondaryRange")
    ),
    refused("existing cluster", {"cloud": "Write cloud: existing"}, cloud="kubernetes", network={}),
    refused("an existing cluster by key", {"existingCluster": "an existing cluster is"}, existingCluster="mine"),
    refused("disks with an own key, misnamed", {"security.cmek": "Write security: {diskKey"}, security={"cmek": "k"}),
    expressed("teams with a part of the GPUs", teams=[{"name": "red", "gpus": 2, "priority": "high"}]),
    refused("quotas by themselves", {"quotas": "Write teams: "}, quotas={"red": 2}),
    refused("registries", {"registries": "pullFrom"}, registries=["mine"]),
    refused("nightly shutdown", {"schedule": "GPU pools cost nothing"}, schedule={"stop": "20:00"}),
    refused("no admin node", {"adminPool.nodes": "Write 1 or more"}, adminPool={"nodes": 0}),
    refused("GCS FUSE", {"addons": "bucket"}, addons=["gcs-fuse"]),
    refused("Blob", {"addons": "bucket"}, addons=["blob"]),
    refused("storage", {"storage": "bucket"}, storage={"bucket": "b"}),
    expressed("image streaming", "gke", gpuPools=t4(imageStreaming=True)),
    expressed("nodes close together", "gke", gpuPools=[{**L4, "placement": "compact", "zones": ["us-central1-a"]}]),
    refused("GB200", {"gpuPools[0].gpu": "Arm CPU"}, gpuPools=[{**L4, "gpu": "nvidia-gb200"}]),
    expressed("capacity block", "eks", gpuPools=[{**H100, "capacity": "capacity-block", "reservation": BLOCK}]),
    refused(
        "a block without its days",
        {"gpuPools[0].capacity": "first"},
        "eks",
        gpuPools=[{**H100, "capacity": "capacity-block"}],
    ),
    expressed("spot with a fallback", gpuPools=t4(capacity="spot-with-fallback")),
    expressed(
        "permissions boundary",
        "eks",
        security={"permissionsBoundary": "arn:aws:iam::123456789012:policy/company", "rolePath": "/platform/"},
    ),
    refused(
        "permissions boundary by another key",
        {"iamPermissionsBoundary": "a permissions boundary"},
        iamPermissionsBoundary=1,
    ),
    refused(
        "permissions boundary elsewhere",
        {"security.permissionsBoundary": "has no such setting"},
        "gke",
        "aks",
        security={"permissionsBoundary": "arn:aws:iam::123456789012:policy/company"},
    ),
    refused(
        "EFA",
        {"gpuPools[0].efa": "NCCL", "gpuPools[0].placementGroup": "close"},
        "eks",
        gpuPools=t4(efa=True, placementGroup=1),
    ),
    refused("InfiniBand", {"gpuPools[0].infiniband": "NCCL"}, "aks", gpuPools=t4(infiniband=True)),
    refused("Trainium", {"gpuPools[0].gpu": "other than NVIDIA's"}, gpuPools=[{**L4, "gpu": "aws-trainium2"}]),
    refused("TPU", {"gpuPools[0].gpu": "other than NVIDIA's"}, gpuPools=[{**L4, "gpu": "tpu-v5e"}]),
    expressed("access of a role", "eks", access=[{"name": "ops", "who": ROLE, "role": "admin"}]),
    expressed("access of a group of Entra", "aks", access=[{"name": "ops", "who": GUID, "role": "admin"}]),
    expressed("one NAT gateway", "eks", "aks", network=network(nat="single")),
    expressed("registry of the own account", "eks"),
    refused(
        "capacity reservation group",
        {"gpuPools[0].capacityReservationGroup": "Write reservation: "},
        "aks",
        gpuPools=t4(capacityReservationGroup="/subscriptions/s/…"),
    ),
    refused("own DNS", {"network.privateDnsZoneId": "privateDnsZone: …"}, network=network(privateDnsZoneId="z")),
    refused("ACR", {"acr": "pullFrom"}, acr="mine"),
    refused("Entra groups", {"adminGroups": "Write access: "}, adminGroups=["g"]),
    expressed("a window", maintenance={"day": "saturday", "start": "20:00", "hours": 16}),
    refused("a window by another word", {"maintenanceWindow": "Write maintenance: "}, maintenanceWindow="Sun:02"),
    refused("surge", {"gpuPools[0].upgradeSettings": "Write upgrade: "}, gpuPools=t4(upgradeSettings={"maxSurge": 1})),
    expressed("nodes missing while upgraded", "gke", "aks", gpuPools=t4(upgrade={"maxUnavailable": 2})),
    refused("cloud by its company", {"cloud": "Write "}, cloud="azure"),
    expressed("tags in the cloud's grammar", "eks", "aks", tags={"CostCenter": "4711"}),
    refused("tags where there are labels", {"tags": "Write labels"}, "gke", tags={"CostCenter": "4711"}),
    refused("a cloud's own inputs", {"gke": "Write raw: "}, "gke", gke={"addonsConfig": {}}),
    refused("default tags", {"defaultTags": "Write tags: "}, defaultTags={"team": "red"}),
    refused(
        "AWS's word for machines", {"gpuPools[0].instanceType": "Write machineType"}, gpuPools=t4(instanceType="x")
    ),
)


@pytest.mark.parametrize(
    ("cloud", "intent"),
    [pytest.param(cloud, intent, id=f"{cloud}: {intent.id}") for intent in INTENTS for cloud in intent.clouds],
)
def test_an_intent_is_expressed_or_answered(cloud: str, intent: Intent) -> None:
    written = {**own_keys(cloud), **intent.changes}
    if not intent.refused:
        load(written, stack="one", project=account(cloud))
        return
    with pytest.raises(SettingsError) as error:
        load(written, stack="one", project=account(cloud))
    by_path = {problem.path: str(problem) for problem in error.value.problems}
    assert by_path.keys() == intent.refused.keys(), str(error.value)
    for path, phrase in intent.refused.items():
        assert phrase in by_path[path]
        assert "Did you mean" not in by_path[path]


def test_a_misspelt_key_is_not_called_unsupported() -> None:
    with pytest.raises(SettingsError, match="Did you mean 'reservation'"):
        load_stack("gke", gpuPools=t4(reservations="mine"))


def test_a_key_that_is_like_none_gets_the_list_of_all() -> None:
    with pytest.raises(SettingsError) as error:
        load_stack("gke", gpuPools=t4(colour="red"))
    [problem] = error.value.problems
    assert problem.message == "there is no key 'colour'"
    assert all(key in problem.remedy for key in ("name", "capacity", "taints"))


def keys(model: type[BaseModel]) -> Iterator[str]:
    for name, field in model.model_fields.items():
        yield field.alias or name
        for inner in models_in(field.annotation):
            yield from keys(inner)


ENTRIES = {entry.feature: entry for entry in unsupported.unsupported_keys()}


@pytest.mark.parametrize("entry", [entry for entry in ENTRIES.values() if entry.keys], ids=lambda entry: entry.feature)
def test_no_key_that_exists_is_called_unsupported(entry: unsupported.UnsupportedKey) -> None:
    assert [key for key in keys(StackFile) if re.fullmatch(entry.keys, unsupported.plain(key))] == []


SUPPORTED = [(entry, cloud) for entry in ENTRIES.values() if entry.supported for cloud in EVERY]


@pytest.mark.parametrize(("entry", "cloud"), SUPPORTED, ids=lambda each: getattr(each, "feature", each))
def test_a_cloud_that_has_a_key_for_it_is_told_that_key(entry: unsupported.UnsupportedKey, cloud: str) -> None:
    """What is written there works; the other clouds refuse the same key."""
    [remedy] = set(entry.supported.values())
    pools = [{**L4, "gpu": "nvidia-t4", "zones": one_stack.WORDS[cloud]["zones"][:1], **yaml.safe_load(remedy)}]
    pools[0] |= {"gpu": "nvidia-l4"} if cloud == "gke" else {}
    if cloud in entry.supported:
        load_stack(cloud, gpuPools=pools)
        return
    with pytest.raises(SettingsError) as error:
        load_stack(cloud, gpuPools=pools)
    assert [problem.path for problem in error.value.problems] == [f"gpuPools[0].{remedy.partition(':')[0]}"]


@pytest.mark.parametrize(
    ("key", "remedy"),
    [
        ("placementPolicy", "Write placement: compact"),
        ("gcfsConfig", "Write imageStreaming: true"),
        ("fastImagePull", "Write imageStreaming: true"),
    ],
)
def test_another_word_for_a_key_of_gke_is_answered_with_the_key(key: str, remedy: str) -> None:
    with pytest.raises(SettingsError) as error:
        load_stack("gke", gpuPools=t4(**{key: "x"}))
    [problem] = error.value.problems
    assert remedy in problem.remedy
    assert "not supported" not in problem.message


@pytest.mark.parametrize(
    ("key", "amount", "remedy"),
    [
        ("maxMonthlyUsd", 5000, "Write maxHourlyUsd: 6.85, which is 5000 divided by 730 hours"),
        ("maxDailyUsd", 20, "Write maxHourlyUsd: 0.833, which is 20 divided by 24 hours"),
        ("usdPerDay", 20, "Write maxHourlyUsd: 0.833, which is 20 divided by 24 hours"),
        ("maxWeeklyUsd", 100, "Write maxHourlyUsd: 0.595, which is 100 divided by 168 hours"),
        ("maxMonthlyUsd", "5000", "Write maxHourlyUsd: the amount divided by 730 hours"),
    ],
)
def test_a_budget_of_another_period_is_answered_with_the_amount_per_hour(key: str, amount: object, remedy: str) -> None:
    with pytest.raises(SettingsError) as error:
        load_stack("gke", budget={key: amount})
    [problem] = error.value.problems
    assert (problem.path, problem.message) == (f"budget.{key}", f"there is no key '{key}': the budget is per hour")
    assert problem.remedy == remedy


def sections(model: type[BaseModel]) -> Iterator[set[str]]:
    yield {field.alias or name for name, field in model.model_fields.items()}
    for field in model.model_fields.values():
        for inner in models_in(field.annotation):
            yield from sections(inner)


def test_a_synonym_is_no_key_where_its_key_is() -> None:
    """Elsewhere it may be one: a service has ``min``, where a pool has ``minNodes``."""
    for section in sections(StackFile):
        there = {unsupported.plain(key) for key in section}
        of_here = {word for word, other in unsupported.synonyms().items() if other.partition(":")[0] in section}
        assert of_here & there == set()


@pytest.mark.parametrize(
    ("word", "key"),
    [("prometheus", "monitoring"), ("kueue", "queue"), ("jupyterhub", "notebook"), ("keda", "services")],
)
def test_a_tool_by_its_own_name_leads_to_its_key(word: str, key: str) -> None:
    with pytest.raises(SettingsError) as error:
        load_stack("gke", **{word: True})
    [problem] = error.value.problems
    assert f"workloads: {{{key}: " in problem.remedy


@pytest.mark.parametrize("word", ["own", "", "gpu", "name", "zone", "colour", "nodes", "disk"])
def test_other_words_have_no_answer(word: str) -> None:
    assert unsupported.for_key(word, ()) is None
