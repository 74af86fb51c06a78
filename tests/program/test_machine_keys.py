"""As ``test_every_key``, of own machines and of existing clusters: each key changes the program, or is refused."""

from __future__ import annotations

import base64
import functools
import json
from collections.abc import Iterator
from typing import Any

import pulumi
import pytest
import yaml
from pydantic import BaseModel

from components.settings.docs import type_name
from components.settings.fields.problems import models_in
from components.settings.sections.existing_cluster import ExistingStackFile
from components.settings.sections.own_machines import OwnStackFile
from tests.program import test_existing, test_own_machines
from tests.stacks import EXISTING, OWN_MACHINES

FILES = {"own": OWN_MACHINES, "existing": EXISTING}
RECORDINGS = {"own": test_own_machines.recording, "existing": test_existing.recording}
MODELS: dict[str, type[BaseModel]] = {"own": OwnStackFile, "existing": ExistingStackFile}
CA = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"
EXAMPLES: dict[str, Any] = {stack: yaml.safe_load(file.read_text())["config"] for stack, file in FILES.items()}


def host_key(number: int) -> str:
    key = base64.b64encode(b"\0\0\0\x0bssh-ed25519" + bytes([number] * 36)).decode()
    return f"ssh-ed25519 {key}"


def own_pool(**changes: Any) -> dict[str, Any]:
    """The GPU pool of the example with other values."""
    return {**EXAMPLES["own"]["gpucluster:gpuPools"][0], **changes}


def existing_pool(**changes: Any) -> dict[str, Any]:
    """The GPU pool of the example with other values; without those that are ``None``."""
    pool = {**EXAMPLES["existing"]["gpucluster:gpuPools"][0], **changes}
    return {name: value for name, value in pool.items() if value is not None}


CP1 = EXAMPLES["own"]["gpucluster:adminPool"]["machines"][0]
CPU1 = {"name": "cpu1", "address": "10.99.0.14", "hostKey": host_key(4)}
JUMP_HOST = {"address": "jump.example.com", "hostKey": host_key(4)}
SOURCE = {"url": "https://k.example/", "key": "https://k.example/", "fingerprint": "A" * 40}
# Key of a stack file → the top-level keys that differ from the example.
CHANGES: dict[str, dict[str, dict[str, Any] | None]] = {
    "own": {
        "cloud": None,
        "clusterName": {"clusterName": "other"},
        "kubernetes.version": {"kubernetes": {"version": "1.35"}},
        "network.podCidr": {"network": {"podCidr": "10.64.0.0/16"}},
        "network.serviceCidr": {"network": {"serviceCidr": "10.97.0.0/16"}},
        "network.authorizedNetworks": {
            "network": {"authorizedNetworks": [{"name": "office", "cidr": "203.0.113.0/24"}]}
        },
        "network.plugin": {"network": {"plugin": "none"}},
        "network.loadBalancerRange": {"network": {"loadBalancerRange": "10.99.0.200-10.99.0.220"}},
        "ssh.user": {"ssh": {"user": "ann"}},
        "ssh.port": {"ssh": {"port": 2222}},
        "ssh.jumpHost.address": {"ssh": {"jumpHost": JUMP_HOST}},
        "ssh.jumpHost.hostKey": {"ssh": {"jumpHost": {**JUMP_HOST, "hostKey": host_key(3)}}},
        "ssh.jumpHost.user": {"ssh": {"jumpHost": {**JUMP_HOST, "user": "ann"}}},
        "ssh.jumpHost.port": {"ssh": {"jumpHost": {**JUMP_HOST, "port": 2222}}},
        "ssh.skipUnreachable": {"ssh": {"skipUnreachable": ["gpu9"]}},
        "packages.kubernetes.url": {"packages": {"kubernetes": {**SOURCE, "url": "https://a.example/"}}},
        "packages.kubernetes.key": {"packages": {"kubernetes": {**SOURCE, "key": "https://a.example/"}}},
        "packages.kubernetes.fingerprint": {"packages": {"kubernetes": SOURCE}},
        "packages.driver": {"packages": {"driver": SOURCE}},
        "packages.toolkit": {"packages": {"toolkit": SOURCE}},
        "packages.images[].registry": {"packages": {"images": [{"registry": "quay.io", "url": "https://m.example"}]}},
        "packages.images[].url": {"packages": {"images": [{"registry": "*", "url": "https://a.example"}]}},
        "packages.images[].ca": {"packages": {"images": [{"registry": "*", "url": "https://m.example", "ca": CA}]}},
        "packages.images[].only": {
            "packages": {"images": [{"registry": "*", "url": "https://m.example", "only": True}]}
        },
        "packages.proxy": {"packages": {"proxy": "http://proxy.example:3128"}},
        "packages.noProxy": {"packages": {"noProxy": ["mirror.example", "192.0.2.0/24"]}},
        "security.deletionProtection": {"security": {"deletionProtection": True}},
        "security.adminKubeconfig": {"security": {"adminKubeconfig": True}},
        "adminPool.machines[].name": {"adminPool": {"machines": [{**CP1, "name": "cp9"}]}},
        "adminPool.machines[].address": {"adminPool": {"machines": [{**CP1, "address": "10.99.0.19"}]}},
        "adminPool.machines[].hostKey": {"adminPool": {"machines": [{**CP1, "hostKey": host_key(4)}]}},
        "adminPool.machines[].user": {"adminPool": {"machines": [{**CP1, "user": "ann"}]}},
        "adminPool.virtualAddress": {"adminPool": {"virtualAddress": "10.99.0.10", "machines": [CP1]}},
        "adminPool.machines[].port": {"adminPool": {"machines": [{**CP1, "port": 2222}]}},
        "gpuPools[].name": {"gpuPools": [own_pool(name="other")]},
        "gpuPools[].gpu": {"gpuPools": [own_pool(gpu="nvidia-rtx-4090")]},
        "gpuPools[].gpusPerNode": {"gpuPools": [own_pool(gpusPerNode=4)]},
        "gpuPools[].machines": {
            "teams": [],
            "gpuPools": [own_pool(machines=[{"name": "gpu9", "address": "10.99.0.19", "hostKey": host_key(4)}])],
        },
        "gpuPools[].drivers": {"gpuPools": [own_pool(drivers="none")]},
        "gpuPools[].driverVersion": {"gpuPools": [own_pool(driverVersion="595")]},
        "gpuPools[].kernelModules": {"gpuPools": [own_pool(kernelModules="proprietary")]},
        "gpuPools[].timeSharing": {"gpuPools": [own_pool(timeSharing={"clientsPerGpu": 4})]},
        "gpuPools[].hourlyUsd": {"gpuPools": [own_pool(hourlyUsd=1.5)]},
        "gpuPools[].teams": {"gpuPools": [own_pool(teams=["research"])]},
        "gpuPools[].labels": {"gpuPools": [own_pool(labels={"team": "vision"})]},
        "gpuPools[].taints": {
            "gpuPools": [own_pool(taints=[{"key": "team", "value": "vision", "effect": "NoSchedule"}])]
        },
        "cpuPools[].name": {"cpuPools": [{"name": "other", "machines": [CPU1]}]},
        "cpuPools[].machines": {"cpuPools": [{"name": "cpu", "machines": [CPU1]}]},
        "cpuPools[].labels": {"cpuPools": [{"name": "cpu", "labels": {"team": "web"}, "machines": [CPU1]}]},
        "cpuPools[].taints": {
            "cpuPools": [
                {"name": "cpu", "taints": [{"key": "team", "value": "web", "effect": "NoSchedule"}], "machines": [CPU1]}
            ]
        },
        "cpuPools[].hourlyUsd": {
            "gpuPools": [own_pool(hourlyUsd=1)],
            "cpuPools": [{"name": "cpu", "hourlyUsd": 2, "machines": [CPU1]}],
        },
        "budget.maxHourlyUsd": {"gpuPools": [own_pool(hourlyUsd=1.5)], "budget": {"maxHourlyUsd": 1}},
        "workloads": {"workloads": {"queue": {}}},
        "access": {"access": []},
        "teams": {"teams": []},
    },
    "existing": {
        "cloud": None,
        "context": {"context": "lab"},
        "clusterName": {"clusterName": "other"},
        "security.deletionProtection": {"security": {"deletionProtection": True}},
        "adminPool.machines": {"adminPool": {"machines": ["cp1"]}},
        "adminPool.selector": {"adminPool": {"selector": {"role": "tools"}, "maxNodes": 2}},
        "adminPool.maxNodes": {"adminPool": {"selector": {"role": "tools"}, "maxNodes": 3}},
        "gpuPools[].name": {"gpuPools": [existing_pool(name="other")]},
        "gpuPools[].gpu": {"gpuPools": [existing_pool(gpu="nvidia-rtx-4090")]},
        "gpuPools[].gpusPerNode": {"gpuPools": [existing_pool(gpusPerNode=4)]},
        "gpuPools[].capacity": {"gpuPools": [existing_pool(capacity="autoscaled", machines=None, maxNodes=2)]},
        "gpuPools[].machines": {"gpuPools": [existing_pool(machines=["gpu1", "gpu3"])]},
        "gpuPools[].selector": {"gpuPools": [existing_pool(machines=None, selector={"gpu": "t4"}, maxNodes=2)]},
        "gpuPools[].maxNodes": {"gpuPools": [existing_pool(machines=None, selector={"gpu": "t4"}, maxNodes=3)]},
        "gpuPools[].drivers": {"gpuPools": [existing_pool(drivers="none")]},
        "gpuPools[].timeSharing": {"gpuPools": [existing_pool(timeSharing={"clientsPerGpu": 4})]},
        "gpuPools[].hourlyUsd": {"gpuPools": [existing_pool(hourlyUsd=1.5)]},
        "gpuPools[].teams": {"gpuPools": [existing_pool(teams=["research"])]},
        "gpuPools[].labels": {"gpuPools": [existing_pool(labels={"team": "vision"})]},
        "gpuPools[].taints": {
            "gpuPools": [existing_pool(taints=[{"key": "team", "value": "vision", "effect": "NoSchedule"}])]
        },
        "cpuPools[].name": {"cpuPools": [{"name": "other", "machines": ["cpu1"]}]},
        "cpuPools[].machines": {"cpuPools": [{"name": "cpu", "machines": ["cpu1"]}]},
        "cpuPools[].selector": {"cpuPools": [{"name": "cpu", "selector": {"a": "b"}, "maxNodes": 1}]},
        "cpuPools[].maxNodes": {"cpuPools": [{"name": "cpu", "selector": {"a": "b"}, "maxNodes": 2}]},
        "cpuPools[].labels": {"cpuPools": [{"name": "cpu", "machines": ["cpu1"], "labels": {"team": "web"}}]},
        "cpuPools[].taints": {
            "cpuPools": [
                {
                    "name": "cpu",
                    "machines": ["cpu1"],
                    "taints": [{"key": "team", "value": "web", "effect": "NoSchedule"}],
                }
            ]
        },
        "cpuPools[].hourlyUsd": {
            "gpuPools": [existing_pool(hourlyUsd=1)],
            "cpuPools": [{"name": "cpu", "hourlyUsd": 2, "machines": ["cpu1"]}],
        },
        "budget.maxHourlyUsd": {"gpuPools": [existing_pool(hourlyUsd=1.5)], "budget": {"maxHourlyUsd": 1}},
        "workloads": {"adminPool": {"machines": ["cp1"]}, "workloads": {"queue": {}}},
        "access": {"access": []},
        "teams": {"teams": []},
    },
}


def keys(stack: str, model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """The keys of the sections that only such stack files have; what a cloud's file has too is one key."""
    modules = {MODELS[stack].__module__, OwnStackFile.__module__}
    for name, field in model.model_fields.items():
        path = f"{prefix}{field.alias or name}"
        nested = [each for each in models_in(field.annotation) if each.__module__ in modules]
        listed = "[]" if type_name(field.annotation).startswith("list") else ""
        for each in nested:
            yield from keys(stack, each, f"{path}{listed}.")
        if not nested:
            yield path


@functools.cache
def declared_by(stack: str, changed: str) -> str:
    """All that the program registers and puts out, or why it refuses the file; ``changed`` is JSON."""
    try:
        # Not without any change, which would be a stack of another name.
        teams = EXAMPLES[stack]["gpucluster:teams"]
        program = RECORDINGS[stack](**{"teams": teams, **json.loads(changed)})
    except pulumi.RunError as refusal:
        return str(refusal)
    resources = [(each.type, each.name, each.inputs, each.protect) for each in program.resources]
    return json.dumps([sorted(resources, key=str), program.stack_outputs], sort_keys=True)


# Machines and sources of packages are tried where they are written first.
@pytest.mark.parametrize(
    ("stack", "once"),
    [
        ("own", ["gpuPools[].machines", "cpuPools[].machines", "packages.driver", "packages.toolkit"]),
        ("existing", []),
    ],
)
def test_every_key_is_tried(stack: str, once: list[str]) -> None:
    inside = tuple(f"{path}{end}" for path in once for end in ("[].", "."))
    tried = {path for path in keys(stack, MODELS[stack]) if not path.startswith(inside)}
    assert tried | {*once} == set(CHANGES[stack])


@pytest.mark.parametrize(
    ("stack", "key"),
    [(stack, key) for stack, changes in CHANGES.items() for key, changed in changes.items() if changed is not None],
)
def test_a_key_changes_the_program_or_refuses_the_file(stack: str, key: str) -> None:
    changed = CHANGES[stack][key]
    others = [other for other in CHANGES[stack].values() if other is not None and other != changed]
    # Also those of the same section, so that what stands beside the key is not taken for it.
    beside = [{}, *(other for other in others if changed is not None and other.keys() == changed.keys())]
    mine = declared_by(stack, json.dumps(changed))
    assert [other for other in beside if declared_by(stack, json.dumps(other)) == mine] == []
