"""Small specs for the tests of EKS; every argument that a test is about is given by the test."""

from __future__ import annotations

import functools
import json
from collections.abc import Collection, Mapping
from typing import Any

from components.settings import Settings
from facts.concepts.pool import Pool, gpu_pool_labels
from tests import recorder
from tests.components import specs

REGION = "us-west-2"
ZONE = "us-west-2a"
THREE_ZONES = ("us-west-2a", "us-west-2b", "us-west-2c")

EVERY_ADDON = ("ebs", "efs", "fsx", "load-balancer", "cloudwatch")

ACCELERATOR = "k8s.amazonaws.com/accelerator"


def cluster_settings(**changes: Any) -> Settings:
    usual: dict[str, Any] = {
        "cloud": "eks",
        "region": REGION,
        "project": REGION,
        "zones": (ZONE,),
        "node_cidr": "10.0.0.0/16",
        "pod_cidr": None,
        "service_cidr": "172.20.0.0/16",
        "autoscaler": "cluster-autoscaler",
        "control_plane_logs": ("api", "audit", "authenticator", "controllerManager", "scheduler"),
    }
    return specs.cluster_settings(**{**usual, **changes})


def admin_pool(**changes: Any) -> Pool:
    return specs.admin_pool(**{"machine_types": ("r6i.large",), "image": "al2023", "zones": (ZONE,), **changes})


def cpu_pool(name: str = "cpu", **changes: Any) -> Pool:
    return specs.cpu_pool(name, **{"machine_types": ("m6i.xlarge",), "image": "al2023", "zones": (ZONE,), **changes})


def gpu_pool(
    name: str = "t4-1-a", *, size: int = 1, extra_labels: Mapping[str, str] | None = None, **changes: Any
) -> Pool:
    usual: dict[str, Any] = {
        "machine_types": ("g4dn.xlarge",),
        "zones": (ZONE,),
        "image": "al2023",
        "accelerator": "nvidia-tesla-t4",
        "labels": gpu_pool_labels(name, "nvidia-t4", size, {ACCELERATOR: "nvidia-tesla-t4", **(extra_labels or {})}),
    }
    return specs.gpu_pool(name, size=size, **{**usual, **changes})


def run(
    *pools: Pool,
    admin: Pool | None = None,
    cluster: Mapping[str, Any] | None = None,
    new: Collection[str] | None = None,
    deployed: recorder.Recording | None = None,
    drivers: bool = False,
) -> recorder.Recording:
    """A whole cluster with these pools, declared in the program's order; ``new`` and ``deployed`` as of
    ``recorder.run``, ``drivers`` as of ``specs.declare``."""
    zones = (cluster or {}).get("zones", (ZONE,))
    settings = cluster_settings(**{"admin_pool": admin or admin_pool(zones=zones), **(cluster or {})})
    return recorder.run(specs.declare(settings, pools, drivers=drivers), new=new, deployed=deployed)


recorded = recorder.remembered(run)


@functools.cache
def everything() -> recorder.Recording:
    """A cluster with every opt-in and a pool of each kind."""
    return recorded(gpu_pool(), cpu_pool(), cluster={"addons": EVERY_ADDON})


def trusted_by(role: recorder.Registration) -> tuple[str, list[str]]:
    """Who may assume the role, and by which actions."""
    (statement,) = json.loads(role.inputs["assumeRolePolicy"])["Statement"]
    return statement["Principal"]["Service"], statement["Action"]


def rights(recording: recorder.Recording, account: str, namespace: str = "kube-system") -> list[dict[str, Any]]:
    """What pods of a service account may do, found as AWS finds it: association → role → its only policy."""
    associations = [one.inputs for one in recording.of_type("aws:eks/podIdentityAssociation:PodIdentityAssociation")]
    (arn,) = [
        one["roleArn"] for one in associations if (one["serviceAccount"], one["namespace"]) == (account, namespace)
    ]
    role = arn.rpartition("/")[2]
    attached = recording.of_type("aws:iam/rolePolicyAttachment:RolePolicyAttachment")
    assert not [one for one in attached if one.inputs["role"] == role]
    own = recording.of_type("aws:iam/rolePolicy:RolePolicy")
    (policy,) = [one.inputs["policy"] for one in own if one.inputs["role"] == role]
    statements: list[dict[str, Any]] = json.loads(policy)["Statement"]
    return statements
