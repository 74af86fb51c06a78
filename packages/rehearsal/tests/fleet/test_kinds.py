"""The autoscaler's own kinds, in the API server that the program talks to, are not the program's."""

from __future__ import annotations

from pathlib import Path

import pytest

from packages.rehearsal.tests.simulated_cluster import eventually, gpu_group, tools
from rehearsal.cluster.api import Api, ApiError, Object
from rehearsal.cluster.control_plane import ControlPlane
from rehearsal.cluster.kubeconfig import Kubeconfig
from rehearsal.fleet.autoscaler import KarpenterSupervisor
from rehearsal.fleet.node_pools import node_pools, pool_path
from rehearsal.fleet.nodes import ClusterFacts, NodeTemplate

pytestmark = pytest.mark.rehearsal

(POOL,) = node_pools(NodeTemplate(gpu_group("pool"), ClusterFacts("demo", "us-central1", "1.34.4")), "type", 50)
NAME = POOL["metadata"]["name"]


def test_who_runs_the_program_cannot_create_them(tmp_path: Path) -> None:
    with ControlPlane(tmp_path, tools=tools()) as plane:
        KarpenterSupervisor(plane, tools(), tmp_path / "autoscaler").install()
        deployer = Api(Kubeconfig.parse(plane.kubeconfig_for("cluster-user").read_text()))

        def refusal() -> str:
            try:
                deployer.apply(pool_path(NAME), POOL, dryRun="All")
            except ApiError as error:
                return str(error)
            return ""

        # A new policy is in force a moment after it is made.
        message = eventually("it is refused", refusal)
        assert 'no matches for kind "NodePool" in version "karpenter.sh/v1"' in message
        assert plane.api.apply(pool_path(NAME), POOL)["kind"] == "NodePool"


def test_a_cluster_with_a_karpenter_of_its_own_keeps_them(tmp_path: Path) -> None:
    with ControlPlane(tmp_path, tools=tools()) as plane:
        definition: Object = {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "others.karpenter.sh"},
            "spec": {
                "group": "karpenter.sh",
                "names": {"plural": "others", "kind": "Other", "singular": "other", "listKind": "OtherList"},
                "scope": "Cluster",
                "versions": [
                    {
                        "name": "v1",
                        "served": True,
                        "storage": True,
                        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                    }
                ],
            },
        }
        plane.api.apply_manifest(definition)
        eventually("it is served", lambda: plane.api.find("/apis/karpenter.sh/v1"))
        KarpenterSupervisor(plane, tools(), tmp_path / "autoscaler").install()
        assert plane.api.list("/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies") == []
