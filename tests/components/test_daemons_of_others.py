"""On a cluster of others: whose DaemonSets take room on the nodes of a pool that is empty, by the labels they select.

The clouds' own labels are those of recorded nodes (``recorded_nodes.yaml``) and of the pages that list them.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

import pytest

from components import looks
from components.settings import from_stack_file
from facts.catalog.model import Resources
from tests.stacks import ROOT

AKS: Final = "kubernetes.azure.com"
TAKEN: Final = Resources(milli_cpu=500, memory_mib=1024)
NOTHING: Final = Resources(milli_cpu=0, memory_mib=0)


def taken(example: str, pod: dict[str, Any]) -> Resources:
    """What a DaemonSet of 500m CPU and 1 GiB takes on a node of the example's first pool."""
    settings = from_stack_file(ROOT / f"examples/{example}.yaml")
    joining = import_module(f"components.clouds.{settings.cloud}.cloud").CLOUD.joining[settings.autoscaler]
    plan = looks.Planned(
        settings=settings,
        objects={},
        uids={},
        owner=("project", "test"),
        node_labels=joining.node_labels,
        label_domains=joining.label_domains,
    )
    container = {"name": "agent", "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}}
    spec = {"tolerations": [{"operator": "Exists"}], "containers": [container], **pod}
    daemon = {"metadata": {"name": "agent", "namespace": "lab"}, "spec": {"template": {"spec": spec}}}
    found = looks.taken_by_daemons(plan, looks.Surveyed(lists={"/apis/apps/v1/daemonsets": [daemon]}))
    assert found is not None
    return found[settings.gpu_pools[0].name]


def selecting(key: str, value: str | None) -> dict[str, Any]:
    """A pod for nodes with a label; ``None``: with any value."""
    if value is not None:
        return {"nodeSelector": {key: value}}
    terms = [{"matchExpressions": [{"key": key, "operator": "Exists"}]}]
    needed = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {"affinity": {"nodeAffinity": needed}}


@pytest.mark.parametrize(
    ("example", "key", "value"),
    [
        ("gke-existing-cluster", "cloud.google.com/gke-provisioning", None),
        ("gke-existing-cluster", "cloud.google.com/private-node", "false"),
        ("gke-existing-cluster", "iam.gke.io/gke-metadata-server-enabled", "true"),
        ("gke-existing-cluster", "topology.gke.io/zone", None),
        ("eks-existing-cluster", "karpenter.k8s.aws/instance-hypervisor", "nitro"),
        ("eks-existing-cluster", "topology.k8s.aws/zone-id", None),
        ("eks-groups-existing-cluster", "eks.amazonaws.com/nodegroup-image", None),
        # As the secrets store driver of AKS selects nodes.
        ("aks-existing-cluster", f"{AKS}/cluster", None),
        ("aks-existing-cluster", f"{AKS}/mode", "user"),
        ("aks-existing-cluster", f"{AKS}/os-sku", "Ubuntu"),
        ("aks-existing-cluster", f"{AKS}/managedby", "aks"),
        ("aks-existing-cluster", "storageprofile", "managed"),
    ],
)
def test_labels_that_the_cloud_sets_may_be_there(example: str, key: str, value: str | None) -> None:
    assert taken(example, selecting(key, value)) == TAKEN


@pytest.mark.parametrize(
    ("example", "key", "value"),
    [
        ("gke-existing-cluster", "cloud.google.com/gke-nodepool", "theirs"),
        ("gke-existing-cluster", "cloud.google.com/gke-tpu-accelerator", None),
        ("gke-existing-cluster", "cloud.google.com/compute-class", None),
        ("gke-existing-cluster", "team", "theirs"),
        ("eks-existing-cluster", "karpenter.sh/nodepool", "theirs"),
        ("eks-existing-cluster", "eks.amazonaws.com/nodegroup", None),
        ("eks-groups-existing-cluster", "eks.amazonaws.com/nodegroup", "theirs"),
        ("eks-groups-existing-cluster", "eks.amazonaws.com/compute-type", "auto"),
        ("eks-groups-existing-cluster", "karpenter.sh/nodepool", None),
        ("aks-existing-cluster", f"{AKS}/mode", "system"),
        ("aks-existing-cluster", f"{AKS}/agentpool", "theirs"),
        ("aks-existing-cluster", "agentpool", "theirs"),
        ("aks-existing-cluster", "team", "theirs"),
    ],
)
def test_labels_that_only_other_nodes_have_are_not(example: str, key: str, value: str | None) -> None:
    assert taken(example, selecting(key, value)) == NOTHING
