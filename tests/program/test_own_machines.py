"""The real program on own machines: what it declares of them, and that all above the cluster is as on a cloud."""

from __future__ import annotations

import base64
import functools
import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import pulumi
import pytest
import yaml
from pydantic import BaseModel

from components.settings.docs import type_name
from components.settings.own.sections import OwnStackFile
from components.settings.problems import models_in
from facts.concepts.declared import NodeGroup
from facts.concepts.pool import GPU_TAINT
from policies.readers import linked, read, read_stack
from policies.rules.table import RULES
from tests import declared
from tests.program import not_tolerated
from tests.recorder import Recording, Registration
from tests.stacks import OWN_MACHINES, run_program, run_with, settings_of

WORKER = "gpucluster-machines:index:Worker"
CONTROL_PLANE = "gpucluster-machines:index:ControlPlane"


def recording(**changed: Any) -> Recording:
    if not changed:
        return run_program(OWN_MACHINES)
    config = yaml.safe_load(OWN_MACHINES.read_text())["config"]
    return run_with({**config, **{f"gpucluster:{key}": value for key, value in changed.items()}}, "lab")


def workers(program: Recording) -> dict[str, Registration]:
    return {each.inputs["machine"]["name"]: each for each in program.of_type(WORKER)}


def test_every_machine_is_looked_at_before_one_changes() -> None:
    program = recording()
    preflight = program.only("gpucluster-machines:index:Preflight")
    checked = {each["machine"]["name"]: (each["role"], each["gpus"]) for each in preflight.inputs["machines"]}
    assert checked == {"cp1": ("controlPlane", 0), "gpu1": ("worker", 2), "gpu2": ("worker", 2)}
    for machine in (program.only(CONTROL_PLANE), *workers(program).values()):
        assert preflight.urn in program.before(machine)


def test_a_worker_joins_the_control_plane_with_its_labels_taints_and_driver() -> None:
    program = recording()
    assert workers(program).keys() == {"gpu1", "gpu2"}
    (pool,) = settings_of(OWN_MACHINES).gpu_pools
    for worker in workers(program).values():
        assert worker.inputs["labels"] == pool.labels
        assert worker.inputs["taints"] == [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]
        assert worker.inputs["nvidia"] == {"driver": "580"}
        assert worker.inputs["controlPlane"]["machine"]["name"] == "cp1"
        assert worker.inputs["controlPlane"]["kubernetesVersion"] == "v1.34.4"
        assert worker.inputs["endpoint"] == "https://10.99.0.11:6443"
        assert program.only(CONTROL_PLANE).urn in program.before(worker)


def test_a_patch_comes_from_the_repository_of_its_minor_version() -> None:
    for machine in (recording(kubernetes={"version": "1.35.2"}).only(CONTROL_PLANE), *workers(recording()).values()):
        source = machine.inputs["software"]["kubernetes"]
        minor = {"1.35.2": "1.35", "1.34": "1.34"}[source["version"]]
        assert source["url"] == f"https://pkgs.k8s.io/core:/stable:/v{minor}/deb/"


def test_machines_that_have_a_driver_keep_theirs() -> None:
    pool = yaml.safe_load(OWN_MACHINES.read_text())["config"]["gpucluster:gpuPools"][0]
    for worker in workers(recording(gpuPools=[{**pool, "drivers": "none"}])).values():
        assert "nvidia" not in worker.inputs


def test_the_control_plane_encrypts_secrets_logs_changes_and_hosts_system_pods() -> None:
    inputs = recording().only(CONTROL_PLANE).inputs
    assert inputs["encryptSecrets"] is True
    assert inputs["schedulable"] is True
    assert inputs["taints"] == []
    (cluster,) = [each for each in inputs["kubeadm"] if each["kind"] == "ClusterConfiguration"]
    assert cluster["networking"] == {"podSubnet": "10.244.0.0/16", "serviceSubnet": "10.96.0.0/16"}
    arguments = {each["name"]: each["value"] for each in cluster["apiServer"]["extraArgs"]}
    assert "ExtendedResourceToleration" in arguments["enable-admission-plugins"].split(",")
    (audit,) = inputs["files"]
    assert audit["path"] == arguments["audit-policy-file"]
    rules = json.loads(audit["content"])["rules"]
    assert rules[0]["level"] == "Metadata"
    assert "secrets" in rules[0]["resources"][0]["resources"]


def test_the_private_key_is_secret_and_in_one_place_only() -> None:
    key, name = "-----BEGIN OPENSSH PRIVATE KEY-----", "gpucluster:sshPrivateKey"
    config = {**yaml.safe_load(OWN_MACHINES.read_text())["config"], name: key}
    with pytest.raises(Exception, match="is in plain text"):
        run_with(config, "lab")
    program = run_with(config, "lab", secrets=[name])
    holders = [each for each in program.resources if key in json.dumps(each.inputs)]
    assert [each.type for each in holders] == ["pulumi:providers:gpucluster-machines"]
    assert holders[0].inputs["privateKey"] == key
    assert "privateKey" in holders[0].secret_inputs
    assert key not in json.dumps(program.outputs)
    assert "privateKey" not in recording().only("pulumi:providers:gpucluster-machines").inputs


def test_the_kubeconfig_of_the_outputs_is_a_users_unless_the_administrators_is_asked_for() -> None:
    program = recording()
    control_plane = program.only(CONTROL_PLANE)
    assert control_plane.inputs["user"] == {"name": "gpucluster:users", "groups": ["gpucluster:users"]}
    assert program.stack_outputs["kubeconfig"] == "user"
    assert "kubeconfig" in program.secret_stack_outputs
    subjects = [
        binding.inputs["roleRef"]["name"]
        for binding in program.of_type("kubernetes:rbac.authorization.k8s.io/v1:ClusterRoleBinding")
        if binding.inputs["subjects"][0]["name"] == "gpucluster:users"
    ]
    assert sorted(subjects) == ["edit", "gpucluster:users:view"]
    administrator = recording(security={"adminKubeconfig": True})
    assert administrator.stack_outputs["kubeconfig"] == "admin"
    assert program.only("pulumi:providers:kubernetes").inputs["kubeconfig"] == "admin"


def test_pods_get_a_network_before_anything_waits_for_a_ready_node() -> None:
    program = recording()
    (daemon,) = [
        each
        for each in program.of_type("kubernetes:apps/v1:DaemonSet")
        if each.inputs["metadata"]["name"] == "kube-flannel-ds"
    ]
    tolerations = daemon.inputs["spec"]["template"]["spec"]["tolerations"]
    assert not not_tolerated(tolerations, (GPU_TAINT,))
    (config,) = [
        each for each in program.of_type("kubernetes:core/v1:ConfigMap") if "net-conf.json" in each.inputs["data"]
    ]
    assert json.loads(config.inputs["data"]["net-conf.json"])["Network"] == "10.244.0.0/16"
    json.loads(config.inputs["data"]["cni-conf.json"])
    other = recording(network={"plugin": "none"})
    assert "kube-flannel" not in json.dumps([each.inputs for each in other.resources])


def test_gpus_are_offered_once_on_the_pools_machines() -> None:
    plugins = [
        each
        for each in recording().of_type("kubernetes:apps/v1:DaemonSet")
        if each.inputs["metadata"].get("labels", {}).get("k8s-app") == "nvidia-device-plugin"
    ]
    assert len(plugins) == 1
    assert not not_tolerated(plugins[0].inputs["spec"]["template"]["spec"]["tolerations"], (GPU_TAINT,))


def test_objects_go_with_the_cluster() -> None:
    program = recording()
    objects = [each for each in program.resources if each.type.startswith("kubernetes:")]
    assert objects
    assert {each.deleted_with for each in objects} == {program.only(CONTROL_PLANE).urn}


def test_the_offer_calls_the_machines_fixed() -> None:
    (offer,) = [
        each for each in recording().of_type("kubernetes:core/v1:ConfigMap") if "offer.json" in each.inputs["data"]
    ]
    (pool,) = json.loads(offer.inputs["data"]["offer.json"])["pools"]
    assert (pool["capacity_type"], pool["max_nodes"], pool["hourly_usd"]) == ("fixed", 2, None)


def test_the_gate_sees_machines_that_nobody_bills_and_finds_nothing_wrong() -> None:
    groups = [item for item in declared.items(recording()) if isinstance(item, NodeGroup)]
    assert {group.name: (group.kind, group.gpus_per_node) for group in groups} == {
        "cp1": ("owned", 0),
        "gpu1": ("owned", 2),
        "gpu2": ("owned", 2),
    }
    together = linked(declared.declarations(recording()))
    items = [item for resource in together for item in read(resource)]
    violations = []
    for rule in RULES:
        subjects = [item for item in items if isinstance(item, rule.subjects)]
        subjects = [read_stack(together)] if rule.scope == "stack" else subjects
        violations += [violation for subject in subjects for violation in rule.check(subject)]
    assert violations == []


def test_the_gate_refuses_a_gpu_machine_without_its_taint() -> None:
    from policies.readers.kubeadm.machines import read_worker
    from policies.readers.resource import Declared
    from policies.rules.node_groups import gpu_taint

    worker = workers(recording())["gpu1"]
    bare = Declared(worker.type, worker.name, worker.urn, {**worker.inputs, "taints": []})
    (group,) = read_worker(bare)
    assert isinstance(group, NodeGroup)
    assert [violation.rule for violation in gpu_taint(group)] == ["gpu-taint"]


def host_key(number: int) -> str:
    key = base64.b64encode(b"\0\0\0\x0bssh-ed25519" + bytes([number] * 36)).decode()
    return f"ssh-ed25519 {key}"


EXAMPLE: dict[str, Any] = yaml.safe_load(OWN_MACHINES.read_text())["config"]
CHANGES: dict[str, dict[str, Any] | None] = yaml.safe_load(Path(__file__).with_name("own_every_key.yaml").read_text())


def keys(
    model: type[BaseModel], prefix: str = "", modules: Collection[str] = (OwnStackFile.__module__,)
) -> Iterator[str]:
    """The keys of the sections in ``modules``; what a cloud's file has too is one key."""
    for name, field in model.model_fields.items():
        path = f"{prefix}{field.alias or name}"
        nested = [each for each in models_in(field.annotation) if each.__module__ in modules]
        listed = "[]" if type_name(field.annotation).startswith("list") else ""
        for each in nested:
            yield from keys(each, f"{path}{listed}.", modules)
        if not nested:
            yield path


def written(value: Any) -> Any:
    """A value of the table with its words replaced."""
    pool = EXAMPLE["gpucluster:gpuPools"][0]
    own_key = EXAMPLE["gpucluster:adminPool"]["machines"][0]["hostKey"]
    if isinstance(value, dict):
        return {**pool, **written(value["$pool"])} if "$pool" in value else {k: written(v) for k, v in value.items()}
    if isinstance(value, list):
        return [written(each) for each in value]
    words = {"$key1": own_key, "$key3": host_key(3), "$key4": host_key(4), "$fingerprint": "A" * 40}
    return words.get(value, value) if isinstance(value, str) else value


@functools.cache
def declared_by(changed: str) -> str:
    """All that the program registers and puts out, or why it refuses the file; ``changed`` is JSON."""
    try:
        # Not without any change, which would be a stack of another name.
        program = recording(**{"teams": EXAMPLE["gpucluster:teams"], **written(json.loads(changed))})
    except pulumi.RunError as refusal:
        return str(refusal)
    resources = [(each.type, each.name, each.inputs, each.protect) for each in program.resources]
    return json.dumps([sorted(resources, key=str), program.stack_outputs], sort_keys=True)


def test_every_key_is_tried() -> None:
    parts = {path.partition(".machines")[0] for path in ("gpuPools[].machines", "cpuPools[].machines")}
    tried = {path for path in keys(OwnStackFile) if not any(path.startswith(f"{part}.machines[].") for part in parts)}
    tried -= {path for path in tried if path.startswith(("packages.driver.", "packages.toolkit."))}
    once = {"gpuPools[].machines", "cpuPools[].machines", "packages.driver", "packages.toolkit"}
    assert tried | once == set(CHANGES)


@pytest.mark.parametrize("key", [key for key, changed in CHANGES.items() if changed is not None])
def test_a_key_changes_the_program_or_refuses_the_file(key: str) -> None:
    changed = CHANGES[key]
    others = [other for other in CHANGES.values() if other is not None and other != changed]
    # Also those of the same section, so that what stands beside the key is not taken for it.
    beside = [{}, *(other for other in others if changed is not None and other.keys() == changed.keys())]
    assert [other for other in beside if declared_by(json.dumps(other)) == declared_by(json.dumps(changed))] == []
