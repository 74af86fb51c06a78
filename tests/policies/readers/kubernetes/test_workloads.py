"""Whatever makes pods is read: each kind, where its pod is, what the pod asks for and tolerates."""

from __future__ import annotations

from typing import Any

import pytest

from components.clouds.gke.kubeconfig import kubeconfig
from facts.concepts.declared import Credential, Workload
from facts.concepts.kubernetes import Toleration
from facts.concepts.unknown import UNKNOWN
from policies.readers import read
from policies.readers.resource import Declared

POD: dict[str, Any] = {
    "containers": [{"name": "main", "image": "i", "resources": {"limits": {"nvidia.com/gpu": "2"}}}],
    "nodeSelector": {"gpucluster.dev/gpu": "nvidia-t4"},
    "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
}


def workload(type_token: str, spec: Any, metadata: Any = None) -> Workload:
    properties = {"metadata": metadata or {"name": "w", "namespace": "ml"}, "spec": spec}
    item = read(Declared(type_token, "x", "urn:x", properties))[0]
    assert isinstance(item, Workload)
    return item


def pod(**changes: Any) -> Workload:
    return workload("kubernetes:core/v1:Pod", {**POD, **changes})


@pytest.mark.parametrize("suffix", ["", "Patch"])
@pytest.mark.parametrize(
    ("type_token", "spec"),
    [
        ("kubernetes:core/v1:Pod", POD),
        ("kubernetes:core/v1:ReplicationController", {"template": {"spec": POD}}),
        ("kubernetes:batch/v1:Job", {"template": {"spec": POD}}),
        ("kubernetes:batch/v1:CronJob", {"jobTemplate": {"spec": {"template": {"spec": POD}}}}),
        ("kubernetes:apps/v1:Deployment", {"template": {"spec": POD}}),
        ("kubernetes:apps/v1:StatefulSet", {"template": {"spec": POD}}),
        ("kubernetes:apps/v1:DaemonSet", {"template": {"spec": POD}}),
        ("kubernetes:apps/v1:ReplicaSet", {"template": {"spec": POD}}),
        ("kubernetes:extensions/v1beta1:DaemonSet", {"template": {"spec": POD}}),
    ],
)
def test_each_kind(type_token: str, spec: dict[str, Any], suffix: str) -> None:
    item = workload(type_token + suffix, spec)
    assert (item.name, item.namespace, item.gpus) == ("w", "ml", 2)
    assert item.kind == type_token.rpartition(":")[2]
    assert item.node_selector == POD["nodeSelector"]
    assert item.tolerations == (Toleration("nvidia.com/gpu", "Exists", None, "NoSchedule"),)


def limits(count: Any, section: str = "limits") -> dict[str, Any]:
    return {"resources": {section: {"nvidia.com/gpu": count}}}


@pytest.mark.parametrize(
    ("changes", "gpus"),
    [
        ({"containers": [limits(1), limits("3")]}, 4),
        ({"containers": [limits(1)], "initContainers": [limits(4)]}, 4),
        ({"containers": [limits(2, "requests")]}, 2),
        ({"containers": [{"resources": {"limits": {"cpu": "1"}}}]}, 0),
        ({"containers": [{}]}, 0),
        ({"containers": [limits(1)], "initContainers": [{**limits(2), "restartPolicy": "Always"}]}, 3),
        ({"containers": [limits(1)], "ephemeralContainers": [limits(1)]}, 2),
        ({"containers": [{"resources": {"limits": {"nvidia.com/mig-1g.5gb": 1}}}]}, UNKNOWN),
        ({"containers": [{"resources": {"limits": {"nvidia.com/gpu.shared": 1}}}]}, UNKNOWN),
        ({"containers": [{}], "resourceClaims": [{"name": "gpu"}]}, UNKNOWN),
        ({"containers": [limits(1)], "resourceClaims": UNKNOWN}, 1),
        ({"containers": [limits(UNKNOWN)]}, UNKNOWN),
        ({"containers": [limits("many")]}, UNKNOWN),
        ({"containers": UNKNOWN}, UNKNOWN),
        ({"containers": [limits(1)], "initContainers": UNKNOWN}, UNKNOWN),
    ],
)
def test_gpus_of_a_pod(changes: dict[str, Any], gpus: Any) -> None:
    assert pod(**changes).gpus == gpus


@pytest.mark.parametrize("tolerations", [UNKNOWN, [UNKNOWN], [{"key": UNKNOWN}]])
def test_unknown_tolerations(tolerations: Any) -> None:
    assert pod(tolerations=tolerations).tolerations is UNKNOWN


def test_an_unknown_pod_is_unknown_throughout() -> None:
    item = workload("kubernetes:batch/v1:Job", {"template": UNKNOWN})
    assert item.gpus is item.tolerations is item.node_selector is item.affinity is UNKNOWN


def test_a_toleration_without_a_key_tolerates_everything() -> None:
    assert pod(tolerations=[{"operator": "Exists"}]).tolerations == (Toleration(None, "Exists"),)


def test_names_fall_back_to_the_resource() -> None:
    item = workload("kubernetes:core/v1:Pod", POD, {"labels": {}})
    assert (item.name, item.namespace) == ("x", "default")


def provider(config: Any) -> Credential:
    (item,) = read(Declared("pulumi:providers:kubernetes", "k", "urn:k", {"kubeconfig": config}))
    assert isinstance(item, Credential)
    return item


@pytest.mark.parametrize(
    ("config", "static"),
    [
        (kubeconfig("context", "10.0.0.1", "Q0E="), False),
        ("users:\n- user:\n    token: abc", True),
        ('{"users": [{"user": {"client-key-data": "abc"}}]}', True),
        (UNKNOWN, UNKNOWN),
    ],
)
def test_a_kubeconfig_gets_its_credentials_from_a_plugin(config: Any, static: Any) -> None:
    assert provider(config).static is static


def test_keys_in_pods_and_config_maps() -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----"
    env = {**POD, "containers": [{"env": [{"name": "KEY", "value": key}]}]}
    job = read(Declared("kubernetes:core/v1:Pod", "p", "urn:p", {"spec": env}))
    config_map = read(Declared("kubernetes:core/v1:ConfigMap", "m", "urn:m", {"data": {"a": key}}))
    assert [type(item) for item in (*job, *config_map)] == [Workload, Credential, Credential]
    assert read(Declared("kubernetes:core/v1:ConfigMap", "m", "urn:m", {"data": {"a": "b"}})) == ()
