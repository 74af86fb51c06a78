"""A cluster goes with everything in it, and the next one at its place is empty.

The autoscaler's own kinds, in the API server that the program talks to, are not the program's.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from packages.rehearsal.tests.fleet.facts import ADMIN
from packages.rehearsal.tests.simulated_cluster import CLUSTER, ZONES, daemon_set, eventually, gpu_group, tools
from rehearsal.cluster.api import Api, ApiError, Object
from rehearsal.cluster.control_plane import ControlPlane
from rehearsal.cluster.kubeconfig import Kubeconfig
from rehearsal.fleet import FleetError, KarpenterFleet
from rehearsal.fleet.autoscaler import KarpenterSupervisor
from rehearsal.fleet.node_pools import node_pools, pool_path
from rehearsal.fleet.nodes import ClusterFacts, NodeTemplate
from rehearsal.simulation import makers_rights

pytestmark = pytest.mark.rehearsal

(POOL,) = node_pools(NodeTemplate(gpu_group("pool"), ClusterFacts("demo", "us-central1", "1.34.4")), "type", 50)


def may_write(api: Api) -> bool:
    asked = {"verb": "create", "resource": "configmaps", "namespace": "kube-system"}
    group = "authorization.k8s.io/v1"
    review = {"apiVersion": group, "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": asked}}
    return bool(api.create(f"/apis/{group}/selfsubjectaccessreviews", review)["status"]["allowed"])


def refusal(maker: Api) -> str:
    """Why its maker may not create a pool of the autoscaler's."""
    try:
        maker.apply(pool_path(POOL["metadata"]["name"]), POOL, dryRun="All")
    except ApiError as error:
        return str(error)
    return ""


def test_a_deleted_cluster_leaves_the_next_one_empty(tmp_path: Path) -> None:
    nobodys = makers_rights(everything=False)
    arguments: dict[str, Any] = {"version": "1.34.4", "region": "us-central1", "zones": ZONES}
    with ControlPlane(tmp_path, tools=tools()) as plane:
        fleet = KarpenterFleet(plane, tmp_path, tools())
        endpoint = fleet.create_cluster(CLUSTER, system_objects=[daemon_set("agent")], **arguments)
        maker = Api(Kubeconfig.parse(plane.kubeconfig_for("cluster-user").read_text()))
        eventually("its maker may do everything", lambda: may_write(maker))
        fleet.apply_group(ADMIN)
        fleet.apply_group(gpu_group("t4"))
        fleet.settle()
        assert plane.api.list("/apis/karpenter.sh/v1/nodepools")
        # A new policy is in force a moment after it is made.
        message = eventually("the autoscaler's own kinds are refused to it", lambda: refusal(maker))
        assert 'no matches for kind "NodePool" in version "karpenter.sh/v1"' in message
        fleet.delete_cluster(CLUSTER)
        assert not plane.api.ready()
        assert plane.processes.pids == {}
        assert fleet.create_cluster("next", system_objects=[nobodys], **arguments) == endpoint
        maker = Api(Kubeconfig.parse(plane.kubeconfig_for("cluster-user").read_text()))
        eventually("its maker, whom the cloud gave no right, may do nothing", lambda: not may_write(maker))
        assert plane.api.list("/api/v1/nodes") == []
        assert plane.api.list("/apis/apps/v1/daemonsets") == []
        fleet.delete_cluster("next")
        bad = {"apiVersion": "apps/v1", "kind": "Unheard", "metadata": {"name": "x"}}
        with pytest.raises(FleetError, match=r"system object Unheard x: .*no matches for kind 'Unheard'"):
            fleet.create_cluster("third", system_objects=[bad], **arguments)
        fleet.close()


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
